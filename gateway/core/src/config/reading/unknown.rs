//! Keys that nobody knows, and what was probably meant.

use std::net::Ipv4Addr;

use toml::de::DeValue;

use super::super::keys::{Inside, Key, Kind, ROOT};
use super::super::problem::{Problem, quoted};
use super::{Reading, Table};
use crate::names::alike;

impl Reading<'_> {
    /// Notes each key of `table` that its key table doesn't have, and gives those that were probably meant.
    pub(super) fn note_unknown(&mut self, table: &Table<'_>) -> Vec<&'static str> {
        let mut meant = Vec::new();
        for (name, value) in table.entries() {
            if table.keys.iter().any(|key| key.name == name) {
                continue;
            }
            let message = format!("unknown key {}{}", quoted(name), table.within());
            let problem = Problem::error(message).at(value.key_place);
            let known = table.keys.iter().map(|key| key.name);
            let problem = match alike(name, known).or_else(|| other_word(name, table)) {
                Some(near) => {
                    meant.push(near);
                    if near == "config" {
                        self.hide_stray(table, name);
                    }
                    problem.hint(format!("did you mean `{near}`?"))
                }
                None => {
                    self.hide_stray(table, name);
                    let (problem, key) = cure(name, table, problem);
                    meant.extend(key);
                    problem
                }
            };
            self.note(problem);
        }
        meant
    }
}

impl Reading<'_> {
    /// Hides what stands under a key that nobody knows: it may be a setting, and those are often secrets.
    fn hide_stray(&mut self, table: &Table<'_>, name: &str) {
        if let Some(value) = table.entries.get(name)
            && value.get_ref().as_integer().is_none_or(|number| number.as_str().len() >= 6)
            && homes(name).is_empty()
        {
            self.hide_texts(value);
        }
    }
}

/// What a key is called elsewhere, and how it is called here: a key with a value, or the way to one.
const ELSEWHERE: [(&[&str], &[&str], &str); 10] = [
    (&["url", "uri", "path", "file", "wasm", "module", "component", "src"], &["source"], "source"),
    (&["permissions", "permission", "grants", "capabilities"], &["allow", "source"], "allow"),
    (&["settings", "options", "configuration"], &["config", "source"], "config"),
    (&["hosts", "allowed_hosts", "urls", "domains", "network", "fetch"], &["allow", "source"], "allow.http"),
    (&["hosts", "allowed_hosts", "urls", "domains", "network", "fetch"], &["http", "dirs"], "http"),
    (&["files", "filesystem", "directories", "paths", "folders"], &["dirs"], "dirs"),
    (&["address", "addr", "bind", "endpoint"], &["listen"], "listen"),
    (&["token", "bearer"], &["listen", "auth"], "auth.tokens"),
    (&["server", "listener"], &["http", "plugins"], "http"),
    (&["mcpservers", "servers", "mcp_servers", "modules"], &["plugins"], "plugins"),
];

