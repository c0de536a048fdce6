//! What a plugin says of changes, kept until its call is over.

use std::collections::BTreeSet;

use moongate_core::names::{PluginId, ResourceUri};
use tokio::sync::mpsc;

/// A plugin's word that what is kept of it is out of date.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PluginEvent {
    /// Which plugin.
    pub plugin: PluginId,
    /// What changed.
    pub change: Change,
}

/// What a plugin may say has changed.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Change {
    /// Its list of tools.
    Tools,
    /// Its lists of resources and templates.
    Resources,
    /// Its list of prompts.
    Prompts,
    /// What one of its resources holds.
    Resource(ResourceUri),
}

/// How many different changes one call may report; the rest is dropped.
const MOST: usize = 256;

/// The changes that one call reported, each once. They are sent when the call ends, however it ends.
#[derive(Debug)]
pub(super) struct Changes {
    plugin: PluginId,
    to: Option<mpsc::Sender<PluginEvent>>,
    found: BTreeSet<Change>,
    /// It named something that is no resource, and the log says so.
    misnamed: bool,
}

impl Changes {
    /// `to`: where they go; none: nowhere.
    pub(super) fn new(plugin: PluginId, to: Option<mpsc::Sender<PluginEvent>>) -> Self {
        Self { plugin, to, found: BTreeSet::new(), misnamed: false }
    }

    pub(super) fn add(&mut self, change: Change) {
        if !self.is_full() {
            self.found.insert(change);
        }
    }

    /// Takes the change of a resource. What names none is logged, once: a guest can say it a million times.
    pub(super) fn add_resource(&mut self, uri: &str) {
        match ResourceUri::new(uri) {
            Ok(uri) => self.add(Change::Resource(uri)),
            Err(_) if self.misnamed => {}
            Err(error) => {
                self.misnamed = true;
                tracing::warn!(plugin = %self.plugin, "change of no resource: {error}");
            }
        }
    }

    /// Nothing more is taken.
    pub(super) fn is_full(&self) -> bool {
        self.found.len() >= MOST
    }
}

impl Drop for Changes {
    fn drop(&mut self) {
        let Some(to) = &self.to else { return };
        for change in std::mem::take(&mut self.found) {
            let event = PluginEvent { plugin: self.plugin.clone(), change };
            if to.try_send(event).is_err() {
                tracing::warn!(plugin = %self.plugin, "too many changes at once; some were dropped");
                return;
            }
        }
    }
}
