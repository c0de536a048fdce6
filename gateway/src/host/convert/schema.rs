//! JSON Schemas that plugins give: capped, cleaned, read strictly; the root of an input schema is an object.

use moongate_core::config::{LimitKey, Limits};
use moongate_core::json::{Json, parse_strict};
use serde_json::Value;

use super::Bad;
use crate::host::diagnostics::text;

/// A schema of any root. The two that are no objects are written as objects, which is what MCP wants.
pub(super) fn any(given: String, limits: &Limits) -> Result<Json, Bad> {
    let (json, value) = read(given, limits)?;
    let object = match value {
        Value::Bool(true) => "{}",
        Value::Bool(false) => r#"{"not":{}}"#,
        _ => return Ok(json),
    };
    Ok(Json::parse(object).expect("it is JSON"))
}

/// A schema of arguments. Where its root names no type, `"type": "object"` is added.
pub(super) fn of_arguments(given: String, limits: &Limits) -> Result<Json, Bad> {
    let (json, value) = read(given, limits)?;
    let Value::Object(root) = value else {
        return Err(Bad::new("the root must be an object with `\"type\": \"object\"`"));
    };
    match root.get("type") {
        Some(Value::String(kind)) if kind == "object" => Ok(json),
        Some(other) => Err(Bad::new(format!("the root's `type` must be \"object\", not {other}"))),
        None => {
            let rest = json.get().strip_prefix('{').unwrap_or_default();
            let comma = if root.is_empty() { "" } else { "," };
            let text = format!("{{\"type\":\"object\"{comma}{rest}");
            Json::parse(text).map_err(|error| Bad::new(format!("it is no JSON: {error}")))
        }
    }
}

fn read(given: String, limits: &Limits) -> Result<(Json, Value), Bad> {
    let Limits { schema: most, schema_depth: deepest, .. } = limits;
    if given.len() as u64 > most.as_u64() {
        let size = LimitKey::Schema.shown(given.len() as u64);
        return Err(Bad::over(LimitKey::Schema, given.len(), &format!("it has {size}"), most.as_u64()));
    }
    let depth = text::depth(&given);
    if depth > *deepest as usize {
        let found = format!("it nests {depth} levels deep");
        return Err(Bad::over(LimitKey::SchemaDepth, depth, &found, (*deepest).into()));
    }
    let no_json = |error: serde_json::Error| Bad::new(format!("it is no JSON: {error}"));
    let given = text::json(given);
    let value = parse_strict(&given).map_err(no_json)?;
    if !matches!(value, Value::Object(_) | Value::Bool(_)) {
        return Err(Bad::new("a schema is an object, or true or false"));
    }
    Ok((Json::parse(given).map_err(no_json)?, value))
}
