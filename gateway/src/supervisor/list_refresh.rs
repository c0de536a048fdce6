//! Asks plugins for their lists again after they report changes.
//!
//! A plugin is asked in a new instance of its current code, at most once a second and never twice at once. A report
//! that arrives in the meantime causes another round, so the last change is never lost. Failing lists change nothing.
//! Running calls aren't affected: they keep their catalog.

use std::collections::{BTreeMap, BTreeSet};
use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use futures_util::FutureExt as _;
use moongate_config::Diagnostic;
use moongate_model::names::{PluginId, ResourceUri};
use moongate_protocol::catalog::Catalog;
use moongate_protocol::changes::ResourceUpdates;
use tokio::task::spawn_blocking;
use tokio::time::Instant;

use moongate_host::ReportedChanges;

use super::plugin_host::LoadedPlugin;
use moongate_system::log_interval::LogInterval;

mod schedule;

use schedule::Schedule;

/// The maximum number of one plugin's changed resources that wait for its new lists, because only those may contain
/// them.
const MAX_WAITING_RESOURCES: usize = 4096;

/// The schedule of plugins to ask, and the changes that wait for their answers.
#[derive(Debug, Default)]
pub(super) struct ListRefreshes {
    schedule: Schedule,
    /// The plugins that reported changed lists, which other gateways must know as well.
    to_share: BTreeSet<PluginId>,
    /// Changed resources that the plugin doesn't own, but may own with its next lists.
    waiting: BTreeMap<PluginId, BTreeSet<ResourceUri>>,
    /// The last logged reason for rejecting a plugin's lists.
    logged: BTreeMap<PluginId, String>,
    /// The rate of warnings about resources that the plugin doesn't own: it can report some in every call.
    foreign_warnings: BTreeMap<PluginId, LogInterval>,
}

/// The plugin with its new lists, `None` if they are unchanged, or the reason for rejecting them.
pub(super) type RefreshResult = Result<Option<LoadedPlugin>, String>;

impl ListRefreshes {
    /// The next plugin to ask. It counts as being asked from now on. If it reported changed lists here, other gateways ask
    /// it as well: not at each report, because it may report changes in every call.
    pub(super) fn start(&mut self, now: Instant, updates: &ResourceUpdates) -> Option<PluginId> {
        let plugin = self.schedule.start(now)?;
        if self.to_share.remove(&plugin) {
            updates.report_lists(&plugin);
        }
        Some(plugin)
    }

    /// The next time to call [`Self::start`], unless an answer arrives first.
    pub(super) fn due(&self) -> Option<Instant> {
        self.schedule.due()
    }

    /// Schedules a request for the plugin's lists.
    pub(super) fn request(&mut self, plugin: PluginId) {
        self.schedule.request(plugin);
    }

    /// The plugin has answered, or is no longer served.
    pub(super) fn finish(&mut self, plugin: &PluginId) {
        self.schedule.finish(plugin);
    }

    /// Handles a plugin's report.
    pub(super) fn report(
        &mut self,
        plugin: &PluginId,
        reported: ReportedChanges,
        catalog: &Catalog,
        updates: &ResourceUpdates,
    ) {
        let ReportedChanges { lists, resources } = reported;
        if lists {
            self.schedule.request(plugin.clone());
            self.to_share.insert(plugin.clone());
        }
        let foreign = notify_owned(plugin, resources, catalog, updates);
        if !self.schedule.is_pending(plugin) {
            self.warn_of_foreign(plugin, &foreign, catalog);
            return;
        }
        let waiting = self.waiting.entry(plugin.clone()).or_default();
        let count_before = waiting.len();
        let free = MAX_WAITING_RESOURCES.saturating_sub(count_before);
        let mut new = foreign.into_iter().filter(|uri| !waiting.contains(uri)).collect::<Vec<_>>();
        let dropped = new.split_off(new.len().min(free));
        waiting.extend(new);
        // Logged once: the set stays full until the lists arrive.
        if !dropped.is_empty() && count_before < MAX_WAITING_RESOURCES {
            tracing::warn!(
                %plugin,
                "`{plugin}` reported changes to more than {MAX_WAITING_RESOURCES} resources that it doesn't list; \
                 the rest are ignored"
            );
        }
    }

    /// Handles new lists that are in use.
    pub(super) fn accepted(&mut self, plugin: &PluginId) {
        self.logged.remove(plugin);
    }

