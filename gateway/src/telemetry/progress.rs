//! Progress lines on a terminal. They stay below everything else on stderr.

use std::io::{self, IsTerminal as _, Write};
use std::sync::OnceLock;

use indicatif::{MultiProgress, ProgressDrawTarget};

use super::{LogFormat, stderr_format};

/// The progress lines, once there can be some.
static LINES: OnceLock<MultiProgress> = OnceLock::new();

/// The progress lines. `None` if stderr isn't a terminal, or its messages are JSON.
pub(crate) fn progress_lines() -> Option<&'static MultiProgress> {
    let are_shown = stderr_format() == LogFormat::Text && io::stderr().is_terminal();
    are_shown.then(|| LINES.get_or_init(|| MultiProgress::with_draw_target(ProgressDrawTarget::stderr())))
}

/// Writes to stderr, above the progress lines.
pub(crate) fn above_progress_lines<T>(write: impl FnOnce() -> T) -> T {
    match LINES.get() {
        Some(lines) => lines.suspend(write),
        None => write(),
    }
}

/// stderr above the progress lines.
pub(super) struct StderrAboveProgress;

impl Write for StderrAboveProgress {
    fn write(&mut self, text: &[u8]) -> io::Result<usize> {
        above_progress_lines(|| io::stderr().write(text))
    }

    fn write_all(&mut self, text: &[u8]) -> io::Result<()> {
        above_progress_lines(|| io::stderr().write_all(text))
    }

    fn flush(&mut self) -> io::Result<()> {
        io::stderr().flush()
    }
}
