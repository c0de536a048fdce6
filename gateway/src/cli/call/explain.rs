//! `--explain`: the grants that a call used, the missing ones, the limits that it reached, and how to change them.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use moongate_config::{DirMode, PluginConfig, dir_grant_entry, readable_dir_entry};
use moongate_model::call::{GrantEvent, GrantFix, GrantReport};
use serde_json::{Value, json};

/// The explanation as text.
pub(super) fn explanation_text(grant_report: &GrantReport, plugin: &PluginConfig) -> String {
    let mut text = String::new();
    let entries = grant_report.events();
    let used: Vec<&String> = entries.iter().filter_map(used_grant).collect();
    let missing: Vec<_> = entries.iter().filter_map(missing_grant).collect();
    text.push_str(if used.is_empty() { "used no grants\n" } else { "used\n" });
    for grant in used {
        let _ = writeln!(text, "  {grant}");
    }
    if !missing.is_empty() {
        text.push_str("missing\n");
    }
    for (wanted, _) in &missing {
        let _ = writeln!(text, "  {wanted}");
    }
    let suggestions: Vec<&GrantFix> = missing.iter().filter_map(|(_, fix)| fix.as_ref()).collect();
    text.push_str(&suggestions_text(&suggestions, plugin));
    text.push_str(&limits_text(&entries, plugin));
    if grant_report.dropped_events() > 0 {
        let _ = writeln!(text, "and {} more", grant_report.dropped_events());
    }
    text
}

/// The lines to add to the plugin's `allow` table.
fn suggestions_text(suggestions: &[&GrantFix], plugin: &PluginConfig) -> String {
    let id = &plugin.id;
    let mut text = String::new();
    let mut added = merge_keys(suggestions.iter().filter_map(|fix| match fix {
        GrantFix::Line(line) => Some(line.as_str()),
        GrantFix::ReadDirectory { .. } | GrantFix::ChangeDirectory { .. } => None,
    }));
    let (new, replaced) = match directories(suggestions, plugin) {
        Some(line) if plugin.allow.dirs.is_empty() => (Some(line), None),
        replaced => (None, replaced),
    };
    added.extend(new);
    if !added.is_empty() {
        let _ = write!(
            text,
            "to allow it, add to gateway.toml (extend existing lists):\n  [plugins.{id}.allow]\n"
        );
        for line in added {
            let _ = writeln!(text, "  {line}");
        }
    }
    let read: Vec<&Option<String>> = suggestions.iter().filter_map(to_read).collect();
    if let Some(line) = replaced {
        let what = if read.is_empty() { "changes" } else { "it" };
        let _ = write!(
            text,
            "to allow {what}, replace `dirs` in gateway.toml:\n  [plugins.{id}.allow]\n  {line}\n"
        );
    }
    if read.iter().any(|guest| guest.is_none()) {
        text.push_str("replace each `…` with a directory on this machine or the plugin's path for it\n");
    } else if !read.is_empty() {
        text.push_str("replace `…` with a directory on this machine\n");
    }
    text
}

/// The plugin's path of a directory that it tried to read.
fn to_read<'c>(fix: &&'c GrantFix) -> Option<&'c Option<String>> {
    match fix {
        GrantFix::ReadDirectory { guest } => Some(guest),
        GrantFix::Line(_) | GrantFix::ChangeDirectory { .. } => None,
    }
}

/// The limits that the call reached, and the lines that raise them.
fn limits_text(entries: &[GrantEvent], plugin: &PluginConfig) -> String {
    let limits: Vec<_> = entries.iter().filter_map(reached_limit).collect();
    if limits.is_empty() {
        return String::new();
    }
    let mut text = "reached limits\n".to_owned();
    for (_, what) in &limits {
        let _ = writeln!(text, "  the plugin {what}");
    }
    let keys: BTreeSet<&str> = limits.iter().filter_map(|(key, _)| *key).collect();
    if keys.is_empty() {
        return text;
    }
    let _ = write!(text, "to allow more, set in gateway.toml:\n  [plugins.{}.limits]\n", plugin.id);
    for key in keys {
        let now = plugin.limits.value_as_toml(key).unwrap_or_default();
        let _ = match plugin.limits.suggest_higher_for_key(key) {
            Some(more) => writeln!(text, "  {key} = {more}  # instead of {now}"),
            None => writeln!(text, "  {key} = {now}  # the highest possible value"),
        };
    }
    text
}

