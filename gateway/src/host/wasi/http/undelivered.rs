//! What came of a call's answers and lies in the host's memory until the guest fetches it: heads, and the headers that
//! follow bodies. It may come at any time, on another thread, so it is counted where it comes; what is fetched counts
//! with everything else that the call [holds](crate::host::wasi::http::buffered).

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use http::HeaderMap;

use crate::host::wasi::http::buffered::{MOST, headers};

/// How many bytes of it there are.
#[derive(Debug, Default)]
pub(super) struct Unfetched(AtomicUsize);

/// A head, as long as it lies in its answer: goes with what else the answer carries.
#[derive(Debug, Clone)]
pub(super) struct Head {
    _counted: Arc<Counted>,
}

#[derive(Debug)]
struct Counted {
    all: Arc<Unfetched>,
    bytes: usize,
}

impl Unfetched {
    /// How much there is.
    pub(super) fn bytes(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }

    /// Counts a head until what this gives is dropped; none: it is too much.
    pub(super) fn head(self: &Arc<Self>, head: &HeaderMap) -> Option<Head> {
        let bytes = headers(head);
        self.add(bytes).then(|| Head { _counted: Arc::new(Counted { all: Arc::clone(self), bytes }) })
    }

    /// Counts what follows a body, until it is [fetched](Self::fetched); what never is counts until the call ends. Is
    /// there room for it?
    pub(super) fn trailers(&self, trailers: &HeaderMap) -> bool {
        self.add(headers(trailers))
    }

    /// So much was fetched of what followed bodies.
    pub(super) fn fetched(&self, bytes: usize) {
        let less = |all: usize| Some(all.saturating_sub(bytes));
        let _ = self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less);
    }

    fn add(&self, bytes: usize) -> bool {
        let more = |all: usize| all.checked_add(bytes).filter(|all| *all <= MOST);
        self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more).is_ok()
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.all.fetched(self.bytes);
    }
}
