//! Limits the number of open connections. At the limit, the connection that has been idle longest is closed: clients
//! keep connections for later requests, and some never finish a request that they started.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use moongate_model::log_field::milliseconds;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, sleep_until, timeout};
use tokio_util::sync::CancellationToken;

/// The delay between two attempts to evict a connection while all are busy.
const EVICTION_RETRY: Duration = Duration::from_secs(1);

/// Hands out connection slots.
#[derive(Debug)]
pub(super) struct ConnectionLimiter {
    free: Arc<Semaphore>,
    connections: Mutex<Connections>,
}

#[derive(Debug, Default)]
struct Connections {
    open: HashMap<u64, Arc<Connection>>,
    /// The number of slots ever acquired.
    count: u64,
}

/// An open connection.
#[derive(Debug)]
struct Connection {
    state: Mutex<ConnectionState>,
    evicted: CancellationToken,
}

#[derive(Debug, Clone, Copy)]
struct ConnectionState {
    /// The number of requests that are being answered.
    active_requests: usize,
    /// The time of the last activity: a request head arrived, or an answer was ready.
    last_activity: Instant,
}

/// The slot of one connection. Dropping it frees the slot.
#[derive(Debug)]
pub(super) struct ConnectionSlot {
    limiter: Arc<ConnectionLimiter>,
    number: u64,
    handle: ConnectionHandle,
    _permit: OwnedSemaphorePermit,
}

/// The connection of a request, which carries it as an extension.
#[derive(Debug, Clone)]
pub(crate) struct ConnectionHandle(Arc<Connection>);

/// A request that is being answered. Its connection isn't idle until this is dropped.
#[derive(Debug)]
pub(crate) struct ActiveRequest(Arc<Connection>);

impl ConnectionLimiter {
    /// At most `max` connections.
    pub(super) fn new(max: usize) -> Arc<Self> {
        Arc::new(Self { free: Arc::new(Semaphore::new(max)), connections: Mutex::default() })
    }

    /// Waits for a slot. If there is none, the connection that has been idle longest is evicted.
    pub(super) async fn acquire(self: &Arc<Self>) -> ConnectionSlot {
        let permit = loop {
            if let Ok(permit) = Arc::clone(&self.free).try_acquire_owned() {
                break permit;
            }
            self.evict_idle();
            if let Ok(permit) = timeout(EVICTION_RETRY, Arc::clone(&self.free).acquire_owned()).await {
                break permit.expect("the semaphore is never closed");
            }
        };
        let state = Mutex::new(ConnectionState { active_requests: 0, last_activity: Instant::now() });
        let connection = Arc::new(Connection { state, evicted: CancellationToken::new() });
        let mut connections = self.lock();
        connections.count += 1;
        let number = connections.count;
        connections.open.insert(number, Arc::clone(&connection));
        drop(connections);
        let handle = ConnectionHandle(connection);
        ConnectionSlot { limiter: Arc::clone(self), number, handle, _permit: permit }
    }

    fn evict_idle(&self) {
        let connections = self.lock();
        let idle = connections.open.values().filter_map(|it| Some((it, it.idle_since()?)));
        let longest = idle.filter(|(it, _)| !it.evicted.is_cancelled()).min_by_key(|(_, since)| *since);
        match longest {
            Some((connection, since)) => {
                let idle_ms = milliseconds(since.elapsed());
                tracing::debug!(idle_ms, "closing an idle connection to accept another");
                connection.evicted.cancel();
            }
            None => tracing::warn!("all connections are busy; new ones have to wait"),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Connections> {
        self.connections.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ConnectionSlot {
    /// The connection, for its requests.
    pub(super) fn handle(&self) -> ConnectionHandle {
        self.handle.clone()
    }

    /// Waits until the connection is evicted.
    pub(super) async fn evicted(&self) {
        self.handle.0.evicted.cancelled().await;
    }

    /// Waits until the connection has been idle for `duration`.
    pub(super) async fn idle_for(&self, duration: Duration) {
        loop {
            let end = self.handle.0.idle_since().unwrap_or_else(Instant::now) + duration;
            if end <= Instant::now() {
                return;
            }
            sleep_until(end).await;
        }
    }
}

impl Drop for ConnectionSlot {
    fn drop(&mut self) {
        self.limiter.lock().open.remove(&self.number);
    }
}

impl ConnectionHandle {
    /// Records activity.
    pub(super) fn touch(&self) {
        self.0.state().last_activity = Instant::now();
    }

    /// Marks the connection as busy. Until then, while the body of the request is being read, it counts as idle.
    pub(crate) fn begin_request(&self) -> ActiveRequest {
        self.0.state().active_requests += 1;
        ActiveRequest(Arc::clone(&self.0))
    }
}

impl Drop for ActiveRequest {
    fn drop(&mut self) {
        let mut state = self.0.state();
        state.active_requests -= 1;
        state.last_activity = Instant::now();
    }
}

impl Connection {
    fn state(&self) -> MutexGuard<'_, ConnectionState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The time of the last activity. `None` while a request is being answered.
    fn idle_since(&self) -> Option<Instant> {
        let ConnectionState { active_requests, last_activity } = *self.state();
        (active_requests == 0).then_some(last_activity)
    }
}

#[cfg(test)]
mod tests;