/// All of the plugin's directories in one line, because a key can't be repeated: the granted ones, with write access
/// added if it is missing, and the missing ones. `None` if no suggestion is about directories.
fn directories(suggestions: &[&GrantFix], plugin: &PluginConfig) -> Option<String> {
    let there = plugin.allow.dirs.iter().map(|grant| {
        let is_changed =
            |fix: &&GrantFix| matches!(fix, GrantFix::ChangeDirectory { guest, .. } if *guest == grant.guest_path);
        let mode = if suggestions.iter().any(is_changed) { DirMode::ReadWrite } else { grant.mode };
        let entry = dir_grant_entry(&grant.unresolved_host_path.to_string_lossy(), &grant.guest_path, mode);
        match entry.strip_suffix(" }") {
            Some(start) if grant.allows_system => format!("{start}, system = true }}"),
            Some(_) | None => entry,
        }
    });
    let is_there = |path: &String| plugin.allow.dirs.iter().any(|grant| grant.guest_path == *path);
    let mut items: Vec<String> = there.collect();
    let mut is_about_any = false;
    for fix in suggestions {
        let item = match fix {
            GrantFix::Line(_) => continue,
            GrantFix::ChangeDirectory { guest, .. } if is_there(guest) => {
                is_about_any = true;
                continue;
            }
            GrantFix::ReadDirectory { guest } => readable_dir_entry(guest.as_deref()),
            GrantFix::ChangeDirectory { host, guest } => dir_grant_entry(host, guest, DirMode::ReadWrite),
        };
        is_about_any = true;
        if !items.contains(&item) {
            items.push(item);
        }
    }
    is_about_any.then(|| format!("dirs = [{}]", items.join(", ")))
}

/// One line for each key, because a key can't be repeated: `key = [a]` and `key = [b]` become `key = [a, b]`.
fn merge_keys<'c>(suggestions: impl Iterator<Item = &'c str>) -> Vec<String> {
    let mut keys: Vec<(&str, Vec<&str>)> = Vec::new();
    for line in suggestions {
        let (key, value) = line.split_once(" = ").unwrap_or((line, ""));
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

/// The explanation as JSON.
pub(super) fn document(grant_report: &GrantReport, plugin: &PluginConfig) -> Value {
    let entries = grant_report.events();
    let missing: Vec<_> = entries.iter().filter_map(missing_grant).collect();
    let of_directories: Vec<&GrantFix> = missing
        .iter()
        .filter_map(|(_, fix)| fix.as_ref())
        .filter(|fix| !matches!(fix, GrantFix::Line(_)))
        .collect();
    let directories = directories(&of_directories, plugin);
    // Each missing directory has the line for all of them, so applying them one after the other gives the right result.
    let replaces = !plugin.allow.dirs.is_empty() || of_directories.len() > 1;
    let missing = missing.into_iter().map(|(wanted, fix)| match fix {
        Some(GrantFix::ReadDirectory { .. } | GrantFix::ChangeDirectory { .. }) => {
            json!({ "wanted": wanted, "cure": directories, "replaces": replaces })
        }
        Some(GrantFix::Line(line)) => json!({ "wanted": wanted, "cure": line, "replaces": false }),
        None => json!({ "wanted": wanted, "cure": null, "replaces": false }),
    });
    let limits = entries.iter().filter_map(reached_limit).map(|(key, what)| {
        let limit = key.map(|key| format!("plugins.{}.limits.{key}", plugin.id));
        json!({ "limit": limit, "value": key.and_then(|key| plugin.limits.value_as_toml(key)), "what": what })
    });
    json!({
        "table": format!("plugins.{}.allow", plugin.id),
        "used": entries.iter().filter_map(used_grant).collect::<Vec<_>>(),
        "lacked": missing.collect::<Vec<_>>(),
        "held_back": limits.collect::<Vec<_>>(),
        "dropped": grant_report.dropped_events(),
    })
}

fn used_grant(entry: &GrantEvent) -> Option<&String> {
    match entry {
        GrantEvent::Used(grant) => Some(grant),
        GrantEvent::Missing { .. } | GrantEvent::Limited { .. } => None,
    }
}

fn missing_grant(entry: &GrantEvent) -> Option<(&String, &Option<GrantFix>)> {
    match entry {
        GrantEvent::Used(_) | GrantEvent::Limited { .. } => None,
        GrantEvent::Missing { wanted, fix } => Some((wanted, fix)),
    }
}

fn reached_limit(entry: &GrantEvent) -> Option<(Option<&'static str>, &String)> {
    match entry {
        GrantEvent::Used(_) | GrantEvent::Missing { .. } => None,
        GrantEvent::Limited { key, what } => Some((*key, what)),
    }
}

#[cfg(test)]
mod tests;
