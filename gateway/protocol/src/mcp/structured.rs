//! Schemas and structured results for revisions that allow only objects (2025-11-25, server/tools).
//!
//! 2025-06-18 and 2025-11-25 allow an output schema only with an object at its root. They get any other schema, and its
//! values, wrapped in an object with the one member `result`. A property's schema must be an object, too: `true` and
//! `false` are spelt out, because strict clients reject the whole list.

use std::borrow::Cow;

use serde_json::{Map, Value, json};

use crate::json::{self, Json};

/// The wrapping of a tool's structured results for older revisions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wrapping {
    /// The schema's root is an object, or there is no schema: only values that aren't objects are wrapped.
    IfNeeded,
    /// The schema is wrapped, and so is every value.
    Always,
}

impl Wrapping {
    /// The wrapping for a tool with this output schema.
    #[must_use]
    pub(super) fn for_schema(schema: Option<&Json>) -> Self {
        match schema {
            Some(schema) if !has_object_root(schema) => Self::Always,
            Some(_) | None => Self::IfNeeded,
        }
    }

    /// The value as older revisions see it.
    pub(super) fn apply(self, value: &Json) -> Cow<'_, Json> {
        if self == Self::IfNeeded && value.is_object() {
            return Cow::Borrowed(value);
        }
        let wrapped = format!(r#"{{"result":{}}}"#, value.get());
        Cow::Owned(Json::parse(wrapped).expect("a JSON value as a member is JSON"))
    }
}

/// An output schema as older revisions see it: its root is an object.
pub(super) fn object_schema(schema: &Json) -> Cow<'_, Json> {
    if has_object_root(schema) {
        return plain_properties(schema);
    }
    match schema.to_value() {
        Ok(value) => Cow::Owned(plain_properties(&Json::from_value(&wrap(value))).into_owned()),
        Err(_) => Cow::Borrowed(schema),
    }
}

/// A schema as older revisions see it: `true` and `false` for a property are spelt out. All other schemas stay
/// unchanged.
pub(super) fn plain_properties(schema: &Json) -> Cow<'_, Json> {
    if !has_boolean_property(schema) {
        return Cow::Borrowed(schema);
    }
    let Ok(mut value) = schema.to_value() else { return Cow::Borrowed(schema) };
    if let Some(Value::Object(properties)) = value.get_mut("properties") {
        for property in properties.values_mut() {
            if let Value::Bool(anything) = *property {
                *property = if anything { json!({}) } else { json!({ "not": {} }) };
            }
        }
    }
    Cow::Owned(Json::from_value(&value))
}

/// Works on the text, because lists contain many schemas, and few have such a property.
fn has_boolean_property(schema: &Json) -> bool {
    let properties = json::member(schema.get(), "properties").unwrap_or_default();
    let is_boolean = |_, property: &str| if matches!(property, "true" | "false") { Err(()) } else { Ok(()) };
    json::visit_members(properties, is_boolean).is_err()
}

/// Works on the text, because every call needs it.
fn has_object_root(schema: &Json) -> bool {
    json::member(schema.get(), "type").is_some_and(|kind| kind == r#""object""#)
}

/// Reports whether the schema resolves its references against a base address of its own.
fn has_own_base(schema: &Value) -> bool {
    schema.get("$id").and_then(Value::as_str).is_some_and(|id| !id.starts_with('#'))
}

/// Puts `schema` under the member `result` and points its own references there.
fn wrap(mut schema: Value) -> Value {
    let dialect = schema.as_object_mut().and_then(|root| root.remove("$schema"));
    if !has_own_base(&schema) {
        move_references(&mut schema);
    }
    let mut outer = json!({ "type": "object", "properties": { "result": schema }, "required": ["result"] });
    if let (Some(dialect), Some(root)) = (dialect, outer.as_object_mut()) {
        root.insert("$schema".to_owned(), dialect);
    }
    outer
}

/// Members whose values are data, not schemas: a `$ref` in them is just a key.
const DATA_KEYWORDS: [&str; 4] = ["const", "enum", "default", "examples"];

fn move_references(schema: &mut Value) {
    match schema {
        Value::Object(members) => move_in_object(members),
        Value::Array(items) => items.iter_mut().for_each(move_references),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn move_in_object(members: &mut Map<String, Value>) {
    for (key, value) in members {
        if matches!(key.as_str(), "$ref" | "$dynamicRef") {
            let moved = match value.as_str() {
                Some("#") => Some("#/properties/result".to_owned()),
                Some(text) => text.strip_prefix("#/").map(|rest| format!("#/properties/result/{rest}")),
                None => None,
            };
            if let Some(moved) = moved {
                *value = Value::String(moved);
            }
        } else if !DATA_KEYWORDS.contains(&key.as_str()) && !has_own_base(value) {
            move_references(value);
        }
    }
}

#[cfg(test)]
mod tests;
