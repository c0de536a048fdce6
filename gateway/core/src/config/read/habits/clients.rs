//! What clients' files say of servers that they start or call: a plugin is neither.

use toml::de::DeValue;

use crate::config::read::habits::{Habit, Stray, keys, shown};
use crate::names::PluginId;

/// What belongs to a program that is started.
const OF_PROGRAMS: [&str; 6] = ["args", "arguments", "cwd", "type", "transport", "workdir"];

pub(in crate::config) fn habit(stray: &Stray<'_, '_>) -> Option<Habit> {
    if stray.is_where(&["plugins"]) && stray.is(&["mcpservers", "servers", "mcp_servers", "mcp"]) {
        return servers(stray);
    }
    if !stray.is_in_plugin() {
        return None;
    }
    let is_remote = |name: &str| {
        let value = stray.table.get(name);
        value.is_some_and(|value| value.inner.as_str().is_some_and(is_server))
    };
    if matches!(stray.name, "url" | "uri" | "endpoint") && is_remote(stray.name) {
        let name = stray
            .plugin()
            .and_then(|name| PluginId::new(name).ok())
            .map_or("name".to_owned(), |id| id.to_string());
        let hint = if stray.table.has("source") {
            "remove this: servers elsewhere aren't served; a plugin is the component that `source` names"
                .to_owned()
        } else {
            format!(
                "servers elsewhere aren't served; a plugin is a component: write `source = \"{name}.wasm\"` instead"
            )
        };
        return Some(Habit::new(hint).explaining(&["source"]));
    }
    let is_program = stray.table.has("command");
    if is_program && stray.is(&OF_PROGRAMS) || stray.is(&["type", "transport"]) {
        return Some(Habit::new(
            "remove this too: a plugin is no program that is started, and no server that is called",
        ));
    }
    if stray.name == "headers" && ["url", "uri", "endpoint"].iter().any(|name| is_remote(name)) {
        return Some(Habit::new("remove this too: no server is called"));
    }
    if let (true, Some(plugin)) = (stray.is(&["name", "id"]), stray.plugin()) {
        let given = stray.value.as_str().and_then(|name| PluginId::new(name).ok());
        return Some(match given {
            Some(name) if name.as_str() != plugin => Habit::new(format!(
                "a plugin is called as its table: remove this, and call the table `[plugins.{name}]` if that is the name"
            )),
            _ => Habit::new("remove this: a plugin is called as its table"),
        });
    }
    None
}

/// Is it a server's address, and not that of a component?
fn is_server(text: &str) -> bool {
    let path = text.split(['?', '#']).next().unwrap_or_default();
    (text.starts_with("http://") || text.starts_with("https://")) && !path.ends_with(".wasm")
}

/// A table of servers, as clients have it.
fn servers(stray: &Stray<'_, '_>) -> Option<Habit> {
    let table = stray.value.as_table()?;
    let said = |key: &str| {
        let values = table.values().filter_map(|server| server.get_ref().get(key));
        values.filter_map(|value| value.get_ref().as_str()).collect::<Vec<_>>()
    };
    let is_called = said("url").into_iter().any(is_server);
    if !is_called && said("command").is_empty() {
        return None;
    }
    let ids = keys(table)
        .into_iter()
        .filter(|key| matches!(table.get(*key).map(|it| it.get_ref()), Some(DeValue::Table(_))));
    let plugins = stray.table.get("plugins");
    let is_there = |id: &PluginId| plugins.as_ref().is_some_and(|it| it.inner.get(id.as_str()).is_some());
    let (there, lacking): (Vec<_>, Vec<_>) =
        ids.filter_map(|key| PluginId::new(key).ok()).partition(|id| is_there(id));
    let line = |id: &PluginId| {
        let started = table.get(id.as_str()).and_then(|server| server.get_ref().get("command"));
        let started = started.and_then(|command| command.get_ref().as_str());
        let component = started.filter(|path| path.ends_with(".wasm")).and_then(shown);
        let source = component.unwrap_or_else(|| format!("\"{id}.wasm\""));
        format!("`[plugins.{id}]` with `source = {source}`")
    };
    let what = if is_called { "servers elsewhere aren't served" } else { "programs aren't started" };
    let mut cures = Vec::new();
    if !lacking.is_empty() {
        let lines: Vec<_> = lacking.iter().map(line).collect();
        cures.push(format!("write {} instead", lines.join(" and ")));
    }
    if !there.is_empty() {
        let tables: Vec<_> = there.iter().map(|id| format!("`[plugins.{id}]`")).collect();
        let (stand, this) = if there.len() == 1 { ("stands", "this") } else { ("stand", "these") };
        cures.push(format!("{} {stand} there already, so remove {this}", tables.join(" and ")));
    }
    Some(Habit::new(format!("{what}; a plugin is a component: {}", cures.join(", and "))))
}
