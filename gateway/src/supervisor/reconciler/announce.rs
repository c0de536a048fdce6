//! Reporting after each event: failures and waiting changes in the log, answers to requests, and the status.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use moongate_config::{PluginConfig, Severity};
use moongate_model::names::PluginId;
use moongate_protocol::catalog::{Catalog, CatalogPlugin};

use crate::supervisor::desired_config::DesiredConfig;
use crate::supervisor::managed_plugin::ManagedPlugin;
use crate::supervisor::observer::{SupervisorChange, SupervisorObserver};
use crate::supervisor::plugin_host::LoadFailure;
use crate::supervisor::status::{
    CodeOrigin, ConfigStatus, OfferCounts, PendingChange, PluginAbout, PluginIssue, PluginState,
    PluginStatus, ReloadCounts, SupervisorStatus, WatchMode,
};
use crate::telemetry::log_failure;

use super::{Phase, Reconciler};

/// The hint for applying a waiting change.
const APPLY_HINT: &str = "to apply it, run `moongate reload` or send SIGHUP";
/// The key that only a reload request can loosen.
const WIDER_GRANTS_KEY: &str = "gateway.wider_grants";

impl Reconciler {
    pub(super) fn announce(&mut self) {
        for at in 0..self.plugins.len() {
            self.log_failure(at);
            log_waiting(&mut self.plugins[at], &*self.deps.observer);
        }
        let status = self.current_status();
        self.status.send_if_modified(|before| {
            let is_new = **before != status;
            if is_new {
                *before = Arc::new(status);
            }
            is_new
        });
        // Whoever waits for the answer reads the status next.
        if self.report.has_open_requests() && self.ready_since.is_none() {
            let open = self.plugins.iter().filter_map(ManagedPlugin::first_open_request);
            let first_open = open.chain(self.desired.first_open_request()).min();
            let desired = &self.desired;
            let plugins = &self.plugins;
            self.report.answer(first_open, &desired.needs_restart, || failure_lines(desired, plugins));
        }
    }

    /// Logs a new failure of a plugin, or its recovery.
    fn log_failure(&mut self, at: usize) {
        let plugin = &mut self.plugins[at];
        let id = plugin.id().clone();
        let is_active = plugin.active().is_some();
        let Some(failure) = plugin.failures().next().cloned() else {
            if plugin.logged.failure.is_some() && is_active && !plugin.has_candidate() && !plugin.is_busy() {
                plugin.logged.failure = None;
                tracing::info!(plugin = %id, "`{id}` recovered; it serves its current file and configuration");
            }
            return;
        };
        if plugin.logged.failure.as_ref() == Some(&failure.reason) {
            return;
        }
        plugin.logged.failure = Some(failure.reason.clone());
        if self.phase == Phase::Starting {
            return;
        }
        let took = plugin.last_check_duration();
        let effect = if plugin.conflict() == Some(&failure) {
            // The reason for a conflict already includes its effect.
            String::new()
        } else if !is_active {
            "; the plugin isn't served".to_owned()
        } else if failure.ends_calls {
            format!("; calls to `{id}` fail until it can be opened")
        } else {
            "; the earlier version keeps serving".to_owned()
        };
        let LoadFailure { reason, hint, .. } = failure;
        let severity = if is_active { Severity::Warning } else { Severity::Error };
        log_failure(id.as_str(), severity, &format!("{reason}{effect}"), hint.as_deref());
        self.report.counts.failed += 1;
        self.report.add_failure(Some(&id), took, reason);
    }

    fn current_status(&self) -> SupervisorStatus {
        let catalog = Arc::clone(&self.deps.catalog.borrow());
        let is_busy = self.desired.is_busy() || self.plugins.iter().any(ManagedPlugin::is_busy);
        SupervisorStatus {
            generation: catalog.generation(),
            config: config_status(&self.desired),
            plugins: plugin_statuses(&self.plugins, &catalog),
            watch_mode: self.watching.clone(),
            is_settled: self.phase == Phase::Serving && !is_busy && self.ready_since.is_none(),
            reload_counts: self.report.counts,
            history: self.report.history.clone(),
        }
    }
}

/// Logs a change that waits for the operator, once.
fn log_waiting(plugin: &mut ManagedPlugin, observer: &dyn SupervisorObserver) {
    let waiting = plugin.waiting();
    if waiting == plugin.logged.waiting {
        return;
    }
    let id = plugin.id();
    if let Some(pending) = &waiting {
        observer.changed(&SupervisorChange::Waits { plugin: id, pending });
    }
    match &waiting {
        Some(PendingChange::Code(digest)) => tracing::warn!(
            plugin = %id,
            "`{id}` has new code, {}, which isn't loaded because of `reload = \"pinned\"`; {APPLY_HINT}",
            digest.short()
        ),
        Some(PendingChange::Grants(grants)) => tracing::warn!(
            plugin = %id,
            "the new configuration of `{id}` isn't applied because of `wider_grants = \"wait\"`: it also grants {}; {APPLY_HINT}",
            grants.join(", ")
        ),
        None => {}
    }
    plugin.logged.waiting = waiting;
}

