//! `--explain`: which grants a call used, which it lacked, which limits held it back, and what would change that.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use moongate_core::config::{DirMode, PluginConfig, directory_item, directory_to_read};
use moongate_model::call::{Cure, Entry, Ledger};
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
    let cures: Vec<&Cure> = lacked.iter().filter_map(|(_, cure)| cure.as_ref()).collect();
    said.push_str(&cures_text(&cures, plugin));
    said.push_str(&held_back_text(&entries, plugin));
    if ledger.dropped() > 0 {
        let _ = writeln!(said, "and {} more", ledger.dropped());
    }
    said
}

/// What to write into the plugin's `allow` table.
fn cures_text(cures: &[&Cure], plugin: &PluginConfig) -> String {
    let id = &plugin.id;
    let mut said = String::new();
    let mut added = merged(cures.iter().filter_map(|cure| match cure {
        Cure::Line(line) => Some(line.as_str()),
        Cure::ReadDirectory { .. } | Cure::ChangeDirectory { .. } => None,
    }));
    let (new, replaced) = match directories(cures, plugin) {
        Some(line) if plugin.allow.dirs.is_empty() => (Some(line), None),
        replaced => (None, replaced),
    };
    added.extend(new);
    if !added.is_empty() {
        let _ = write!(
            said,
            "to allow it, in gateway.toml (where a list is there already, add to it):\n  [plugins.{id}.allow]\n"
        );
        for cure in added {
            let _ = writeln!(said, "  {cure}");
        }
    }
    let read: Vec<&Option<String>> = cures.iter().filter_map(to_read).collect();
    if let Some(cure) = replaced {
        let what = if read.is_empty() { "changes" } else { "it" };
        let _ = write!(
            said,
            "to allow {what}, in gateway.toml, in place of the `dirs` that are there:\n  [plugins.{id}.allow]\n  {cure}\n"
        );
    }
    if read.iter().any(|guest| guest.is_none()) {
        said.push_str(
            "with a directory of this machine and the plugin's own name for it in place of each `…`\n",
        );
    } else if !read.is_empty() {
        said.push_str("with a directory of this machine in place of `…`\n");
    }
    said
}

/// The plugin's name for a directory that is to be read.
fn to_read<'c>(cure: &&'c Cure) -> Option<&'c Option<String>> {
    match cure {
        Cure::ReadDirectory { guest } => Some(guest),
        Cure::Line(_) | Cure::ChangeDirectory { .. } => None,
    }
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

/// All directories of the plugin in one line, because the key may not stand twice: those that it has, with the right to
/// change what is in them where that is lacking, and those that it lacks. None: no cure is about directories.
fn directories(cures: &[&Cure], plugin: &PluginConfig) -> Option<String> {
    let there = plugin.allow.dirs.iter().map(|grant| {
        let is_changed =
            |cure: &&Cure| matches!(cure, Cure::ChangeDirectory { guest, .. } if *guest == grant.guest);
        let mode = if cures.iter().any(is_changed) { DirMode::ReadWrite } else { grant.mode };
        directory_item(&grant.named.to_string_lossy(), &grant.guest, mode)
    });
    let mut items: Vec<String> = there.collect();
    let mut is_about_any = false;
    for cure in cures {
        let item = match cure {
            Cure::Line(_) => continue,
            Cure::ReadDirectory { guest } => directory_to_read(guest.as_deref()),
            Cure::ChangeDirectory { host, guest } => directory_item(host, guest, DirMode::ReadWrite),
        };
        is_about_any = true;
        if !items.contains(&item) {
            items.push(item);
        }
    }
    is_about_any.then(|| format!("dirs = [{}]", items.join(", ")))
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
    let lacked: Vec<_> = entries.iter().filter_map(lacked).collect();
    let of_directories: Vec<&Cure> = lacked
        .iter()
        .filter_map(|(_, cure)| cure.as_ref())
        .filter(|cure| !matches!(cure, Cure::Line(_)))
        .collect();
    let directories = directories(&of_directories, plugin);
    // Of several that lack each is told with the line for all: whoever takes over one after the other ends up with that.
    let replaces = !plugin.allow.dirs.is_empty() || of_directories.len() > 1;
    let lacked = lacked.into_iter().map(|(wanted, cure)| match cure {
        Some(Cure::ReadDirectory { .. } | Cure::ChangeDirectory { .. }) => {
            json!({ "wanted": wanted, "cure": directories, "replaces": replaces })
        }
        Some(Cure::Line(line)) => json!({ "wanted": wanted, "cure": line, "replaces": false }),
        None => json!({ "wanted": wanted, "cure": null, "replaces": false }),
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

fn lacked(entry: &Entry) -> Option<(&String, &Option<Cure>)> {
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
