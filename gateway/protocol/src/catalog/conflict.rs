//! Conflicts between plugins, and their diagnostics.

use std::ops::Range;

use crate::diagnostic::Diagnostic;
use crate::names::PluginId;

/// The maximum number of names in one message.
const MAX_LISTED_NAMES: usize = 5;

/// A plugin that doesn't serve because of conflicts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RefusedPlugin {
    /// The plugin.
    pub plugin: PluginId,
    /// The byte range of its key in the configuration file.
    pub place: Range<usize>,
    /// The conflicts; never empty.
    pub conflicts: Vec<PluginConflict>,
    /// The plugin's replacement.
    pub replacement: Replacement,
}

/// The replacement of a refused plugin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Replacement {
    /// Nothing: its tools, prompts and resources are gone.
    Nothing,
    /// The plugin's version before the change.
    EarlierVersion,
}

/// A conflict of a refused plugin with one that serves.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PluginConflict {
    /// The plugin that serves.
    pub other: PluginId,
    /// The byte range of its key in the configuration file.
    pub other_place: Range<usize>,
    /// The kind of names that collide.
    pub subject: ConflictSubject,
    /// The public names, or the URIs and URI prefixes, that collide.
    pub names: Vec<String>,
    /// The effect of a restart.
    pub restart: RestartEffect,
}

/// The kind of names that collide.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ConflictSubject {
    /// Public names of tools.
    Tool,
    /// Public names of prompts.
    Prompt,
    /// URIs and URI prefixes.
    Resource,
}

/// The effect of a restart. After it, the plugin that comes first in the file serves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RestartEffect {
    /// The same plugin serves.
    NoChange,
    /// The refused plugin serves.
    SwapsPlugins,
}

impl RefusedPlugin {
    /// One problem for each conflict, with both locations and the fix.
    #[must_use]
    pub fn problems(&self) -> Vec<Diagnostic> {
        self.conflicts.iter().map(|conflict| self.problem(conflict)).collect()
    }

    fn problem(&self, conflict: &PluginConflict) -> Diagnostic {
        let Self { plugin, place, conflicts: _, replacement: instead } = self;
        let PluginConflict { other: with, other_place: with_place, subject, names, restart } = conflict;
        let listed = list_names(names);
        let (s, other) = if names.len() == 1 { ("", "another name") } else { ("s", "other names") };
        let what = match subject {
            ConflictSubject::Tool => format!("both offer the tool{s} {listed}"),
            ConflictSubject::Prompt => format!("both offer the prompt{s} {listed}"),
            ConflictSubject::Resource => format!("both claim the resource{s} {listed}"),
        };
        let instead = match instead {
            Replacement::Nothing => format!("`{plugin}` isn't served"),
            Replacement::EarlierVersion => format!("`{plugin}` keeps serving its earlier version"),
        };
        let restart = match restart {
            RestartEffect::NoChange => "",
            RestartEffect::SwapsPlugins => {
                "; after a restart it would serve instead, because it comes first in the file"
            }
        };
        let hint = match subject {
            ConflictSubject::Tool => format!(
                "set another `prefix` in `[plugins.{plugin}]`, or give the tool{s} {other} in `[plugins.{plugin}.tools.rename]`"
            ),
            ConflictSubject::Prompt => format!(
                "set another `prefix` in `[plugins.{plugin}]`, or give the prompt{s} {other} in `[plugins.{plugin}.prompts.rename]`"
            ),
            ConflictSubject::Resource => {
                let first = names.first().map_or("", String::as_str);
                format!(
                    "grant it to one of them: `uris = [\"{first}\"]` in `[plugins.{plugin}]` or `[plugins.{with}]`"
                )
            }
        };
        Diagnostic::error(format!("plugins `{with}` and `{plugin}` {what}: {instead}{restart}"))
            .with_span(place.clone())
            .with_label("refused")
            .with_related(with_place.clone(), "keeps serving")
            .with_hint(hint)
    }
}

fn list_names(names: &[String]) -> String {
    let shown: Vec<_> = names.iter().take(MAX_LISTED_NAMES).map(|name| format!("`{name}`")).collect();
    match names.len().saturating_sub(MAX_LISTED_NAMES) {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}
