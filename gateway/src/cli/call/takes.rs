//! What there is to call, and what a tool takes: for who left something out. Used by `call`.

use moongate_model::json::Json;
use moongate_model::names::alike;
use moongate_protocol::catalog::named_members;
use serde_json::{Value, json};

use crate::cli::failure::Failure;
use crate::cli::fields::{Field, Room, fields, lines};
use crate::cli::{Exit, print};

/// No tool is named: which there are, each with what is said of it.
pub(super) fn unnamed(tools: &[(String, String)]) -> Failure {
    let failure = Failure::new(Exit::Usage);
    if tools.is_empty() {
        let hint = "`moongate check` says what is wrong with plugins";
        return failure.says("there is no tool to call", Some(hint));
    }
    let width = tools.iter().map(|(name, _)| name.chars().count()).max().unwrap_or_default();
    let rows = tools.iter().map(|(name, about)| {
        let about = print::first_line(about);
        format!("  {}", format!("{:width$}  {about}", print::said(name)).trim_end())
    });
    let rows: Vec<String> = rows.collect();
    let hint = "name one of these; called without its arguments, it says what it takes";
    let documents = tools.iter().map(|(name, about)| json!({ "name": name, "description": about }));
    failure.says_about("no tool is named", &rows.join("\n"), Some(hint)).with("tools", documents.collect())
}

/// The arguments that must be there and aren't.
pub(super) fn lacking<'a>(schema: &'a Value, arguments: &Json) -> Vec<Field<'a>> {
    let given = arguments.to_value().unwrap_or_default();
    let there = |field: &Field<'_>| given.get(field.name).is_some();
    fields(schema).into_iter().filter(|field| field.required && !there(field)).collect()
}

/// Arguments that the tool doesn't know, as far as its schema says so.
pub(super) fn unknown(schema: &Value, arguments: &Json) -> Vec<String> {
    let Some(known) = named_members(schema) else { return Vec::new() };
    let given = arguments.to_value().unwrap_or_default();
    let names = given.as_object().into_iter().flatten().map(|(name, _)| name.clone());
    names.filter(|name| !known.contains(name.as_str())).collect()
}

/// What a tool takes, a line for each argument.
pub(super) fn text(schema: &Value) -> String {
    let lines: Vec<String> = lines(&fields(schema)).iter().map(|line| format!("  {line}")).collect();
    if lines.is_empty() { "  it takes no arguments".to_owned() } else { lines.join("\n") }
}

/// Arguments are missing: what the tool takes, and a command line of a call that has them.
pub(super) fn refusal(tool: &str, schema: &Value, arguments: &Json, command: &str) -> Failure {
    let (lacking, strays) = (lacking(schema, arguments), unknown(schema, arguments));
    let lacking = lacking.iter().map(|field| field.name);
    let mut message = format!("`{}` needs {}", print::said(tool), listed(lacking));
    if !strays.is_empty() {
        message.push_str(&format!(", and takes no {}", listed(strays.iter().map(String::as_str))));
    }
    Failure::new(Exit::Tool)
        .says_about(&message, &text(schema), Some(&format!("for example: {command}")))
        .with("tool", json!({ "name": tool, "input": schema }))
}

/// What is said of arguments that the tool gets though it doesn't know them, if there are such.
pub(super) fn passed_on(schema: &Value, arguments: &Json) -> Option<String> {
    let strays = unknown(schema, arguments);
    let given = arguments.to_value().unwrap_or_default();
    let known: Vec<_> = fields(schema).iter().map(|field| field.name).collect();
    let mut free: Vec<_> = known.iter().copied().filter(|name| given.get(*name).is_none()).collect();
    let mut meant = Vec::new();
    for stray in &strays {
        let near = alike(stray, free.iter().copied());
        free.retain(|name| Some(*name) != near);
        meant.extend(near);
    }
    let said = match strays.as_slice() {
        [] => return None,
        [one] => format!("`{}` is passed on, though the tool names no such argument", print::said(one)),
        several => format!(
            "{} are passed on, though the tool names no such arguments",
            listed(several.iter().map(String::as_str))
        ),
    };
    Some(match (meant.is_empty(), known.is_empty()) {
        (false, _) => format!("{said}; did you mean {}?", listed(meant.into_iter())),
        (true, false) => format!("{said}; it takes {}", listed(known.into_iter())),
        (true, true) => format!("{said}; it takes none"),
    })
}

/// `a`, `b` and `c`, each in backquotes.
fn listed<'a>(names: impl Iterator<Item = &'a str>) -> String {
    let names: Vec<String> = names.map(|name| format!("`{}`", print::said(name))).collect();
    match names.split_last() {
        Some((last, before)) if !before.is_empty() => format!("{} and {last}", before.join(", ")),
        _ => names.concat(),
    }
}

/// The arguments with what lacks, and without strays. What stands under a name that is nearly the right one gets the
/// right one.
pub(super) fn object(schema: &Value, arguments: &Json) -> Value {
    let (lacking, strays) = (lacking(schema, arguments), unknown(schema, arguments));
    let mut given = arguments.to_value().unwrap_or_default();
    let mut room = Room::new();
    let mut taken: Vec<_> = strays.iter().map(|stray| (stray, given[stray].take())).collect();
    if let Some(members) = given.as_object_mut() {
        members.retain(|name, _| !strays.contains(name));
    }
    for field in lacking {
        let meant = alike(field.name, taken.iter().map(|(stray, _)| stray.as_str()));
        let at = meant.and_then(|meant| taken.iter().position(|(stray, _)| *stray == meant));
        given[field.name] = at.map_or_else(|| field.value(&mut room), |at| taken.remove(at).1);
    }
    given
}

/// The same for `pairs`, which these arguments were typed as.
pub(super) fn pairs(schema: &Value, arguments: &Json, mut pairs: Vec<String>) -> Vec<String> {
    let (lacking, strays) = (lacking(schema, arguments), unknown(schema, arguments));
    let mut room = Room::new();
    let mut strays: Vec<_> = strays.iter().map(String::as_str).collect();
    for field in lacking {
        let meant = alike(field.name, strays.iter().copied());
        let at = meant.and_then(|meant| pairs.iter().position(|pair| value_of(pair, meant).is_some()));
        match (meant, at) {
            (Some(meant), Some(at)) => {
                let value = value_of(&pairs[at], meant).unwrap_or_default().to_owned();
                pairs[at] = format!("{}={value}", field.name);
                strays.retain(|stray| *stray != meant);
            }
            _ => pairs.push(field.example(&mut room)),
        }
    }
    pairs.retain(|pair| strays.iter().all(|stray| value_of(pair, stray).is_none()));
    pairs
}

/// What stands behind `name=`, where a pair begins so.
fn value_of<'a>(pair: &'a str, name: &str) -> Option<&'a str> {
    pair.strip_prefix(name)?.strip_prefix('=')
}

#[cfg(test)]
mod tests;
