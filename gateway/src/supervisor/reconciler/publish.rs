//! Publishes finished work as one new catalog, and retires the versions that it replaces.
//!
//! Each plugin has up to three versions: the candidate, the active code with new lists, and the active version. The
//! best one that has no conflict with other plugins is published. Active versions never conflict with each other, so a
//! plugin's new version can't remove another plugin.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use moongate_config::{Diagnostic, Severity};
use moongate_model::log_field::milliseconds;
use moongate_model::names::PluginId;
use moongate_model::roles::AccessRoles;
use moongate_protocol::catalog::{Catalog, CatalogBuild, CatalogCandidate, CatalogDiff, RefusedPlugin};
use tokio::time::Instant;

use crate::supervisor::list_refresh::one_line;
use crate::supervisor::managed_plugin::{ManagedPlugin, PublishEffect, VersionChoice};
use crate::supervisor::observer::SupervisorChange;
use crate::supervisor::plugin_host::LoadedPlugin;
use crate::supervisor::reload_report::{describe_activation, diff};

use super::{Phase, Reconciler, RetiredCode, retire_delay};

/// The next catalog.
#[derive(Debug)]
struct NextCatalog {
    catalog: Catalog,
    problems: Vec<Diagnostic>,
    /// For each plugin, its version in the catalog.
    choices: Vec<Option<VersionChoice>>,
    /// For each plugin, the reason for leaving out a better version.
    refused: BTreeMap<PluginId, RefusedPlugin>,
}

impl NextCatalog {
    /// Builds the catalog of all plugins, in configuration order. During the start, the first plugin in the file wins a
    /// conflict, whichever was compiled first.
    fn build(
        plugins: &[ManagedPlugin],
        roles: Option<&Arc<AccessRoles>>,
        before: &Catalog,
        phase: Phase,
    ) -> Self {
        let versions: Vec<_> = plugins.iter().map(ManagedPlugin::versions).collect();
        let candidates: Vec<_> = versions.iter().filter_map(|versions| candidate(versions)).collect();
        let previous = (before.generation() > 0 && phase == Phase::Serving).then_some(before);
        let CatalogBuild { catalog, versions: picks, refused, problems } =
            Catalog::join(before.generation() + 1, &candidates, previous);
        // Only plugins with a version are candidates.
        let mut picks = picks.into_iter();
        let choices = versions.iter().map(|versions| {
            if versions.is_empty() {
                return None;
            }
            versions.get(picks.next()??).map(|(choice, _)| *choice)
        });
        let choices = choices.collect();
        let refused = refused.into_iter().map(|refused| (refused.plugin.clone(), refused)).collect();
        Self { catalog: catalog.with_roles(roles.cloned()), problems, choices, refused }
    }
}

/// A plugin with all its versions; `None` if it has none.
fn candidate(versions: &[(VersionChoice, &LoadedPlugin)]) -> Option<CatalogCandidate> {
    let mut versions = versions.iter().map(|(_, loaded)| loaded.catalog_plugin.clone());
    let best = CatalogCandidate::new(versions.next()?);
    Some(versions.fold(best, CatalogCandidate::with_fallback))
}

/// True if clients and calls see no difference.
fn is_same(a: &Catalog, b: &Catalog) -> bool {
    let mut pairs = a.plugins().iter().zip(b.plugins());
    AccessRoles::are_equivalent(a.roles(), b.roles())
        && a.plugins().len() == b.plugins().len()
        && pairs.all(|(a, b)| Arc::ptr_eq(a.plugin(), b.plugin()) && a.policy().is_equivalent_to(b.policy()))
}

