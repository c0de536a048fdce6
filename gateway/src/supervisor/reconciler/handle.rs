//! Applying an event to the state.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;

use moongate_config::PluginConfig;
use moongate_model::names::PluginId;
use tokio::time::Instant;

use crate::supervisor::check::{CheckRequest, CheckResult, CheckScope, CompileStep};
use crate::supervisor::control::ReloadRequest;
use crate::supervisor::desired_config::ReadRequest;
use crate::supervisor::list_refresh::RefreshResult;
use crate::supervisor::managed_plugin::{CheckEffect, ManagedPlugin};
use crate::supervisor::observer::SupervisorChange;
use crate::supervisor::plugin_host::LoadedPlugin;
use crate::supervisor::watch::WatchEvent;
use moongate_host::ReportedChanges;

use super::{Event, Reconciler, TaskResult};

impl Reconciler {
    pub(super) fn handle(&mut self, event: Event) {
        match event {
            Event::Watch(WatchEvent::FilesChanged(files)) => self.handle_changed_files(&files),
            Event::Watch(WatchEvent::ModeChanged(watching)) => self.watching = watching,
            Event::ReloadRequested(request) => self.handle_request(request),
            Event::ReportedByPlugins(reported) => self.handle_reports(reported),
            Event::ListsChangedElsewhere(id) => {
                if self.note_changed_lists(&id) {
                    self.list_refreshes.request(id);
                }
            }
            Event::TaskEnded(result) => self.handle_task(*result),
            Event::Compile(CompileStep { serial, stage }) => {
                if let Some(plugin) = self.find_plugin(serial) {
                    plugin.set_compile_stage(stage);
                }
            }
            Event::Timer => {}
        }
    }

    fn handle_task(&mut self, result: TaskResult) {
        match result {
            TaskResult::Checked { serial, config, result } => self.handle_check(serial, &config, result),
            TaskResult::ListsRefreshed { serial, plugin, before, result } => {
                self.handle_lists(serial, &plugin, &before, result);
            }
            TaskResult::ConfigRead(loaded) => self.handle_config(*loaded),
        }
    }

    /// Queues checks of the plugins whose components changed. Every other file is part of the configuration.
    fn handle_changed_files(&mut self, files: &BTreeSet<PathBuf>) {
        let now = Instant::now();
        let mut components = BTreeSet::new();
        for plugin in &mut self.plugins {
            let waiting = plugin.waiting_config().map(|config| &config.source);
            components.extend(waiting.filter(|source| files.contains(*source)).cloned());
            let source = plugin.config().source.clone();
            if files.contains(&source) {
                components.insert(source);
                plugin.request_check(CheckRequest::of_file(now));
            }
        }
        // Any of these files may be the fix for a rejected configuration.
        let is_rejected = self.desired.rejected.is_some();
        if is_rejected || files.iter().any(|file| !components.contains(file)) {
            self.desired.request_read(ReadRequest { detected: now, request: None });
        }
    }

    /// Reads the configuration, and then checks all plugins.
    fn handle_request(&mut self, ReloadRequest { cause, done }: ReloadRequest) {
        tracing::info!(cause = cause.as_str(), "reload requested: re-reading configuration and plugins");
        self.deps.observer.changed(&SupervisorChange::ReloadRequested(cause));
        let request = Some(self.report.add_request(done));
        self.desired.request_read(ReadRequest { detected: Instant::now(), request });
    }

    fn handle_reports(&mut self, reported: BTreeMap<PluginId, ReportedChanges>) {
        let catalog = Arc::clone(&self.deps.catalog.borrow());
        for (id, reported) in reported {
            if reported.lists {
                self.note_changed_lists(&id);
            }
            self.list_refreshes.report(&id, reported, &catalog, &self.deps.updates);
        }
    }

    /// Notes that a plugin has other lists. False if there is no such plugin.
    fn note_changed_lists(&mut self, id: &PluginId) -> bool {
        let plugin = self.plugins.iter_mut().find(|plugin| plugin.id() == id);
        plugin.is_some_and(|plugin| {
            plugin.note_changed_lists();
            true
        })
    }

    fn handle_check(&mut self, serial: u64, config: &PluginConfig, result: CheckResult) {
        let now = Instant::now();
        let Some(plugin) = self.find_plugin(serial) else { return };
        match plugin.finish_check(config, result, now) {
            CheckEffect::ReadyToPublish => self.mark_ready(),
            CheckEffect::SameContent => self.report.counts.unchanged += 1,
            CheckEffect::None => {}
        }
    }

    fn handle_lists(&mut self, serial: u64, id: &PluginId, before: &LoadedPlugin, result: RefreshResult) {
        self.list_refreshes.finish(id);
        let Some(plugin) = self.find_plugin(serial) else {
            self.unconfirmed.remove(id);
            self.note_confirmed();
            return self.list_refreshes.forget(id);
        };
        let is_active = plugin.active_loaded().is_some_and(|active| active.is_same_instance(before));
        match result {
            // Another version became active in the meantime, and its lists may not include the change.
            _ if !is_active => self.list_refreshes.request(id.clone()),
            Ok(None) => self.list_refreshes.accepted(id),
            Ok(Some(new_lists)) => {
                plugin.set_new_lists(new_lists);
                self.publish_now();
            }
            Err(_) if plugin.is_unconfirmed() => {
                // It can't be called, so it fails like at a start without a cache, and is retried.
                let detected = Instant::now();
                plugin.request_check(CheckRequest {
                    scope: CheckScope::Config,
                    ..CheckRequest::of_file(detected)
                });
            }
            Err(reason) => self.list_refreshes.rejected(id, reason),
        }
        let catalog = Arc::clone(&self.deps.catalog.borrow());
        self.list_refreshes.notify_waiting(id, &catalog, &self.deps.updates);
        if self.unconfirmed.remove(id) {
            self.note_confirmed();
        }
    }

    fn find_plugin(&mut self, serial: u64) -> Option<&mut ManagedPlugin> {
        self.plugins.iter_mut().find(|plugin| plugin.serial == serial)
    }
}
