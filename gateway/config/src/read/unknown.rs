//! Unknown and missing keys, with suggestions.

use super::aliases;
use super::reader::{ConfigReader, TomlTable, TomlValue, join};
use crate::model::Diagnostic;
use crate::model::diagnostic::quoted;
use crate::spec::keys::{Content, Key, ROOT, ValueKind};
use moongate_model::text::nearest_name;

/// The name of any plugin in the path of a table.
const ANY_PLUGIN: &str = "NAME";

impl ConfigReader<'_> {
    /// Reports unknown keys of a table, and missing keys unless an unknown key or one of `explained` explains them.
    pub(crate) fn check_keys(&mut self, table: &TomlTable<'_>, explained: &[&str]) {
        let mut explained = explained.to_vec();
        for (name, value) in table.entries() {
            if !table.is_valid_key(name) {
                let (problem, meant) = unknown_key(table, name, &value);
                explained.extend(meant);
                self.report(problem);
            }
        }
        for key in table.keys {
            if key.required && table.get(key.name).is_none() && !explained.contains(&key.name) {
                self.report(missing_key(table, key));
            }
        }
    }
}

fn missing_key(table: &TomlTable<'_>, key: &Key) -> Diagnostic {
    let problem = Diagnostic::error(format!("missing key `{}`{}", key.name, table.location()));
    let problem = problem.with_hint(match key.kind {
        ValueKind::Version => "start the file with `version = 1`".to_owned(),
        kind => format!("add `{} = {}`", key.name, kind.example()),
    });
    if table.path.is_empty() { problem } else { problem.with_span(table.span.clone()) }
}

/// The diagnostic for an unknown key, and the valid key that was probably meant.
fn unknown_key(
    table: &TomlTable<'_>,
    name: &str,
    value: &TomlValue<'_>,
) -> (Diagnostic, Option<&'static str>) {
    let message = format!("unknown key {}{}", quoted(name), table.location());
    let problem = Diagnostic::error(message).with_span(value.key_span.clone());
    let plugin = table.path.strip_prefix("plugins.").and_then(|rest| rest.split('.').next());
    let own_table = plugin.filter(|plugin| table.path.len() == "plugins.".len() + plugin.len());
    if let Some(plugin) = own_table
        && value.inner.get("source").is_some()
    {
        let hint = format!("rename the plugin, such as to `{plugin}-{name}`: names can't contain `.`");
        return (problem.with_hint(hint), Some("source"));
    }
    if let Some(alias) = aliases::find(table, name) {
        let hint = alias.hint.replace(ANY_PLUGIN, plugin.unwrap_or(ANY_PLUGIN));
        return (problem.with_hint(hint), alias.key);
    }
    let keys = table.keys.iter().map(|key| key.name);
    if let Some(near) = nearest_name(name, keys.clone()) {
        return (problem.with_hint(format!("did you mean `{near}`?")), Some(near));
    }
    let tables = tables_with_key(name, plugin);
    let valid: Vec<_> = keys.map(|key| format!("`{key}`")).collect();
    let valid = format!("use one of these keys: {}", valid.join(", "));
    let hint = match (tables.is_empty(), own_table) {
        (false, _) => format!("move it to {}", tables.join(" or ")),
        (true, Some(plugin)) => format!("move plugin settings to `[plugins.{plugin}.config]`, or {valid}"),
        (true, None) => valid,
    };
    (problem.with_hint(hint), None)
}

/// The tables in which a key is valid, as phrases. For a key of a plugin only the plugin's own tables, if there are any.
fn tables_with_key(name: &str, plugin: Option<&str>) -> Vec<String> {
    let mut all = Vec::new();
    find_tables(name, ROOT, "", &mut all);
    if let Some(plugin) = plugin {
        let prefix = format!("plugins.{ANY_PLUGIN}");
        let own: Vec<_> = all.iter().filter_map(|path| path.strip_prefix(&prefix)).collect();
        if !own.is_empty() {
            return own.iter().map(|rest| format!("`[plugins.{plugin}{rest}]`")).collect();
        }
    }
    let phrase = |path: &String| match path.as_str() {
        "" => "the top of the file, before the first `[table]`".to_owned(),
        path => format!("`[{path}]`"),
    };
    all.iter().map(phrase).collect()
}

fn find_tables(name: &str, keys: &[Key], path: &str, found: &mut Vec<String>) {
    if keys.iter().any(|key| key.name == name) {
        found.push(path.to_owned());
    }
    for key in keys {
        let path = join(path, key.name);
        match key.kind.content() {
            Content::Keys(keys) => find_tables(name, keys, &path, found),
            Content::Named(ValueKind::Table(keys)) => {
                find_tables(name, keys, &join(&path, ANY_PLUGIN), found)
            }
            Content::Nothing
            | Content::StringOrKeys(_)
            | Content::Named(_)
            | Content::Items(_)
            | Content::Settings => {}
        }
    }
}