impl Reconciler {
    /// Publishes all finished versions that have no conflicts.
    pub(super) fn publish(&mut self) {
        self.ready_since = None;
        let before = Arc::clone(&self.deps.catalog.borrow());
        // Nothing changes before the catalog is built.
        let built = catch_unwind(AssertUnwindSafe(|| {
            NextCatalog::build(&self.plugins, self.desired.roles.as_ref(), &before, self.phase)
        }));
        let Ok(NextCatalog { catalog, problems, choices, refused }) = built else {
            return self.handle_build_panic();
        };
        let mut effects = Vec::new();
        for (plugin, choice) in self.plugins.iter_mut().zip(choices) {
            let conflict = refused.get(plugin.id()).map(RefusedPlugin::problems);
            effects.push(plugin.apply_choice(choice, conflict));
        }
        if before.generation() == 0 || !is_same(&before, &catalog) {
            self.deps.catalog.send_replace(Arc::new(catalog));
        }
        for (at, effect) in effects.into_iter().enumerate() {
            self.handle_publish_effect(at, effect);
        }
        if self.phase == Phase::Serving {
            for problem in problems.iter().filter(|problem| !self.catalog_problems.contains(problem)) {
                match problem.severity {
                    Severity::Error => tracing::error!("{problem}"),
                    Severity::Warning => tracing::warn!("{problem}"),
                }
            }
        }
        self.catalog_problems = problems;
        let plugins = &self.plugins;
        self.deps.limiter.retain(|id| plugins.iter().any(|plugin| plugin.id() == id));
        for RetiredCode { code, delay } in self.retired.drain(..) {
            code.retire(delay);
        }
    }

    fn handle_publish_effect(&mut self, at: usize, effect: PublishEffect) {
        let plugin = &mut self.plugins[at];
        match effect {
            PublishEffect::None => {}
            PublishEffect::ListsRejected(problems) => {
                self.list_refreshes.rejected(plugin.id(), one_line(&problems));
            }
            PublishEffect::ListsReplaced { before } => {
                plugin.add_earlier_code(&before.code);
                let id = plugin.id();
                let Some(after) = plugin.active_loaded() else { return };
                let diff = diff(Some(&before), after);
                tracing::info!(plugin = %id, "`{id}` changed its lists: {diff}");
                log_warnings(id, &diff);
                self.list_refreshes.accepted(id);
            }
            PublishEffect::Activated { before, detected } => self.handle_activation(at, before, detected),
        }
    }

    /// Logs a new version, and retires the one that it replaces.
    fn handle_activation(&mut self, at: usize, before: Option<LoadedPlugin>, detected: Instant) {
        let plugin = &mut self.plugins[at];
        let id = plugin.id().clone();
        if plugin.take_lists_changed_meanwhile() {
            self.list_refreshes.request(id.clone());
        }
        if let Some(before) = &before {
            plugin.add_earlier_code(&before.code);
        }
        let Some(after) = plugin.active_loaded() else { return };
        let took = detected.elapsed();
        let duration_ms = milliseconds(took);
        let (from, to) = (before.as_ref().map(LoadedPlugin::digest), after.digest());
        if from != Some(to) {
            let change = SupervisorChange::Code { plugin: &id, before: from, after: Some(to) };
            self.deps.observer.changed(&change);
        }
        let to = to.short();
        if self.phase == Phase::Starting && before.is_none() {
            tracing::debug!(plugin = %id, digest = to, duration_ms, "plugin loaded");
            return;
        }
        let diff = diff(before.as_ref(), after);
        let line = describe_activation(before.as_ref(), after, &diff, took);
        let from = before.as_ref().map(|before| before.digest().short());
        if let Some(before) = before {
            let old = Arc::clone(&before.config);
            let new = &after.config;
            if before.digest() != after.digest() || !old.is_equivalent_to(new) {
                let delay = retire_delay(&old, Some(new));
                self.retired.push(RetiredCode { code: before.code, delay });
            }
        }
        // If nothing else changed, only the failure is logged.
        let only_fails = diff.is_empty() && plugin.failures().any(|failure| failure.ends_calls);
        if self.phase == Phase::Serving && !only_fails {
            // The line also contains the warnings, but they should be visible at their own level.
            log_warnings(&id, &diff);
            tracing::info!(plugin = %id, from, to, duration_ms, "`{id}` {line}");
            self.report.counts.replaced += 1;
            self.report.add_change(Some(&id), took, line);
        } else {
            tracing::debug!(plugin = %id, digest = to, duration_ms, "plugin loaded");
        }
    }

    /// Handles a panic while building the catalog: the current catalog stays.
    fn handle_build_panic(&mut self) {
        tracing::error!(
            "internal error while building the catalog; the current one stays (please report this)"
        );
        let now = Instant::now();
        let mut dropped = false;
        for plugin in &mut self.plugins {
            dropped |= plugin.drop_unpublished(now);
        }
        // A revoked grant or a removed plugin must not stay because of them.
        if dropped {
            self.mark_ready();
        }
    }
}

fn log_warnings(plugin: &PluginId, diff: &CatalogDiff) {
    for warning in diff.warnings() {
        tracing::warn!(%plugin, "{warning}");
    }
}
