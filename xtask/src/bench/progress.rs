//! The progress of a run: its duration so far, next to an estimate of the whole.

use std::time::{Duration, Instant};

use crate::report;

/// A run that has started.
#[derive(Debug)]
pub(super) struct Progress {
    start: Instant,
    estimate: Duration,
}

impl Progress {
    /// Starts the clock, and prints the estimate.
    pub(super) fn start(estimate: Duration) -> Self {
        report::note(&format!("this takes about {} min on a quiet machine", clock(estimate)));
        Self { start: Instant::now(), estimate }
    }

    /// Prints the time and a step that begins now.
    pub(super) fn note(&self, step: &str) {
        report::note(&format!("[{} of about {}] {step}", clock(self.start.elapsed()), clock(self.estimate)));
    }
}

/// Minutes and seconds.
pub(super) fn clock(time: Duration) -> String {
    format!("{}:{:02}", time.as_secs() / 60, time.as_secs() % 60)
}
