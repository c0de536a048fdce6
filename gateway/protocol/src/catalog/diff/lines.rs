//! Differences as text: a few lines, however much has changed, with no text of the plugin except names.

use std::fmt;

use super::{CatalogDiff, ItemChange, KindDiff};

/// The maximum number of names in one line.
const MAX_NAMES_PER_LINE: usize = 20;

impl CatalogDiff {
    /// One line for each kind of difference. Empty if there are none.
    #[must_use]
    pub fn lines(&self) -> Vec<String> {
        let Self { tools, prompts, resources, instructions } = self;
        let kinds = [("tool", tools), ("prompt", prompts), ("resource", resources)];
        let mut lines: Vec<String> = kinds.into_iter().flat_map(|(kind, diff)| diff.lines(kind)).collect();
        if !instructions.is_empty() {
            let plugins = instructions.iter().map(|plugin| format!("`{plugin}`"));
            lines.push(format!("changed instructions: {}", listed(plugins)));
        }
        lines
    }

    /// Warnings for operators, one line each: weakened hints.
    #[must_use]
    pub fn warnings(&self) -> Vec<String> {
        let mut all = self.weakened_tools();
        let mut lines: Vec<String> = all.by_ref().take(MAX_NAMES_PER_LINE).map(warning).collect();
        match all.count() {
            0 => {}
            1 => lines.push("the hints of 1 more tool became weaker".to_owned()),
            more => lines.push(format!("the hints of {more} more tools became weaker")),
        }
        lines
    }
}

/// All lines joined.
impl fmt::Display for CatalogDiff {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.lines().join("; "))
    }
}

impl KindDiff {
    fn lines(&self, kind: &str) -> Vec<String> {
        let Self { added, removed, changed, reordered } = self;
        let line = |way: &str, number: usize, names: String| {
            let plural = if number == 1 { "" } else { "s" };
            (number > 0).then(|| format!("{way} {kind}{plural}: {names}"))
        };
        let names = |names: &[String]| listed(names.iter().map(|name| format!("`{name}`")));
        let lines = [
            line("new", added.len(), names(added)),
            line("removed", removed.len(), names(removed)),
            line("changed", changed.len(), listed(changed.iter().map(ToString::to_string))),
            reordered.then(|| format!("reordered {kind}s")),
        ];
        lines.into_iter().flatten().collect()
    }
}

/// The name, and the parts that differ.
impl fmt::Display for ItemChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parts: Vec<_> = self.parts.iter().map(|part| part.as_str()).collect();
        write!(f, "`{}` ({})", self.name, parts.join(", "))
    }
}

fn warning(change: &ItemChange) -> String {
    let hints: Vec<_> = change.weaker_hints.iter().map(|hint| hint.as_str()).collect();
    format!("the hints of tool `{}` became weaker: {}", change.name, hints.join(", "))
}

/// The first names, and the number of the others.
fn listed(mut names: impl Iterator<Item = String>) -> String {
    let first = names.by_ref().take(MAX_NAMES_PER_LINE).collect::<Vec<_>>().join(", ");
    match names.count() {
        0 => first,
        more => format!("{first} and {more} more"),
    }
}
