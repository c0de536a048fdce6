//! The running requests of one session or connection, and their cancellation.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::jsonrpc::Id;

/// The running requests of one session or connection.
#[derive(Debug, Default)]
pub struct InFlightRequests(Mutex<RunningRequests>);

/// The running requests, by number and by id.
#[derive(Debug)]
struct RunningRequests {
    /// By a number of the gateway's own, because a peer can reuse the id of a cancelled request that hasn't ended yet.
    running: HashMap<u64, CancellationToken>,
    /// The number that an id refers to.
    ids: HashMap<Id, u64>,
    /// The number of requests so far.
    count: u64,
    /// All requests were cancelled, and so are those that begin later: they found the session just before it ended.
    is_closed: bool,
    /// The time of the peer's last message or of a request's end.
    last_activity: Instant,
}

impl Default for RunningRequests {
    fn default() -> Self {
        Self {
            running: HashMap::new(),
            ids: HashMap::new(),
            count: 0,
            is_closed: false,
            last_activity: Instant::now(),
        }
    }
}

/// A running request. It counts as running until this is dropped.
#[derive(Debug)]
pub struct RunningRequest {
    in_flight: Arc<InFlightRequests>,
    number: u64,
    id: Id,
    cancel: CancellationToken,
}

/// The id is already in use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a request with this id is already running")]
pub struct DuplicateRequestId;

impl InFlightRequests {
    /// Registers a request. It is cancelled from the beginning if all requests were cancelled before.
    ///
    /// # Errors
    /// A request with this id is already running.
    pub fn begin(self: &Arc<Self>, id: &Id) -> Result<RunningRequest, DuplicateRequestId> {
        let cancel = CancellationToken::new();
        let mut requests = self.lock();
        if requests.ids.contains_key(id) {
            return Err(DuplicateRequestId);
        }
        if requests.is_closed {
            cancel.cancel();
        }
        requests.count += 1;
        let number = requests.count;
        requests.ids.insert(id.clone(), number);
        requests.running.insert(number, cancel.clone());
        Ok(RunningRequest { in_flight: Arc::clone(self), number, id: id.clone(), cancel })
    }

    /// Cancels a request and frees its id. False if no request has this id.
    pub fn cancel(&self, id: &Id) -> bool {
        let mut requests = self.lock();
        let number = requests.ids.remove(id);
        let cancel = number.and_then(|number| requests.running.get(&number));
        cancel.map(CancellationToken::cancel).is_some()
    }

    /// Cancels all requests, and those that begin later.
    pub fn cancel_all(&self) {
        let mut requests = self.lock();
        requests.is_closed = true;
        requests.running.values().for_each(CancellationToken::cancel);
    }

    /// The number of running requests, and the time of the last message or of the last end of a request.
    pub(super) fn activity(&self) -> (usize, Instant) {
        let requests = self.lock();
        (requests.running.len(), requests.last_activity)
    }

    /// Records a message of the peer.
    pub(super) fn touch(&self) {
        self.lock().last_activity = Instant::now();
    }

    fn lock(&self) -> MutexGuard<'_, RunningRequests> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl RunningRequest {
    /// Set when the request is cancelled.
    #[must_use]
    pub fn token(&self) -> CancellationToken {
        self.cancel.clone()
    }

    /// Reports whether the request was cancelled.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.cancel.is_cancelled()
    }
}

impl Drop for RunningRequest {
    fn drop(&mut self) {
        let mut requests = self.in_flight.lock();
        requests.running.remove(&self.number);
        requests.last_activity = Instant::now();
        if requests.ids.get(&self.id) == Some(&self.number) {
            requests.ids.remove(&self.id);
        }
    }
}
