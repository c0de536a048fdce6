//! What is told of reloads: one line each, in the log, in the status and to whoever asked.

use std::collections::VecDeque;
use std::fmt::Write as _;
use std::time::{Duration, SystemTime};

use moongate_core::catalog::{Catalog, Diff};
use moongate_core::names::PluginId;
use tokio::sync::oneshot;

use super::code::Loaded;
use super::control::Reloaded;
use super::status::{REMEMBERED, Reload, Reloads};

/// What was told, and to whom more is to be told.
#[derive(Debug, Default)]
pub(super) struct Report {
    pub(super) reloads: Reloads,
    pub(super) history: VecDeque<Reload>,
    asked: Vec<(oneshot::Sender<Reloaded>, Vec<String>)>,
}

impl Report {
    /// Somebody waits to hear what changes from now on.
    pub(super) fn tell(&mut self, done: oneshot::Sender<Reloaded>) {
        self.asked.retain(|(done, _)| !done.is_closed());
        self.asked.push((done, Vec::new()));
    }

    /// Something changed. The line was logged.
    pub(super) fn changed(&mut self, plugin: Option<&PluginId>, took: Duration, line: String) {
        let told = match plugin {
            Some(plugin) => format!("`{plugin}`: {line}"),
            None => line.clone(),
        };
        self.asked.iter_mut().for_each(|(_, lines)| lines.push(told.clone()));
        self.remember(plugin, took, Ok(line));
    }

    /// Something can't be used. The line was logged.
    pub(super) fn failed(&mut self, plugin: Option<&PluginId>, took: Duration, line: String) {
        self.remember(plugin, took, Err(line));
    }

    fn remember(&mut self, plugin: Option<&PluginId>, took: Duration, outcome: Result<String, String>) {
        self.history.truncate(REMEMBERED - 1);
        self.history.push_front(Reload { at: SystemTime::now(), took, plugin: plugin.cloned(), outcome });
    }

    /// Does anybody wait?
    pub(super) fn is_awaited(&self) -> bool {
        !self.asked.is_empty()
    }

    /// All is done; `failed`: what can't be used.
    pub(super) fn answer(&mut self, failed: &[String]) {
        for (done, changed) in self.asked.drain(..) {
            // Whoever asked may have gone.
            let _ = done.send(Reloaded { changed, failed: failed.to_vec() });
        }
    }
}

/// What happened to one plugin, with all that clients see of it.
pub(super) fn line(before: Option<&Loaded>, after: &Loaded, diff: &Diff, took: Duration) -> String {
    let (from, to) = (before.map(Loaded::digest), after.digest());
    let mut line = match from {
        None => format!("added with {}", to.short()),
        Some(from) if from == to => format!("serves under its new table, with the same code {}", to.short()),
        Some(from) => format!("replaced: {} by {}", from.short(), to.short()),
    };
    let _ = write!(line, " in {took:.1?}");
    if diff.is_empty() {
        line.push_str("; clients see no difference");
    }
    for change in diff.lines().into_iter().chain(diff.warnings()) {
        let _ = write!(line, "; {change}");
    }
    line
}

/// What clients see of one plugin otherwise than before.
pub(super) fn difference(before: Option<&Loaded>, after: &Loaded) -> Diff {
    Diff::between(&alone(before), &alone(Some(after)))
}

fn alone(loaded: Option<&Loaded>) -> Catalog {
    Catalog::build(0, loaded.map(|loaded| loaded.member.clone()).into_iter().collect(), None).catalog
}
