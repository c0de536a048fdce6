//! A check of structured content against its schema. A gateway supports all of JSON Schema; this checks only the
//! differences that can occur between a Rust type and its value: types, required members and enum values.

use serde_json::Value;

/// Returns the location of the first mismatch and the expected value. `None` if there is none.
pub(super) fn mismatch(schema: &Value, value: &Value) -> Option<String> {
    find(schema, value, "")
}

fn find(schema: &Value, value: &Value, at: &str) -> Option<String> {
    let place = if at.is_empty() { "the value".to_owned() } else { format!("`{at}`") };
    if let Some(wanted) = types(schema)
        && !wanted.iter().any(|name| is_of(name, value))
    {
        return Some(format!("{place} is {}, not of type {}", shown(value), wanted.join(" or ")));
    }
    let choices = schema["enum"].as_array().map(Vec::as_slice);
    let choices = choices.or_else(|| schema.get("const").map(std::slice::from_ref));
    if let Some(choices) = choices
        && !choices.contains(value)
    {
        return Some(format!("{place} is {}, which isn't one of the allowed values", shown(value)));
    }
    if let Some(object) = value.as_object() {
        let required = schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str);
        if let Some(missing) = required.into_iter().find(|name| !object.contains_key(*name)) {
            return Some(format!("`{at}/{missing}` is missing"));
        }
        let properties = schema["properties"].as_object().into_iter().flatten();
        return properties
            .filter_map(|(name, schema)| find(schema, object.get(name)?, &format!("{at}/{name}")))
            .next();
    }
    // If the first items have their own schemas, `items` applies only to the rest.
    if let (Some(list), Some(schema), None) =
        (value.as_array(), schema.get("items"), schema.get("prefixItems"))
    {
        let mismatches = list
            .iter()
            .enumerate()
            .filter_map(|(at_item, item)| find(schema, item, &format!("{at}/{at_item}")));
        return mismatches.into_iter().next();
    }
    None
}

/// The allowed types. `None` allows all.
fn types(schema: &Value) -> Option<Vec<&str>> {
    match schema.get("type")? {
        Value::String(name) => Some(vec![name]),
        Value::Array(names) => Some(names.iter().filter_map(Value::as_str).collect()),
        _ => None,
    }
}

fn is_of(name: &str, value: &Value) -> bool {
    match name {
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "number" => value.is_number(),
        "integer" => {
            value.is_i64() || value.is_u64() || value.as_f64().is_some_and(|number| number.fract() == 0.0)
        }
        _ => true, // an invalid type, which a gateway reports when it loads the plugin
    }
}

/// The value, truncated if it is long.
fn shown(value: &Value) -> String {
    let text = value.to_string();
    match text.char_indices().nth(40) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}
