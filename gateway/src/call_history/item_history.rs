//! The calls of one tool, by minute, with their durations.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// The number of minutes that are kept, including the current one.
pub const MINUTES: usize = 60;

/// The number of minutes whose durations are kept together, to need less memory.
const MINUTES_PER_SLOT: u64 = 10;
const SLOTS: usize = MINUTES / MINUTES_PER_SLOT as usize;

/// The upper bound of the first class of durations is `2^FIRST_BITS` microseconds.
const FIRST_BITS: u32 = 4;
/// Each doubling has `2^STEP_BITS` classes, so percentiles are off by a quarter at most, and by an eighth for one call.
const STEP_BITS: u32 = 2;
/// The last class has everything above nine minutes.
const CLASSES: usize = 102;

/// The calls in a minute.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct MinuteCounts {
    /// All calls.
    pub calls: u32,
    /// Those without a result.
    pub errors: u32,
}

/// The sum of several hours.
#[must_use]
pub fn sum_of_hours<'m>(hours: impl Iterator<Item = &'m Vec<MinuteCounts>>) -> Vec<MinuteCounts> {
    let mut sum = vec![MinuteCounts::default(); MINUTES];
    for hour in hours {
        for (sum, minute) in sum.iter_mut().zip(hour) {
            sum.calls = sum.calls.saturating_add(minute.calls);
            sum.errors = sum.errors.saturating_add(minute.errors);
        }
    }
    sum
}

/// The calls of the last hour.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ItemCounts {
    /// The minutes, oldest first.
    pub minutes: Vec<MinuteCounts>,
    /// Calls that run now.
    pub in_flight: u32,
    /// The time that half of the calls took at most, approximately. `None` without calls.
    pub p50: Option<Duration>,
    /// The same for 95 of 100 calls.
    pub p95: Option<Duration>,
}

impl ItemCounts {
    /// All calls of the hour.
    #[must_use]
    pub fn calls(&self) -> u64 {
        self.minutes.iter().map(|minute| u64::from(minute.calls)).sum()
    }

    /// The calls of the hour without a result.
    #[must_use]
    pub fn errors(&self) -> u64 {
        self.minutes.iter().map(|minute| u64::from(minute.errors)).sum()
    }
}

/// The history of one tool, or of another kind of call to a plugin.
#[derive(Debug, Default)]
pub(super) struct ItemHistory {
    in_flight: AtomicU32,
    window: Mutex<Window>,
}

/// The last hour. Minutes and slots are in rings.
#[derive(Debug)]
struct Window {
    /// The minute of the newest entry.
    newest: u64,
    minutes: [MinuteCounts; MINUTES],
    durations: [[u32; CLASSES]; SLOTS],
}

impl Default for Window {
    fn default() -> Self {
        Self { newest: 0, minutes: [MinuteCounts::default(); MINUTES], durations: [[0; CLASSES]; SLOTS] }
    }
}

impl ItemHistory {
    /// A call begins to run.
    pub(super) fn begin(&self) {
        self.in_flight.fetch_add(1, Ordering::Relaxed);
    }

    /// A call doesn't run any more. Its beginning isn't counted if the tool left the catalog meanwhile and came back.
    pub(super) fn end(&self) {
        let less = |running: u32| running.checked_sub(1);
        let _ = self.in_flight.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less);
    }

    /// Counts a call that ended in this minute.
    pub(super) fn record(&self, minute: u64, is_success: bool, took: Option<Duration>) {
        let mut window = self.window.lock().unwrap_or_else(PoisonError::into_inner);
        window.advance(minute);
        let newest = window.newest; // another call can have been later
        let counts = &mut window.minutes[index(newest, MINUTES)];
        counts.calls = counts.calls.saturating_add(1);
        counts.errors = counts.errors.saturating_add(u32::from(!is_success));
        if let Some(took) = took {
            let count = &mut window.durations[index(newest / MINUTES_PER_SLOT, SLOTS)][class(took)];
            *count = count.saturating_add(1);
        }
    }

    /// The hour that ends with this minute.
    pub(super) fn counts(&self, minute: u64) -> ItemCounts {
        let mut window = self.window.lock().unwrap_or_else(PoisonError::into_inner);
        window.advance(minute);
        let newest = window.newest;
        let oldest_first = (1..=MINUTES as u64).map(|offset| index(newest + offset, MINUTES));
        let minutes = oldest_first.map(|at| window.minutes[at]).collect();
        let mut classes = [0_u64; CLASSES];
        for slot in &window.durations {
            classes.iter_mut().zip(slot).for_each(|(sum, count)| *sum += u64::from(*count));
        }
        ItemCounts {
            minutes,
            in_flight: self.in_flight.load(Ordering::Relaxed),
            p50: percentile(&classes, 50),
            p95: percentile(&classes, 95),
        }
    }
}

impl Window {
    /// Clears the minutes since the newest one.
    fn advance(&mut self, minute: u64) {
        let slot = |minute: u64| minute / MINUTES_PER_SLOT;
        for passed in (self.newest + 1..=minute).rev().take(MINUTES) {
            self.minutes[index(passed, MINUTES)] = MinuteCounts::default();
        }
        for passed in (slot(self.newest) + 1..=slot(minute)).rev().take(SLOTS) {
            self.durations[index(passed, SLOTS)] = [0; CLASSES];
        }
        self.newest = self.newest.max(minute);
    }
}

fn index(number: u64, length: usize) -> usize {
    usize::try_from(number % length as u64).unwrap_or_default()
}

/// The class of a duration.
fn class(took: Duration) -> usize {
    let micros = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
    if micros < 1 << FIRST_BITS {
        return 0;
    }
    let bits = micros.ilog2();
    let step = (micros >> (bits - STEP_BITS)) & ((1 << STEP_BITS) - 1);
    let class = 1 + (u64::from(bits - FIRST_BITS) << STEP_BITS) + step;
    usize::try_from(class).unwrap_or(CLASSES).min(CLASSES - 1)
}

/// The lower bound of a class, in microseconds.
fn lower_bound(class: usize) -> u64 {
    let Some(above) = class.checked_sub(1) else { return 0 };
    let steps = 1 << STEP_BITS;
    let power = 1_u64 << (FIRST_BITS as usize + above / steps);
    power + (power >> STEP_BITS) * (above % steps) as u64
}

/// The duration that so many of a hundred calls didn't exceed, by linear interpolation in its class.
fn percentile(classes: &[u64; CLASSES], percent: u64) -> Option<Duration> {
    let all: u64 = classes.iter().sum();
    let wanted = (all * percent).div_ceil(100);
    let mut below = 0;
    for (class, count) in classes.iter().enumerate() {
        if *count > 0 && below + count >= wanted {
            let (low, high) = (lower_bound(class), lower_bound(class + 1));
            // The middle of the call's part of the class: a single call is closest to the middle on average.
            let micros = low + (high - low) * (2 * (wanted - below) - 1) / (2 * count);
            return Some(Duration::from_micros(micros));
        }
        below += count;
    }
    None
}

#[cfg(test)]
mod tests;
