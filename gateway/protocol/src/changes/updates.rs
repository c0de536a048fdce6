//! Subscriptions to resources, and the pending updates of each subscriber.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use tokio::sync::futures::Notified;
use tokio::sync::{Notify, mpsc, watch};

use crate::caller::Caller;
use crate::caller_budget::{BudgetShare, CallerBudget};
use crate::catalog::ListKind;
use crate::names::{PluginId, ResourceUri};

use super::SharedChange;

/// The maximum number of subscriptions of one listener.
pub(crate) const MAX_SUBSCRIPTIONS: usize = 1024;

/// The maximum total length of the URIs that one listener subscribes to, in bytes. They are kept while the client is
/// connected.
pub(crate) const MAX_SUBSCRIBED_URI_BYTES: usize = 256 * 1024;

/// The maximum size of the subscriptions of all listeners, in bytes, until the server sets it.
const DEFAULT_SUBSCRIPTION_BYTES: u64 = 32 * 1024 * 1024;

/// The size of a subscription without its URI, in bytes: about what the index and the mailbox need for it.
const SUBSCRIPTION_BYTES: u64 = 256;

/// A limit on subscriptions was reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SubscriptionLimitError {
    /// The limit of one listener.
    #[error(
        "too many subscriptions: at most {MAX_SUBSCRIPTIONS} resources, with URIs of at most {MAX_SUBSCRIBED_URI_BYTES} \
         bytes in total, are allowed"
    )]
    Listener,
    /// The caller's share of the limit of all listeners.
    #[error("too many subscriptions across all your sessions and streams")]
    Total,
}

/// Routes updates to subscribers.
#[derive(Debug)]
pub struct ResourceUpdates {
    index: Mutex<SubscriberIndex>,
    budget: Arc<CallerBudget>,
    /// Receives all reports, if replicas share them.
    journal: OnceLock<mpsc::UnboundedSender<SharedChange>>,
    /// Receives the plugins that reported changed lists at other replicas.
    changed_elsewhere: OnceLock<mpsc::UnboundedSender<PluginId>>,
    list_repeats: watch::Sender<ListRepeats>,
}

/// For each kind of list, the number of times that clients were to be notified of it again.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct ListRepeats {
    tools: u64,
    prompts: u64,
    resources: u64,
}

impl ListRepeats {
    pub(super) fn of(self, kind: ListKind) -> u64 {
        match kind {
            ListKind::Tools => self.tools,
            ListKind::Prompts => self.prompts,
            ListKind::Resources => self.resources,
        }
    }

    fn add(&mut self, kind: ListKind) {
        let count = match kind {
            ListKind::Tools => &mut self.tools,
            ListKind::Prompts => &mut self.prompts,
            ListKind::Resources => &mut self.resources,
        };
        *count += 1;
    }
}

impl Default for ResourceUpdates {
    fn default() -> Self {
        Self {
            index: Mutex::default(),
            budget: CallerBudget::new(DEFAULT_SUBSCRIPTION_BYTES),
            journal: OnceLock::new(),
            changed_elsewhere: OnceLock::new(),
            list_repeats: watch::Sender::default(),
        }
    }
}

/// The subscribers of each resource.
#[derive(Debug, Default)]
struct SubscriberIndex {
    subscribers: HashMap<ResourceUri, HashMap<u64, Arc<PendingUpdates>>>,
    /// The number of mailboxes created so far, which is the number of the next one.
    mailboxes_created: u64,
}

impl ResourceUpdates {
    /// Reports that the resource at `uri` has new content. The cost is proportional to the number of its subscribers.
    pub fn report(&self, uri: &ResourceUri) {
        if !self.share(SharedChange::Resource(uri.clone())) {
            self.deliver(uri);
        }
    }

    /// Lets other replicas ask `plugin` for its lists, because it reported that they have changed.
    pub fn report_lists(&self, plugin: &PluginId) {
        self.share(SharedChange::PluginLists(plugin.clone()));
    }

    /// The plugins that reported changed lists at other replicas. For one reader only.
    #[must_use]
    pub fn lists_changed_elsewhere(&self) -> mpsc::UnboundedReceiver<PluginId> {
        let (sender, plugins) = mpsc::unbounded_channel();
        let _ = self.changed_elsewhere.set(sender); // only the first one counts
        plugins
    }

    /// Tells other replicas of a change, if there are any.
    pub(crate) fn share(&self, change: SharedChange) -> bool {
        self.journal.get().is_some_and(|journal| journal.send(change).is_ok())
    }

    /// Sends all reports here from now on. Each of them must be delivered by every replica.
    pub(crate) fn set_journal(&self, journal: mpsc::UnboundedSender<SharedChange>) {
        let _ = self.journal.set(journal); // only the first one counts
    }

    /// Delivers another replica's report of a plugin with changed lists.
    pub(crate) fn deliver_lists(&self, plugin: PluginId) {
        if let Some(sender) = self.changed_elsewhere.get() {
            let _ = sender.send(plugin); // the reader is gone at shutdown
        }
    }

    /// Notifies clients of the current lists of this kind again: they might have got others from another replica since.
    pub(crate) fn repeat_lists(&self, kind: ListKind) {
        self.list_repeats.send_modify(|repeats| repeats.add(kind));
    }

    /// Delivers a report to the subscribers here.
    pub(crate) fn deliver(&self, uri: &ResourceUri) {
        for letters in self.lock().subscribers.get(uri).into_iter().flat_map(HashMap::values) {
            letters.add(uri);
        }
    }

