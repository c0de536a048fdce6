//! Help for incomplete calls: the tools, a tool's arguments, and suggestions for unknown names. Used by `call`.

use moongate_model::json::Json;
use moongate_model::text::nearest_name;
use moongate_protocol::catalog::{Catalog, named_members};
use serde_json::{Value, json};

use crate::cli::error::CommandError;
use crate::cli::schema_fields::{ExampleBudget, SchemaField, field_lines, fields};
use crate::cli::{ExitKind, print};
use crate::supervisor::Supervisor;
use crate::supervisor::status::PluginState;

/// The error for a call without a tool, with the list of tools.
pub(super) fn no_tool_named(tools: &[(String, String)]) -> CommandError {
    let failure = CommandError::new(ExitKind::Usage);
    if tools.is_empty() {
        let hint = "to see the problems of plugins, run `moongate check`";
        return failure.message("there are no tools", Some(hint));
    }
    with_tools(failure, "missing tool name", tools)
}

/// Adds a message about a missing tool name, with the tools to choose from.
fn with_tools(failure: CommandError, message: &str, tools: &[(String, String)]) -> CommandError {
    let width = tools.iter().map(|(name, _)| name.chars().count()).max().unwrap_or_default();
    let rows = tools.iter().map(|(name, about)| {
        let about = print::summary(about);
        format!("  {}", format!("{:width$}  {about}", print::inline(name)).trim_end())
    });
    let rows: Vec<String> = rows.collect();
    let hint = "add one of these names; without arguments, the call prints what the tool needs";
    let documents = tools.iter().map(|(name, about)| json!({ "name": name, "description": about }));
    failure.message_with_details(message, &rows.join("\n"), Some(hint)).member("tools", documents.collect())
}

/// The error for the name of a plugin instead of a tool, with the plugin's tools. `None` if it isn't one.
fn plugin_instead_of_tool(name: &str, catalog: &Catalog) -> Option<CommandError> {
    let tools = catalog.tools().iter().filter(|entry| entry.plugin().id().as_str() == name);
    let tools: Vec<(String, String)> =
        tools.map(|entry| (entry.public_name().to_string(), entry.tool().description.clone())).collect();
    let message = format!("`{}` is a plugin, not a tool", print::inline(name));
    (!tools.is_empty()).then(|| with_tools(CommandError::new(ExitKind::Tool), &message, &tools))
}

/// The error for a name with which the names of tools start, with these tools. `None` if there are none. Clients don't
/// see plugins.
pub(super) fn prefix_instead_of_tool(name: &str, tools: &[(String, String)]) -> Option<CommandError> {
    let has_prefix = |tool: &&(String, String)| {
        tool.0.strip_prefix(name).is_some_and(|end| end.starts_with('_') || name.ends_with('_'))
    };
    let tools: Vec<_> = tools.iter().filter(has_prefix).cloned().collect();
    let message = format!("no tool is called `{}`, but some names start with it", print::inline(name));
    (!tools.is_empty()).then(|| with_tools(CommandError::new(ExitKind::Tool), &message, &tools))
}

/// The required arguments that are missing.
pub(super) fn missing_fields<'a>(schema: &'a Value, arguments: &Json) -> Vec<SchemaField<'a>> {
    let given = arguments.to_value().unwrap_or_default();
    let there = |field: &SchemaField<'_>| given.get(field.name).is_some();
    fields(schema).into_iter().filter(|field| field.required && !there(field)).collect()
}

/// The arguments that the schema doesn't name, unless it allows others.
pub(super) fn unknown_arguments(schema: &Value, arguments: &Json) -> Vec<String> {
    let Some(known) = named_members(schema) else { return Vec::new() };
    let given = arguments.to_value().unwrap_or_default();
    let names = given.as_object().into_iter().flatten().map(|(name, _)| name.clone());
    names.filter(|name| !known.contains(name.as_str())).collect()
}

/// The arguments of a tool, one per line.
pub(super) fn arguments_text(schema: &Value) -> String {
    let lines: Vec<String> = field_lines(&fields(schema)).iter().map(|line| format!("  {line}")).collect();
    if lines.is_empty() { "  the tool has no arguments".to_owned() } else { lines.join("\n") }
}

/// The error for missing arguments, with the arguments of the tool and a complete command line.
pub(super) fn missing_arguments(tool: &str, schema: &Value, arguments: &Json, command: &str) -> CommandError {
    let missing_fields = missing_fields(schema, arguments);
    let unknown = unknown_arguments(schema, arguments);
    let missing_fields = missing_fields.iter().map(|field| field.name);
    let mut message = format!("`{}` needs {}", print::inline(tool), listed(missing_fields));
    if !unknown.is_empty() {
        message.push_str(&format!(", and doesn't take {}", listed(unknown.iter().map(String::as_str))));
    }
    CommandError::new(ExitKind::Tool)
        .message_with_details(&message, &arguments_text(schema), Some(&format!("for example: {command}")))
        .member("tool", json!({ "name": tool, "input": schema }))
}

