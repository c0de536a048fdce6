//! Rates of events by key, in a table of bounded size.
//!
//! Each key has one time: that at which its whole burst is possible again (the generic cell rate algorithm, as in ITU-T
//! I.371). An event moves it by the interval of the rate. So nothing runs in the background, and a key whose time has
//! passed can be forgotten. If the rate of a key changes, the events that aren't refilled yet count for the new one.
//!
//! The crates for this keep every key until they are told to forget it, and count an event when they check it. Here,
//! peers can make up callers, and an event with several limits must count towards all of them or none.

use std::collections::HashMap;
use std::hash::Hash;
use std::time::Duration;

use moongate_model::call_rate::CallRate;
use tokio::time::Instant;

/// The rates of events, by key.
#[derive(Debug)]
pub struct RateTable<K> {
    keys: HashMap<K, CountedEvents>,
    max_keys: usize,
}

/// The events of a key.
#[derive(Debug, Clone, Copy)]
struct CountedEvents {
    rate: CallRate,
    /// The time at which the burst of the rate is possible again.
    refilled_at: Instant,
}

impl CountedEvents {
    /// The time at which the burst of this rate is possible again.
    fn refilled_at(&self, now: Instant, rate: CallRate) -> Instant {
        let pending = self.refilled_at.saturating_duration_since(now);
        if self.rate == rate {
            return now + pending;
        }
        let events = pending.div_duration_f64(self.rate.interval());
        now + rate.interval().mul_f64(events).min(rate.refill_time())
    }
}

impl<K: Clone + Eq + Hash> RateTable<K> {
    /// A table of at most `max_keys` keys. In a full table, the eighth of the keys that would be refilled first is
    /// forgotten.
    #[must_use]
    pub fn new(max_keys: usize) -> Self {
        Self { keys: HashMap::new(), max_keys }
    }

    /// The time until one more event is possible. `None` means that it is possible now. This adds no key: events that
    /// are refused displace nothing.
    #[must_use]
    pub fn wait(&self, now: Instant, key: &K, rate: CallRate) -> Option<Duration> {
        let refilled_at = self.keys.get(key).map_or(now, |counted| counted.refilled_at(now, rate));
        let pending = refilled_at + rate.interval() - now;
        pending.checked_sub(rate.refill_time()).filter(|wait| !wait.is_zero())
    }

    /// Counts an event.
    pub fn add(&mut self, now: Instant, key: &K, rate: CallRate) {
        if let Some(counted) = self.keys.get_mut(key) {
            let refilled_at = counted.refilled_at(now, rate) + rate.interval();
            *counted = CountedEvents { rate, refilled_at };
            return;
        }
        self.make_room(now);
        self.keys.insert(key.clone(), CountedEvents { rate, refilled_at: now + rate.interval() });
    }

    /// Makes room for a new key.
    fn make_room(&mut self, now: Instant) {
        if self.keys.len() < self.max_keys {
            return;
        }
        self.keys.retain(|_, counted| counted.refilled_at > now);
        // At least an eighth is free afterwards, so that a new key seldom has to look at all others.
        let kept = self.max_keys - self.max_keys.div_ceil(8);
        if let Some(surplus) = self.keys.len().checked_sub(kept).filter(|surplus| *surplus > 0) {
            let mut times: Vec<Instant> = self.keys.values().map(|counted| counted.refilled_at).collect();
            let (_, last, _) = times.select_nth_unstable(surplus - 1);
            let last = *last;
            self.keys.retain(|_, counted| counted.refilled_at > last);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rate(text: &str, burst: u32) -> CallRate {
        CallRate { burst: burst.try_into().unwrap(), ..CallRate::parse(text).unwrap() }
    }

    /// Counts an event, or returns the time until it is possible.
    fn count(table: &mut RateTable<u32>, now: Instant, key: u32, rate: CallRate) -> Option<Duration> {
        let wait = table.wait(now, &key, rate);
        if wait.is_none() {
            table.add(now, &key, rate);
        }
        wait
    }

    /// Counts events at these seconds, and returns the seconds to wait after each that was refused.
    fn waits(rate: CallRate, seconds: &[f64]) -> Vec<Option<f64>> {
        let start = Instant::now();
        let mut table = RateTable::new(8);
        let at = |at: &f64| {
            count(&mut table, start + Duration::from_secs_f64(*at), 0, rate).map(|wait| wait.as_secs_f64())
        };
        seconds.iter().map(at).collect()
    }

    #[test]
    fn a_burst_is_followed_by_the_rate() {
        assert_eq!(
            waits(rate("60/min", 2), &[0.0, 0.0, 0.0, 0.25, 1.0, 1.0, 9.0, 9.0, 9.0]),
            [None, None, Some(1.0), Some(0.75), None, Some(1.0), None, None, Some(1.0)]
        );
        assert_eq!(waits(rate("1/s", 1), &[0.0, 0.5, 1.0, 2.0]), [None, Some(0.5), None, None]);
    }

    #[test]
    fn another_rate_takes_effect_at_once() {
        let now = Instant::now();
        let mut table = RateTable::new(8);
        for _ in 0..100 {
            assert_eq!(count(&mut table, now, 0, rate("1/day", 100)), None);
        }
        assert_eq!(count(&mut table, now, 0, rate("60/min", 5)), Some(Duration::from_secs(1)));
        assert_eq!(count(&mut table, now, 0, rate("60/min", 101)), None, "only the events count");
    }

    #[test]
    fn a_caller_with_two_rates_gains_nothing_by_alternating() {
        let start = Instant::now();
        let mut table = RateTable::new(8);
        let (fast, slow) = (rate("60/min", 10), rate("1/h", 1));
        let mut counted = 0;
        for step in 0..600 {
            let now = start + Duration::from_millis(step * 100);
            for rate in [slow, fast] {
                counted += u32::from(count(&mut table, now, 0, rate).is_none());
            }
        }
        assert!(counted <= 10 + 60, "{counted} in a minute");
    }

    #[test]
    fn a_full_table_forgets_those_that_are_refilled_first() {
        let now = Instant::now();
        let mut table = RateTable::new(64);
        let slow = rate("1/h", 3);
        for _ in 0..3 {
            assert_eq!(count(&mut table, now, 0, slow), None);
        }
        for key in 1..10_000 {
            assert_eq!(count(&mut table, now, key, slow), None);
            assert!(table.keys.len() <= 64);
        }
        assert!(count(&mut table, now, 0, slow).is_some(), "it is still refused");
        let later = now + Duration::from_secs(86_400);
        for key in 1..64 {
            assert_eq!(count(&mut table, later, key, slow), None);
        }
        assert_eq!(count(&mut table, later, 0, slow), None, "it was refilled");
    }

    #[test]
    fn refused_events_displace_no_key() {
        let now = Instant::now();
        let mut table = RateTable::new(4);
        let slow = rate("1/h", 1);
        for key in 0..4 {
            assert_eq!(count(&mut table, now, key, slow), None);
        }
        for key in (0..4).cycle().take(1_000) {
            assert!(count(&mut table, now, key, slow).is_some());
        }
        assert_eq!(table.keys.len(), 4);
    }
}
