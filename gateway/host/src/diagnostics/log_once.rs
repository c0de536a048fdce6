//! Logging things once.
//!
//! A guest can cause the same log line in every call, and a different one each time. So each thing is logged the first
//! time, and after [`MAX_LOGGED`] different ones a last line says that there are more.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

/// How many different things are logged.
const MAX_LOGGED: usize = 64;

/// The things that were logged already.
#[derive(Debug)]
pub(crate) struct LogOnce<T>(Mutex<BTreeSet<T>>);

/// The result of [`LogOnce::insert`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FirstTime {
    /// It is new: log it.
    Yes,
    /// It was logged before, or is above the limit.
    No,
    /// It is the first above the limit: log that there are more.
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