/// A note on arguments that are passed on even though the schema doesn't name them.
pub(super) fn unknown_arguments_note(schema: &Value, arguments: &Json) -> Option<String> {
    let unknown = unknown_arguments(schema, arguments);
    let given = arguments.to_value().unwrap_or_default();
    let known: Vec<_> = fields(schema).iter().map(|field| field.name).collect();
    let mut free: Vec<_> = known.iter().copied().filter(|name| given.get(*name).is_none()).collect();
    let mut meant = Vec::new();
    for name in &unknown {
        let near = nearest_name(name, free.iter().copied());
        free.retain(|name| Some(*name) != near);
        meant.extend(near);
    }
    let note = match unknown.as_slice() {
        [] => return None,
        [one] => format!("`{}` isn't in the tool's schema and is passed on", print::inline(one)),
        several => format!(
            "{} aren't in the tool's schema and are passed on",
            listed(several.iter().map(String::as_str))
        ),
    };
    Some(match (meant.is_empty(), known.is_empty()) {
        (false, _) => format!("{note}; did you mean {}?", listed(meant.into_iter())),
        (true, false) => format!("{note}; the schema has {}", listed(known.into_iter())),
        (true, true) => format!("{note}; the schema has no arguments"),
    })
}

/// `a`, `b` and `c`, each in backquotes.
fn listed<'a>(names: impl Iterator<Item = &'a str>) -> String {
    let names: Vec<String> = names.map(|name| format!("`{}`", print::inline(name))).collect();
    match names.split_last() {
        Some((last, before)) if !before.is_empty() => format!("{} and {last}", before.join(", ")),
        _ => names.concat(),
    }
}

/// The arguments with examples for missing ones and without unknown ones. The value of a misspelt name moves to the
/// right name.
pub(super) fn completed_object(schema: &Value, arguments: &Json) -> Value {
    let missing_fields = missing_fields(schema, arguments);
    let unknown = unknown_arguments(schema, arguments);
    let mut given = arguments.to_value().unwrap_or_default();
    let mut budget = ExampleBudget::new();
    let mut taken: Vec<_> = unknown.iter().map(|name| (name, given[name].take())).collect();
    if let Some(members) = given.as_object_mut() {
        members.retain(|name, _| !unknown.contains(name));
    }
    for field in missing_fields {
        let meant = nearest_name(field.name, taken.iter().map(|(name, _)| name.as_str()));
        let at = meant.and_then(|meant| taken.iter().position(|(name, _)| *name == meant));
        given[field.name] = at.map_or_else(|| field.value(&mut budget), |at| taken.remove(at).1);
    }
    given
}

/// Like [`completed_object`], for the `pairs` on the command line.
pub(super) fn completed_pairs(schema: &Value, arguments: &Json, mut pairs: Vec<String>) -> Vec<String> {
    let missing_fields = missing_fields(schema, arguments);
    let unknown = unknown_arguments(schema, arguments);
    let mut budget = ExampleBudget::new();
    let mut unknown: Vec<_> = unknown.iter().map(String::as_str).collect();
    for field in missing_fields {
        let meant = nearest_name(field.name, unknown.iter().copied());
        let at = meant.and_then(|meant| pairs.iter().position(|pair| value_of(pair, meant).is_some()));
        match (meant, at) {
            (Some(meant), Some(at)) => {
                let value = value_of(&pairs[at], meant).unwrap_or_default().to_owned();
                pairs[at] = format!("{}={value}", field.name);
                unknown.retain(|name| *name != meant);
            }
            _ => pairs.push(field.example(&mut budget)),
        }
    }
    pairs.retain(|pair| unknown.iter().all(|name| value_of(pair, name).is_none()));
    pairs
}

/// The value of a pair with this name.
fn value_of<'a>(pair: &'a str, name: &str) -> Option<&'a str> {
    pair.strip_prefix(name)?.strip_prefix('=')
}

/// The error for a tool name given as two words, plugin and tool; `None` if it wasn't.
pub(super) fn split_tool_name<'a>(
    tool: &str,
    pairs: &[String],
    mut names: impl Iterator<Item = &'a str>,
) -> Option<CommandError> {
    let (first, rest) = pairs.split_first()?;
    let name = names.find(|name| name.strip_prefix(tool).is_some_and(|end| end.get(1..) == Some(first)))?;
    let words = std::iter::once(name).chain(rest.iter().map(String::as_str));
    let line = words.map(|word| print::shell_word(&print::inline(word))).collect::<Vec<_>>().join(" ");
    let message = format!("unknown tool: `{}`", print::inline(tool));
    let hint = format!("did you mean `{}`? Write `call {line}`", print::inline(name));
    Some(CommandError::new(ExitKind::Tool).message(&message, Some(&hint)))
}

/// The error for a tool whose plugin failed, which is already printed; `None` if no failed plugin has this prefix.
fn tool_of_failed_plugin(tool: &str, supervisor: &Supervisor) -> Option<CommandError> {
    let status = supervisor.status();
    let status = status.borrow();
    let mut failed = status.plugins.iter().filter(|plugin| matches!(plugin.state, PluginState::Failed(_)));
    let is_its = |id: &str| tool.strip_prefix(id).is_some_and(|end| end.starts_with('_'));
    let plugin = failed.find(|plugin| is_its(plugin.id.as_str()))?;
    let message =
        format!("`{}` can't be called: its plugin `{}` couldn't be loaded", print::inline(tool), plugin.id);
    Some(CommandError::new(ExitKind::Configuration).message(&message, Some("fix the errors above first")))
}

/// The error for a tool that isn't in the catalog, if a likely reason is known.
pub(super) fn unknown_tool(
    tool: &str,
    pairs: &[String],
    supervisor: &Supervisor,
    catalog: &Catalog,
) -> Option<CommandError> {
    let names = catalog.tools().iter().map(|entry| entry.public_name().as_str());
    tool_of_failed_plugin(tool, supervisor)
        .or_else(|| split_tool_name(tool, pairs, names))
        .or_else(|| plugin_instead_of_tool(tool, catalog))
}

#[cfg(test)]
mod tests;
