//! What became of requests, counted for each plugin over all its tables and versions.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use moongate_core::names::PluginId;
use wasmtime_wasi_http::Error;

/// How many requests of a plugin ended in which way.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Requests {
    /// They were answered.
    pub sent: u64,
    /// The gateway didn't send them: they aren't granted, or one too many.
    pub refused: u64,
    /// They were to be sent, and no answer came.
    pub failed: u64,
}

/// The counts of one plugin.
#[derive(Debug, Default)]
pub(super) struct Tally {
    sent: AtomicU64,
    refused: AtomicU64,
    failed: AtomicU64,
}

/// The counts of all plugins that can send requests now.
#[derive(Debug, Default)]
pub(super) struct Tallies(Mutex<BTreeMap<PluginId, Weak<Tally>>>);

/// A request that is counted when this goes: one that nobody waited for any more has failed.
#[derive(Debug)]
pub(super) struct Fate {
    tally: Arc<Tally>,
    end: End,
}

#[derive(Debug, Clone, Copy)]
enum End {
    Sent,
    Refused,
    Failed,
}

impl Tallies {
    /// The counts of a plugin, which go on where there are some.
    pub(super) fn of(&self, plugin: &PluginId) -> Arc<Tally> {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(tally) = all.get(plugin).and_then(Weak::upgrade) {
            return tally;
        }
        all.retain(|_, tally| tally.strong_count() > 0);
        let tally = Arc::default();
        all.insert(plugin.clone(), Arc::downgrade(&tally));
        tally
    }

    /// The counts now.
    pub(super) fn all(&self) -> BTreeMap<PluginId, Requests> {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.iter().filter_map(|(plugin, tally)| Some((plugin.clone(), tally.upgrade()?.counts()))).collect()
    }
}

impl Tally {
    fn counts(&self) -> Requests {
        let count = |count: &AtomicU64| count.load(Ordering::Relaxed);
        Requests { sent: count(&self.sent), refused: count(&self.refused), failed: count(&self.failed) }
    }

    /// A request begins.
    pub(super) fn begin(self: &Arc<Self>) -> Fate {
        Fate { tally: Arc::clone(self), end: End::Failed }
    }
}

impl Fate {
    /// Says how the request ended.
    pub(super) fn ends<T>(mut self, result: &Result<T, Error>) {
        self.end = match result {
            Ok(_) => End::Sent,
            Err(
                Error::HttpRequestDenied
                | Error::DestinationIpProhibited
                | Error::LoopDetected
                | Error::ConnectionLimitReached
                | Error::HttpRequestMethodInvalid
                | Error::HttpRequestUriInvalid
                | Error::HttpRequestUriTooLong
                | Error::HttpRequestBodySize(_)
                | Error::InternalError(_),
            ) => End::Refused,
            Err(_) => End::Failed,
        };
    }
}

impl Drop for Fate {
    fn drop(&mut self) {
        let Tally { sent, refused, failed } = &*self.tally;
        let count = match self.end {
            End::Sent => sent,
            End::Refused => refused,
            End::Failed => failed,
        };
        count.fetch_add(1, Ordering::Relaxed);
    }
}
