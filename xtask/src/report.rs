//! All printing of xtask, and the counting of what passed: a step's tally and the closing summary.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "the one place of xtask that prints")]

use std::time::{Duration, Instant};

use anyhow::Result;

/// How many checks passed, failed and were skipped.
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
    /// One check that wasn't made.
    pub(crate) const SKIP: Self = Self { passed: 0, failed: 0, skipped: 1 };

    /// Adds the checks of `other`.
    pub(crate) fn add(&mut self, other: Self) {
        let Self { passed, failed, skipped } = other;
        self.passed += passed;
        self.failed += failed;
        self.skipped += skipped;
    }
}

/// The steps of a run, timed, for the summary at its end.
#[derive(Debug, Default)]
pub(crate) struct Report {
    steps: Vec<(&'static str, Tally, Duration)>,
}

impl Report {
    /// Runs one step and notes how it went; an error is printed and counts as one failed check. Gives back whether
    /// the step failed in nothing.
    pub(crate) fn step(&mut self, name: &'static str, body: impl FnOnce() -> Result<Tally>) -> bool {
        say(&format!("\n=== {name}\n"));
        let start = Instant::now();
        let tally = body().unwrap_or_else(|error| {
            problem(&format!("{error:#}"));
            Tally::FAIL
        });
        self.steps.push((name, tally, start.elapsed()));
        tally.failed == 0
    }

    /// Notes a step that couldn't be run, because one that it builds on failed.
    pub(crate) fn not_run(&mut self, name: &'static str) {
        self.steps.push((name, Tally::SKIP, Duration::ZERO));
    }

    /// Prints the summary; its last line is `N passed, N failed`, with `, N skipped` where any was.
    pub(crate) fn close(self) -> Tally {
        let mut total = Tally::default();
        say("\n=== summary\n");
        for (name, tally, time) in &self.steps {
            let word = match *tally {
                Tally { failed: 1.., .. } => "FAILED",
                Tally { passed: 0, .. } => "skipped",
                Tally { .. } => "ok",
            };
            let count = tally.passed + tally.failed + tally.skipped;
            say(&format!("{word:<8}{:>7.1} s  {name} ({count})\n", time.as_secs_f32()));
            total.add(*tally);
        }
        let time: Duration = self.steps.iter().map(|(_, _, time)| *time).sum();
        say(&format!("        {:>7.1} s  in all\n\n{}\n", time.as_secs_f32(), line(total)));
        total
    }
}

/// The closing line.
pub(crate) fn line(total: Tally) -> String {
    let Tally { passed, failed, skipped } = total;
    let skipped = if skipped == 0 { String::new() } else { format!(", {skipped} skipped") };
    format!("{passed} passed, {failed} failed{skipped}")
}

/// Prints text on stdout as it is.
pub(crate) fn say(text: &str) {
    print!("{text}");
}

/// Prints on stderr what went wrong.
pub(crate) fn problem(text: &str) {
    eprintln!("error: {text}");
}

/// Prints a note on stderr.
pub(crate) fn note(text: &str) {
    eprintln!("{text}");
}

/// Prints on stderr what is started.
pub(crate) fn command(line: &str) {
    let cut: String = line.chars().take(200).collect();
    eprintln!("$ {cut}");
}

#[cfg(test)]
mod tests;
