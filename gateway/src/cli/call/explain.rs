//! `--explain`: which grants a call used, which it lacked, and what would grant them.

use std::fmt::Write as _;

use moongate_core::call::{Entry, Ledger};
use moongate_core::names::PluginId;
use serde_json::{Value, json};

/// For people; nothing where the call reached for nothing.
pub(super) fn text(ledger: &Ledger, plugin: &PluginId) -> String {
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
    let cures = merged(lacked.iter().filter_map(|(_, cure)| cure.as_deref()));
    if !cures.is_empty() {
        let _ = write!(
            said,
            "to allow it, in gateway.toml (where a list is there already, add to it):\n  [plugins.{plugin}.allow]\n"
        );
        for cure in cures {
            let _ = writeln!(said, "  {cure}");
        }
    }
    if ledger.dropped() > 0 {
        let _ = writeln!(said, "and {} more", ledger.dropped());
    }
    said
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
pub(super) fn document(ledger: &Ledger, plugin: &PluginId) -> Value {
    let entries = ledger.entries();
    let lacked =
        entries.iter().filter_map(lacked).map(|(wanted, cure)| json!({ "wanted": wanted, "cure": cure }));
    json!({
        "table": format!("plugins.{plugin}.allow"),
        "used": entries.iter().filter_map(used).collect::<Vec<_>>(),
        "lacked": lacked.collect::<Vec<_>>(),
        "dropped": ledger.dropped(),
    })
}

fn used(entry: &Entry) -> Option<&String> {
    match entry {
        Entry::Used(grant) => Some(grant),
        Entry::Lacked { .. } => None,
    }
}

fn lacked(entry: &Entry) -> Option<(&String, &Option<String>)> {
    match entry {
        Entry::Used(_) => None,
        Entry::Lacked { wanted, cure } => Some((wanted, cure)),
    }
}

#[cfg(test)]
mod tests;
