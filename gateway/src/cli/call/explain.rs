//! `--explain`: which grants a call used, which it lacked, which limits held it back, and what would change that.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use moongate_core::call::{Entry, Ledger};
use moongate_core::config::{DirGrant, DirMode, PluginConfig};
use serde_json::{Value, json};

/// For people; nothing where the call reached for nothing.
pub(super) fn text(ledger: &Ledger, plugin: &PluginConfig) -> String {
    let mut said = String::new();
    let entries = ledger.entries();
    let used: Vec<&String> = entries.iter().filter_map(used).collect();
    let lacked: Vec<_> = entries.iter().filter_map(lacked).collect();
    said.push_str(if used.is_empty() { "used no grant\n" } else { "used\n" });
    for grant in used {
        let _ = writeln!(said, "  {grant}");
    }
    if !lacked.is_empty() {
        said.push_str("lacked\n");
    }
    for (wanted, _) in &lacked {
        let _ = writeln!(said, "  {wanted}");
    }
    said.push_str(&cures_text(lacked.iter().filter_map(|(_, cure)| cure.as_deref()), plugin));
    said.push_str(&held_back_text(&entries, plugin));
    if ledger.dropped() > 0 {
        let _ = writeln!(said, "and {} more", ledger.dropped());
    }
    said
}

/// What to write into the plugin's `allow` table.
fn cures_text<'c>(cures: impl Iterator<Item = &'c str>, plugin: &PluginConfig) -> String {
    let id = &plugin.id;
    let mut said = String::new();
    let (of_dirs, added): (Vec<&str>, Vec<&str>) = cures.partition(|cure| cure.starts_with("dirs = "));
    let mut added = merged(added.into_iter());
    let replaced = if of_dirs.is_empty() {
        None
    } else if plugin.allow.dirs.is_empty() {
        added.push(dirs(&of_dirs, plugin));
        None
    } else {
        Some(dirs(&of_dirs, plugin))
    };
    if !added.is_empty() {
        let _ = write!(
            said,
            "to allow it, in gateway.toml (where a list is there already, add to it):\n  [plugins.{id}.allow]\n"
        );
        for cure in added {
            let _ = writeln!(said, "  {cure}");
        }
    }
    if let Some(cure) = replaced {
        let what = if is_of_change(&of_dirs) { "changes" } else { "it" };
        let _ = write!(
            said,
            "to allow {what}, in gateway.toml, in place of the `dirs` that are there:\n  [plugins.{id}.allow]\n  {cure}\n"
        );
    }
    if of_dirs.iter().any(|cure| cure.contains("guest = \"…\"")) {
        said.push_str(
            "with a directory of this machine and the plugin's own name for it in place of each `…`\n",
        );
    } else if !is_of_change(&of_dirs) {
        said.push_str("with a directory of this machine in place of `…`\n");
    }
    said
}

/// What stands in a line where only the operator knows what belongs there.
const OPEN: &str = "\"…\"";

/// Are they all about directories that may be read already?
fn is_of_change(cures: &[&str]) -> bool {
    cures.iter().all(|cure| !cure.contains(OPEN))
}

/// What limits kept the call from, and lines with more.
fn held_back_text(entries: &[Entry], plugin: &PluginConfig) -> String {
    let held: Vec<_> = entries.iter().filter_map(held_back).collect();
    if held.is_empty() {
        return String::new();
    }
    let mut said = "held back by limits\n".to_owned();
    for (_, what) in &held {
        let _ = writeln!(said, "  it {what}");
    }
    let keys: BTreeSet<&str> = held.iter().filter_map(|(key, _)| *key).collect();
    if keys.is_empty() {
        return said;
    }
    let _ = write!(said, "to allow more, in gateway.toml:\n  [plugins.{}.limits]\n", plugin.id);
    for key in keys {
        let now = plugin.limits.value(key).unwrap_or_default();
        let _ = match plugin.limits.more_of(key) {
            Some(more) => writeln!(said, "  {key} = {more}  # instead of {now}"),
            None => writeln!(said, "  {key} = {now}  # this is the most"),
        };
    }
    said
}

