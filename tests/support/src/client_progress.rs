//! Tracks the progress of clients in several threads.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use crate::WAIT_TIMEOUT;

/// The newest version that each client has seen, shared between the client threads.
#[derive(Debug)]
pub struct ClientProgress {
    progress: Mutex<Progress>,
    changed: Condvar,
}

#[derive(Debug)]
struct Progress {
    versions: Vec<u32>,
    answers: u64,
    is_over: bool,
    has_failed: bool,
}

impl ClientProgress {
    /// Tracks this many clients; none has seen a version yet.
    #[must_use]
    pub fn new(clients: usize) -> Self {
        let progress = Progress { versions: vec![0; clients], answers: 0, is_over: false, has_failed: false };
        Self { progress: Mutex::new(progress), changed: Condvar::new() }
    }

    /// The newest version that any of these clients has seen. Later requests must return this version or a newer one.
    #[must_use]
    pub fn newest_seen(&self, clients: &[usize]) -> u32 {
        let progress = self.lock();
        clients.iter().map(|client| progress.versions[*client]).max().unwrap_or_default()
    }

    /// Records that a client received a response from this version.
    pub fn record(&self, client: usize, version: u32) {
        let mut progress = self.lock();
        progress.versions[client] = progress.versions[client].max(version);
        progress.answers += 1;
        self.changed.notify_all();
    }

    /// Waits until all clients have seen this version or a newer one.
    ///
    /// # Panics
    /// If they don't in time, or if a client fails.
    #[track_caller]
    pub fn wait_until_all_see(&self, version: u32) {
        self.wait_until(&format!("all clients see version {version}"), |progress| {
            progress.versions.iter().all(|newest| *newest >= version)
        });
    }

    /// Waits until the clients have received this many more responses.
    ///
    /// # Panics
    /// If they don't in time, or if a client fails.
    #[track_caller]
    pub fn wait_for_responses(&self, more: u64) {
        let wanted = self.lock().answers + more;
        self.wait_until(&format!("clients received {more} more responses"), |progress| {
            progress.answers >= wanted
        });
    }

    /// Lets the clients stop.
    pub fn finish(&self) {
        self.lock().is_over = true;
    }

    /// Returns true when clients should stop, because the test is finished or a client has failed.
    #[must_use]
    pub fn should_stop(&self) -> bool {
        let progress = self.lock();
        progress.is_over || progress.has_failed
    }

    /// A guard that a client thread holds while it runs; if the thread panics, the other clients stop.
    #[must_use]
    pub fn failure_guard(&self) -> FailureGuard<'_> {
        FailureGuard(self)
    }

    #[track_caller]
    fn wait_until(&self, what: &str, condition: impl Fn(&Progress) -> bool) {
        let end = Instant::now() + WAIT_TIMEOUT;
        let mut progress = self.lock();
        while !condition(&progress) {
            assert!(!progress.has_failed, "a client has failed");
            let remaining = end.saturating_duration_since(Instant::now());
            assert!(!remaining.is_zero(), "timed out waiting until {what}: {progress:?}");
            progress =
                self.changed.wait_timeout(progress, remaining).unwrap_or_else(PoisonError::into_inner).0;
        }
        // A client can have failed on an earlier response.
        assert!(!progress.has_failed, "a client has failed");
    }

    fn lock(&self) -> MutexGuard<'_, Progress> {
        self.progress.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Marks the run as failed if its thread panics.
#[derive(Debug)]
pub struct FailureGuard<'a>(&'a ClientProgress);

impl Drop for FailureGuard<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.lock().has_failed = true;
            self.0.changed.notify_all();
        }
    }
}
