//! Idle connections of one plugin under one configuration.
//!
//! Dropping a [`Connection`] closes it, even while it is in use. It is kept only when both the request and the response
//! have ended.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use hyper::client::conn::http1::SendRequest;
use moongate_config::HttpOrigin;
use tokio::time::Instant;
use tokio_util::task::AbortOnDropHandle;

use super::body::RequestBody;
use super::head_limit::HeadLimit;

/// The maximum idle time of a connection: shorter than most servers', so that a request seldom uses a closed
/// connection.
const IDLE_TIMEOUT: Duration = Duration::from_secs(30);

/// The maximum number of idle connections, for each origin and in total.
const MAX_IDLE_PER_ORIGIN: usize = 4;
const MAX_IDLE: usize = 32;

/// An open connection.
pub(super) struct Connection {
    pub(super) sender: SendRequest<RequestBody>,
    /// The server's address.
    pub(super) address: IpAddr,
    /// The limit on the data before a response.
    pub(super) head_limit: Arc<HeadLimit>,
    /// The task that reads and writes. It ends with the connection.
    pub(super) _driver: AbortOnDropHandle<()>,
}

/// Idle connections.
#[derive(Default)]
pub(super) struct ConnectionPool(Mutex<Idle>);

#[derive(Default)]
struct Idle {
    connections: HashMap<HttpOrigin, Vec<(Connection, Instant)>>,
    /// The task that closes connections after their idle time. It runs while there are any.
    reaper: Option<AbortOnDropHandle<()>>,
}

impl ConnectionPool {
    /// An idle connection to an allowed address: the one that was last used.
    pub(super) fn take(&self, origin: &HttpOrigin, allowed: impl Fn(IpAddr) -> bool) -> Option<Connection> {
        let mut idle = self.lock();
        let waiting = idle.connections.get_mut(origin)?;
        waiting.retain(|(connection, _)| !connection.sender.is_closed());
        let at = waiting.iter().rposition(|(connection, _)| allowed(connection.address))?;
        Some(waiting.remove(at).0)
    }

    /// Keeps a connection for the next request.
    pub(super) fn put(self: &Arc<Self>, origin: &HttpOrigin, connection: Connection) {
        if connection.sender.is_closed() {
            return;
        }
        let mut idle = self.lock();
        let all: usize = idle.connections.values().map(Vec::len).sum();
        if all >= MAX_IDLE {
            return;
        }
        let waiting = idle.connections.entry(origin.clone()).or_default();
        if waiting.len() >= MAX_IDLE_PER_ORIGIN {
            return;
        }
        let until = Instant::now() + IDLE_TIMEOUT;
        waiting.push((connection, until));
        if idle.reaper.is_none() {
            idle.reaper = Some(AbortOnDropHandle::new(tokio::spawn(reap(Arc::downgrade(self), until))));
        }
    }

    /// Closes connections whose idle time has expired. Returns the time at which the next one expires.
    fn close_expired(&self) -> Option<Instant> {
        let mut idle = self.lock();
        let now = Instant::now();
        for waiting in idle.connections.values_mut() {
            waiting.retain(|(connection, until)| *until > now && !connection.sender.is_closed());
        }
        idle.connections.retain(|_, waiting| !waiting.is_empty());
        let next = idle.connections.values().flatten().map(|(_, until)| *until).min();
        if next.is_none() {
            idle.reaper = None; // the reaper is the caller and ends by itself
        }
        next
    }

    /// The number of idle connections.
    #[cfg(test)]
    pub(super) fn idle(&self) -> usize {
        self.lock().connections.values().map(Vec::len).sum()
    }

    fn lock(&self) -> MutexGuard<'_, Idle> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

async fn reap(pool: Weak<ConnectionPool>, mut next: Instant) {
    loop {
        tokio::time::sleep_until(next).await;
        let Some(pool) = pool.upgrade() else { return };
        match pool.close_expired() {
            Some(later) => next = later,
            None => return,
        }
    }
}
