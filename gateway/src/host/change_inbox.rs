//! What plugins say of changes: kept until the call is over, then put where the supervisor finds it.
//!
//! The inbox holds state, not a queue: however often a plugin says something before somebody looks, it is found there
//! once, and nothing that was said is lost because others said too much.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};

use moongate_core::names::{PluginId, ResourceUri};
use tokio::sync::Notify;

/// How many different changes one call may report; the rest is dropped.
const MOST: usize = 256;

/// How many resources of one plugin may wait to be looked at: more than a few calls can name.
const WAITING: usize = 16 * MOST;

/// What plugins said has changed, and nobody has looked at yet.
#[derive(Debug, Default)]
pub struct Inbox {
    found: Mutex<BTreeMap<PluginId, Reported>>,
    news: Notify,
}

/// What one plugin said has changed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Reported {
    /// What it offers: a list of tools, resources, templates or prompts.
    pub lists: bool,
    /// What these resources hold.
    pub resources: BTreeSet<ResourceUri>,
}

impl Inbox {
    /// Waits until there is something, and takes all of it. Cancel-safe; for one reader.
    pub async fn take(&self) -> BTreeMap<PluginId, Reported> {
        loop {
            let news = self.news.notified();
            let found = self.take_now();
            if !found.is_empty() {
                return found;
            }
            news.await;
        }
    }

    /// Takes what is there.
    pub(in crate::host) fn take_now(&self) -> BTreeMap<PluginId, Reported> {
        std::mem::take(&mut *self.found.lock().unwrap_or_else(PoisonError::into_inner))
    }

    pub(crate) fn put(&self, plugin: &PluginId, lists: bool, resources: BTreeSet<ResourceUri>) {
        {
            let mut found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
            let its = found.entry(plugin.clone()).or_default();
            its.lists |= lists;
            if its.resources.len() + resources.len() > WAITING {
                tracing::warn!(%plugin, "it reported too many changes of resources at once; some were dropped");
            } else {
                its.resources.extend(resources);
            }
        }
        self.news.notify_one();
    }
}

/// The changes that one call reported, each once. They are passed on when the call ends, however it ends.
#[derive(Debug)]
pub(in crate::host) struct Changes {
    plugin: PluginId,
    to: Option<Arc<Inbox>>,
    lists: bool,
    resources: BTreeSet<ResourceUri>,
    /// It named something that is no resource, and the log says so.
    misnamed: bool,
}

impl Changes {
    /// `to`: where they go; none: nowhere.
    pub(in crate::host) fn new(plugin: PluginId, to: Option<Arc<Inbox>>) -> Self {
        Self { plugin, to, lists: false, resources: BTreeSet::new(), misnamed: false }
    }

    /// Takes the change of a list. Which one it was doesn't matter: a plugin is asked for all of them in one go.
    pub(in crate::host) fn add_list(&mut self) {
        self.lists = true;
    }

    /// Takes the change of a resource. What names none is logged, once: a guest can say it a million times.
    pub(in crate::host) fn add_resource(&mut self, uri: &str) {
        if self.resources.len() >= MOST {
            return;
        }
        match ResourceUri::new(uri) {
            Ok(uri) => drop(self.resources.insert(uri)),
            Err(_) if self.misnamed => {}
            Err(error) => {
                self.misnamed = true;
                tracing::warn!(plugin = %self.plugin, "change of no resource: {error}");
            }
        }
    }
}

impl Drop for Changes {
    fn drop(&mut self) {
        if let Some(to) = &self.to
            && (self.lists || !self.resources.is_empty())
        {
            to.put(&self.plugin, self.lists, std::mem::take(&mut self.resources));
        }
    }
}
