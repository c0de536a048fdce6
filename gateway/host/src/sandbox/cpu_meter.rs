//! The CPU time of one call.
//!
//! This is the CPU time of the thread that polls the call, during each poll. Waiting costs nothing, and neither does
//! the time that other processes use. The time that the gateway used to check the call's arguments counts too.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use moongate_model::cpu_time::{CpuTime, thread_cpu_time};

/// The CPU time that a call has used, and its limit.
#[derive(Debug)]
pub(crate) struct CpuMeter {
    limit: Duration,
    /// The time of earlier polls, and of checks before the call.
    used: Arc<CpuTime>,
    /// The thread's CPU clock at the start of this poll, in nanoseconds.
    poll_start: AtomicU64,
}

impl CpuMeter {
    pub(crate) fn new(limit: Duration, used: Arc<CpuTime>) -> Arc<Self> {
        Arc::new(Self { limit, used, poll_start: AtomicU64::new(0) })
    }

    /// True if the call exceeded its limit. Must be called during a poll.
    pub(crate) fn is_exhausted(&self) -> bool {
        let poll_start = Duration::from_nanos(self.poll_start.load(Ordering::Relaxed));
        self.used.used() + thread_cpu_time().saturating_sub(poll_start) > self.limit
    }

    fn start_poll(&self) -> Duration {
        let now = thread_cpu_time();
        self.poll_start.store(u64::try_from(now.as_nanos()).unwrap_or(u64::MAX), Ordering::Relaxed);
        now
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
        let before = self.meter.start_poll();
        let polled = self.inner.as_mut().poll(context);
        self.meter.used.add(thread_cpu_time().saturating_sub(before));
        polled
    }
}
