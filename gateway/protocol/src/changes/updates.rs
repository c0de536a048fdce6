//! Subscriptions to resources, and the pending updates of each subscriber.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;
use tokio::sync::futures::Notified;

use crate::names::ResourceUri;

/// The maximum number of subscriptions of one listener.
const MAX_SUBSCRIPTIONS: usize = 1024;

/// The maximum total length of the URIs that one listener subscribes to, in bytes. They are kept while the client is
/// connected.
const MAX_SUBSCRIBED_URI_BYTES: usize = 256 * 1024;

/// A listener reached the limit on subscriptions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "too many subscriptions: at most {MAX_SUBSCRIPTIONS} resources, with URIs of at most {MAX_SUBSCRIBED_URI_BYTES} \
     bytes in total, are allowed"
)]
pub struct TooMany;

/// Routes updates to subscribers.
#[derive(Debug, Default)]
pub struct Updates(Mutex<SubscriberIndex>);

/// The subscribers of each resource.
#[derive(Debug, Default)]
struct SubscriberIndex {
    subscribers: HashMap<ResourceUri, HashMap<u64, Arc<PendingUpdates>>>,
    /// The number of mailboxes created so far, which is the number of the next one.
    count: u64,
}

impl Updates {
    /// Reports that the resource at `uri` has new content. The cost is proportional to the number of its subscribers.
    pub fn updated(&self, uri: &ResourceUri) {
        for letters in self.lock().subscribers.get(uri).into_iter().flat_map(HashMap::values) {
            letters.put(uri);
        }
    }

    fn lock(&self) -> MutexGuard<'_, SubscriberIndex> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One listener's subscriptions and pending updates.
#[derive(Debug)]
pub(super) struct Mailbox {
    updates: Arc<Updates>,
    number: u64,
    letters: Arc<PendingUpdates>,
}

/// The content of a mailbox. Locked while the hub is locked, or alone.
#[derive(Debug, Default)]
struct PendingUpdates {
    state: Mutex<MailboxState>,
    knock: Notify,
}

#[derive(Debug, Default)]
struct MailboxState {
    subscribed: HashSet<ResourceUri>,
    /// The total length of `subscribed`, in bytes.
    text: usize,
    /// The resources with a pending update, each once, oldest first.
    waiting: VecDeque<ResourceUri>,
    /// The same as a set.
    waits: HashSet<ResourceUri>,
}

impl Mailbox {
    pub(super) fn new(updates: &Arc<Updates>) -> Self {
        let mut index = updates.lock();
        index.count += 1;
        let number = index.count;
        drop(index);
        Self { updates: Arc::clone(updates), number, letters: Arc::default() }
    }

    pub(super) fn subscribe(&self, uri: &ResourceUri) -> Result<(), TooMany> {
        let mut index = self.updates.lock();
        let mut state = self.letters.lock();
        if state.subscribed.contains(uri) {
            return Ok(());
        }
        let text = state.text + uri.as_str().len();
        if state.subscribed.len() >= MAX_SUBSCRIPTIONS || text > MAX_SUBSCRIBED_URI_BYTES {
            return Err(TooMany);
        }
        state.text = text;
        state.subscribed.insert(uri.clone());
        index.subscribers.entry(uri.clone()).or_default().insert(self.number, Arc::clone(&self.letters));
        Ok(())
    }

    pub(super) fn unsubscribe(&self, uri: &ResourceUri) {
        let mut index = self.updates.lock();
        let mut state = self.letters.lock();
        if state.subscribed.remove(uri) {
            state.text -= uri.as_str().len();
            if state.waits.remove(uri) {
                state.waiting.retain(|waiting| waiting != uri);
            }
            index.remove(uri, self.number);
        }
    }

    /// Completes when something is added after this call.
    pub(super) fn knock(&self) -> Notified<'_> {
        self.letters.knock.notified()
    }

    /// The resource with the oldest pending update.
    pub(super) fn take(&self) -> Option<ResourceUri> {
        let mut state = self.letters.lock();
        let uri = state.waiting.pop_front()?;
        state.waits.remove(&uri);
        Some(uri)
    }
}

impl Drop for Mailbox {
    fn drop(&mut self) {
        let mut index = self.updates.lock();
        for uri in self.letters.lock().subscribed.drain() {
            index.remove(&uri, self.number);
        }
    }
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
    fn put(&self, uri: &ResourceUri) {
        let mut state = self.lock();
        if state.waits.insert(uri.clone()) {
            state.waiting.push_back(uri.clone());
            drop(state);
            self.knock.notify_waiters();
        }
    }

    fn lock(&self) -> MutexGuard<'_, MailboxState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
impl Updates {
    /// The number of resources with subscribers.
    pub(super) fn subscribed(&self) -> usize {
        self.lock().subscribers.len()
    }
}
