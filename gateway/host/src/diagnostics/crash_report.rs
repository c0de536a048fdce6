//! The end of a guest's stderr, for the log line about its crash.
//!
//! Runtimes print the reason there: Rust a panic message, Python a traceback, JavaScript an exception. The lines are
//! shown unchanged, because each runtime has its own format and changes it. Only Rust's note about backtraces is
//! omitted, because plugins can't print them.

use std::fmt;

use super::text;

/// The maximum number of lines in a report.
const MAX_LINES: usize = 20;
/// The maximum number of bytes in a report.
const MAX_BYTES: usize = 2 << 10;
/// The start of the note that Rust prints after a panic message.
const BACKTRACE_NOTE: &str = "note: run with `RUST_BACKTRACE=1`";

/// The last lines that a guest printed to stderr before it crashed. Never empty.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct StderrTail {
    lines: Vec<String>,
}

impl StderrTail {
    /// The last lines of `printed` that aren't blank. `None` if there are none.
    pub(super) fn of(printed: &str) -> Option<Self> {
        let mut room = MAX_BYTES;
        let mut lines: Vec<String> = printed
            .lines()
            .rev()
            .filter(|line| !line.trim().is_empty() && !line.starts_with(BACKTRACE_NOTE))
            .take(MAX_LINES)
            .map(|line| text::clean_block(line.trim_end().to_owned(), text::MAX_SENTENCE_BYTES))
            .take_while(|line| {
                let fits = line.len() <= room;
                room = room.saturating_sub(line.len());
                fits
            })
            .collect();
        lines.reverse();
        (!lines.is_empty()).then_some(Self { lines })
    }

    /// True for a Python traceback. Python reads source files to print one.
    pub(crate) fn is_python_traceback(&self) -> bool {
        self.lines.iter().any(|line| line.starts_with("  File \""))
    }
}

/// All lines joined into one, so that a guest can't forge log lines.
impl fmt::Display for StderrTail {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, line) in self.lines.iter().enumerate() {
            if index > 0 {
                f.write_str(" | ")?;
            }
            f.write_str(&text::clean_line(line, text::MAX_SENTENCE_BYTES))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
