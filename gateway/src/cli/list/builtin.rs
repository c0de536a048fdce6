//! The plugins that are part of the gateway. Used by `list builtin`.

use std::fmt::Write as _;

use anyhow::Result;
use moongate_builtin_plugins::component;
use moongate_model::builtin_plugin::BuiltinPlugin;
use serde_json::{Value, json};

use crate::cli::add::suggested_grants::{SuggestedGrants, suggested_grants};
use crate::cli::{OutputFormat, print};

/// Prints the plugins, with what `add` suggests to grant.
pub(super) fn print_builtin_plugins(format: OutputFormat) -> Result<()> {
    match format {
        OutputFormat::Json => print::json(&json!({ "builtin": documents() })),
        OutputFormat::Text => print::stdout(&table()),
    }
}

/// The plugins as JSON.
pub(super) fn documents() -> Vec<Value> {
    let document = |plugin: BuiltinPlugin| {
        let component = component(plugin);
        let SuggestedGrants { description, allow, config, needs_directory, prefix: _, shared_resources: _ } =
            suggested_grants(plugin);
        let lines = |lines: Vec<String>| Value::from(lines);
        json!({
            "name": plugin.name(),
            "source": plugin.source(),
            "description": description,
            "digest": component.digest().to_string(),
            "size": component.size(),
            "allow": lines(allow.iter().map(|(key, value)| format!("{key} = {value}")).collect()),
            "config": lines(config.iter().map(|line| (*line).to_owned()).collect()),
            "needsDirectory": needs_directory,
        })
    };
    BuiltinPlugin::ALL.into_iter().map(document).collect()
}

fn table() -> String {
    let width = BuiltinPlugin::ALL.iter().map(|plugin| plugin.name().len()).max().unwrap_or_default();
    let mut text = String::new();
    for plugin in BuiltinPlugin::ALL {
        let SuggestedGrants { description, allow, config, needs_directory, prefix: _, shared_resources: _ } =
            suggested_grants(plugin);
        let _ = writeln!(text, "{:width$}  {description}", plugin.name());
        let directories = needs_directory.then(|| "the directories that you name".to_owned());
        let settings = config.iter().map(|line| format!("the setting {line}"));
        let grants = allow.iter().map(|(key, value)| format!("{key} = {value}"));
        let granted: Vec<String> = directories.into_iter().chain(grants).chain(settings).collect();
        let _ = writeln!(text, "{:width$}  gets {}", "", granted.join(", "));
    }
    text
}
