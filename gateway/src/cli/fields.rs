//! What a schema wants at one place, in words and as an example: a tool's argument, a setting, or a field of a form. Used
//! by `call` and `inspect`.

use moongate_core::json;
use serde_json::{Value, json};

use crate::cli::print;

/// References lead no further than this.
const REFERENCES: usize = 8;

/// Lists and objects are told and shown no deeper than this: a schema may hold itself.
const DEPTH: usize = 3;

/// The values of a choice that are told.
const TOLD: usize = 16;

/// One member of an object's schema.
#[derive(Debug)]
pub(super) struct Field<'a> {
    pub(super) name: &'a str,
    pub(super) required: bool,
    /// Its schema, with what it refers to.
    pub(super) schema: &'a Value,
    root: &'a Value,
}

/// The members that the schema of an object names: first those that must be there.
pub(super) fn fields(root: &Value) -> Vec<Field<'_>> {
    let required: Vec<&str> =
        root["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let members = root["properties"].as_object().into_iter().flatten();
    let mut fields: Vec<Field<'_>> = members
        .map(|(name, schema)| Field {
            name,
            required: required.contains(&name.as_str()),
            schema: followed(schema, root),
            root,
        })
        .collect();
    fields.sort_by_key(|field| !field.required);
    fields
}

/// The schema that is meant, where another one is referred to, or nothing but `null` is beside it.
fn followed<'a>(mut schema: &'a Value, root: &'a Value) -> &'a Value {
    for _ in 0..REFERENCES {
        let reference = schema["$ref"].as_str().and_then(|it| it.strip_prefix('#'));
        let several = schema["anyOf"].as_array().or_else(|| schema["oneOf"].as_array());
        let there: Vec<&Value> = several
            .into_iter()
            .flatten()
            .filter(|one| one["type"] != "null" && one.get("const").is_none())
            .collect();
        schema = match (reference.and_then(|it| root.pointer(it)), there.as_slice()) {
            (Some(found), _) => found,
            (None, [one]) if several.is_some_and(|all| all.len() == 2) => one,
            (None, _) => return schema,
        };
    }
    schema
}

/// The types that a schema names, but for `null`.
fn types(schema: &Value) -> Vec<&str> {
    let named = match &schema["type"] {
        Value::String(one) => vec![one.as_str()],
        Value::Array(several) => several.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    };
    named.into_iter().filter(|name| *name != "null").collect()
}

impl Field<'_> {
    /// Its line: name, what it takes, and what it is for.
    pub(super) fn line(&self) -> String {
        let Self { name, required, schema, root } = self;
        let member = root["properties"].get(*name).unwrap_or(schema);
        let about =
            ["description", "title"].iter().find_map(|key| member[*key].as_str().or(schema[*key].as_str()));
        let default = schema.get("default").filter(|default| !default.is_null());
        line(name, &takes(schema, root, DEPTH), default, *required, about)
    }

    /// `name=value` with a value that fits, as it is typed.
    pub(super) fn example(&self) -> String {
        format!("{}={}", self.name, typed(&self.value(), self.schema))
    }

    /// A value that fits.
    pub(super) fn value(&self) -> Value {
        example(self.schema, self.root, DEPTH)
    }
}

/// The line of something to be filled in: name, what it takes, and what it is for.
pub(super) fn line(
    name: &str,
    takes: &str,
    default: Option<&Value>,
    required: bool,
    about: Option<&str>,
) -> String {
    let mut line = format!("{}: {takes}", print::said(name));
    match default {
        Some(default) => line.push_str(&format!(" (default {})", shown(default))),
        None if required => line.push_str(" (required)"),
        None => {}
    }
    let about = about.map(print::first_line).filter(|about| !about.is_empty());
    line.extend(about.map(|about| format!("; {about}")));
    line
}

/// A value as somebody would type it, so that it is read as this very value.
fn typed(value: &Value, schema: &Value) -> String {
    match value {
        Value::String(text) if read(text, Some(schema)) == *value => text.clone(),
        other => other.to_string(),
    }
}

/// A text that was typed: taken as JSON where it reads as JSON, unless a text is wanted there.
pub(super) fn read(text: &str, wanted: Option<&Value>) -> Value {
    let types = wanted.map(types).unwrap_or_default();
    if types == ["string"] {
        let nothing = text == "null" && wanted.is_some_and(|wanted| wanted["type"].is_array());
        return if nothing { Value::Null } else { Value::from(text) };
    }
    json::parse_strict(text).unwrap_or_else(|_| Value::from(text))
}

