//! The fields of a JSON Schema in words, with example values.
//! Used by `call` and `inspect`.

use std::io::{self, Write};

use moongate_model::json;
use moongate_model::text::escaped_line;
use serde_json::{Value, json};

use crate::cli::print;
pub(super) use crate::input_schema::{SchemaField, fields};
use crate::input_schema::{choices, resolve, types};

/// The maximum depth to which lists and objects are described, because a schema can contain itself.
const MAX_DEPTH: usize = 3;

/// The maximum number of listed choices.
const MAX_LISTED_VALUES: usize = 16;

/// The maximum number of listed fields.
const MAX_FIELD_LINES: usize = 100;

/// The maximum length of a field's line, in characters.
const MAX_FIELD_LINE_CHARS: usize = 4000;

/// The remaining size of examples, because a schema can require a huge value or contain itself many times.
#[derive(Debug)]
pub(super) struct ExampleBudget {
    values: usize,
    /// In bytes.
    text: usize,
}

impl ExampleBudget {
    /// The budget for the examples of one message.
    pub(super) fn new() -> Self {
        Self { values: 200, text: 4 << 10 }
    }

    /// Takes one value from the budget. Returns false if none is left.
    fn take_value(&mut self) -> bool {
        let is_there = self.values > 0 && self.text > 0;
        self.values = self.values.saturating_sub(1);
        is_there
    }

    fn take_name(&mut self, name: &str) {
        self.text = self.text.saturating_sub(name.len());
    }

    /// A value from the schema, if it fits the budget.
    fn take_given(&mut self, given: &Value) -> Option<Value> {
        let length = bounded_json(given, self.text)?.len();
        self.text -= length;
        Some(given.clone())
    }
}

/// The lines of fields, up to the limit.
pub(super) fn field_lines(fields: &[SchemaField<'_>]) -> Vec<String> {
    let mut lines: Vec<String> = fields.iter().take(MAX_FIELD_LINES).map(SchemaField::line).collect();
    if let Some(more) = fields.len().checked_sub(MAX_FIELD_LINES).filter(|more| *more > 0) {
        lines.push(format!("… and {more} more"));
    }
    lines
}

impl SchemaField<'_> {
    /// The line of the field: name, type and description.
    pub(super) fn line(&self) -> String {
        let Self { name, required, schema, root } = self;
        let member = root["properties"].get(*name).unwrap_or(schema);
        let about =
            ["description", "title"].iter().find_map(|key| member[*key].as_str().or(schema[*key].as_str()));
        let default = schema.get("default").filter(|default| !default.is_null());
        line(name, &type_words(schema, root, MAX_DEPTH), default, *required, about)
    }

    /// `name=value` with a valid value, in command-line form.
    pub(super) fn example(&self, budget: &mut ExampleBudget) -> String {
        format!("{}={}", self.name, as_typed(&self.value(budget), self.schema))
    }

    /// A valid value, if it fits the budget.
    pub(super) fn value(&self, budget: &mut ExampleBudget) -> Value {
        budget.take_name(self.name);
        example(self.schema, self.root, MAX_DEPTH, budget)
    }
}

/// The line of an input: name, type and description.
pub(super) fn line(
    name: &str,
    takes: &str,
    default: Option<&Value>,
    required: bool,
    about: Option<&str>,
) -> String {
    let mut line = format!("{}: {takes}", print::inline(name));
    match default {
        Some(default) => line.push_str(&format!(" (default {})", value_text(default))),
        None if required => line.push_str(" (required)"),
        None => {}
    }
    let about = about.map(print::summary).filter(|about| !about.is_empty());
    line.extend(about.map(|about| format!("; {about}")));
    escaped_line(&line, MAX_FIELD_LINE_CHARS)
}

/// A value in command-line form, which parses as the same value.
fn as_typed(value: &Value, schema: &Value) -> String {
    match value {
        Value::String(text) if parse_typed(text, Some(schema)) == *value => text.clone(),
        other => other.to_string(),
    }
}

/// Parses a value in command-line form: as JSON if it is valid JSON, unless the schema expects a string.
pub(super) fn parse_typed(text: &str, wanted: Option<&Value>) -> Value {
    let types = wanted.map(types).unwrap_or_default();
    if types == ["string"] {
        let nothing = text == "null" && wanted.is_some_and(|wanted| wanted["type"].is_array());
        return if nothing { Value::Null } else { Value::from(text) };
    }
    json::parse_strict(text).unwrap_or_else(|_| Value::from(text))
}

