//! At most one log line a second about events that others can cause.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Mutex, PoisonError};
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
        if self.is_recent(now) {
            return None;
        }
        self.last_logged = Some(now);
        Some(std::mem::take(&mut self.events))
    }

    /// True if the next line has to wait.
    fn is_recent(&self, now: Instant) -> bool {
        self.last_logged.is_some_and(|last| now - last < LOG_INTERVAL)
    }
}

/// A log interval for each key, such as the reason of a refusal.
#[derive(Debug)]
pub struct LogIntervals<K>(Mutex<HashMap<K, LogInterval>>);

/// The maximum number of keys. While more are in use, events of further keys aren't logged.
const MAX_KEYS: usize = 1024;

impl<K> Default for LogIntervals<K> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<K: Eq + Hash> LogIntervals<K> {
    /// Counts an event with this key. If it can be logged now, returns the number of those since its last line.
    #[must_use]
    pub fn record(&self, key: K) -> Option<u64> {
        let now = Instant::now();
        let mut intervals = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if intervals.len() >= MAX_KEYS && !intervals.contains_key(&key) {
            intervals.retain(|_, interval| interval.is_recent(now));
            if intervals.len() >= MAX_KEYS {
                return None;
            }
        }
        intervals.entry(key).or_default().record(now, 1)
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

    #[tokio::test(start_paused = true)]
    async fn each_key_has_its_own_lines_and_their_number_is_bounded() {
        let intervals = LogIntervals::default();
        assert_eq!(["a", "b", "a"].map(|key| intervals.record(key.to_owned())), [Some(1), Some(1), None]);
        for other in 0..2 * MAX_KEYS {
            let _ = intervals.record(other.to_string());
        }
        assert_eq!(intervals.record("c".to_owned()), None, "too many others were logged in this second");
        tokio::time::advance(LOG_INTERVAL).await;
        assert_eq!(intervals.record("a".to_owned()), Some(2));
        assert_eq!(intervals.record("c".to_owned()), Some(1));
        assert!(intervals.0.lock().unwrap().len() <= 2, "earlier ones are forgotten");
    }
}
