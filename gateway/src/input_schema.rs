//! The fields of a JSON Schema: tool arguments, plugin settings, and the questions of tools. Schemas come from plugins, so
//! everything is bounded.

use std::collections::BTreeSet;

use serde_json::Value;

/// The maximum number of references in a chain.
const MAX_REFERENCES: usize = 8;

/// The maximum number of types of a value.
const MAX_TYPES: usize = 16;

/// The maximum number of alternatives that are searched for constants.
const MAX_ALTERNATIVES: usize = 1000;

/// One member of an object's schema.
#[derive(Debug)]
pub(crate) struct SchemaField<'a> {
    pub(crate) name: &'a str,
    pub(crate) required: bool,
    /// The schema of the member, with references resolved.
    pub(crate) schema: &'a Value,
    pub(crate) root: &'a Value,
}

/// The members that the schema of an object names, required ones first.
pub(crate) fn fields(root: &Value) -> Vec<SchemaField<'_>> {
    let required: BTreeSet<&str> =
        root["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let members = root["properties"].as_object().into_iter().flatten();
    let mut fields: Vec<SchemaField<'_>> = members
        .map(|(name, schema)| SchemaField {
            name,
            required: required.contains(name.as_str()),
            schema: resolve(schema, root),
            root,
        })
        .collect();
    fields.sort_by_key(|field| !field.required);
    fields
}

/// The schema that references lead to, or the only alternative other than `null`.
pub(crate) fn resolve<'a>(mut schema: &'a Value, root: &'a Value) -> &'a Value {
    for _ in 0..MAX_REFERENCES {
        let reference = schema["$ref"].as_str().and_then(|it| it.strip_prefix('#'));
        let several = schema["anyOf"].as_array().or_else(|| schema["oneOf"].as_array());
        let is_there = |one: &&Value| one["type"] != "null" && one.get("const").is_none();
        let one = match several.map(Vec::as_slice) {
            Some([one, null] | [null, one]) if is_there(&one) && !is_there(&null) => Some(one),
            Some(_) | None => None,
        };
        schema = match (reference.and_then(|it| root.pointer(it)), one) {
            (Some(found), _) => found,
            (None, Some(one)) => one,
            (None, None) => return schema,
        };
    }
    schema
}

/// The distinct types of a schema except `null`, up to the maximum number.
pub(crate) fn types(schema: &Value) -> Vec<&str> {
    let named = match &schema["type"] {
        Value::String(one) => vec![one.as_str()],
        Value::Array(several) => several.iter().filter_map(Value::as_str).take(MAX_ALTERNATIVES).collect(),
        _ => Vec::new(),
    };
    let mut types = Vec::new();
    for name in named.into_iter().filter(|name| *name != "null") {
        if types.len() < MAX_TYPES && !types.contains(&name) {
            types.push(name);
        }
    }
    types
}

/// The choices with their titles, at most this many.
pub(crate) fn choices(schema: &Value, most: usize) -> Vec<(&Value, Option<&str>)> {
    if let Some(values) = schema["enum"].as_array() {
        let titles = schema["enumNames"].as_array();
        let title = |at: usize| titles.and_then(|titles| titles.get(at)?.as_str());
        return values.iter().take(most).enumerate().map(|(at, value)| (value, title(at))).collect();
    }
    let several = schema["oneOf"].as_array().or_else(|| schema["anyOf"].as_array());
    let constants = several.into_iter().flatten().take(MAX_ALTERNATIVES);
    constants.filter_map(|one| Some((one.get("const")?, one["title"].as_str()))).take(most).collect()
}
