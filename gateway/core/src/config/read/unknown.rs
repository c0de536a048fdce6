//! Keys that nobody knows, and what was probably meant.

use bytesize::ByteSize;
use toml::de::DeValue;

use crate::config::spec::keys::{Inside, Key, Kind, ROOT};
use crate::config::model::diagnostic::{Problem, quoted};
use crate::config::report::secrecy::texts;
use crate::config::read::habits::{Habit, known_elsewhere};
use crate::config::read::moved::{fitted, key_at, token};
use crate::config::read::reader::{Reading, Table};
use crate::names::alike;

impl Reading<'_> {
    /// Notes each key of `table` that its key table doesn't have, and gives those that were probably meant.
    pub(in crate::config) fn note_unknown(&mut self, table: &Table<'_>) -> Vec<&'static str> {
        let mut meant = Vec::new();
        for (name, value) in table.entries() {
            if table.keys.iter().any(|key| key.name == name) {
                continue;
            }
            if self.misplaced_version.as_ref() == Some(&value.key_place) {
                continue; // told already
            }
            let message = format!("unknown key {}{}", quoted(name), table.within());
            let problem = Problem::error(message).at(value.key_place.clone());
            self.hide_stray(table, name);
            if let Some(Habit { hint, explains }) = known_elsewhere(table, name, value.inner) {
                meant.extend(explains);
                self.problems.extend(hint.map(|hint| problem.hint(hint)));
                continue;
            }
            let known = table.keys.iter().map(|key| key.name);
            if let Some(hint) = token_line(name, value.inner, table) {
                self.note(problem.hint(hint));
                continue;
            }
            let near = alike(name, known);
            if let Some(key) = other_word(name, table).filter(|_| near.is_none()) {
                meant.push(key);
                self.note(problem.hint(instead(key, value.inner, table)));
                continue;
            }
            let problem = match near {
                Some(near) => {
                    meant.push(near);
                    let each = if has_several_headers(value.inner) { " Write it in each header" } else { "" };
                    problem.hint(format!("did you mean `{near}`?{each}"))
                }
                None => {
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
    /// Hides what stands under a key that isn't known here: it may be a setting, or of another program, and those are
    /// often secrets.
    fn hide_stray(&mut self, table: &Table<'_>, name: &str) {
        let Some(value) = table.entries.get(name) else { return };
        let near = alike(name, table.keys.iter().map(|key| key.name));
        let meant = table.keys.iter().filter(|key| Some(key.name) == near).map(|key| key.kind);
        let mut kinds = meant.chain(homes(name).into_iter().map(|(_, kind)| kind));
        if !kinds.any(|kind| is_measure(value.get_ref(), kind)) {
            texts(value, &mut self.plain_secrets);
        }
    }
}

/// May several headers begin with its key? Then the mistake stands in each of them, and is told at the first.
fn has_several_headers(value: &DeValue<'_>) -> bool {
    fn below<'v>(value: &'v DeValue<'_>) -> impl Iterator<Item = &'v DeValue<'v>> {
        let values = value.as_table().into_iter().flat_map(|table| table.values());
        values.map(|value| value.get_ref()).filter(|value| value.is_table())
    }
    below(value).flat_map(|table| std::iter::once(table).chain(below(table))).nth(1).is_some()
}

/// Is it a number, a time, a size or a word of the gateway's own, such as this kind of key wants? Then it is no secret.
fn is_measure(value: &DeValue<'_>, kind: Kind) -> bool {
    match (value, kind) {
        (DeValue::Integer(number), Kind::Version | Kind::Integer(_) | Kind::Duration(_) | Kind::Size(_)) => {
            number.as_str().len() <= LONGEST_NUMBER
        }
        (DeValue::String(text), Kind::Duration(_)) => humantime::parse_duration(text).is_ok(),
        (DeValue::String(text), Kind::Size(_)) => text.parse::<ByteSize>().is_ok(),
        (DeValue::String(text), Kind::Word(words)) => words.contains(&text.as_ref()),
        _ => false,
    }
}

/// No number of the gateway's own that makes sense is longer, in digits.
const LONGEST_NUMBER: usize = 10;

/// What a key is called elsewhere, and how it is called here: a key with a value, or the way to one.
const ELSEWHERE: [(&[&str], &[&str], &str); 9] = [
    (&["url", "uri", "path", "file", "wasm", "module", "component", "src"], &["source"], "source"),
    (&["permissions", "permission", "grants", "capabilities"], &["allow", "source"], "allow"),
    (&["settings", "options", "configuration"], &["config", "source"], "config"),
    (&["hosts", "allowed_hosts", "urls", "domains", "network", "fetch"], &["allow", "source"], "allow.http"),
    (&["hosts", "allowed_hosts", "urls", "domains", "network", "fetch"], &["http", "dirs"], "http"),
    (&["files", "filesystem", "directories", "paths", "folders"], &["dirs"], "dirs"),
    (&["address", "addr", "bind", "endpoint"], &["listen"], "listen"),
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
        return (problem.hint(move_to(name, &homes, value, table)), None);
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
    None
}

/// The line that makes a token of what stands somewhere as one: tokens have names, and stand in a list.
fn token_line(name: &str, value: &DeValue<'_>, table: &Table<'_>) -> Option<String> {
    let is_one = ["token", "bearer", "bearer_token"].iter().any(|word| name.eq_ignore_ascii_case(word));
    let home = match table.path.as_str() {
        "" | "http" | "http.auth" if is_one => "http.auth",
        _ => return None,
    };
    let way = home.strip_prefix(table.path.as_str())?.trim_start_matches('.');
    let way = if way.is_empty() { "tokens".to_owned() } else { format!("{way}.tokens") };
    let line = token(value);
    Some(match find(table, &way) {
        Some(_) => format!("add `{line}` to `tokens` in `[{home}]` instead"),
        None => format!("write `tokens = [{line}]` in `[{home}]` instead"),
    })
}

/// What stands at a path between dots in a table.
fn find<'t>(table: &Table<'t>, path: &str) -> Option<&'t DeValue<'t>> {
    let mut parts = path.split('.');
    let first = table.entries.get(parts.next()?)?.get_ref();
    parts.try_fold(first, |value, part| value.get(part).map(|inner| inner.get_ref()))
}

/// What to write instead of a key that is called `key` here, or leads to one with dots.
fn instead(key: &'static str, value: &DeValue<'_>, table: &Table<'_>) -> String {
    let (way, name) = key.rsplit_once('.').unwrap_or(("", key));
    let kind = key_at(table.keys, key).map(|key| key.kind);
    let line = kind.and_then(|kind| fitted(name, &kind, value));
    let its =
        if way.is_empty() { String::new() } else { format!(" in `[{}]`", crate::config::read::reader::join(&table.path, way)) };
    // Tables with names of their own may have as many headers as they like.
    if find(table, key).is_some() && !matches!(kind, Some(Kind::Named(_))) {
        return there_already(name, kind, &its);
    }
    match line {
        Some(_) if key == "source" => "download the component, and name its file with `source`".to_owned(),
        Some(line) => format!("write `{name} = {line}`{its} instead"),
        // A table that has a header of its own takes no dotted keys.
        None if !way.is_empty() && table.has(way) => format!("write it as `{name}`{its} instead"),
        None => format!("did you mean `{key}`?"),
    }
}

/// Where a key belongs that is there already.
fn there_already(name: &str, kind: Option<Kind>, its: &str) -> String {
    match kind {
        Some(Kind::List(_)) => format!("add what it lists to `{name}`{its}, and remove it here"),
        Some(Kind::Table(_) | Kind::Settings) => format!("put its keys into `{name}`{its} instead"),
        _ => format!("remove it: `{name}` is there already{its}"),
    }
}

/// Where a key belongs: one of these tables.
fn move_to(name: &str, homes: &[(String, Kind)], value: Option<&DeValue<'_>>, table: &Table<'_>) -> String {
    let all = |home: fn(&str, &str) -> String| {
        homes.iter().map(|(path, _)| home(path, name)).collect::<Vec<_>>().join(" or ")
    };
    let is_table = value.is_some_and(DeValue::is_table);
    if let [(home, kind)] = homes
        && let Some(way) = home.strip_prefix(table.path.as_str())
        && find(table, &crate::config::read::reader::join(way.trim_start_matches('.'), name)).is_some()
    {
        return there_already(name, Some(*kind), &format!(" in `[{home}]`"));
    }
    match (homes.first(), value) {
        (Some((_, kind)), Some(value)) => match fitted(name, kind, value) {
            Some(line) if !matches!(kind, Kind::Table(_) | Kind::Named(_) | Kind::Settings) => {
                format!("write `{name} = {line}` in {} instead", all(|path, _| format!("`[{path}]`")))
            }
            _ if is_table => format!("write {}", all(|path, name| format!("`[{path}.{name}]`"))),
            _ => format!("move it to {}", all(|path, _| format!("`[{path}]`"))),
        },
        _ => format!("move it to {}", all(|path, _| format!("`[{path}]`"))),
    }
}

/// Adds the word that was probably meant, or else all that there are.
pub(in crate::config) fn suggest<'k>(
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
        let path = crate::config::read::reader::join(path, key.name);
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
