//! The number of requests that each plugin sent, across all its configurations and versions.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use moongate_model::names::PluginId;
use wasmtime_wasi_http::Error;

/// The number of requests that a plugin sent, by outcome.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RequestCounts {
    /// Requests that got a response.
    pub sent: u64,
    /// Requests that the gateway didn't send, because they weren't granted, were invalid, or exceeded a limit.
    pub refused: u64,
    /// Requests that were sent and got no response.
    pub failed: u64,
}

/// The counters of one plugin.
#[derive(Debug, Default)]
pub(super) struct RequestCounters {
    sent: AtomicU64,
    refused: AtomicU64,
    failed: AtomicU64,
}

/// The counters of all plugins that can currently send requests.
#[derive(Debug, Default)]
pub(super) struct PluginCounters(Mutex<BTreeMap<PluginId, Weak<RequestCounters>>>);

/// Counts a request when it is dropped. An abandoned request counts as failed.
#[derive(Debug)]
pub(super) struct CountOnDrop {
    counters: Arc<RequestCounters>,
    outcome: RequestOutcome,
}

#[derive(Debug, Clone, Copy)]
enum RequestOutcome {
    Sent,
    Refused,
    Failed,
}

impl PluginCounters {
    /// The counters of a plugin. Existing ones continue.
    pub(super) fn of(&self, plugin: &PluginId) -> Arc<RequestCounters> {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(counters) = all.get(plugin).and_then(Weak::upgrade) {
            return counters;
        }
        let counters = Arc::default();
        all.insert(plugin.clone(), Arc::downgrade(&counters));
        counters
    }

    /// The current numbers.
    pub(super) fn all(&self) -> BTreeMap<PluginId, RequestCounts> {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // Not for each new plugin: a start can add a thousand.
        all.retain(|_, counters| counters.strong_count() > 0);
        all.iter()
            .filter_map(|(plugin, counters)| Some((plugin.clone(), counters.upgrade()?.counts())))
            .collect()
    }
}

impl RequestCounters {
    fn counts(&self) -> RequestCounts {
        let count = |count: &AtomicU64| count.load(Ordering::Relaxed);
        RequestCounts { sent: count(&self.sent), refused: count(&self.refused), failed: count(&self.failed) }
    }

    /// Starts a request.
    pub(super) fn start(self: &Arc<Self>) -> CountOnDrop {
        CountOnDrop { counters: Arc::clone(self), outcome: RequestOutcome::Failed }
    }
}

impl CountOnDrop {
    /// Counts the request by its result.
    pub(super) fn finish<T>(mut self, result: &Result<T, Error>) {
        self.outcome = match result {
            Ok(_) => RequestOutcome::Sent,
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
            ) => RequestOutcome::Refused,
            Err(_) => RequestOutcome::Failed,
        };
    }
}

impl Drop for CountOnDrop {
    fn drop(&mut self) {
        let RequestCounters { sent, refused, failed } = &*self.counters;
        let count = match self.outcome {
            RequestOutcome::Sent => sent,
            RequestOutcome::Refused => refused,
            RequestOutcome::Failed => failed,
        };
        count.fetch_add(1, Ordering::Relaxed);
    }
}
