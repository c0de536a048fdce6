//! What there is to call, and what a tool takes: for who left something out. Used by `call`.

use moongate_core::json::Json;
use moongate_core::names::alike;
use serde_json::{Value, json};

use super::fields::{Field, fields};
use crate::cli::{Exit, Format, print};

/// No tool is named: says which there are.
///
/// # Errors
/// stdout can't be written to.
pub(super) fn tools(tools: &[(String, String)], format: Format) -> anyhow::Result<Exit> {
    if tools.is_empty() {
        print::error("there is no tool to call", Some("`moongate check` says what is wrong with plugins"));
        return Ok(Exit::Usage);
    }
    let width = tools.iter().map(|(name, _)| name.chars().count()).max().unwrap_or_default();
    let rows = tools.iter().map(|(name, about)| {
        let about = print::said(about.lines().next().unwrap_or_default());
        format!("  {}", format!("{:width$}  {about}", print::said(name)).trim_end())
    });
    let rows: Vec<String> = rows.collect();
    let (message, hint) =
        ("no tool is named", "name one of these; called without its arguments, it says what it takes");
    print::error_about(message, &rows.join("\n"), Some(hint));
    if format == Format::Json {
        let tools = tools.iter().map(|(name, about)| json!({ "name": name, "description": about }));
        print::json(&json!({
            "errors": [{ "message": message, "hint": hint }],
            "tools": tools.collect::<Vec<_>>(),
        }))?;
    }
    Ok(Exit::Usage)
}

/// The arguments that must be there and aren't.
pub(super) fn lacking<'a>(schema: &'a Value, arguments: &Json) -> Vec<Field<'a>> {
    let given = arguments.to_value().unwrap_or_default();
    let there = |field: &Field<'_>| given.get(field.name).is_some();
    fields(schema).into_iter().filter(|field| field.required && !there(field)).collect()
}

/// Arguments that the tool doesn't know, as far as its schema says so.
pub(super) fn unknown(schema: &Value, arguments: &Json) -> Vec<String> {
    let open = ["patternProperties", "anyOf", "oneOf", "allOf", "$ref", "if"];
    let takes_others = schema.get("additionalProperties").is_some_and(|others| *others != false);
    if schema["properties"].is_null() || takes_others || open.iter().any(|key| schema.get(*key).is_some()) {
        return Vec::new();
    }
    let (known, given) = (fields(schema), arguments.to_value().unwrap_or_default());
    let names = given.as_object().into_iter().flatten().map(|(name, _)| name.clone());
    names.filter(|name| known.iter().all(|field| field.name != *name)).collect()
}

/// What a tool takes, a line for each argument.
pub(super) fn text(schema: &Value) -> String {
    let lines: Vec<String> = fields(schema).iter().map(|field| format!("  {}", field.line())).collect();
    if lines.is_empty() { "  it takes no arguments".to_owned() } else { lines.join("\n") }
}

/// Arguments are missing: says what the tool takes, and a command line that has what is missing. What stands there under
/// a name that is nearly the right one gets the right one.
///
/// # Errors
/// stdout can't be written to.
pub(super) fn refuse(
    tool: &str,
    schema: &Value,
    arguments: &Json,
    as_object: bool,
    format: Format,
) -> anyhow::Result<Exit> {
    let (lacking, strays) = (lacking(schema, arguments), unknown(schema, arguments));
    let names: Vec<_> = lacking.iter().map(|field| field.name).collect();
    let mut message = format!("`{}` needs {}", print::said(tool), and(&names));
    if !strays.is_empty() {
        message.push_str(&format!(", and takes no {}", and(&strays)));
    }
    let words = if as_object {
        vec!["--json".to_owned(), object(&lacking, &strays, arguments).to_string()]
    } else {
        let words = std::env::args_os().map(|word| word.to_string_lossy().into_owned());
        pairs(&lacking, &strays, words.collect())
    };
    let words: Vec<_> = words.iter().map(|word| print::word(&print::said(word))).collect();
    let hint = format!("for example: {}", words.join(" "));
    print::error_about(&message, &text(schema), Some(&hint));
    if format == Format::Json {
        print::json(&json!({
            "errors": [{ "message": message, "hint": hint }],
            "tool": { "name": tool, "input": schema },
        }))?;
    }
    Ok(Exit::Tool)
}

fn and(names: &[impl AsRef<str>]) -> String {
    let names: Vec<_> = names.iter().map(|name| format!("`{}`", print::said(name.as_ref()))).collect();
    names.join(" and ")
}

/// The arguments with what lacks, and without strays.
fn object(lacking: &[Field<'_>], strays: &[String], arguments: &Json) -> Value {
    let mut given = arguments.to_value().unwrap_or_default();
    let mut taken: Vec<_> = strays.iter().map(|stray| (stray, given[stray].take())).collect();
    if let Some(members) = given.as_object_mut() {
        members.retain(|name, _| !strays.contains(name));
    }
    for field in lacking {
        let meant = alike(field.name, taken.iter().map(|(stray, _)| stray.as_str()));
        let at = meant.and_then(|meant| taken.iter().position(|(stray, _)| *stray == meant));
        given[field.name] = at.map_or_else(|| field.value(), |at| taken.remove(at).1);
    }
    given
}

/// The words of the command line with what lacks, and without strays.
fn pairs(lacking: &[Field<'_>], strays: &[String], mut words: Vec<String>) -> Vec<String> {
    let mut strays: Vec<_> = strays.iter().map(String::as_str).collect();
    for field in lacking {
        let meant = alike(field.name, strays.iter().copied());
        let at = meant.and_then(|meant| words.iter().position(|word| value_of(word, meant).is_some()));
        match (meant, at) {
            (Some(meant), Some(at)) => {
                let value = value_of(&words[at], meant).unwrap_or_default().to_owned();
                words[at] = format!("{}={value}", field.name);
                strays.retain(|stray| *stray != meant);
            }
            _ => words.push(field.example()),
        }
    }
    words.retain(|word| strays.iter().all(|stray| value_of(word, stray).is_none()));
    words
}

/// What stands behind `name=`, where a word begins so.
fn value_of<'a>(word: &'a str, name: &str) -> Option<&'a str> {
    word.strip_prefix(name)?.strip_prefix('=')
}

#[cfg(test)]
mod tests;
