//! What stands behind the tool's name on the command line, as the JSON object that the tool gets. Used by `call`.

use anyhow::{Context as _, Result, bail};
use moongate_core::json::{self, Json};
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
    for (at, pair) in pairs.iter().enumerate() {
        let Some((key, text)) = pair.split_once('=') else {
            let cure = meant(pair, pairs.get(at + 1).map(String::as_str), schema)
                .unwrap_or_else(|| "`name=value`, or all arguments as `--json '{…}'`".to_owned());
            bail!("`{}` is no argument: write {cure}", print::said(pair));
        };
        let wanted = schema.and_then(|schema| fields(schema).into_iter().find(|field| field.name == key));
        if object.insert(key.to_owned(), read(text, wanted.map(|field| field.schema))).is_some() {
            bail!("`{}` is given twice", print::said(key));
        }
    }
    Ok(Json::from_value(&Value::Object(object)))
}

/// What was probably meant by a word without `=`: `name:value`, `name value`, or the value of the only argument.
fn meant(word: &str, next: Option<&str>, schema: Option<&Value>) -> Option<String> {
    let fields = schema.map(fields).unwrap_or_default();
    let is_known = |name: &str| fields.iter().any(|field| field.name == name);
    let pair = match (word.split_once(':'), next) {
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
