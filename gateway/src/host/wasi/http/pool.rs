//! Connections of one plugin under one table, and those that wait for its next request.
//!
//! A connection goes with what holds it: dropping [`Connection`] closes it, whatever goes on in it. It is kept only
//! when both the request and the answer have ended.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use hyper::client::conn::http1::SendRequest;
use moongate_core::config::HttpOrigin;
use tokio::time::Instant;
use tokio_util::task::AbortOnDropHandle;

use super::body::Upload;
use crate::host::wasi::http::informational::Preface;

/// How long a connection waits for its next request: less than servers usually do, so that it is seldom closed under
/// one.
const IDLE: Duration = Duration::from_secs(30);

/// How many connections wait for each origin, and in all.
const EACH: usize = 4;
const ALL: usize = 32;

/// An open connection.
pub(super) struct Connection {
    pub(super) sender: SendRequest<Upload>,
    /// Whom it goes to.
    pub(super) address: IpAddr,
    /// What comes on it before an answer.
    pub(super) preface: Arc<Preface>,
    /// What moves its bytes; it ends with the connection.
    pub(super) _driver: AbortOnDropHandle<()>,
}

/// Connections that wait.
#[derive(Default)]
pub(super) struct Pool(Mutex<Idle>);

#[derive(Default)]
struct Idle {
    waiting: HashMap<HttpOrigin, Vec<(Connection, Instant)>>,
    /// Closes those that have waited for long; runs while there are any.
    reaper: Option<AbortOnDropHandle<()>>,
}

impl Pool {
    /// A connection to go on with, if one leads to an address that is allowed: the one that was used last.
    pub(super) fn take(&self, origin: &HttpOrigin, allowed: impl Fn(IpAddr) -> bool) -> Option<Connection> {
        let mut idle = self.lock();
        let waiting = idle.waiting.get_mut(origin)?;
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
        let all: usize = idle.waiting.values().map(Vec::len).sum();
        if all >= ALL {
            return;
        }
        let waiting = idle.waiting.entry(origin.clone()).or_default();
        if waiting.len() >= EACH {
            return;
        }
        let until = Instant::now() + IDLE;
        waiting.push((connection, until));
        if idle.reaper.is_none() {
            idle.reaper = Some(AbortOnDropHandle::new(tokio::spawn(reap(Arc::downgrade(self), until))));
        }
    }

    /// Closes what has waited for too long. When is there something to do next?
    fn close_old(&self) -> Option<Instant> {
        let (mut idle, now) = (self.lock(), Instant::now());
        for waiting in idle.waiting.values_mut() {
            waiting.retain(|(connection, until)| *until > now && !connection.sender.is_closed());
        }
        idle.waiting.retain(|_, waiting| !waiting.is_empty());
        let next = idle.waiting.values().flatten().map(|(_, until)| *until).min();
        if next.is_none() {
            idle.reaper = None; // which is whoever asks, and ends by itself
        }
        next
    }

    /// How many connections wait.
    #[cfg(test)]
    pub(super) fn waiting(&self) -> usize {
        self.lock().waiting.values().map(Vec::len).sum()
    }

    fn lock(&self) -> MutexGuard<'_, Idle> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

async fn reap(pool: Weak<Pool>, mut next: Instant) {
    loop {
        tokio::time::sleep_until(next).await;
        let Some(pool) = pool.upgrade() else { return };
        match pool.close_old() {
            Some(later) => next = later,
            None => return,
        }
    }
}
