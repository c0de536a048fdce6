//! What stands behind the tool's name on the command line, as the JSON object that the tool gets. Used by `call`.

use anyhow::{Result, bail};
use moongate_model::json::{self, Json};
use serde_json::{Map, Value};

use crate::cli::fields::{fields, read};
use crate::cli::print;

/// The arguments as one JSON object: `whole`, or else one member for each `key=value`.
///
/// A value that reads as JSON is taken as JSON, unless `schema` says that the tool wants a text there.
///
/// # Errors
/// `whole` is no JSON object, or a pair has no `=` or comes twice.
pub(super) fn object(whole: Option<&str>, pairs: &[String], schema: Option<&Value>) -> Result<Json> {
    match whole {
        Some(text) => {
            let value = match json::parse_strict(text) {
                Ok(value) => value,
                Err(error) => bail!("what follows --json is no JSON: {}", instead(text, &error.to_string())),
            };
            if !value.is_object() {
                bail!("what follows --json is no JSON object");
            }
            Ok(Json::parse(text)?) // as it was written: numbers keep their digits
        }
        None => from_pairs(pairs, schema),
    }
}

/// What should follow `--json` where this doesn't read; else what the reader of JSON says of it.
fn instead(text: &str, said: &str) -> String {
    let command = |words: &str| format!("write {}", print::said(words));
    if let Some(file) = text.strip_prefix('@') {
        return command(&format!("--json \"$(cat {})\"", print::word(file)));
    }
    if text == "-" {
        return command("--json \"$(cat)\"");
    }
    let quoted = text.replace('\'', "\"");
    if quoted != text && json::parse_strict(&quoted).is_ok() {
        return format!(
            "its texts stand in double quotes: {}",
            command(&format!("--json {}", print::word(&quoted)))
        );
    }
    format!("{}; an object is wanted, such as --json '{{\"name\": \"value\"}}'", print::said(said))
}

fn from_pairs(pairs: &[String], schema: Option<&Value>) -> Result<Json> {
    let mut object = Map::new();
    for (at, pair) in pairs.iter().enumerate() {
        let Some((key, text)) = pair.split_once('=') else {
            let cure = meant(pair, pairs.get(at + 1).map(String::as_str), schema)
                .unwrap_or_else(|| "`name=value`, or all arguments as `--json '{…}'`".to_owned());
            bail!("`{}` is no argument: write {cure}", print::said(pair));
        };
        let wanted = schema.and_then(|schema| fields(schema).into_iter().find(|field| field.name == key));
        if object.insert(key.to_owned(), value(text, wanted.map(|field| field.schema))).is_some() {
            bail!("`{}` is given twice", print::said(key));
        }
    }
    Ok(Json::from_value(&Value::Object(object)))
}

/// What was typed for an argument. The values of a list may stand beside each other, with commas between them.
fn value(text: &str, wanted: Option<&Value>) -> Value {
    let read_whole = read(text, wanted);
    let Some(schema) = wanted.filter(|schema| is_list_of_words(schema)) else { return read_whole };
    match read_whole {
        whole @ (Value::Array(_) | Value::Object(_) | Value::Null) => whole,
        whole if text.starts_with('"') => Value::Array(vec![whole]),
        _ if text.is_empty() => Value::Array(Vec::new()),
        _ => text.split(',').map(|part| read(part.trim(), schema.get("items"))).collect(),
    }
}

/// Does it want a list of what is typed without brackets?
fn is_list_of_words(schema: &Value) -> bool {
    let is = |schema: &Value, name: &str| match &schema["type"] {
        Value::String(one) => one == name,
        Value::Array(several) => several.iter().any(|one| one == name),
        _ => false,
    };
    let items = &schema["items"];
    is(schema, "array") && ["string", "integer", "number", "boolean"].iter().any(|name| is(items, name))
}

/// What was probably meant by a word without `=`: `name:value`, `name value`, an object, or the value of the only
/// argument.
fn meant(word: &str, next: Option<&str>, schema: Option<&Value>) -> Option<String> {
    let fields = schema.map(fields).unwrap_or_default();
    let is_known = |name: &str| fields.iter().any(|field| field.name == name);
    if word.trim_start().starts_with('{') {
        return Some(format!("`--json {}`", print::word(&print::said(word))));
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
    Some(format!("`{}`", print::word(&print::said(&pair))))
}

#[cfg(test)]
mod tests;