/// All directories of the plugin in one line, those of these cures with the mode that is lacking, because one that was
/// added would have the path of another; and those that it lacks.
fn dirs(cures: &[&str], plugin: &PluginConfig) -> String {
    let item = |grant: &DirGrant, mode: DirMode| {
        // A text of JSON is one of TOML, too, whatever is in it.
        let [host, path] = [&*grant.named.to_string_lossy(), grant.guest.as_str()].map(Value::from);
        format!("{{ host = {host}, guest = {path}, mode = \"{}\" }}", mode.as_str())
    };
    let there = plugin.allow.dirs.iter().map(|grant| {
        let changeable = item(grant, DirMode::ReadWrite);
        let is_lacking = cures.contains(&format!("dirs = [{changeable}]").as_str());
        if is_lacking { changeable } else { item(grant, grant.mode) }
    });
    let mut items: Vec<String> = there.collect();
    for cure in cures {
        let new = cure.strip_prefix("dirs = [").and_then(|cure| cure.strip_suffix(']')).unwrap_or(cure);
        if !items.iter().any(|its| its == new) {
            items.push(new.to_owned());
        }
    }
    format!("dirs = [{}]", items.join(", "))
}

/// One line for each key, because none may stand twice: `key = [a]` and `key = [b]` become `key = [a, b]`.
fn merged<'c>(cures: impl Iterator<Item = &'c str>) -> Vec<String> {
    let mut keys: Vec<(&str, Vec<&str>)> = Vec::new();
    for cure in cures {
        let (key, value) = cure.split_once(" = ").unwrap_or((cure, ""));
        match keys.iter_mut().find(|(its, _)| *its == key) {
            Some((_, values)) if values.contains(&value) => {}
            Some((_, values)) => values.push(value),
            None => keys.push((key, vec![value])),
        }
    }
    let line = |(key, values): (&str, Vec<&str>)| match values.as_slice() {
        [value] => format!("{key} = {value}"),
        several => {
            let items = several.iter().map(|value| {
                value.strip_prefix('[').and_then(|value| value.strip_suffix(']')).unwrap_or(value)
            });
            format!("{key} = [{}]", items.collect::<Vec<_>>().join(", "))
        }
    };
    keys.into_iter().map(line).collect()
}

/// For programs.
pub(super) fn document(ledger: &Ledger, plugin: &PluginConfig) -> Value {
    let entries = ledger.entries();
    let lacked = entries.iter().filter_map(lacked).map(|(wanted, cure)| match cure.as_deref() {
        Some(cure) if cure.starts_with("dirs = ") => {
            let replaces = !plugin.allow.dirs.is_empty();
            json!({ "wanted": wanted, "cure": dirs(&[cure], plugin), "replaces": replaces })
        }
        Some(_) | None => json!({ "wanted": wanted, "cure": cure, "replaces": false }),
    });
    let held = entries.iter().filter_map(held_back).map(|(key, what)| {
        let limit = key.map(|key| format!("plugins.{}.limits.{key}", plugin.id));
        json!({ "limit": limit, "value": key.and_then(|key| plugin.limits.value(key)), "what": what })
    });
    json!({
        "table": format!("plugins.{}.allow", plugin.id),
        "used": entries.iter().filter_map(used).collect::<Vec<_>>(),
        "lacked": lacked.collect::<Vec<_>>(),
        "held_back": held.collect::<Vec<_>>(),
        "dropped": ledger.dropped(),
    })
}

fn used(entry: &Entry) -> Option<&String> {
    match entry {
        Entry::Used(grant) => Some(grant),
        Entry::Lacked { .. } | Entry::HeldBack { .. } => None,
    }
}

fn lacked(entry: &Entry) -> Option<(&String, &Option<String>)> {
    match entry {
        Entry::Used(_) | Entry::HeldBack { .. } => None,
        Entry::Lacked { wanted, cure } => Some((wanted, cure)),
    }
}

fn held_back(entry: &Entry) -> Option<(Option<&'static str>, &String)> {
    match entry {
        Entry::Used(_) | Entry::Lacked { .. } => None,
        Entry::HeldBack { key, what } => Some((*key, what)),
    }
}

#[cfg(test)]
mod tests;
