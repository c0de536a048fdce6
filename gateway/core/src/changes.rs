//! What changed since a client was last told: lists that differ, and resources with new contents.
//!
//! A [`Listener`] remembers what its client knows, not what happened meanwhile. So nothing piles up while nobody
//! reads, many changes in a row are told once, and what changed and changed back is not told at all; but after the last
//! change everything that differs is told. Catalogs come through their `watch` channel. Resources are reported to
//! [`Updates`], which reaches only the listeners that subscribed to them.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::watch;

use crate::catalog::{Catalog, Kind};
use crate::names::{Digest, ResourceUri};

mod updates;

use updates::Mailbox;
pub use updates::{TooMany, Updates};

/// Something that a client wants to know.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum News {
    /// Lists of this kind would be others now.
    ListChanged(Kind),
    /// The resource has new contents.
    Updated(ResourceUri),
}

/// One client's wishes, and what it knows. Dropping it ends its subscriptions.
#[derive(Debug)]
pub struct Listener {
    catalog: watch::Receiver<Arc<Catalog>>,
    /// The digests that the client knows, of the kinds that it asked for.
    told: Mutex<BTreeMap<Kind, Digest>>,
    mailbox: Mailbox,
}

impl Listener {
    /// A listener to whom the lists of `kinds` are known as they are now, and that subscribes to nothing.
    #[must_use]
    pub fn new(
        catalog: watch::Receiver<Arc<Catalog>>,
        updates: &Arc<Updates>,
        kinds: impl IntoIterator<Item = Kind>,
    ) -> Self {
        let now = Arc::clone(&catalog.borrow());
        let told = kinds.into_iter().map(|kind| (kind, now.digest(kind))).collect();
        Self { catalog, told: Mutex::new(told), mailbox: Mailbox::new(updates) }
    }

    /// From now on the client is told of updates to `uri`. Subscribing again changes nothing.
    ///
    /// # Errors
    /// The client has subscribed to as much as it may.
    pub fn subscribe(&self, uri: &ResourceUri) -> Result<(), TooMany> {
        self.mailbox.subscribe(uri)
    }

    /// The client is no longer told of `uri`; an update that it wasn't told of yet is forgotten.
    pub fn unsubscribe(&self, uri: &ResourceUri) {
        self.mailbox.unsubscribe(uri);
    }

    /// The next thing that the client doesn't know yet; from then on it counts as told. Waits until there is one.
    ///
    /// Cancel-safe. Where several wait, each piece of news is given to one of them.
    pub async fn next(&self) -> News {
        let mut catalog = self.catalog.clone();
        loop {
            // Made before looking, so that nothing that happens in between is missed.
            let knock = self.mailbox.knock();
            let now = Arc::clone(&catalog.borrow_and_update());
            if let Some(news) = self.take(&now) {
                return news;
            }
            tokio::select! {
                () = knock => {}
                Ok(()) = catalog.changed() => {} // where there will be no other catalog, the knocks remain
            }
        }
    }

    /// Lists first: there are three at most, so updates get their turn.
    fn take(&self, now: &Catalog) -> Option<News> {
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        for (kind, known) in told.iter_mut() {
            let digest = now.digest(*kind);
            if *known != digest {
                *known = digest;
                return Some(News::ListChanged(*kind));
            }
        }
        drop(told);
        self.mailbox.take().map(News::Updated)
    }
}

#[cfg(test)]
mod tests;
