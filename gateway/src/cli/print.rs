//! Everything the gateway prints goes through here.

use std::fmt::Write as _;
use std::io::{self, IsTerminal as _, Write as _};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use anyhow::{Context as _, Result};
use moongate_core::config::{Problem, Source, Style, render};
use moongate_core::names::is_hidden;
use serde_json::{Value, json};

/// Nobody reads more of what somebody else says about a failure, in characters.
const LONGEST_SAID: usize = 2000;

/// What was said to go wrong, for programs, which read it as a document where there is no other.
static WRONG: Mutex<Vec<Value>> = Mutex::new(Vec::new());

/// Was anything printed that was asked for?
static PRINTED: AtomicBool = AtomicBool::new(false);

/// Prints what was asked for. A reader that has seen enough and closed the pipe is no failure.
pub(super) fn data(text: &str) -> Result<()> {
    PRINTED.store(true, Ordering::Relaxed);
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
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        if is_hidden(c) && !matches!(c, '\n' | '\t') {
            shown.extend(c.escape_default())
        } else {
            shown.push(c)
        }
    }
    data(&shown)
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

/// Says something beside. Nobody is left to tell when stderr is closed.
pub(super) fn note(text: &str) {
    let _ = io::stderr().lock().write_all(text.as_bytes());
}

/// What somebody else says, as a part of a line: nothing in it can begin another line or play tricks on a terminal.
pub(super) fn said(text: &str) -> String {
    let mut line = String::with_capacity(text.len());
    for c in text.chars().take(LONGEST_SAID) {
        if is_hidden(c) { line.extend(c.escape_default()) } else { line.push(c) }
    }
    if text.chars().nth(LONGEST_SAID).is_some() {
        line.push('…');
    }
    line
}

/// Says what went wrong, and what to do about it.
pub(super) fn error(message: &str, hint: Option<&str>) {
    error_about(message, "", hint);
}

/// The same, with what it is about between the two, on lines of its own.
pub(super) fn error_about(message: &str, about: &str, hint: Option<&str>) {
    wrong(message, hint);
    let about = if about.is_empty() { String::new() } else { format!("{}\n", about.trim_end()) };
    let hint = hint.map(|hint| format!("hint: {hint}\n")).unwrap_or_default();
    note(&format!("error: {message}\n{about}{hint}"));
}

/// Keeps what went wrong.
fn wrong(message: &str, hint: Option<&str>) {
    let mut all = WRONG.lock().unwrap_or_else(PoisonError::into_inner);
    all.push(json!({ "message": message, "hint": hint }));
}

/// Prints a document of what went wrong, unless one was printed: whoever reads documents gets one in any case.
pub(super) fn failure() -> Result<()> {
    if PRINTED.load(Ordering::Relaxed) {
        return Ok(());
    }
    let all = std::mem::take(&mut *WRONG.lock().unwrap_or_else(PoisonError::into_inner));
    json(&json!({ "errors": all }))
}

/// Shows what is wrong with the configuration.
pub(super) fn problems(problems: &[Problem], source: &Source) {
    for problem in problems.iter().filter(|problem| problem.is_error()) {
        wrong(&problem.message, problem.hint.as_deref());
    }
    if !problems.is_empty() {
        note(&render(problems, source, style()));
    }
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
