//! What a schema wants at one place, in words and as an example: a tool's argument, a setting, or a field of a form. Used
//! by `call` and `inspect`.

use std::collections::BTreeSet;
use std::io::{self, Write};

use moongate_model::json;
use serde_json::{Value, json};

use crate::cli::print;

/// References lead no further than this.
const REFERENCES: usize = 8;

/// Lists and objects are told and shown no deeper than this: a schema may hold itself.
const DEPTH: usize = 3;

/// The values of a choice that are told, and the types of a value.
const TOLD: usize = 16;

/// How many forms of a value are looked at for constants.
const FORMS: usize = 1000;

/// How many members are told.
const LINES: usize = 100;

/// The longest line of a member, in characters.
const LINE: usize = 4000;

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
    let required: BTreeSet<&str> =
        root["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let members = root["properties"].as_object().into_iter().flatten();
    let mut fields: Vec<Field<'_>> = members
        .map(|(name, schema)| Field {
            name,
            required: required.contains(name.as_str()),
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

/// The types that a schema names, once each, but for `null`; no more of them than are told.
fn types(schema: &Value) -> Vec<&str> {
    let named = match &schema["type"] {
        Value::String(one) => vec![one.as_str()],
        Value::Array(several) => several.iter().filter_map(Value::as_str).take(FORMS).collect(),
        _ => Vec::new(),
    };
    let mut types = Vec::new();
    for name in named.into_iter().filter(|name| *name != "null") {
        if types.len() < TOLD && !types.contains(&name) {
            types.push(name);
        }
    }
    types
}

/// What there is left for examples: a schema may ask for more than anybody can read, or hold itself many times over.
#[derive(Debug)]
pub(super) struct Room {
    values: usize,
    /// In bytes.
    text: usize,
}

impl Room {
    /// For the examples of one message.
    pub(super) fn new() -> Self {
        Self { values: 200, text: 4 << 10 }
    }

    /// Is there room for one value more?
    fn takes_value(&mut self) -> bool {
        let is_there = self.values > 0 && self.text > 0;
        self.values = self.values.saturating_sub(1);
        is_there
    }

    fn takes_name(&mut self, name: &str) {
        self.text = self.text.saturating_sub(name.len());
    }

    /// A value that a schema has, if there is room for it.
    fn takes_given(&mut self, given: &Value) -> Option<Value> {
        let length = begun(given, self.text)?.len();
        self.text -= length;
        Some(given.clone())
    }
}

/// The lines of members, as many as anybody reads.
pub(super) fn lines(fields: &[Field<'_>]) -> Vec<String> {
    let mut lines: Vec<String> = fields.iter().take(LINES).map(Field::line).collect();
    if let Some(more) = fields.len().checked_sub(LINES).filter(|more| *more > 0) {
        lines.push(format!("… and {more} more"));
    }
    lines
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
    pub(super) fn example(&self, room: &mut Room) -> String {
        format!("{}={}", self.name, typed(&self.value(room), self.schema))
    }

    /// A value that fits, if there is room for it.
    pub(super) fn value(&self, room: &mut Room) -> Value {
        room.takes_name(self.name);
        example(self.schema, self.root, DEPTH, room)
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
    print::line(&line, LINE)
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

/// The values that may be chosen, each with its title: one more than are told, where there are more.
fn choices(schema: &Value) -> Vec<(&Value, Option<&str>)> {
    if let Some(values) = schema["enum"].as_array() {
        let titles = schema["enumNames"].as_array();
        let title = |at: usize| titles.and_then(|titles| titles.get(at)?.as_str());
        return values.iter().take(TOLD + 1).enumerate().map(|(at, value)| (value, title(at))).collect();
    }
    let several = schema["oneOf"].as_array().or_else(|| schema["anyOf"].as_array());
    let constants = several.into_iter().flatten().take(FORMS);
    constants.filter_map(|one| Some((one.get("const")?, one["title"].as_str()))).take(TOLD + 1).collect()
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
        other => begun(other, LINE).map_or_else(|| "…".to_owned(), |text| print::said(&text)),
    }
}

/// The JSON of a value, if it is no longer than this, in bytes. It is never written any further.
fn begun(value: &Value, most: usize) -> Option<String> {
    struct Short(Vec<u8>, usize);
    impl Write for Short {
        fn write(&mut self, more: &[u8]) -> io::Result<usize> {
            if self.0.len() + more.len() > self.1 {
                return Err(io::ErrorKind::FileTooLarge.into());
            }
            self.0.write(more)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let mut short = Short(Vec::new(), most);
    serde_json::to_writer(&mut short, value).ok()?;
    String::from_utf8(short.0).ok()
}

/// A value that fits, as far as a schema says without patterns, and as far as there is room.
fn example(schema: &Value, root: &Value, depth: usize, room: &mut Room) -> Value {
    let schema = followed(schema, root);
    if !room.takes_value() {
        return Value::from("…");
    }
    let given = schema.get("default").or_else(|| schema.get("const")).or_else(|| schema["examples"].get(0));
    let chosen = choices(schema).first().map(|(value, _)| *value);
    if let Some(given) = given.filter(|given| !given.is_null()).or(chosen) {
        return room.takes_given(given).unwrap_or_else(|| Value::from("…"));
    }
    let number =
        || schema.get("minimum").or_else(|| schema.get("maximum")).filter(|it| it.is_number()).cloned();
    match types(schema).first() {
        Some(&"integer" | &"number") => number().unwrap_or_else(|| json!(1)),
        Some(&"boolean") => json!(true),
        Some(&"array") if depth > 0 => json!([example(&schema["items"], root, depth - 1, room)]),
        Some(&"object") if depth > 0 => {
            let mut members = serde_json::Map::new();
            for field in fields(schema).into_iter().filter(|field| field.required) {
                if room.values == 0 || room.text == 0 {
                    break;
                }
                room.takes_name(field.name);
                members.insert(field.name.to_owned(), example(field.schema, root, depth - 1, room));
            }
            Value::Object(members)
        }
        _ => {
            let text = text(schema);
            room.takes_name(&text);
            Value::from(text)
        }
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
