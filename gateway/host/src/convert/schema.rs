//! JSON Schemas from plugins: limited in size, cleaned and parsed strictly. The root of an input schema is an object.

use moongate_config::{LimitKey, Limits};
use moongate_model::json::{Json, parse_strict};
use serde_json::Value;

use super::ConvertError;
use crate::diagnostics::text;

/// A schema with any root. `true` and `false` become the equivalent objects, which MCP requires.
pub(super) fn any(given: String, limits: &Limits) -> Result<Json, ConvertError> {
    let (json, value) = read(given, limits)?;
    let object = match value {
        Value::Bool(true) => "{}",
        Value::Bool(false) => r#"{"not":{}}"#,
        _ => return Ok(json),
    };
    Ok(Json::parse(object).expect("both literals are JSON"))
}

/// A schema of arguments. If the root has no type, `"type": "object"` is added.
pub(super) fn arguments(given: String, limits: &Limits) -> Result<Json, ConvertError> {
    let (json, value) = read(given, limits)?;
    let Value::Object(root) = value else {
        return Err(ConvertError::new("the root must be an object with `\"type\": \"object\"`"));
    };
    match root.get("type") {
        Some(Value::String(kind)) if kind == "object" => Ok(json),
        Some(other) => Err(ConvertError::new(format!("the root's `type` must be \"object\", not {other}"))),
        None => {
            let rest = json.get().strip_prefix('{').unwrap_or_default();
            let comma = if root.is_empty() { "" } else { "," };
            let text = format!("{{\"type\":\"object\"{comma}{rest}");
            Json::parse(text).map_err(|error| ConvertError::new(format!("invalid JSON: {error}")))
        }
    }
}

fn read(given: String, limits: &Limits) -> Result<(Json, Value), ConvertError> {
    let Limits { schema: max_size, schema_depth: max_depth, .. } = limits;
    if given.len() as u64 > max_size.as_u64() {
        let size = LimitKey::Schema.format_amount(given.len() as u64);
        return Err(ConvertError::exceeded(LimitKey::Schema, given.len(), &size, max_size.as_u64()));
    }
    let depth = text::json_depth(&given);
    if depth > *max_depth as usize {
        let found = format!("nested {depth} levels deep");
        return Err(ConvertError::exceeded(LimitKey::SchemaDepth, depth, &found, (*max_depth).into()));
    }
    let invalid_json = |error: serde_json::Error| ConvertError::new(format!("invalid JSON: {error}"));
    let given = text::clean_json(given);
    let json = Json::parse(given).map_err(invalid_json)?;
    let value = parse_strict(json.get()).map_err(invalid_json)?;
    if !matches!(value, Value::Object(_) | Value::Bool(_)) {
        return Err(ConvertError::new("a schema must be an object, `true` or `false`"));
    }
    Ok((json, value))
}
