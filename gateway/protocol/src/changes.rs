//! Pending change notifications of each client: lists that differ, and resources with new content.
//!
//! A [`ChangeListener`] remembers the state that its client knows, not the changes since then. So nothing accumulates for a
//! client that doesn't read, many changes in a row become one notification, and a change that was reverted becomes
//! none. After the last change the client is notified of everything that differs. Catalogs arrive through a `watch`
//! channel. Changed resources are reported to [`ResourceUpdates`], which reaches only the listeners that subscribed to them.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::watch;

use crate::caller::Caller;
use crate::catalog::{Catalog, ListKind};
use crate::names::{Digest, Principal, ResourceUri};

mod shared_change;
mod updates;

pub(crate) use shared_change::SharedChange;
use updates::{ListRepeats, Mailbox};
pub(crate) use updates::{MAX_SUBSCRIBED_URI_BYTES, MAX_SUBSCRIPTIONS};
pub use updates::{ResourceUpdates, SubscriptionLimitError};

/// A change that a client is interested in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ChangeEvent {
    /// Lists of this kind differ from those that the client knows.
    ListChanged(ListKind),
    /// The resource has new content.
    Updated(ResourceUri),
}

/// A list that a client knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct KnownList {
    digest: Digest,
    /// The number of [`ResourceUpdates::repeat_lists`] before the client was notified of it.
    repeats: u64,
}

/// One client's subscriptions, and the state that it knows. Dropping it ends its subscriptions.
#[derive(Debug)]
pub struct ChangeListener {
    catalog: watch::Receiver<Arc<Catalog>>,
    /// The caller, with the facts of its latest token. What it sees decides what it is notified of.
    viewer: Arc<watch::Sender<Principal>>,
    /// The lists that the client knows, for the kinds that it asked for.
    known: Mutex<BTreeMap<ListKind, KnownList>>,
    mailbox: Mailbox,
}

impl ChangeListener {
    /// A listener without subscriptions whose client knows the current lists of `kinds`.
    #[must_use]
    pub fn new(
        catalog: watch::Receiver<Arc<Catalog>>,
        updates: &Arc<ResourceUpdates>,
        viewer: Principal,
        kinds: impl IntoIterator<Item = ListKind>,
    ) -> Self {
        let now = catalog.borrow().visible_to(&viewer);
        let viewer = Arc::new(watch::Sender::new(viewer));
        let listener = Self { catalog, viewer, known: Mutex::default(), mailbox: Mailbox::new(updates) };
        listener.set_known(kinds.into_iter().map(|kind| (kind, now.digest(kind))));
        listener
    }

    /// A listener of the same client, which knows no lists and has no subscriptions.
    pub(crate) fn another(&self) -> Self {
        Self {
            catalog: self.catalog.clone(),
            viewer: Arc::clone(&self.viewer),
            known: Mutex::default(),
            mailbox: self.mailbox.another(),
        }
    }

    /// Notes the facts of the caller's latest token. If they change what it sees, it is notified.
    pub fn set_viewer(&self, principal: &Principal) {
        self.viewer.send_if_modified(|viewer| {
            let is_other = !viewer.has_same_facts(principal);
            if is_other {
                *viewer = principal.clone();
            }
            is_other
        });
    }

    /// Subscribes to updates of `uri`, for the caller that owns this listener. Subscribing twice has no effect.
    ///
    /// # Errors
    /// The client has reached a limit on subscriptions.
    pub fn subscribe(&self, caller: &Caller, uri: &ResourceUri) -> Result<(), SubscriptionLimitError> {
        self.mailbox.subscribe(caller, uri)
    }

    /// Ends the subscription to `uri`, and discards a pending update to it.
    pub fn unsubscribe(&self, uri: &ResourceUri) {
        self.mailbox.unsubscribe(uri);
    }

    /// The digest of a list that the client knows. `None` if it didn't ask for lists of this kind.
    pub(crate) fn known(&self, kind: ListKind) -> Option<Digest> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner).get(&kind).map(|known| known.digest)
    }

    /// Replaces the lists that the client knows.
    pub(crate) fn set_known(&self, known: impl IntoIterator<Item = (ListKind, Digest)>) {
        let repeats = *self.mailbox.list_repeats().borrow();
        let known =
            known.into_iter().map(|(kind, digest)| (kind, KnownList { digest, repeats: repeats.of(kind) }));
        *self.known.lock().unwrap_or_else(PoisonError::into_inner) = known.collect();
    }

    /// The resources that the client is subscribed to here.
    pub(crate) fn subscriptions(&self) -> Vec<ResourceUri> {
        self.mailbox.subscriptions()
    }

    /// Adds an update of a resource that the client is subscribed to.
    pub(crate) fn add_update(&self, uri: &ResourceUri) {
        self.mailbox.add(uri);
    }

    /// The next change that the client doesn't know yet. From then on it counts as known. Waits until there is one.
    ///
    /// Cancel-safe. If several tasks wait, each change goes to one of them.
    pub async fn next(&self) -> ChangeEvent {
        let mut catalog = self.catalog.clone();
        let mut viewer = self.viewer.subscribe();
        let mut repeats = self.mailbox.list_repeats();
        loop {
            // Created before the check, so that nothing in between is missed.
            let arrival = self.mailbox.arrival();
            let now = catalog.borrow_and_update().visible_to(&viewer.borrow_and_update());
            let repeated = *repeats.borrow_and_update();
            if let Some(event) = self.next_pending(&now, repeated) {
                return event;
            }
            tokio::select! {
                () = arrival => {}
                Ok(()) = catalog.changed() => {} // if no catalog follows, only the wake-ups remain
                Ok(()) = viewer.changed() => {}
                Ok(()) = repeats.changed() => {}
            }
        }
    }

    /// Lists come first: there are at most three, so updates aren't delayed for long.
    fn next_pending(&self, now: &Catalog, repeats: ListRepeats) -> Option<ChangeEvent> {
        let mut all_known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        for (kind, known) in all_known.iter_mut() {
            let current = KnownList { digest: now.digest(*kind), repeats: repeats.of(*kind) };
            if *known != current {
                *known = current;
                return Some(ChangeEvent::ListChanged(*kind));
            }
        }
        drop(all_known);
        // A resource can be hidden since the subscription.
        let is_visible = |uri: &ResourceUri| !now.hides_resource(uri.as_str(), None);
        std::iter::from_fn(|| self.mailbox.take()).find(is_visible).map(ChangeEvent::Updated)
    }
}

#[cfg(test)]
mod tests;
