//! The requests of one session or connection that run, and how they are told that nobody waits any more.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::jsonrpc::Id;

/// The requests of one session or connection that run.
#[derive(Debug, Default)]
pub struct InFlight(Mutex<Requests>);

/// What runs, and what its ids stand for.
#[derive(Debug)]
struct Requests {
    /// By a number of our own, because a peer may use the id of a cancelled request anew while that one still ends.
    running: HashMap<u64, CancellationToken>,
    /// Which of them an id stands for.
    ids: HashMap<Id, u64>,
    /// How many there were.
    count: u64,
    /// When the peer was last heard of, or a request ended.
    touched: Instant,
}

impl Default for Requests {
    fn default() -> Self {
        Self { running: HashMap::new(), ids: HashMap::new(), count: 0, touched: Instant::now() }
    }
}

/// A request that runs; it counts as running until this is dropped.
#[derive(Debug)]
pub struct Running {
    all: Arc<InFlight>,
    number: u64,
    id: Id,
    cancel: CancellationToken,
}

/// A request of the same id runs already.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a request of this id runs already")]
pub struct Duplicate;

impl InFlight {
    /// Takes up a request.
    ///
    /// # Errors
    /// One of the same id runs already.
    pub fn begin(self: &Arc<Self>, id: &Id) -> Result<Running, Duplicate> {
        let cancel = CancellationToken::new();
        let mut requests = self.lock();
        if requests.ids.contains_key(id) {
            return Err(Duplicate);
        }
        requests.count += 1;
        let number = requests.count;
        requests.ids.insert(id.clone(), number);
        requests.running.insert(number, cancel.clone());
        Ok(Running { all: Arc::clone(self), number, id: id.clone(), cancel })
    }

    /// Tells a request that nobody waits for it any more, and frees its id; one that doesn't run is nothing to tell.
    pub fn cancel(&self, id: &Id) {
        let mut requests = self.lock();
        let number = requests.ids.remove(id);
        if let Some(cancel) = number.and_then(|number| requests.running.get(&number)) {
            cancel.cancel();
        }
    }

    /// Tells all of them.
    pub fn cancel_all(&self) {
        self.lock().running.values().for_each(CancellationToken::cancel);
    }

    /// Since when nothing runs and nothing was heard; none while something runs.
    pub(super) fn silent_since(&self) -> Option<Instant> {
        let requests = self.lock();
        requests.running.is_empty().then_some(requests.touched)
    }

    /// The peer was heard of.
    pub(super) fn touch(&self) {
        self.lock().touched = Instant::now();
    }

    fn lock(&self) -> MutexGuard<'_, Requests> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Running {
    /// Set when nobody waits for it any more.
    #[must_use]
    pub fn token(&self) -> CancellationToken {
        self.cancel.clone()
    }

    /// Was it cancelled?
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.cancel.is_cancelled()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let mut requests = self.all.lock();
        requests.running.remove(&self.number);
        requests.touched = Instant::now();
        if requests.ids.get(&self.id) == Some(&self.number) {
            requests.ids.remove(&self.id);
        }
    }
}
