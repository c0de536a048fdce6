//! The CPU time of one call.
//!
//! This is the CPU time of the thread that polls the call, during each poll. Waiting and the time of other processes count
//! only within polls of up to 100 µs (see [`CpuTimer`]). The time that the gateway used to check the call's arguments
//! counts too.

use std::cell::Cell;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use moongate_model::cpu_time::{CpuTime, CpuTimer};

/// The CPU time after which a call leaves the threads that serve requests.
pub(crate) const MAX_SERVING_TIME: Duration = Duration::from_millis(2);

thread_local! {
    /// Started at the start and at the end of each metered poll of this thread. Metered polls aren't nested.
    static TIMER: Cell<Option<CpuTimer>> = const { Cell::new(None) };
}

/// The time since the start or the end of this thread's last metered poll.
fn since_poll() -> Duration {
    TIMER.get().map_or(Duration::ZERO, |timer| timer.elapsed())
}

/// The number of short calls that make up for a long one.
const SHORT_CALLS_PER_LONG: u8 = 16;

/// The CPU time that a call has used, and its limit.
#[derive(Debug)]
pub(crate) struct CpuMeter {
    limit: Duration,
    /// The time of earlier polls, and of checks before the call.
    used: Arc<CpuTime>,
}

impl CpuMeter {
    pub(crate) fn new(limit: Duration, used: Arc<CpuTime>) -> Arc<Self> {
        Arc::new(Self { limit, used })
    }

    /// The time so far. Must be called during a poll.
    pub(crate) fn used(&self) -> Duration {
        self.used.used() + since_poll()
    }

    /// The limit.
    pub(crate) fn limit(&self) -> Duration {
        self.limit
    }
}

/// A future that meters its polls.
pub(crate) struct MeteredFuture<'a, F> {
    pub(crate) meter: Arc<CpuMeter>,
    pub(crate) inner: Pin<&'a mut F>,
}

impl<F: Future> Future for MeteredFuture<'_, F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        let mut timer = CpuTimer::start();
        TIMER.set(Some(timer));
        let polled = self.inner.as_mut().poll(context);
        self.meter.used.add(timer.restart());
        TIMER.set(Some(timer));
        polled
    }
}

/// Whether the last calls of a plugin were long. Its next call then starts on the background pool: a guest can't be
/// interrupted while it fills its memory, and neither can the gateway while it copies a large result. One long call isn't
/// enough, because the system can be slow for a moment.
#[derive(Debug, Default)]
pub(crate) struct RecentCalls {
    /// Rises with each long call and falls with each short one.
    score: AtomicU8,
}

impl RecentCalls {
    /// True if the next call is expected to be long.
    pub(crate) fn were_long(&self) -> bool {
        self.score.load(Ordering::Relaxed) > SHORT_CALLS_PER_LONG
    }

    /// Records a call when the returned value is dropped. `used` is the call's CPU time.
    pub(crate) fn record(&self, used: Arc<CpuTime>) -> RecordedCall<'_> {
        RecordedCall { recent: self, before: used.used(), used }
    }

    fn add(&self, used: Duration) {
        let before = self.score.load(Ordering::Relaxed);
        let after = if used > MAX_SERVING_TIME {
            (before + SHORT_CALLS_PER_LONG).min(2 * SHORT_CALLS_PER_LONG)
        } else {
            before.saturating_sub(1)
        };
        if after != before {
            // Another call that is recorded at the same time can be lost.
            self.score.store(after, Ordering::Relaxed);
        }
    }
}

/// See [`RecentCalls::record`].
pub(crate) struct RecordedCall<'a> {
    recent: &'a RecentCalls,
    before: Duration,
    used: Arc<CpuTime>,
}

impl RecordedCall<'_> {
    /// Runs the rest of a call, on the thread that has just polled it for the last time. Everything since that poll
    /// counts, such as dropping the instance.
    pub(crate) fn meter_rest<T>(&self, work: impl FnOnce() -> T) -> T {
        let done = work();
        self.used.add(since_poll());
        done
    }
}

impl Drop for RecordedCall<'_> {
    fn drop(&mut self) {
        self.recent.add(self.used.used().saturating_sub(self.before));
    }
}

#[cfg(test)]
mod tests {
    use std::pin::pin;

    use futures_util::FutureExt as _;
    use moongate_model::cpu_time::thread_cpu_time;

    use super::*;

    #[test]
    fn calls_start_in_place_again_after_enough_short_ones() {
        let recent = RecentCalls::default();
        let call = |used| {
            let time = Arc::default();
            let recorded = recent.record(Arc::clone(&time));
            time.add(used);
            drop(recorded);
            recent.were_long()
        };
        let long = MAX_SERVING_TIME * 2;
        assert!(!call(MAX_SERVING_TIME));
        assert!(!call(long), "one long call isn't enough");
        assert!(call(long));
        assert!(call(long));
        for _ in 1..SHORT_CALLS_PER_LONG {
            assert!(call(Duration::ZERO));
        }
        assert!(!call(Duration::ZERO));
        assert!(call(long));
    }

    #[test]
    fn the_rest_of_a_call_counts_whether_it_is_short_or_long() {
        let spend = |time| {
            let start = thread_cpu_time();
            while thread_cpu_time() - start < time {}
        };
        let _earlier_reading = CpuTimer::start();
        spend(MAX_SERVING_TIME * 20); // of something else
        let used = Arc::<CpuTime>::default();
        let meter = CpuMeter::new(Duration::MAX, Arc::clone(&used));
        let mut call = pin!(std::future::ready(()));
        let polled = MeteredFuture { meter, inner: call.as_mut() }.now_or_never();
        assert!(polled.is_some());
        let recent = RecentCalls::default();
        let recorded = recent.record(Arc::clone(&used));
        let before = used.used();
        recorded.meter_rest(|| ());
        assert!(used.used() > before);
        recorded.meter_rest(|| spend(MAX_SERVING_TIME * 2));
        let counted = used.used() - before;
        assert!((MAX_SERVING_TIME * 2..MAX_SERVING_TIME * 20).contains(&counted), "{counted:?}");
    }
}
