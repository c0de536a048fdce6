//! What there is to call, and what a tool takes: for who left something out. Used by `call`.

use moongate_core::json::Json;
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

/// Arguments that the tool doesn't know, where its schema neither takes nor refuses others.
pub(super) fn unknown(schema: &Value, arguments: &Json) -> Vec<String> {
    let open = ["additionalProperties", "patternProperties", "anyOf", "oneOf", "allOf", "$ref", "if"];
    if schema["properties"].is_null() || open.iter().any(|key| schema.get(*key).is_some()) {
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

/// Arguments are missing: says what the tool takes, and a command line that has what is missing.
///
/// # Errors
/// stdout can't be written to.
pub(super) fn refuse(
    tool: &str,
    schema: &Value,
    lacking: &[Field<'_>],
    whole: Option<&Json>,
    format: Format,
) -> anyhow::Result<Exit> {
    let names: Vec<String> = lacking.iter().map(|field| format!("`{}`", print::said(field.name))).collect();
    let message = format!("`{}` needs {}", print::said(tool), names.join(" and "));
    let hint = match whole {
        None => {
            let mut words: Vec<String> =
                std::env::args_os().map(|word| print::word(&word.to_string_lossy())).collect();
            words.extend(lacking.iter().map(|field| print::word(&print::said(&field.example()))));
            format!("for example: {}", words.join(" "))
        }
        Some(whole) => {
            let mut object = whole.to_value().unwrap_or_default();
            for field in lacking {
                object[field.name] = field.value();
            }
            format!("for example: --json {}", print::word(&print::said(&object.to_string())))
        }
    };
    print::error_about(&message, &text(schema), Some(&hint));
    if format == Format::Json {
        print::json(&json!({
            "errors": [{ "message": message, "hint": hint }],
            "tool": { "name": tool, "input": schema },
        }))?;
    }
    Ok(Exit::Tool)
}

#[cfg(test)]
mod tests;
