//! At most one log line a second about events that others can cause.

use std::time::Duration;

use tokio::time::Instant;

/// The minimum time between two log lines.
const LOG_INTERVAL: Duration = Duration::from_secs(1);

/// The events since the last log line, and the time of that line.
#[derive(Debug, Default)]
pub struct LogInterval {
    events: u64,
    last_logged: Option<Instant>,
}

impl LogInterval {
    /// Counts events. If they can be logged now, returns their number since the last line.
    #[must_use]
    pub fn record(&mut self, now: Instant, events: u64) -> Option<u64> {
        self.events = self.events.saturating_add(events);
        if self.last_logged.is_some_and(|last| now - last < LOG_INTERVAL) {
            return None;
        }
        self.last_logged = Some(now);
        Some(std::mem::take(&mut self.events))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn logs_once_a_second_and_counts_the_rest() {
        let start = Instant::now();
        let mut interval = LogInterval::default();
        let seconds = [0.0, 0.1, 0.9, 1.0, 1.5, 7.0];
        let logged = seconds.map(|passed| interval.record(start + Duration::from_secs_f64(passed), 2));
        assert_eq!(logged, [Some(2), None, None, Some(6), None, Some(4)]);
    }
}
