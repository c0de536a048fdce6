//! Deduplication of log lines.
//!
//! A guest can cause the same log line in every call, or a different one each time. So each message is logged once, and
//! after [`MAX_LOGGED`] different ones, a last line announces that further ones are omitted.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

/// The maximum number of different messages that are logged.
const MAX_LOGGED: usize = 64;

/// The messages that were already logged.
#[derive(Debug)]
pub(crate) struct LogOnce<T>(Mutex<BTreeSet<T>>);

/// The result of [`LogOnce::insert`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FirstTime {
    /// It is new: log it.
    Yes,
    /// It was logged before, or is over the limit.
    No,
    /// It is the first one over the limit: log that further ones are omitted.
    LimitReached,
}

impl<T> Default for LogOnce<T> {
    fn default() -> Self {
        Self(Mutex::new(BTreeSet::new()))
    }
}

impl<T: Ord> LogOnce<T> {
    pub(crate) fn insert(&self, key: T) -> FirstTime {
        let mut logged = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if logged.len() > MAX_LOGGED || !logged.insert(key) {
            return FirstTime::No;
        }
        if logged.len() > MAX_LOGGED { FirstTime::LimitReached } else { FirstTime::Yes }
    }
}

#[cfg(test)]
mod tests;
