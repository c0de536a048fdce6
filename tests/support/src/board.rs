//! What clients in several threads have seen so far, and waiting until they have seen more.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use crate::PATIENCE;

/// The newest version that each of several clients has seen.
#[derive(Debug)]
pub struct Board {
    seen: Mutex<Seen>,
    news: Condvar,
}

#[derive(Debug)]
struct Seen {
    versions: Vec<u32>,
    answers: u64,
    is_over: bool,
    has_failed: bool,
}

impl Board {
    /// For so many clients, which have seen nothing yet.
    #[must_use]
    pub fn new(clients: usize) -> Self {
        let seen = Seen { versions: vec![0; clients], answers: 0, is_over: false, has_failed: false };
        Self { seen: Mutex::new(seen), news: Condvar::new() }
    }

    /// The newest version that any of these clients has seen: what they ask for from now on is as new at least.
    #[must_use]
    pub fn newest(&self, clients: &[usize]) -> u32 {
        let seen = self.lock();
        clients.iter().map(|client| seen.versions[*client]).max().unwrap_or_default()
    }

    /// A client has seen a version in an answer.
    pub fn saw(&self, client: usize, version: u32) {
        let mut seen = self.lock();
        seen.versions[client] = seen.versions[client].max(version);
        seen.answers += 1;
        self.news.notify_all();
    }

    /// Waits until all clients have seen this version, or a newer one.
    ///
    /// # Panics
    /// They never do, or one of them has failed.
    #[track_caller]
    pub fn until_all_see(&self, version: u32) {
        self.until(&format!("all see version {version}"), |seen| {
            seen.versions.iter().all(|newest| *newest >= version)
        });
    }

    /// Waits until so many more answers have come.
    ///
    /// # Panics
    /// They don't, or a client has failed.
    #[track_caller]
    pub fn until_answered(&self, more: u64) {
        let wanted = self.lock().answers + more;
        self.until(&format!("{more} more answers"), |seen| seen.answers >= wanted);
    }

    /// Clients may stop.
    pub fn end(&self) {
        self.lock().is_over = true;
    }

    /// Whether clients may stop: there is nothing more to come, or one of them has failed.
    #[must_use]
    pub fn is_over(&self) -> bool {
        let seen = self.lock();
        seen.is_over || seen.has_failed
    }

    /// What a client holds while it runs, so that the others stop if it fails.
    #[must_use]
    pub fn alarm(&self) -> Alarm<'_> {
        Alarm(self)
    }

    #[track_caller]
    fn until(&self, what: &str, so: impl Fn(&Seen) -> bool) {
        let end = Instant::now() + PATIENCE;
        let mut seen = self.lock();
        while !so(&seen) {
            assert!(!seen.has_failed, "a client has failed");
            let left = end.saturating_duration_since(Instant::now());
            assert!(!left.is_zero(), "never so: {what}: {seen:?}");
            seen = self.news.wait_timeout(seen, left).unwrap_or_else(PoisonError::into_inner).0;
        }
        // A client may have failed with something that came before.
        assert!(!seen.has_failed, "a client has failed");
    }

    fn lock(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Tells the others where a client panics.
#[derive(Debug)]
pub struct Alarm<'a>(&'a Board);

impl Drop for Alarm<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.lock().has_failed = true;
            self.0.news.notify_all();
        }
    }
}