/// The values that may be chosen, each with its title.
fn choices(schema: &Value) -> Vec<(&Value, Option<&str>)> {
    if let Some(values) = schema["enum"].as_array() {
        let titles = schema["enumNames"].as_array();
        let title = |at: usize| titles.and_then(|titles| titles.get(at)?.as_str());
        return values.iter().enumerate().map(|(at, value)| (value, title(at))).collect();
    }
    let several = schema["oneOf"].as_array().or_else(|| schema["anyOf"].as_array());
    let constants = several.into_iter().flatten();
    constants.filter_map(|one| Some((one.get("const")?, one["title"].as_str()))).collect()
}

/// What a schema takes, in words.
fn takes(schema: &Value, root: &Value, depth: usize) -> String {
    let choices = choices(schema);
    if !choices.is_empty() {
        let titled = |title: &str| format!(" ({})", print::said(title));
        let each = choices
            .iter()
            .take(TOLD)
            .map(|(value, title)| format!("{}{}", shown(value), title.map(titled).unwrap_or_default()));
        let more = if choices.len() > TOLD { ", …" } else { "" };
        return format!("one of {}{more}", each.collect::<Vec<_>>().join(", "));
    }
    let words: Vec<String> =
        types(schema).into_iter().map(|name| of_type(name, schema, root, depth)).collect();
    if words.is_empty() { "any JSON".to_owned() } else { words.join(" or ") }
}

fn of_type(name: &str, schema: &Value, root: &Value, depth: usize) -> String {
    match name {
        "string" => {
            let word = match schema["format"].as_str() {
                Some("date-time") => "text (date and time, as 2026-01-31T12:00:00Z)".to_owned(),
                Some("date") => "text (date, as 2026-01-31)".to_owned(),
                Some(format) => format!("text ({})", print::said(format)),
                None => "text".to_owned(),
            };
            format!("{word}{}", between(schema, "minLength", "maxLength", " characters"))
        }
        "integer" => format!("whole number{}", between(schema, "minimum", "maximum", "")),
        "number" => format!("number{}", between(schema, "minimum", "maximum", "")),
        "boolean" => "true or false".to_owned(),
        "array" => {
            let items = followed(&schema["items"], root);
            let of = match depth.checked_sub(1) {
                Some(depth) if !items.is_null() => format!(" of: {}", takes(items, root, depth)),
                Some(_) | None => String::new(),
            };
            format!("list{}{of}", between(schema, "minItems", "maxItems", " values"))
        }
        "object" => "JSON object".to_owned(),
        other => print::said(other),
    }
}

/// ` from 1 to 10 characters`
fn between(schema: &Value, least: &str, most: &str, unit: &str) -> String {
    match (schema.get(least).filter(|it| it.is_number()), schema.get(most).filter(|it| it.is_number())) {
        (Some(least), Some(most)) => format!(" from {least} to {most}{unit}"),
        (Some(least), None) => format!(" from {least}{unit} on"),
        (None, Some(most)) => format!(" up to {most}{unit}"),
        (None, None) => String::new(),
    }
}

/// A value, as a part of a sentence.
fn shown(value: &Value) -> String {
    match value {
        Value::String(text) => format!("`{}`", print::said(text)),
        other => print::said(&other.to_string()),
    }
}

/// A value that fits, as far as a schema says without patterns.
fn example(schema: &Value, root: &Value, depth: usize) -> Value {
    let schema = followed(schema, root);
    let given = schema.get("default").or_else(|| schema.get("const")).or_else(|| schema["examples"].get(0));
    if let Some(given) = given.filter(|given| !given.is_null()) {
        return given.clone();
    }
    if let Some((first, _)) = choices(schema).first() {
        return (*first).clone();
    }
    let number =
        || schema.get("minimum").or_else(|| schema.get("maximum")).filter(|it| it.is_number()).cloned();
    match types(schema).first() {
        Some(&"integer" | &"number") => number().unwrap_or_else(|| json!(1)),
        Some(&"boolean") => json!(true),
        Some(&"array") if depth > 0 => json!([example(&schema["items"], root, depth - 1)]),
        Some(&"object") if depth > 0 => {
            let required = fields(schema).into_iter().filter(|field| field.required);
            required.map(|field| (field.name.to_owned(), example(field.schema, root, depth - 1))).collect()
        }
        _ => Value::from(text(schema)),
    }
}

/// A text of the length and format that is wanted.
fn text(schema: &Value) -> String {
    let length = |key: &str| schema[key].as_u64().and_then(|length| usize::try_from(length).ok());
    match schema["format"].as_str() {
        Some("email") => "ada@example.org".to_owned(),
        Some("uri" | "url") => "https://example.org".to_owned(),
        Some("date") => "2026-01-31".to_owned(),
        Some("date-time") => "2026-01-31T12:00:00Z".to_owned(),
        _ => {
            let least = length("minLength").unwrap_or_default().min(200);
            "text"
                .chars()
                .cycle()
                .take(least.max(4))
                .take(length("maxLength").unwrap_or(usize::MAX))
                .collect()
        }
    }
}

#[cfg(test)]
mod tests;
