//! The requests that each caller has in progress, so that a caller with many doesn't delay those of others.
//!
//! The threads that serve requests poll connections in the order in which they became ready. A caller with many
//! connections would thus be served as often as it has connections, and everyone else would wait for them all. So while
//! several callers are active, a caller with more requests in progress than there are processors is served on the
//! background pool: other callers go first, and such callers take turns by the processor time that they use.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};
use std::thread::available_parallelism;
use std::time::Duration;

use moongate_model::caller::Caller;
use moongate_system::background::{self, WorkOwner, move_to_background};
use tokio::time::Instant;

/// A caller is active for this long after its last request began.
const ACTIVE_TIME: Duration = Duration::from_secs(1);

/// The number of requests in progress above which a caller makes way for others.
static MAX_REQUESTS: LazyLock<usize> = LazyLock::new(|| available_parallelism().map_or(1, usize::from));

/// The requests over HTTP, WebSocket and the Unix socket: a caller delays others whatever it uses.
static OF_PROCESS: LazyLock<Arc<CallerLoad>> = LazyLock::new(Arc::default);

/// The requests of all callers.
#[derive(Debug, Default)]
pub(in crate::transport) struct CallerLoad(Mutex<RequestsInProgress>);

#[derive(Debug, Default)]
struct RequestsInProgress {
    /// Only callers with at least one.
    counts: HashMap<Caller, usize>,
    /// The caller of the latest request, and when it began.
    latest: Option<(Caller, Instant)>,
    /// The time of the latest request of any other caller.
    latest_of_others: Option<Instant>,
}

/// A request in progress; it ends when this is dropped.
#[derive(Debug)]
pub(in crate::transport) struct RequestInProgress {
    load: Arc<CallerLoad>,
    caller: Caller,
}

impl CallerLoad {
    /// The load of the process. Gateways in one test have loads of their own.
    pub(in crate::transport) fn of_process() -> Arc<Self> {
        if cfg!(test) { Arc::default() } else { Arc::clone(&OF_PROCESS) }
    }

    /// Begins a request, and continues on the background pool if its caller makes way for others.
    pub(in crate::transport) async fn begin(self: &Arc<Self>, caller: &Caller) -> RequestInProgress {
        let makes_way = self.lock().begin(caller, Instant::now());
        let request = RequestInProgress { load: Arc::clone(self), caller: caller.clone() };
        if makes_way {
            move_to_background(WorkOwner { plugin: None, caller: Some(caller) }).await;
        } else {
            background::request_return();
        }
        request
    }

    fn lock(&self) -> MutexGuard<'_, RequestsInProgress> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl RequestsInProgress {
    /// Counts a request. True if its caller makes way for others.
    fn begin(&mut self, caller: &Caller, now: Instant) -> bool {
        match &mut self.latest {
            Some((latest, at)) if latest == caller => *at = now,
            latest => {
                let before = latest.replace((caller.clone(), now));
                self.latest_of_others = before.map(|(_, at)| at);
            }
        }
        let count = self.counts.entry(caller.clone()).or_default();
        *count += 1;
        *count > *MAX_REQUESTS && self.latest_of_others.is_some_and(|at| now - at < ACTIVE_TIME)
    }

    fn end(&mut self, caller: &Caller) {
        if let Some(count) = self.counts.get_mut(caller) {
            *count -= 1;
            if *count == 0 {
                self.counts.remove(caller);
            }
        }
    }
}

impl Drop for RequestInProgress {
    fn drop(&mut self) {
        self.load.lock().end(&self.caller);
    }
}

#[cfg(test)]
mod tests;