    /// Sets the maximum size of the subscriptions of all listeners, in bytes.
    pub(crate) fn set_memory(&self, bytes: u64) {
        self.budget.set_total(bytes);
    }

    fn lock(&self) -> MutexGuard<'_, SubscriberIndex> {
        self.index.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One listener's subscriptions and pending updates.
#[derive(Debug)]
pub(super) struct Mailbox {
    updates: Arc<ResourceUpdates>,
    number: u64,
    pending: Arc<PendingUpdates>,
}

/// The content of a mailbox. Locked while the hub is locked, or alone.
#[derive(Debug, Default)]
struct PendingUpdates {
    state: Mutex<MailboxState>,
    arrival: Notify,
}

#[derive(Debug, Default)]
struct MailboxState {
    subscribed: HashSet<ResourceUri>,
    /// The part of the budget that `subscribed` takes.
    share: Option<BudgetShare>,
    /// The total length of `subscribed`, in bytes.
    subscribed_bytes: usize,
    /// The resources with a pending update, each once, oldest first.
    pending: VecDeque<ResourceUri>,
    /// The same as a set.
    pending_set: HashSet<ResourceUri>,
}

impl Mailbox {
    pub(super) fn new(updates: &Arc<ResourceUpdates>) -> Self {
        let mut index = updates.lock();
        index.mailboxes_created += 1;
        let number = index.mailboxes_created;
        drop(index);
        Self { updates: Arc::clone(updates), number, pending: Arc::default() }
    }

    pub(super) fn list_repeats(&self) -> watch::Receiver<ListRepeats> {
        self.updates.list_repeats.subscribe()
    }

    /// An empty mailbox for the same updates.
    pub(super) fn another(&self) -> Self {
        Self::new(&self.updates)
    }

    pub(super) fn subscribe(&self, caller: &Caller, uri: &ResourceUri) -> Result<(), SubscriptionLimitError> {
        let mut index = self.updates.lock();
        let mut state = self.pending.lock();
        if state.subscribed.contains(uri) {
            return Ok(());
        }
        let text = state.subscribed_bytes + uri.as_str().len();
        if state.subscribed.len() >= MAX_SUBSCRIPTIONS || text > MAX_SUBSCRIBED_URI_BYTES {
            return Err(SubscriptionLimitError::Listener);
        }
        let size = subscription_size(uri);
        match &mut state.share {
            Some(share) => share.try_grow(size),
            none => {
                *none = self.updates.budget.try_reserve(caller, size);
                none.is_some()
            }
        }
        .then_some(())
        .ok_or(SubscriptionLimitError::Total)?;
        state.subscribed_bytes = text;
        state.subscribed.insert(uri.clone());
        index.subscribers.entry(uri.clone()).or_default().insert(self.number, Arc::clone(&self.pending));
        Ok(())
    }

    pub(super) fn unsubscribe(&self, uri: &ResourceUri) {
        let mut index = self.updates.lock();
        let mut state = self.pending.lock();
        if state.subscribed.remove(uri) {
            state.subscribed_bytes -= uri.as_str().len();
            if let Some(share) = &mut state.share {
                share.shrink(subscription_size(uri));
            }
            if state.pending_set.remove(uri) {
                state.pending.retain(|waiting| waiting != uri);
            }
            index.remove(uri, self.number);
        }
    }

    pub(super) fn subscriptions(&self) -> Vec<ResourceUri> {
        self.pending.lock().subscribed.iter().cloned().collect()
    }

    /// Adds an update, if there is a subscription.
    pub(super) fn add(&self, uri: &ResourceUri) {
        if self.pending.lock().subscribed.contains(uri) {
            self.pending.add(uri);
        }
    }

    /// Completes when something is added after this call.
    pub(super) fn arrival(&self) -> Notified<'_> {
        self.pending.arrival.notified()
    }

    /// The resource with the oldest pending update.
    pub(super) fn take(&self) -> Option<ResourceUri> {
        let mut state = self.pending.lock();
        let uri = state.pending.pop_front()?;
        state.pending_set.remove(&uri);
        Some(uri)
    }
}

impl Drop for Mailbox {
    fn drop(&mut self) {
        let mut index = self.updates.lock();
        let mut state = self.pending.lock();
        state.share = None;
        for uri in state.subscribed.drain() {
            index.remove(&uri, self.number);
        }
    }
}

fn subscription_size(uri: &ResourceUri) -> u64 {
    SUBSCRIPTION_BYTES + uri.as_str().len() as u64
}

impl SubscriberIndex {
    fn remove(&mut self, uri: &ResourceUri, number: u64) {
        if let Some(subscribers) = self.subscribers.get_mut(uri) {
            subscribers.remove(&number);
            if subscribers.is_empty() {
                self.subscribers.remove(uri);
            }
        }
    }
}

impl PendingUpdates {
    fn add(&self, uri: &ResourceUri) {
        let mut state = self.lock();
        if state.pending_set.insert(uri.clone()) {
            state.pending.push_back(uri.clone());
            drop(state);
            self.arrival.notify_waiters();
        }
    }

    fn lock(&self) -> MutexGuard<'_, MailboxState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
impl ResourceUpdates {
    /// The number of resources with subscribers.
    pub(super) fn subscribed(&self) -> usize {
        self.lock().subscribers.len()
    }
}
