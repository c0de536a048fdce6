//! Reports reloads, one line each: in the log, in the status, and to operators that requested one.

use std::collections::VecDeque;
use std::fmt::Write as _;
use std::time::{Duration, SystemTime};

use moongate_model::names::PluginId;
use moongate_protocol::catalog::{Catalog, CatalogDiff};
use tokio::sync::oneshot;

use super::control::{ReloadResult, RequestNumber};
use super::plugin_host::LoadedPlugin;
use super::status::{MAX_RELOAD_HISTORY, ReloadCounts, ReloadRecord};

/// Past reloads, and unanswered requests.
#[derive(Debug, Default)]
pub(super) struct ReloadReport {
    pub(super) counts: ReloadCounts,
    pub(super) history: VecDeque<ReloadRecord>,
    requests: Vec<OpenRequest>,
    last_number: u64,
}

/// An unanswered request.
#[derive(Debug)]
struct OpenRequest {
    number: RequestNumber,
    done: oneshot::Sender<ReloadResult>,
    changed: Vec<String>,
}

impl ReloadReport {
    /// Adds a request, which is answered with all changes from now on.
    pub(super) fn add_request(&mut self, done: oneshot::Sender<ReloadResult>) -> RequestNumber {
        self.requests.retain(|request| !request.done.is_closed());
        self.last_number += 1;
        let number = RequestNumber(self.last_number);
        self.requests.push(OpenRequest { number, done, changed: Vec::new() });
        number
    }

    /// Records a change that was logged.
    pub(super) fn add_change(&mut self, plugin: Option<&PluginId>, took: Duration, line: String) {
        let text = match plugin {
            Some(plugin) => format!("`{plugin}`: {line}"),
            None => line.clone(),
        };
        self.requests.iter_mut().for_each(|request| request.changed.push(text.clone()));
        self.remember(plugin, took, Ok(line));
    }

    /// Records a failure that was logged.
    pub(super) fn add_failure(&mut self, plugin: Option<&PluginId>, took: Duration, line: String) {
        self.remember(plugin, took, Err(line));
    }

    fn remember(&mut self, plugin: Option<&PluginId>, took: Duration, outcome: Result<String, String>) {
        self.history.truncate(MAX_RELOAD_HISTORY - 1);
        self.history.push_front(ReloadRecord {
            at: SystemTime::now(),
            took,
            plugin: plugin.cloned(),
            outcome,
        });
    }

    pub(super) fn has_open_requests(&self) -> bool {
        !self.requests.is_empty()
    }

    /// Answers every request before `first_open`, the first one with unfinished work. Later requests don't hold up
    /// earlier ones.
    pub(super) fn answer(
        &mut self,
        first_open: Option<RequestNumber>,
        needs_restart: &[String],
        failures: impl FnOnce() -> Vec<String>,
    ) {
        let is_done = |request: &mut OpenRequest| first_open.is_none_or(|open| request.number < open);
        let done: Vec<_> = self.requests.extract_if(.., is_done).collect();
        if done.is_empty() {
            return;
        }
        let failed = failures();
        for OpenRequest { number: _, done, changed } in done {
            let needs_restart = needs_restart.to_vec();
            // Fails if the client has disconnected.
            let _ = done.send(ReloadResult { changed, failed: failed.clone(), needs_restart });
        }
    }
}

/// Describes a plugin's new version, with every difference that clients see.
pub(super) fn describe_activation(
    before: Option<&LoadedPlugin>,
    after: &LoadedPlugin,
    diff: &CatalogDiff,
    took: Duration,
) -> String {
    let to = after.digest();
    let mut line = match before.map(LoadedPlugin::digest) {
        None => format!("added with {}", to.short()),
        Some(from) if from == to => format!("reconfigured with the same code {}", to.short()),
        Some(from) => format!("replaced {} with {}", from.short(), to.short()),
    };
    let _ = write!(line, " in {took:.1?}");
    if diff.is_empty() {
        line.push_str("; tools, prompts and resources unchanged");
    }
    for change in diff.lines().into_iter().chain(diff.warnings()) {
        let _ = write!(line, "; {change}");
    }
    line
}

/// Describes the removal of a plugin, with every difference that clients see. `before` is `None` if it wasn't served.
pub(super) fn describe_removal(id: &PluginId, before: Option<&LoadedPlugin>) -> String {
    let lines =
        before.map(|before| CatalogDiff::between(&catalog_of(Some(before)), &catalog_of(None)).lines());
    match lines.unwrap_or_default().as_slice() {
        [] => format!("`{id}` removed"),
        lines => format!("`{id}` removed ({})", lines.join("; ")),
    }
}

/// The differences that clients see of one plugin.
pub(super) fn diff(before: Option<&LoadedPlugin>, after: &LoadedPlugin) -> CatalogDiff {
    CatalogDiff::between(&catalog_of(before), &catalog_of(Some(after)))
}

fn catalog_of(plugin: Option<&LoadedPlugin>) -> Catalog {
    Catalog::build(0, plugin.map(|plugin| plugin.member.clone()).into_iter().collect(), None).catalog
}
