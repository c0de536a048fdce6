//! The processor time of a call.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

/// The processor time that a call has used so far, in the guest and in the gateway's own work for it.
#[derive(Debug, Default)]
pub struct CpuTime {
    nanoseconds: AtomicU64,
}

impl CpuTime {
    /// Adds the time of one piece of work.
    pub fn add(&self, used: Duration) {
        let used = u64::try_from(used.as_nanos()).unwrap_or(u64::MAX);
        self.nanoseconds.fetch_add(used, Ordering::Relaxed);
    }

    /// The time so far.
    #[must_use]
    pub fn used(&self) -> Duration {
        Duration::from_nanos(self.nanoseconds.load(Ordering::Relaxed))
    }
}

/// The CPU clock of this thread. Waiting costs nothing, and neither does the time that other threads use.
#[must_use]
pub fn thread_cpu_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
    let nanoseconds = u32::try_from(time.tv_nsec).unwrap_or(0);
    Duration::new(seconds, nanoseconds)
}
