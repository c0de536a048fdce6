//! The CPU time of one call.
//!
//! This is the CPU time of the thread that polls the call, during each poll. Waiting costs nothing, and neither does
//! the time that other processes use.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

/// The CPU time that a call has used, and its limit.
#[derive(Debug)]
pub(crate) struct CpuMeter {
    /// In nanoseconds.
    limit: u64,
    /// The time of earlier polls, in nanoseconds.
    used: AtomicU64,
    /// The thread's CPU clock at the start of this poll.
    poll_start: AtomicU64,
}

impl CpuMeter {
    pub(crate) fn new(limit: Duration) -> Arc<Self> {
        let limit = u64::try_from(limit.as_nanos()).unwrap_or(u64::MAX);
        Arc::new(Self { limit, used: AtomicU64::new(0), poll_start: AtomicU64::new(0) })
    }

    /// True if the call exceeded its limit. Must be called during a poll.
    pub(crate) fn is_exhausted(&self) -> bool {
        let now = thread_cpu_time().saturating_sub(self.poll_start.load(Ordering::Relaxed));
        self.used.load(Ordering::Relaxed).saturating_add(now) > self.limit
    }
}

/// The CPU clock of this thread, in nanoseconds.
fn thread_cpu_time() -> u64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
    let nanoseconds = u64::try_from(time.tv_nsec).unwrap_or(0);
    seconds.saturating_mul(1_000_000_000).saturating_add(nanoseconds)
}

/// A future that meters its polls.
pub(crate) struct MeteredFuture<'a, F> {
    pub(crate) meter: Arc<CpuMeter>,
    pub(crate) inner: Pin<&'a mut F>,
}

impl<F: Future> Future for MeteredFuture<'_, F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        let before = thread_cpu_time();
        self.meter.poll_start.store(before, Ordering::Relaxed);
        let polled = self.inner.as_mut().poll(context);
        if polled.is_pending() {
            self.meter.used.fetch_add(thread_cpu_time().saturating_sub(before), Ordering::Relaxed);
        }
        polled
    }
}
