//! Everything that the gateway prints: results on stdout, errors and notes on stderr. Text from plugins, servers and
//! files is escaped so that it can't start a new line or control a terminal.

use std::fmt::Write as _;
use std::io::{self, IsTerminal as _, Write as _};

use anyhow::{Context as _, Result};
use moongate_config::{ConfigSource, Diagnostic, RenderStyle};
use moongate_model::manifest::PluginInfo;
use moongate_model::text::{escape_hidden_in_block, escaped_line, first_chars, first_sentence, is_hidden};
use serde_json::Value;

use super::stderr::StderrMessages;
use crate::call_line::LineStyle;
use crate::telemetry::{LogFormat, above_progress_lines, stderr_format};

/// The maximum length of text quoted within a line, in characters.
const MAX_INLINE_CHARS: usize = 2000;

/// The maximum length of a message line, in characters. Quoted text is shortened before.
pub(super) const MAX_LINE_CHARS: usize = 16_000;

/// The maximum length of a description's summary, in characters.
const MAX_SUMMARY_CHARS: usize = 160;

/// Prints a result on stdout. A closed pipe isn't an error: its reader has read enough.
pub(super) fn stdout(text: &str) -> Result<()> {
    is_stdout_open_after(text).map(drop)
}

/// Prints a part of a result on stdout, and reports whether its reader may read more.
pub(super) fn is_stdout_open_after(text: &str) -> Result<bool> {
    let mut stdout = io::stdout().lock();
    match stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(false),
        Err(error) => Err(error).context("can't write to stdout"),
    }
}

/// Prints a result that contains text from plugins; on a terminal, control characters are escaped.
pub(super) fn untrusted(text: &str) -> Result<()> {
    if !io::stdout().is_terminal() {
        return stdout(text);
    }
    stdout(&escape_hidden_in_block(text))
}

/// Prints a JSON document, indented. On a terminal, control characters are escaped as in JSON, so that the value stays
/// the same.
pub(super) fn json(value: &Value) -> Result<()> {
    let text = format!("{value:#}\n");
    if io::stdout().is_terminal() { stdout(&json_for_terminal(&text)) } else { stdout(&text) }
}

/// A JSON document in one line, escaped like [`json`].
pub(super) fn json_line(value: &Value) -> String {
    let text = format!("{value}\n");
    if io::stdout().is_terminal() { json_for_terminal(&text) } else { text }
}

/// The document with control characters escaped, except line ends. They occur only in its strings.
fn json_for_terminal(text: &str) -> String {
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

/// Prints several lines on stderr. Quoted text must have gone through [`inline`].
pub(super) fn stderr_lines(text: &str) {
    StderrMessages::lines(text).print();
}

/// Prints a note of one line on stderr.
pub(super) fn note(text: &str) {
    StderrMessages::note(text).print();
}

/// Prints text on stderr that is already escaped and in the right format, or has the gateway's own colours. A closed
/// stderr can't be reported.
pub(super) fn stderr(text: &str) {
    let _ = above_progress_lines(|| io::stderr().lock().write_all(text.as_bytes()));
}

/// Prints a line whose first words are a label, in a colour of the terminal (SGR, ECMA-48) if stderr has colours.
pub(super) fn labelled(label: &str, colour: u8, text: &str) {
    if stderr_format() == LogFormat::Text && style() == RenderStyle::Colour {
        stderr(&format!("\x1b[{colour}m{label}:\x1b[0m {}\n", inline(text)));
    } else {
        stderr_lines(&format!("{label}: {text}\n"));
    }
}

/// External text for use within a line: control characters and line ends are escaped, and it is shortened.
pub(super) fn inline(text: &str) -> String {
    escaped_line(text, MAX_INLINE_CHARS)
}

/// A plugin's name and version. A component without the contract has no version.
pub(super) fn name_and_version(info: &PluginInfo) -> String {
    format!("{} {}", info.name, info.version).trim_end().to_owned()
}

/// The first sentence of a text, shortened, for use within a line.
pub(super) fn summary(text: &str) -> String {
    let sentence = first_sentence(text);
    let (start, is_cut) = first_chars(&sentence, MAX_SUMMARY_CHARS);
    if is_cut { format!("{}…", inline(start.trim_end())) } else { inline(&sentence) }
}

/// Prints an error and its hint, each on one line.
pub(super) fn error(message: &str, hint: Option<&str>) {
    StderrMessages::error(message, "", hint).print();
}

/// Prints a warning on one line.
pub(super) fn warning(text: &str) {
    StderrMessages::warning(text).print();
}

/// Prints the problems of the configuration.
pub(super) fn diagnostics(problems: &[Diagnostic], source: &ConfigSource) {
    StderrMessages::diagnostics(problems, source).print();
}

/// Colours are used only on a terminal and without `NO_COLOR` (no-color.org).
pub(super) fn style() -> RenderStyle {
    let unwanted = std::env::var_os("NO_COLOR").is_some_and(|it| !it.is_empty());
    if io::stderr().is_terminal() && !unwanted { RenderStyle::Colour } else { RenderStyle::Plain }
}

/// The style of lines about calls on stdout.
pub(super) fn stdout_style() -> LineStyle {
    let unwanted = std::env::var_os("NO_COLOR").is_some_and(|it| !it.is_empty());
    if io::stdout().is_terminal() && !unwanted { LineStyle::Colour } else { LineStyle::Plain }
}

/// `1 tool`, `2 tools`.
pub(super) fn count(number: usize, one: &str) -> String {
    if number == 1 { format!("1 {one}") } else { format!("{number} {one}s") }
}

/// The command that started this program.
pub(super) fn program_name() -> String {
    std::env::args_os().next().map_or("moongate".to_owned(), |program| program.to_string_lossy().into_owned())
}

/// A word, quoted for a shell if necessary.
pub(super) fn shell_word(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_-./=:@%+,".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests;