/// Current failures, one per line.
fn failure_lines(desired: &DesiredConfig, plugins: &[ManagedPlugin]) -> Vec<String> {
    let config = desired.rejected.iter().map(|reason| format!("the configuration: {reason}"));
    let plugins = plugins.iter().filter_map(|plugin| {
        let LoadFailure { reason, hint, .. } = plugin.failures().next()?;
        let hint = hint.as_ref().map(|hint| format!(" (hint: {hint})")).unwrap_or_default();
        Some(format!("`{}`: {reason}{hint}", plugin.id()))
    });
    config.chain(plugins).collect()
}

/// The status before anything is loaded.
pub(super) fn initial_status(desired: &DesiredConfig) -> SupervisorStatus {
    SupervisorStatus {
        generation: 0,
        config: config_status(desired),
        plugins: Vec::new(),
        watch_mode: WatchMode::Off,
        is_settled: false,
        reload_counts: ReloadCounts::default(),
        history: VecDeque::new(),
    }
}

fn config_status(desired: &DesiredConfig) -> ConfigStatus {
    let waiting = [
        (WIDER_GRANTS_KEY, desired.wider_grants_waits),
        ("http.auth.tokens", desired.tokens_wait),
        ("admin", desired.admin_waits),
        ("roles", desired.roles_wait),
    ];
    let waiting = waiting.into_iter().filter(|(_, waits)| *waits).map(|(key, _)| key.to_owned());
    ConfigStatus {
        file: desired.started.file.clone(),
        digest: desired.digest,
        since: desired.since,
        rejected: desired.rejected.clone(),
        needs_restart: desired.needs_restart.clone(),
        pending_keys: waiting.collect(),
        stop_grace: desired.stop_grace,
    }
}

fn plugin_statuses(plugins: &[ManagedPlugin], catalog: &Catalog) -> Vec<PluginStatus> {
    let offers = offers(catalog);
    let serving: HashMap<_, _> = catalog.plugins().iter().map(|serving| (serving.id(), serving)).collect();
    plugins
        .iter()
        .map(|plugin| {
            let offers = offers.get(plugin.id()).copied().unwrap_or_default();
            plugin_status(plugin, serving.get(plugin.id()).copied(), offers)
        })
        .collect()
}

fn plugin_status(
    plugin: &ManagedPlugin,
    serving: Option<&Arc<CatalogPlugin>>,
    offer_counts: OfferCounts,
) -> PluginStatus {
    let PluginConfig { id, source, .. } = &**plugin.config();
    PluginStatus {
        id: id.clone(),
        source: source.clone(),
        origin: CodeOrigin::of(plugin.config()),
        state: plugin_state(plugin),
        activity: plugin.activity(),
        digest: plugin.active().map(|active| active.loaded.digest()),
        since: plugin.active().map(|active| active.since),
        about: serving.map(|catalog_plugin| about(catalog_plugin)),
        offer_counts,
        pending_change: plugin.waiting(),
        unavailable_directories: Vec::new(), // they change without an event here
    }
}

fn plugin_state(plugin: &ManagedPlugin) -> PluginState {
    let trouble = plugin.failures().next().map(|failure| PluginIssue {
        reason: failure.reason.clone(),
        hint: failure.hint.clone(),
        ends_calls: failure.ends_calls,
        retry_at: plugin.retry_at(),
    });
    match (trouble, plugin.active()) {
        (Some(trouble), Some(_)) => PluginState::Degraded(trouble),
        (Some(trouble), None) => PluginState::Failed(trouble),
        (None, Some(_)) => PluginState::Serving,
        (None, None) if plugin.waits_for_approval() => PluginState::Failed(PluginIssue {
            reason: "the plugin is new, and its grants wait for the operator".to_owned(),
            hint: Some(APPLY_HINT.to_owned()),
            ends_calls: true,
            retry_at: None,
        }),
        (None, None) => PluginState::Loading,
    }
}

fn about(catalog_plugin: &CatalogPlugin) -> PluginAbout {
    let info = &catalog_plugin.plugin().manifest().info;
    PluginAbout {
        title: info.title.clone(),
        description: info.description.clone(),
        version: info.version.clone(),
    }
}

/// The number of items of each plugin that has any.
fn offers(catalog: &Catalog) -> HashMap<&PluginId, OfferCounts> {
    let mut all = HashMap::<_, OfferCounts>::new();
    for tool in catalog.tools() {
        all.entry(tool.plugin().id()).or_default().tools += 1;
    }
    for resource in catalog.resources() {
        all.entry(resource.plugin().id()).or_default().resources += 1;
    }
    for template in catalog.templates() {
        all.entry(template.plugin().id()).or_default().templates += 1;
    }
    for prompt in catalog.prompts() {
        all.entry(prompt.plugin().id()).or_default().prompts += 1;
    }
    all
}
