//! The processor time of a call.

use std::cell::Cell;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

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

/// The longest work that [`CpuTimer`] measures by the wall clock alone.
const MAX_WALL_CLOCK_TIME: Duration = Duration::from_micros(100);

/// The maximum age of a reading of the CPU clock that [`CpuTimer`] uses again.
const MAX_READING_AGE: Duration = Duration::from_micros(250);

thread_local! {
    /// The last reading of this thread's CPU clock, and the time of it.
    static LAST_READING: Cell<Option<(Instant, Duration)>> = const { Cell::new(None) };
}

/// Reads this thread's CPU clock, and keeps the reading.
fn read_cpu_clock(now: Instant) -> Duration {
    let time = thread_cpu_time();
    LAST_READING.set(Some((now, time)));
    time
}

/// Measures the CPU time of work on one thread.
///
/// Reading the CPU clock of a thread takes a system call; reading the wall clock usually doesn't. So work of up to 100 µs
/// counts by the wall clock, including any waiting. For longer work, the CPU clock is compared with a reading from at most
/// 250 µs before the start, so up to 250 µs of other work can count too.
#[derive(Debug, Clone, Copy)]
pub struct CpuTimer {
    started: Instant,
    /// The thread's CPU clock at the start, or up to [`MAX_READING_AGE`] earlier.
    cpu_before: Duration,
}

impl CpuTimer {
    /// Starts to measure.
    #[must_use]
    pub fn start() -> Self {
        Self::start_at(Instant::now())
    }

    fn start_at(now: Instant) -> Self {
        let is_recent = |read_at: Instant| now.saturating_duration_since(read_at) <= MAX_READING_AGE;
        let cpu_before = match LAST_READING.get() {
            Some((read_at, time)) if is_recent(read_at) => time,
            Some(_) | None => read_cpu_clock(now),
        };
        Self { started: now, cpu_before }
    }

    /// The time since the start. Must be called on the same thread.
    #[must_use]
    pub fn elapsed(&self) -> Duration {
        self.elapsed_at(Instant::now())
    }

    /// Returns the elapsed time, and restarts the timer.
    pub fn restart(&mut self) -> Duration {
        let now = Instant::now();
        let elapsed = self.elapsed_at(now);
        *self = Self::start_at(now);
        elapsed
    }

    fn elapsed_at(&self, now: Instant) -> Duration {
        let wall_time = now.saturating_duration_since(self.started);
        if wall_time <= MAX_WALL_CLOCK_TIME {
            return wall_time;
        }
        wall_time.min(read_cpu_clock(now).saturating_sub(self.cpu_before))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: Duration = Duration::from_secs(3600);

    /// Uses the processor for this time.
    fn spend(time: Duration) {
        let start = thread_cpu_time();
        while thread_cpu_time() - start < time {}
    }

    #[test]
    fn short_work_counts_by_the_wall_clock() {
        let timer = CpuTimer::start();
        assert_eq!(timer.elapsed_at(timer.started + MAX_WALL_CLOCK_TIME), MAX_WALL_CLOCK_TIME);
    }

    #[test]
    fn waiting_does_not_count_as_long_work() {
        let mut timer = CpuTimer::start();
        spend(Duration::from_millis(1));
        let used = timer.elapsed_at(timer.started + HOUR);
        assert!((Duration::from_millis(1)..HOUR).contains(&used), "{used:?}");
        assert!(timer.restart() >= Duration::from_millis(1));
        assert_eq!(timer.elapsed_at(timer.started), Duration::ZERO);
    }

    #[test]
    fn only_a_recent_reading_is_used_again() {
        let first = CpuTimer::start();
        spend(Duration::from_millis(1));
        let second = CpuTimer::start_at(first.started + MAX_READING_AGE);
        assert_eq!(second.cpu_before, first.cpu_before);
        let third = CpuTimer::start_at(first.started + MAX_READING_AGE + Duration::from_nanos(1));
        assert!(third.cpu_before >= first.cpu_before + Duration::from_millis(1));
    }
}