/// The type of a schema in words.
fn type_words(schema: &Value, root: &Value, depth: usize) -> String {
    let choices = choices(schema, MAX_LISTED_VALUES + 1);
    if !choices.is_empty() {
        let titled = |title: &str| format!(" ({})", print::inline(title));
        let each = choices
            .iter()
            .take(MAX_LISTED_VALUES)
            .map(|(value, title)| format!("{}{}", value_text(value), title.map(titled).unwrap_or_default()));
        let more = if choices.len() > MAX_LISTED_VALUES { ", …" } else { "" };
        return format!("one of {}{more}", each.collect::<Vec<_>>().join(", "));
    }
    let words: Vec<String> =
        types(schema).into_iter().map(|name| named_type_words(name, schema, root, depth)).collect();
    if words.is_empty() { "any JSON".to_owned() } else { words.join(" or ") }
}

fn named_type_words(name: &str, schema: &Value, root: &Value, depth: usize) -> String {
    match name {
        "string" => {
            let word = match schema["format"].as_str() {
                Some("date-time") => "text (date and time, such as 2026-01-31T12:00:00Z)".to_owned(),
                Some("date") => "text (date, such as 2026-01-31)".to_owned(),
                Some(format) => format!("text ({})", print::inline(format)),
                None => "text".to_owned(),
            };
            format!("{word}{}", range_words(schema, "minLength", "maxLength", " characters"))
        }
        "integer" => format!("whole number{}", range_words(schema, "minimum", "maximum", "")),
        "number" => format!("number{}", range_words(schema, "minimum", "maximum", "")),
        "boolean" => "true or false".to_owned(),
        "array" => {
            let items = resolve(&schema["items"], root);
            let of = match depth.checked_sub(1) {
                Some(depth) if !items.is_null() => format!(" of: {}", type_words(items, root, depth)),
                Some(_) | None => String::new(),
            };
            format!("list{}{of}", range_words(schema, "minItems", "maxItems", " values"))
        }
        "object" => "JSON object".to_owned(),
        other => print::inline(other),
    }
}

/// ` from 1 to 10 characters`
fn range_words(schema: &Value, least: &str, most: &str, unit: &str) -> String {
    match (schema.get(least).filter(|it| it.is_number()), schema.get(most).filter(|it| it.is_number())) {
        (Some(least), Some(most)) => format!(" from {least} to {most}{unit}"),
        (Some(least), None) => format!(" (at least {least}{unit})"),
        (None, Some(most)) => format!(" up to {most}{unit}"),
        (None, None) => String::new(),
    }
}

/// A value for use within a line.
fn value_text(value: &Value) -> String {
    match value {
        Value::String(text) => format!("`{}`", print::inline(text)),
        other => bounded_json(other, MAX_FIELD_LINE_CHARS)
            .map_or_else(|| "…".to_owned(), |text| print::inline(&text)),
    }
}

/// The JSON of a value, or `None` if it is longer than `most` bytes. Serialization stops there.
fn bounded_json(value: &Value, most: usize) -> Option<String> {
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

/// A value that matches the schema, except for patterns, and fits the budget.
fn example(schema: &Value, root: &Value, depth: usize, budget: &mut ExampleBudget) -> Value {
    let schema = resolve(schema, root);
    if !budget.take_value() {
        return Value::from("…");
    }
    let given = schema.get("default").or_else(|| schema.get("const")).or_else(|| schema["examples"].get(0));
    let chosen = choices(schema, 1).first().map(|(value, _)| *value);
    if let Some(given) = given.filter(|given| !given.is_null()).or(chosen) {
        return budget.take_given(given).unwrap_or_else(|| Value::from("…"));
    }
    let number =
        || schema.get("minimum").or_else(|| schema.get("maximum")).filter(|it| it.is_number()).cloned();
    match types(schema).first() {
        Some(&"integer" | &"number") => number().unwrap_or_else(|| json!(1)),
        Some(&"boolean") => json!(true),
        Some(&"array") if depth > 0 => json!([example(&schema["items"], root, depth - 1, budget)]),
        Some(&"object") if depth > 0 => {
            let mut members = serde_json::Map::new();
            for field in fields(schema).into_iter().filter(|field| field.required) {
                if budget.values == 0 || budget.text == 0 {
                    break;
                }
                budget.take_name(field.name);
                members.insert(field.name.to_owned(), example(field.schema, root, depth - 1, budget));
            }
            Value::Object(members)
        }
        _ => {
            let text = example_text(schema);
            budget.take_name(&text);
            Value::from(text)
        }
    }
}

/// A string with the length and the format that the schema requires.
fn example_text(schema: &Value) -> String {
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
