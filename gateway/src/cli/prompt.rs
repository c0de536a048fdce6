//! Questions to the person at the terminal.

use std::io::{self, IsTerminal as _};

use anyhow::{Context as _, Result};

use crate::cli::print;
use crate::telemetry::{LogFormat, stderr_format};

/// True if a person can answer: stdin and stderr are a terminal, and stderr is text.
pub(super) fn can_ask() -> bool {
    io::stdin().is_terminal() && io::stderr().is_terminal() && stderr_format() == LogFormat::Text
}

/// Asks for a line of text. `None` if the person ends the input instead.
///
/// # Errors
/// The terminal can't be read.
pub(super) fn ask_line(question: &str) -> Result<Option<String>> {
    print::stderr(&format!("{question} "));
    let line = read_line()?;
    if line.is_none() {
        print::stderr("\n");
    }
    Ok(line)
}

/// Reads a line of text. `None` if the person ends the input instead.
///
/// # Errors
/// The terminal can't be read.
pub(super) fn read_line() -> Result<Option<String>> {
    let mut line = String::new();
    let length = io::stdin().read_line(&mut line).context("can't read from the terminal")?;
    Ok((length > 0).then(|| line.trim_end_matches(['\n', '\r']).to_owned()))
}

/// Asks a question that only `y` or `yes` answers with yes.
///
/// # Errors
/// The terminal can't be read.
pub(super) fn confirm(question: &str) -> Result<bool> {
    let answer = ask_line(&format!("{question} [y/N]"))?.unwrap_or_default();
    Ok(["y", "yes"].contains(&answer.trim().to_ascii_lowercase().as_str()))
}
