//! Debouncing: the delay between a change and probing the files.

use std::time::{Duration, Instant};

/// The time without another change after which a burst is over. Programs write a file in several steps.
pub(super) const QUIET_PERIOD: Duration = Duration::from_millis(100);

/// The maximum duration of a burst.
pub(super) const MAX_BURST: Duration = Duration::from_millis(500);

/// The interval for collecting the system's reports during a burst.
const COLLECT_INTERVAL: Duration = Duration::from_millis(25);

/// Changes in quick succession.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Burst {
    first: Instant,
    last: Instant,
}

impl Burst {
    pub(super) fn new(now: Instant) -> Self {
        Self { first: now, last: now }
    }

    /// Records another change.
    pub(super) fn extend(&mut self, now: Instant) {
        self.last = now;
    }

    /// The time to probe the files, unless more changes arrive.
    pub(super) fn due(&self) -> Instant {
        (self.last + QUIET_PERIOD).min(self.first + MAX_BURST)
    }

    /// The next time to collect reports.
    pub(super) fn next_collection(&self, now: Instant) -> Instant {
        self.due().min(now + COLLECT_INTERVAL)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn burst_ends_after_quiet_period() {
        let begun = Instant::now();
        let mut burst = Burst::new(begun);
        assert_eq!(burst.due(), begun + QUIET_PERIOD);
        burst.extend(begun + COLLECT_INTERVAL);
        assert_eq!(burst.due(), begun + COLLECT_INTERVAL + QUIET_PERIOD);
        assert_eq!(burst.next_collection(begun + COLLECT_INTERVAL), begun + 2 * COLLECT_INTERVAL);
        assert_eq!(burst.next_collection(begun + QUIET_PERIOD), begun + COLLECT_INTERVAL + QUIET_PERIOD);
    }

    #[test]
    fn endless_burst_is_cut_off() {
        let begun = Instant::now();
        let mut burst = Burst::new(begun);
        burst.extend(begun + MAX_BURST - COLLECT_INTERVAL);
        assert_eq!(burst.due(), begun + MAX_BURST);
    }
}
