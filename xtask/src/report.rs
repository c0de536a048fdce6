//! Everything that xtask prints, and the counts of passed and failed checks.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "the only file of xtask that prints")]

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::Result;

/// The errors and the lines of failed checks that were printed so far, for the end of the summary, where readers of the
/// output of CI look first.
static FAILURES: Mutex<Vec<String>> = Mutex::new(Vec::new());

/// The numbers of checks that passed, failed and were skipped.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Tally {
    pub(crate) passed: u32,
    pub(crate) failed: u32,
    pub(crate) skipped: u32,
}

impl Tally {
    /// One check that passed.
    pub(crate) const PASS: Self = Self { passed: 1, failed: 0, skipped: 0 };
    /// One check that failed.
    pub(crate) const FAIL: Self = Self { passed: 0, failed: 1, skipped: 0 };
    /// One check that was skipped.
    pub(crate) const SKIP: Self = Self { passed: 0, failed: 0, skipped: 1 };

    /// Adds the checks of `other`.
    pub(crate) fn add(&mut self, other: Self) {
        let Self { passed, failed, skipped } = other;
        self.passed += passed;
        self.failed += failed;
        self.skipped += skipped;
    }
}

/// The steps of a run with their durations, for the summary at its end.
#[derive(Debug, Default)]
pub(crate) struct Report {
    steps: Vec<(&'static str, Tally, Duration)>,
}

impl Report {
    /// Runs one step and records its counts; an error is printed and counts as one failed check. Returns whether all
    /// checks passed.
    pub(crate) fn step(&mut self, name: &'static str, body: impl FnOnce() -> Result<Tally>) -> bool {
        print(&format!("\n=== {name}\n"));
        let start = Instant::now();
        let tally = body().unwrap_or_else(|failure| {
            error(&format!("{failure:#}"));
            Tally::FAIL
        });
        self.steps.push((name, tally, start.elapsed()));
        tally.failed == 0
    }

    /// Records a step that was skipped because a step that it depends on failed.
    pub(crate) fn skip(&mut self, name: &'static str) {
        self.steps.push((name, Tally::SKIP, Duration::ZERO));
    }

    /// Prints the summary; its last line is `N passed, N failed`, with `, N skipped` where any was.
    pub(crate) fn finish(self) -> Tally {
        let mut total = Tally::default();
        print("\n=== summary\n");
        for failure in FAILURES.lock().unwrap_or_else(PoisonError::into_inner).drain(..) {
            print(&format!("{failure}\n"));
        }
        for (name, tally, time) in &self.steps {
            let word = match *tally {
                Tally { failed: 1.., .. } => "FAILED",
                Tally { passed: 0, .. } => "skipped",
                Tally { .. } => "ok",
            };
            let count = tally.passed + tally.failed + tally.skipped;
            print(&format!("{word:<8}{:>7.1} s  {name} ({count})\n", time.as_secs_f32()));
            total.add(*tally);
        }
        let time: Duration = self.steps.iter().map(|(_, _, time)| *time).sum();
        print(&format!("        {:>7.1} s  total\n\n{}\n", time.as_secs_f32(), summary(total)));
        total
    }
}

/// The closing line.
pub(crate) fn summary(total: Tally) -> String {
    let Tally { passed, failed, skipped } = total;
    let skipped = if skipped == 0 { String::new() } else { format!(", {skipped} skipped") };
    format!("{passed} passed, {failed} failed{skipped}")
}

/// Prints text on stdout.
pub(crate) fn print(text: &str) {
    print!("{text}");
}

/// Prints a line of another program's output; one that reports a failed check is repeated in the summary.
pub(crate) fn output_line(line: &str) {
    println!("{line}");
    if is_failed_check(line) {
        record_failure(line.to_owned());
    }
}

/// If a line reports a failed check: `FAILED client … : cause`, or `test path ... FAILED`.
fn is_failed_check(line: &str) -> bool {
    line.starts_with("FAILED ") || (line.starts_with("test ") && line.ends_with("... FAILED"))
}

/// Keeps a failure for the summary.
fn record_failure(text: String) {
    FAILURES.lock().unwrap_or_else(PoisonError::into_inner).push(text);
}

/// Prints an error on stderr, and repeats it in the summary.
pub(crate) fn error(text: &str) {
    eprintln!("error: {text}");
    record_failure(format!("error: {text}"));
}

/// Prints a note on stderr.
pub(crate) fn note(text: &str) {
    eprintln!("{text}");
}

/// Prints a command on stderr before it runs.
pub(crate) fn command(line: &str) {
    let cut: String = line.chars().take(200).collect();
    eprintln!("$ {cut}");
}

#[cfg(test)]
mod tests;
