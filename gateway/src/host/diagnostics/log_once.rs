//! What the operator is told once.
//!
//! What a guest does is told when it does it first; it may do it in every call, and something else each time. So only
//! so many different things are told, and then, once, that there are more.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

/// So many different things are told.
const MOST: usize = 64;

/// What was told so far.
#[derive(Debug)]
pub(in crate::host) struct Once<T>(Mutex<Heard<T>>);

#[derive(Debug)]
struct Heard<T> {
    all: BTreeSet<T>,
    /// It was told that there are more.
    is_over: bool,
}

/// Whether something is worth telling.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::host) enum News {
    /// It is.
    Yes,
    /// It was told, or that there are more things than are told.
    No,
    /// It is one more than is told, and the first such: that is worth telling.
    More,
}

impl<T> Default for Once<T> {
    fn default() -> Self {
        Self(Mutex::new(Heard { all: BTreeSet::new(), is_over: false }))
    }
}

impl<T: Ord> Once<T> {
    /// Is it news? From now on it isn't.
    pub(in crate::host) fn hear(&self, what: T) -> News {
        let mut heard = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if heard.all.len() < MOST {
            return if heard.all.insert(what) { News::Yes } else { News::No };
        }
        if heard.is_over || heard.all.contains(&what) {
            return News::No;
        }
        heard.is_over = true;
        News::More
    }
}

#[cfg(test)]
mod tests;
