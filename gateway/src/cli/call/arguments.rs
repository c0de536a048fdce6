//! Parses the arguments of a tool from the command line into a JSON object. Used by `call`.

use anyhow::{Result, bail};
use moongate_model::json::{self, Json, replace_lone_surrogates};
use serde_json::{Map, Value};

use crate::cli::print;
use crate::cli::schema_fields::{fields, parse_typed};

/// The arguments as one JSON object: `whole`, or otherwise one member for each `key=value`.
///
/// A value that is valid JSON is passed as JSON, unless `schema` expects a string.
///
/// # Errors
/// `whole` isn't a JSON object, or a pair has no `=` or a repeated name.
pub(super) fn parse_arguments(whole: Option<&str>, pairs: &[String], schema: Option<&Value>) -> Result<Json> {
    match whole {
        Some(text) => {
            let text = &*replace_lone_surrogates(text); // as in requests
            let value = match json::parse_strict(text) {
                Ok(value) => value,
                Err(error) => {
                    bail!("the value of --json isn't valid JSON: {}", json_hint(text, &error.to_string()))
                }
            };
            if !value.is_object() {
                bail!("the value of --json isn't a JSON object");
            }
            Ok(Json::parse(text)?) // unchanged, so that numbers keep their digits
        }
        None => from_pairs(pairs, schema),
    }
}

/// A suggestion for `--json`, or the parser's error.
fn json_hint(text: &str, error: &str) -> String {
    let command = |words: &str| format!("write {}", print::inline(words));
    if let Some(file) = text.strip_prefix('@') {
        return command(&format!("--json \"$(cat {})\"", print::shell_word(file)));
    }
    if text == "-" {
        return command("--json \"$(cat)\"");
    }
    let quoted = text.replace('\'', "\"");
    if quoted != text && json::parse_strict(&quoted).is_ok() {
        return format!(
            "use double quotes for strings: {}",
            command(&format!("--json {}", print::shell_word(&quoted)))
        );
    }
    format!("{}; expected an object, such as --json '{{\"name\": \"value\"}}'", print::inline(error))
}

fn from_pairs(pairs: &[String], schema: Option<&Value>) -> Result<Json> {
    let mut object = Map::new();
    for (at, pair) in pairs.iter().enumerate() {
        let Some((key, text)) = pair.split_once('=') else {
            let corrected = likely_pair(pair, pairs.get(at + 1).map(String::as_str), schema)
                .unwrap_or_else(|| "`name=value`, or all arguments as `--json '{…}'`".to_owned());
            bail!("invalid argument `{}`: write {corrected}", print::inline(pair));
        };
        let wanted = schema.and_then(|schema| fields(schema).into_iter().find(|field| field.name == key));
        if object.insert(key.to_owned(), parse_value(text, wanted.map(|field| field.schema))).is_some() {
            bail!("duplicate argument `{}`", print::inline(key));
        }
    }
    Ok(Json::from_value(&Value::Object(object)))
}

/// Parses the value of an argument. Commas can separate the values of a list.
fn parse_value(text: &str, wanted: Option<&Value>) -> Value {
    let read_whole = parse_typed(text, wanted);
    let Some(schema) = wanted.filter(|schema| is_simple_list(schema)) else { return read_whole };
    match read_whole {
        whole @ (Value::Array(_) | Value::Object(_) | Value::Null) => whole,
        whole if text.starts_with('"') => Value::Array(vec![whole]),
        _ if text.is_empty() => Value::Array(Vec::new()),
        _ => text.split(',').map(|part| parse_typed(part.trim(), schema.get("items"))).collect(),
    }
}

/// True if the schema is a list of values that need no brackets.
fn is_simple_list(schema: &Value) -> bool {
    let is = |schema: &Value, name: &str| match &schema["type"] {
        Value::String(one) => one == name,
        Value::Array(several) => several.iter().any(|one| one == name),
        _ => false,
    };
    let items = &schema["items"];
    is(schema, "array") && ["string", "integer", "number", "boolean"].iter().any(|name| is(items, name))
}

/// The likely intended pair for an argument without `=`: `name:value`, `name value`, an object, or the value of the
/// only required argument.
fn likely_pair(word: &str, next: Option<&str>, schema: Option<&Value>) -> Option<String> {
    let fields = schema.map(fields).unwrap_or_default();
    let is_known = |name: &str| fields.iter().any(|field| field.name == name);
    if word.trim_start().starts_with('{') {
        return Some(format!("`--json {}`", print::shell_word(&print::inline(word))));
    }
    let pair = match (word.split_once(':'), next) {
        (Some((name, "")), Some(value)) if is_known(name) && !value.contains('=') => {
            format!("{name}={value}")
        }
        (Some((name, value)), _) if is_known(name) => format!("{name}={value}"),
        _ if is_known(word) => match next.filter(|next| !next.contains('=')) {
            Some(value) => format!("{word}={value}"),
            None => format!("{word}=value"),
        },
        _ => match fields.iter().filter(|field| field.required).collect::<Vec<_>>().as_slice() {
            [only] => format!("{}={word}", only.name),
            _ => return None,
        },
    };
    Some(format!("`{}`", print::shell_word(&print::inline(&pair))))
}

#[cfg(test)]
mod tests;
