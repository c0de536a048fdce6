//! `edit_file`: replaces text in a file and shows the difference.
//!
//! The text is matched exactly or, failing that, line by line, ignoring leading and trailing white space. CRLF and LF
//! are treated as equal. Everything that the diff doesn't show stays the same on disk, byte for byte, including line
//! endings and bytes that aren't UTF-8.

use std::fs;

use crate::answer;
use crate::args::Edit;
use crate::diff::Diff;
use crate::fault::FsError;
use crate::path::ResolvedPath;
use crate::{read, write};

/// The mode of an edit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum EditMode {
    /// Write the file.
    Real,
    /// Only return the diff.
    Dry,
}

/// The result of an edit.
pub(crate) struct EditResult {
    /// The diff, for users and models.
    pub(crate) shown: String,
    /// `true` if the file has changed.
    pub(crate) changed: bool,
}

/// Applies the edits in order: all or none.
pub(crate) fn file(file: &ResolvedPath, edits: &[Edit], run: EditMode) -> Result<EditResult, FsError> {
    let path = &file.path;
    let size = fs::metadata(path).map_err(FsError::system("open", path))?.len();
    let most = answer::largest() as u64;
    if size > most {
        return Err(FsError::Other(format!(
            "File too large: {path} has {size} bytes, but files of at most {most} can be edited"
        )));
    }
    let raw = read::bytes(path)?;
    let before = String::from_utf8_lossy(&raw).replace("\r\n", "\n");
    let after = applied(&before, edits)?;
    let diff = Diff::new(&before, &after);
    let shown = fenced(&diff.unified(path));
    let changed = before != after;
    if changed && run == EditMode::Real {
        write::file(file, &diff.onto(&raw)?)?;
    }
    Ok(EditResult { shown, changed: changed && run == EditMode::Real })
}

/// The text with all edits applied.
fn applied(text: &str, edits: &[Edit]) -> Result<String, FsError> {
    let mut text = text.to_owned();
    for Edit { old_text, new_text } in edits {
        let old = old_text.replace("\r\n", "\n");
        let new = new_text.replace("\r\n", "\n");
        text = if text.contains(&old) {
            text.replacen(&old, &new, 1)
        } else {
            by_line(&text, &old, &new)
                .ok_or_else(|| FsError::Other(format!("Could not find exact match for edit:\n{old_text}")))?
        };
    }
    Ok(text)
}

/// Replaces the first lines that equal `old` except for surrounding white space.
fn by_line(text: &str, old: &str, new: &str) -> Option<String> {
    let old: Vec<&str> = old.split('\n').collect();
    let lines: Vec<&str> = text.split('\n').collect();
    let start = lines
        .windows(old.len())
        .position(|window| window.iter().zip(&old).all(|(line, old)| trimmed(line) == trimmed(old)))?;
    let indent = indent_of(lines[start]);
    let replaced = new.split('\n').enumerate().map(|(at, line)| {
        if at == 0 {
            return format!("{indent}{}", unindented(line));
        }
        // Keep the relative indentation of later lines if both sides are indented.
        let (old, new) = (old.get(at).map_or("", |old| indent_of(old)), indent_of(line));
        if old.is_empty() || new.is_empty() {
            return line.to_owned();
        }
        let further = new.chars().count().saturating_sub(old.chars().count());
        format!("{indent}{}{}", " ".repeat(further), unindented(line))
    });
    let lines = lines[..start]
        .iter()
        .map(|line| (*line).to_owned())
        .chain(replaced)
        .chain(lines[start + old.len()..].iter().map(|line| (*line).to_owned()));
    Some(lines.collect::<Vec<_>>().join("\n"))
}

/// White space as in JavaScript: Unicode's, without NEL, with the byte order mark.
fn is_space(c: char) -> bool {
    (c.is_whitespace() && c != '\u{85}') || c == '\u{feff}'
}

fn trimmed(line: &str) -> &str {
    line.trim_matches(is_space)
}

fn unindented(line: &str) -> &str {
    line.trim_start_matches(is_space)
}

fn indent_of(line: &str) -> &str {
    &line[..line.len() - unindented(line).len()]
}

/// A diff in a code fence of as many backticks as necessary.
fn fenced(diff: &str) -> String {
    let mut fence = "```".to_owned();
    while diff.contains(&fence) {
        fence.push('`');
    }
    format!("{fence}diff\n{diff}{fence}\n\n")
}

#[cfg(test)]
mod tests;