/// The key of a table that is called so elsewhere.
fn other_word(name: &str, table: &Table<'_>) -> Option<&'static str> {
    let knows = |key: &&str| table.has_key(key);
    let is_it = |(words, keys, key): &&(&[&str], &[&str], &str)| {
        let is_free = !matches!(*key, "source" | "listen") || !table.has(key);
        words.iter().any(|word| name.eq_ignore_ascii_case(word)) && keys.iter().all(knows) && is_free
    };
    ELSEWHERE.iter().find(is_it).map(|(_, _, key)| *key)
}

/// Adds what to do about a key that is like none here: the same key elsewhere, or else all keys that there are. Also says
/// which key that explains the lack of.
fn cure(name: &str, table: &Table<'_>, problem: Problem) -> (Problem, Option<&'static str>) {
    let all = || suggest(name, table.keys.iter().map(|key| key.name), problem.clone());
    let value = table.entries.get(name).map(|value| value.get_ref());
    let plugin = table.path.strip_prefix("plugins.").filter(|name| !name.contains('.'));
    if let Some((hint, key)) = habit(name, value, table, plugin) {
        return (problem.hint(hint), key);
    }
    let homes = homes(name);
    let own: Vec<_> = match plugin {
        Some(plugin) => {
            let own = homes.iter().filter(|(home, _)| home.starts_with("plugins.<name>."));
            own.map(|(home, kind)| (home.replacen("<name>", plugin, 1), *kind)).collect()
        }
        None => Vec::new(),
    };
    let homes = if own.is_empty() { homes } else { own };
    if !homes.is_empty() {
        return (problem.hint(move_to(name, &homes, value.is_some_and(DeValue::is_table))), None);
    }
    let Some(plugin) = plugin else { return (all(), None) };
    let known: Vec<_> = table.keys.iter().map(|key| format!("`{}`", key.name)).collect();
    let hint = format!(
        "a setting of the plugin's own stands in `[plugins.{plugin}.config]`; known here: {}",
        known.join(", ")
    );
    (problem.hint(hint), None)
}

/// What to do about a key that is right in other programs' files, or in another form; and which key it stands for.
fn habit(
    name: &str,
    value: Option<&DeValue<'_>>,
    table: &Table<'_>,
    plugin: Option<&str>,
) -> Option<(String, Option<&'static str>)> {
    let is_table = value.is_some_and(DeValue::is_table);
    if let Some((first, _)) = name.split_once('.').filter(|_| is_table)
        && table.has_key(first)
    {
        return Some((format!("leave the quotes away: `[{name}]`"), None));
    }
    if let Some(plugin) = plugin {
        if value.is_some_and(|value| value.get("source").is_some()) {
            let hint = format!("the name of a plugin holds no `.`: write `[plugins.{plugin}-{name}]`");
            return Some((hint, Some("source")));
        }
        if name == "command" {
            let hint =
                "a plugin is no program that is started: name the `.wasm` file of a component with `source`"
                    .to_owned();
            return Some((hint, Some("source")));
        }
        if matches!(name, "enabled" | "disabled") {
            let hint =
                "remove this; to leave the plugin out, write `#` before each line of its tables".to_owned();
            return Some((hint, None));
        }
    }
    if let Some(listen) = address(name, value).filter(|_| table.has_key("listen") && !table.has("listen")) {
        return Some((format!("write `listen = \"{listen}\"`"), None));
    }
    None
}

/// Where a key belongs: one of these tables.
fn move_to(name: &str, homes: &[(String, Kind)], is_table: bool) -> String {
    let all = |home: fn(&str, &str) -> String| {
        homes.iter().map(|(path, _)| home(path, name)).collect::<Vec<_>>().join(" or ")
    };
    match homes {
        [(path, kind @ Kind::List(_)), ..] if is_table => {
            format!("write `{name} = {}` in `[{path}]`", kind.example())
        }
        _ if is_table => format!("write {}", all(|path, name| format!("`[{path}.{name}]`"))),
        _ => format!("move it to {}", all(|path, _| format!("`[{path}]`"))),
    }
}

/// The address to listen on that a port or a host alone stands for.
fn address(name: &str, value: Option<&DeValue<'_>>) -> Option<String> {
    let text = value.and_then(|value| value.as_str().or_else(|| Some(value.as_integer()?.as_str())))?;
    match name {
        "port" => text.parse::<u16>().ok().map(|port| format!("127.0.0.1:{port}")),
        "host" => text.parse::<Ipv4Addr>().ok().map(|host| format!("{host}:8931")),
        _ => None,
    }
}

/// Adds the word that was probably meant, or else all that there are.
pub(super) fn suggest<'k>(
    word: &str,
    known: impl Iterator<Item = &'k str> + Clone,
    problem: Problem,
) -> Problem {
    match alike(word, known.clone()) {
        Some(near) => problem.hint(format!("did you mean `{near}`?")),
        None => {
            let all: Vec<String> = known.map(|word| format!("`{word}`")).collect();
            problem.hint(format!("known here: {}", all.join(", ")))
        }
    }
}

/// The tables in which a key of exactly this name is known.
fn homes(name: &str) -> Vec<(String, Kind)> {
    let mut homes = Vec::new();
    find_homes(name, ROOT, "", &mut homes);
    homes
}

/// Collects the tables in which a key of exactly this name is known.
fn find_homes(name: &str, keys: &[Key], path: &str, homes: &mut Vec<(String, Kind)>) {
    if let Some(key) = keys.iter().find(|key| key.name == name && !path.is_empty()) {
        homes.push((path.to_owned(), key.kind));
    }
    for key in keys {
        let path = super::join(path, key.name);
        match key.kind.inside() {
            Inside::Keys(keys) => find_homes(name, keys, &path, homes),
            Inside::Named(Kind::Table(keys)) => find_homes(name, keys, &format!("{path}.<name>"), homes),
            Inside::Nothing
            | Inside::TextOrKeys(_)
            | Inside::Named(_)
            | Inside::Items(_)
            | Inside::Settings => {}
        }
    }
}
