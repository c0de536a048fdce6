//! Processor time of one call.
//!
//! What is counted is the time of the thread that polls the call, while it polls it: waiting costs nothing, and
//! neither does what other processes take away.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

/// How much processor time a call has used, of how much.
#[derive(Debug)]
pub(in crate::host) struct Meter {
    budget: u64,
    /// In the polls before this one, in nanoseconds.
    used: AtomicU64,
    /// The thread's clock when this poll began.
    since: AtomicU64,
}

impl Meter {
    pub(in crate::host) fn new(budget: Duration) -> Arc<Self> {
        let budget = u64::try_from(budget.as_nanos()).unwrap_or(u64::MAX);
        Arc::new(Self { budget, used: AtomicU64::new(0), since: AtomicU64::new(0) })
    }

    /// Has the call used more than it may? Asked from inside a poll.
    pub(in crate::host) fn is_over(&self) -> bool {
        let now = clock().saturating_sub(self.since.load(Ordering::Relaxed));
        self.used.load(Ordering::Relaxed).saturating_add(now) > self.budget
    }
}

/// The processor time of this thread, in nanoseconds.
fn clock() -> u64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
    let nanoseconds = u64::try_from(time.tv_nsec).unwrap_or(0);
    seconds.saturating_mul(1_000_000_000).saturating_add(nanoseconds)
}

/// A future whose polls are metered.
pub(in crate::host) struct Metered<'a, F> {
    pub(in crate::host) meter: Arc<Meter>,
    pub(in crate::host) inner: Pin<&'a mut F>,
}

impl<F: Future> Future for Metered<'_, F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        let before = clock();
        self.meter.since.store(before, Ordering::Relaxed);
        let polled = self.inner.as_mut().poll(context);
        if polled.is_pending() {
            self.meter.used.fetch_add(clock().saturating_sub(before), Ordering::Relaxed);
        }
        polled
    }
}
