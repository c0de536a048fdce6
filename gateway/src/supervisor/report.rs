//! What is told of reloads: one line each, in the log, in the status and to whoever asked.

use std::collections::VecDeque;
use std::fmt::Write as _;
use std::time::{Duration, SystemTime};

use moongate_core::catalog::{Catalog, Diff};
use moongate_core::names::PluginId;
use tokio::sync::oneshot;

use super::code::Loaded;
use super::control::{Reloaded, Turn};
use super::status::{REMEMBERED, Reload, Reloads};

/// What was told, and to whom more is to be told.
#[derive(Debug, Default)]
pub(super) struct Report {
    pub(super) reloads: Reloads,
    pub(super) history: VecDeque<Reload>,
    asked: Vec<Asked>,
    turns: u64,
}

/// Somebody who waits to hear what comes of a reload.
#[derive(Debug)]
struct Asked {
    turn: Turn,
    done: oneshot::Sender<Reloaded>,
    changed: Vec<String>,
}

impl Report {
    /// Somebody waits to hear what changes from now on. Whoever asked before and has gone is forgotten.
    pub(super) fn tell(&mut self, done: oneshot::Sender<Reloaded>) -> Turn {
        self.asked.retain(|asked| !asked.done.is_closed());
        self.turns += 1;
        let turn = Turn(self.turns);
        self.asked.push(Asked { turn, done, changed: Vec::new() });
        turn
    }

    /// Something changed. The line was logged.
    pub(super) fn changed(&mut self, plugin: Option<&PluginId>, took: Duration, line: String) {
        let told = match plugin {
            Some(plugin) => format!("`{plugin}`: {line}"),
            None => line.clone(),
        };
        self.asked.iter_mut().for_each(|asked| asked.changed.push(told.clone()));
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

    /// All is done for whoever asked before `owed`, the first request for which something is still to be done; `failed`:
    /// what can't be used; `needs_restart`: keys that wait for one. Others may ask all the time, and nobody waits for what
    /// those that come later ask for.
    pub(super) fn answer(
        &mut self,
        owed: Option<Turn>,
        needs_restart: &[String],
        failed: impl FnOnce() -> Vec<String>,
    ) {
        let is_done = |asked: &mut Asked| owed.is_none_or(|owed| asked.turn < owed);
        let done: Vec<_> = self.asked.extract_if(.., is_done).collect();
        if done.is_empty() {
            return;
        }
        let failed = failed();
        for Asked { turn: _, done, changed } in done {
            // Whoever asked may have gone.
            let needs_restart = needs_restart.to_vec();
            let _ = done.send(Reloaded { changed, failed: failed.clone(), needs_restart });
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

/// What happened to a plugin that is gone from the file, with all that clients see of it. None: it didn't serve.
pub(super) fn gone(id: &PluginId, before: Option<&Loaded>) -> String {
    let lines = before.map(|before| Diff::between(&alone(Some(before)), &alone(None)).lines());
    match lines.unwrap_or_default().as_slice() {
        [] => format!("`{id}` removed"),
        lines => format!("`{id}` removed ({})", lines.join("; ")),
    }
}

fn alone(loaded: Option<&Loaded>) -> Catalog {
    Catalog::build(0, loaded.map(|loaded| loaded.member.clone()).into_iter().collect(), None).catalog
}