    /// Handles new lists that were rejected.
    pub(super) fn rejected(&mut self, plugin: &PluginId, reason: String) {
        // A plugin may report changes in every call, so the same reason is logged once.
        if self.logged.get(plugin) != Some(&reason) {
            tracing::warn!(%plugin, "`{plugin}` keeps its earlier lists: {reason}");
            self.logged.insert(plugin.clone(), reason);
        }
    }

    /// Notifies clients of resources that waited for the lists in this catalog.
    pub(super) fn notify_waiting(&mut self, plugin: &PluginId, catalog: &Catalog, updates: &ResourceUpdates) {
        let Some(waiting) = self.waiting.remove(plugin) else { return };
        let foreign = notify_owned(plugin, waiting, catalog, updates);
        if self.schedule.is_pending(plugin) {
            self.waiting.insert(plugin.clone(), foreign);
        } else {
            self.warn_of_foreign(plugin, &foreign, catalog);
        }
    }

    /// The plugin is gone.
    pub(super) fn forget(&mut self, plugin: &PluginId) {
        self.to_share.remove(plugin);
        self.waiting.remove(plugin);
        self.logged.remove(plugin);
        self.foreign_warnings.remove(plugin);
    }

    /// Drops the remaining resources: clients aren't notified of resources that the plugin doesn't own. Those that the plugin
    /// has, but that aren't offered, were reported with the catalog.
    fn warn_of_foreign(&mut self, plugin: &PluginId, foreign: &BTreeSet<ResourceUri>, catalog: &Catalog) {
        let is_withheld =
            |uri: &ResourceUri| catalog.plugin(plugin).is_some_and(|member| member.withholds(uri.as_str()));
        let mut foreign = foreign.iter().filter(|uri| !is_withheld(uri));
        if let Some(first) = foreign.next() {
            let interval = self.foreign_warnings.entry(plugin.clone()).or_default();
            let Some(count) = interval.record(Instant::now(), 1 + foreign.count() as u64) else { return };
            tracing::warn!(
                %plugin,
                count,
                "ignored changes that `{plugin}` reported for resources that it doesn't own, such as `{first}`"
            );
        }
    }
}

/// Asks a plugin for its lists. A panic becomes a failure of this plugin only.
pub(super) async fn refresh(before: LoadedPlugin) -> RefreshResult {
    let refreshed = async {
        let was_confirmed = before.code.is_confirmed();
        let code = Arc::clone(&before.code).describe_again().await;
        let code = code.map_err(|failure| failure.reason)?;
        if code.manifest() == before.code.manifest() {
            return Ok(None);
        }
        let plugin = Arc::clone(&code);
        let config = Arc::clone(&before.config);
        let catalog_plugin = spawn_blocking(move || before.catalog_plugin.with_changed_lists(plugin)).await;
        let catalog_plugin = catalog_plugin.map_err(|error| format!("internal error: {error}"))?;
        let refreshed = LoadedPlugin { code, catalog_plugin, config };
        // Lists that change while the plugin runs usually start over with the next start.
        if !was_confirmed {
            refreshed.cache_description().await;
        }
        Ok(Some(refreshed))
    };
    catch_panic(refreshed).await
}

async fn catch_panic(refreshed: impl Future<Output = RefreshResult>) -> RefreshResult {
    AssertUnwindSafe(refreshed)
        .catch_unwind()
        .await
        .unwrap_or_else(|_| Err("internal error: refreshing the lists panicked".to_owned()))
}

/// Several problems in one line.
pub(super) fn one_line(problems: &[Diagnostic]) -> String {
    problems.iter().map(Diagnostic::to_string).collect::<Vec<_>>().join("; ")
}

/// Notifies clients of resources that the plugin owns, and returns the others.
fn notify_owned(
    plugin: &PluginId,
    resources: BTreeSet<ResourceUri>,
    catalog: &Catalog,
    updates: &ResourceUpdates,
) -> BTreeSet<ResourceUri> {
    let owns =
        |uri: &ResourceUri| catalog.resource_owner(uri.as_str()).is_some_and(|owner| owner.id() == plugin);
    let (owned, foreign): (BTreeSet<_>, _) = resources.into_iter().partition(owns);
    owned.iter().for_each(|uri| updates.report(uri));
    foreign
}

#[cfg(test)]
mod tests;
