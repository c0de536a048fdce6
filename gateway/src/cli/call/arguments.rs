//! What stands behind the tool's name on the command line, as the JSON object that the tool gets. Used by `call`.

use anyhow::{Context as _, Result, bail};
use moongate_core::json::{self, Json};
use serde_json::{Map, Value};

/// The arguments as one JSON object: `whole`, or else one member for each `key=value`.
///
/// A value that reads as JSON is taken as JSON, unless `schema` says that the tool wants a text there.
///
/// # Errors
/// `whole` is no JSON object, or a pair has no `=` or comes twice.
pub(super) fn object(whole: Option<&str>, pairs: &[String], schema: Option<&Value>) -> Result<Json> {
    match whole {
        Some(text) => {
            let value = json::parse_strict(text).context("what follows --json is no JSON")?;
            if !value.is_object() {
                bail!("what follows --json is no JSON object");
            }
            Ok(Json::parse(text)?) // as it was written: numbers keep their digits
        }
        None => from_pairs(pairs, schema),
    }
}

fn from_pairs(pairs: &[String], schema: Option<&Value>) -> Result<Json> {
    let mut object = Map::new();
    for pair in pairs {
        let Some((key, text)) = pair.split_once('=') else {
            bail!("`{pair}` is no argument: write `name=value`, or all arguments as `--json '{{…}}'`");
        };
        let wanted = schema.and_then(|schema| schema["properties"].get(key));
        if object.insert(key.to_owned(), value(text, wanted)).is_some() {
            bail!("`{key}` is given twice");
        }
    }
    Ok(Json::from_value(&Value::Object(object)))
}

fn value(text: &str, wanted: Option<&Value>) -> Value {
    if wanted.is_some_and(|wanted| wanted["type"] == "string") {
        return Value::from(text);
    }
    json::parse_strict(text).unwrap_or_else(|_| Value::from(text))
}

#[cfg(test)]
mod tests;
