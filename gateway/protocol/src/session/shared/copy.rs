//! The additional part of a replica's copy of a shared session.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::Instant;

use crate::session::Session;

use super::event_writer::EventLogQueue;

/// The time for which a copy is used without asking the store, while wake-ups arrive.
const COPY_LIFETIME: Duration = Duration::from_secs(5);

/// The state of a copy.
#[derive(Debug)]
pub(in crate::session) struct SharedCopy {
    /// The streams whose events must be logged.
    queue: Arc<EventLogQueue>,
    /// The time of the last comparison with the store. `None` if the session has changed since.
    checked_at: Mutex<Option<Instant>>,
    /// The version that is known.
    version: watch::Sender<u64>,
    /// The readers of streams that aren't in the copy.
    readers: AtomicUsize,
}

/// A reader of a stream that isn't in the copy.
#[derive(Debug)]
pub(super) struct SharedReader(Arc<Session>);

impl SharedCopy {
    pub(super) fn new(queue: &Arc<EventLogQueue>) -> Self {
        Self {
            queue: Arc::clone(queue),
            checked_at: Mutex::default(),
            version: watch::Sender::new(0),
            readers: AtomicUsize::new(0),
        }
    }

    /// Reports whether any stream has a reader.
    pub(in crate::session) fn is_read(&self) -> bool {
        self.readers.load(Ordering::Relaxed) > 0
    }

    /// Copies new events of a stream to the store.
    pub(in crate::session) fn log(&self, session: &Arc<Session>, stream: u64) {
        self.queue.add(session, stream);
    }

    /// Reports whether the copy was compared with the store a short time ago.
    pub(super) fn is_fresh(&self) -> bool {
        let checked_at = *self.checked_at.lock().unwrap_or_else(PoisonError::into_inner);
        checked_at.is_some_and(|at| at.elapsed() < COPY_LIFETIME)
    }

    /// Notes that the store had this version at this time.
    pub(super) fn set_checked(&self, version: u64, at: Instant) {
        *self.checked_at.lock().unwrap_or_else(PoisonError::into_inner) = Some(at);
        self.set_version(version);
    }

    /// Makes the next request ask the store.
    pub(super) fn expire(&self) {
        *self.checked_at.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    /// Notes that the store has this version. Streams compare if it is a new one. True if it is.
    pub(super) fn set_version(&self, version: u64) -> bool {
        self.version.send_if_modified(|known| std::mem::replace(known, version) != version)
    }

    /// The versions to come.
    pub(super) fn versions(&self) -> watch::Receiver<u64> {
        self.version.subscribe()
    }
}

impl SharedReader {
    /// Counts a reader until this is dropped.
    pub(super) fn new(session: &Arc<Session>) -> Self {
        if let Some(shared) = &session.shared {
            shared.readers.fetch_add(1, Ordering::Relaxed);
        }
        Self(Arc::clone(session))
    }
}

impl Drop for SharedReader {
    fn drop(&mut self) {
        self.0.in_flight.touch();
        if let Some(shared) = &self.0.shared {
            shared.readers.fetch_sub(1, Ordering::Relaxed);
        }
    }
}
