//! Everything the gateway prints goes through here.

use std::fmt::Write as _;
use std::io::{self, IsTerminal as _, Write as _};

use anyhow::{Context as _, Result};
use moongate_core::config::{Problem, Source, Style, render};
use moongate_model::names::is_hidden;
use serde_json::Value;

/// Nobody reads more of what somebody else says about a failure, in characters.
const LONGEST_SAID: usize = 2000;

/// No line of ours is longer, in characters: what others say in it was cut before, where it is cut at all.
pub(super) const LONGEST_LINE: usize = 16_000;

/// The longest line that is said of something, in characters.
const LINE: usize = 160;

/// Prints what was asked for. A reader that has seen enough and closed the pipe is no failure.
pub(super) fn data(text: &str) -> Result<()> {
    let mut stdout = io::stdout().lock();
    match stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        written => written.context("can't write to stdout"),
    }
}

/// Prints what a plugin wrote: as it is, but for what would play tricks on a terminal.
pub(super) fn foreign(text: &str) -> Result<()> {
    if !io::stdout().is_terminal() {
        return data(text);
    }
    data(&lines(text))
}

/// Several lines in which nothing plays tricks on a terminal.
pub(super) fn lines(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        if is_hidden(c) && !matches!(c, '\n' | '\t') {
            shown.extend(c.escape_default())
        } else {
            shown.push(c)
        }
    }
    shown
}

/// Prints a JSON document, indented. On a terminal, what would play tricks on it is escaped as JSON has it: the document
/// says the same.
pub(super) fn json(value: &Value) -> Result<()> {
    let text = format!("{value:#}\n");
    if io::stdout().is_terminal() { data(&harmless_json(&text)) } else { data(&text) }
}

/// The same document without hidden characters, which stand only in its strings, but for the ends of its lines.
fn harmless_json(text: &str) -> String {
    let mut harmless = String::with_capacity(text.len());
    for c in text.chars() {
        if is_hidden(c) && c != '\n' {
            for unit in c.encode_utf16(&mut [0; 2]) {
                let _ = write!(harmless, "\\u{unit:04x}");
            }
        } else {
            harmless.push(c);
        }
    }
    harmless
}

/// Says something beside, over several lines, whose ends are the caller's: whatever else stands there went through
/// [`said`].
pub(super) fn note(text: &str) {
    to_stderr(&lines(text));
}

/// Says something beside in one line, whatever stands in it.
pub(super) fn remark(text: &str) {
    to_stderr(&format!("note: {}\n", line(text, LONGEST_LINE)));
}

/// Says what went through [`lines`] or [`line()`], or has colours of ours. Nobody is left to tell when stderr is closed.
pub(super) fn to_stderr(text: &str) {
    let _ = io::stderr().lock().write_all(text.as_bytes());
}

/// What somebody else says, as a part of a line: nothing in it can begin another line or play tricks on a terminal.
pub(super) fn said(text: &str) -> String {
    line(text, LONGEST_SAID)
}

/// One line, of at most so many characters of the text. What is one stays as it is.
pub(super) fn line(text: &str, most: usize) -> String {
    let mut line = String::with_capacity(text.len().min(most));
    for c in text.chars().take(most) {
        if is_hidden(c) { line.extend(c.escape_default()) } else { line.push(c) }
    }
    if text.chars().nth(most).is_some() {
        line.push('…');
    }
    line
}

/// As much of what somebody else says as is read at a glance, as a part of a line.
pub(super) fn first_line(text: &str) -> String {
    let line = text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    match line.char_indices().nth(LINE) {
        Some((end, _)) => format!("{}…", said(line[..end].trim_end())),
        None => said(line),
    }
}

/// Says what went wrong, and what to do about it: a line each, whatever stands in them.
pub(super) fn error(message: &str, hint: Option<&str>) {
    to_stderr(&error_text(message, "", hint));
}

/// What went wrong, what it is about on lines of its own, whose ends are the caller's, and what to do about it.
pub(super) fn error_text(message: &str, about: &str, hint: Option<&str>) -> String {
    let message = line(message, LONGEST_LINE);
    let about = if about.is_empty() { String::new() } else { format!("{}\n", lines(about.trim_end())) };
    let hint = hint.map(|hint| format!("hint: {}\n", line(hint, LONGEST_LINE))).unwrap_or_default();
    format!("error: {message}\n{about}{hint}")
}

/// Shows what is wrong with the configuration.
pub(super) fn problems(problems: &[Problem], source: &Source) {
    to_stderr(&problems_text(problems, source));
}

/// What is wrong with the configuration; nothing, where nothing is.
pub(super) fn problems_text(problems: &[Problem], source: &Source) -> String {
    if problems.is_empty() { String::new() } else { render(problems, source, style()) }
}

/// Colours only on a terminal, and only where they are wanted (no-color.org).
fn style() -> Style {
    let unwanted = std::env::var_os("NO_COLOR").is_some_and(|it| !it.is_empty());
    if io::stderr().is_terminal() && !unwanted { Style::Colour } else { Style::Plain }
}

/// `1 tool`, `2 tools`.
pub(super) fn count(number: usize, one: &str) -> String {
    if number == 1 { format!("1 {one}") } else { format!("{number} {one}s") }
}

/// The program, as it was called.
pub(super) fn program() -> String {
    std::env::args_os().next().map_or("moongate".to_owned(), |program| program.to_string_lossy().into_owned())
}

/// A word as a shell takes it.
pub(super) fn word(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_-./=:@%+,".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests;
