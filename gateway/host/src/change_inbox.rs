//! Changes that plugins report. They are collected during a call and then moved to the inbox that the supervisor reads.
//!
//! The inbox is state, not a queue: repeated reports of a change count once, and a plugin that reports too many
//! doesn't displace other plugins' changes.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};

use moongate_model::names::{PluginId, ResourceUri};
use tokio::sync::Notify;

use crate::diagnostics::plugin_log::PluginLog;

/// The maximum number of changed resources that one call can report. Others are dropped.
const MAX_RESOURCES_PER_CALL: usize = 256;

/// The maximum number of unread changed resources of one plugin: more than a few calls can report.
const MAX_UNREAD_RESOURCES: usize = 16 * MAX_RESOURCES_PER_CALL;

/// Reported changes that weren't read yet.
#[derive(Debug, Default)]
pub struct ChangeInbox {
    unread: Mutex<BTreeMap<PluginId, ReportedChanges>>,
    added: Notify,
}

/// The changes that one plugin reported.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ReportedChanges {
    /// A list of tools, resources, templates or prompts changed.
    pub lists: bool,
    /// The resources whose contents changed.
    pub resources: BTreeSet<ResourceUri>,
}

impl ChangeInbox {
    /// Waits for changes and takes all of them. Cancel-safe. For one reader only.
    pub async fn take(&self) -> BTreeMap<PluginId, ReportedChanges> {
        loop {
            let added = self.added.notified();
            let changes = self.take_now();
            if !changes.is_empty() {
                return changes;
            }
            added.await;
        }
    }

    /// Takes all changes without waiting.
    pub(crate) fn take_now(&self) -> BTreeMap<PluginId, ReportedChanges> {
        std::mem::take(&mut *self.unread.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Adds the changes that a call of `plugin` reported. False if its resources were dropped, because too many are unread.
    pub fn put(&self, plugin: &PluginId, lists: bool, resources: BTreeSet<ResourceUri>) -> bool {
        let has_room = {
            let mut unread = self.unread.lock().unwrap_or_else(PoisonError::into_inner);
            let reported = unread.entry(plugin.clone()).or_default();
            reported.lists |= lists;
            let has_room = reported.resources.len() + resources.len() <= MAX_UNREAD_RESOURCES;
            if has_room {
                reported.resources.extend(resources);
            }
            has_room
        };
        self.added.notify_one();
        has_room
    }
}

/// The changes that one call reported. They are moved to the inbox when the call ends for any reason.
#[derive(Debug)]
pub(crate) struct CallChanges {
    plugin: PluginId,
    log: Arc<PluginLog>,
    inbox: Option<Arc<ChangeInbox>>,
    lists: bool,
    resources: BTreeSet<ResourceUri>,
    /// Set when an invalid URI was logged.
    logged_invalid: bool,
}

impl CallChanges {
    /// `inbox`: `None` drops the changes.
    pub(crate) fn new(plugin: PluginId, log: Arc<PluginLog>, inbox: Option<Arc<ChangeInbox>>) -> Self {
        Self { plugin, log, inbox, lists: false, resources: BTreeSet::new(), logged_invalid: false }
    }

    /// Adds a changed list. All lists are read again together, so any kind of list has the same effect.
    pub(crate) fn add_list(&mut self) {
        self.lists = true;
    }

    /// Adds a changed resource. An invalid URI is logged once per call, because a guest can report a million.
    pub(crate) fn add_resource(&mut self, uri: &str) {
        if self.resources.len() >= MAX_RESOURCES_PER_CALL {
            return;
        }
        match ResourceUri::new(uri) {
            Ok(uri) => drop(self.resources.insert(uri)),
            Err(_) if self.logged_invalid => {}
            Err(error) => {
                self.logged_invalid = true;
                if self.log.admits(0) {
                    tracing::warn!(plugin = %self.plugin, "ignored a changed resource: {error}");
                }
            }
        }
    }
}

impl Drop for CallChanges {
    fn drop(&mut self) {
        if let Some(inbox) = &self.inbox
            && (self.lists || !self.resources.is_empty())
        {
            let plugin = &self.plugin;
            let has_room = inbox.put(plugin, self.lists, std::mem::take(&mut self.resources));
            if !has_room && self.log.admits(0) {
                tracing::warn!(%plugin, "the plugin reported too many changed resources at once; some were dropped");
            }
        }
    }
}
