//! Adds tables to the text of a TOML file and removes them, without changing anything else in it.
//!
//! The parser that reads the configuration gives the byte range of every header, key and value, so an edit only inserts
//! and removes whole lines.

use std::ops::Range;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// A text that can't be edited.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum TextEditError {
    /// It isn't TOML.
    #[error("the file isn't valid TOML")]
    InvalidToml,
    /// The table is written in a form that has no lines of its own.
    #[error("the table is part of an inline table")]
    InlineTable,
}

/// Reports whether there is a table or value at this path.
///
/// # Errors
/// The text isn't TOML.
pub fn contains_table(text: &str, path: &[&str]) -> Result<bool, TextEditError> {
    let root = DeTable::parse(text).map_err(|_| TextEditError::InvalidToml)?;
    Ok(find(root.get_ref(), path).is_some())
}

/// The text with `block`, whole lines of TOML, at its end, after a blank line. The block gets the line endings of the
/// text.
#[must_use]
pub fn append_block(text: &str, block: &str) -> String {
    let line_end = if text.contains("\r\n") { "\r\n" } else { "\n" };
    let mut edited = text.to_owned();
    if !edited.is_empty() && !edited.ends_with('\n') {
        edited.push_str(line_end);
    }
    if !edited.trim().is_empty() && !edited.ends_with(&line_end.repeat(2)) {
        edited.push_str(line_end);
    }
    for line in block.lines() {
        edited.push_str(line);
        edited.push_str(line_end);
    }
    edited
}

/// The text without the table at this path, its subtables, and the comments directly above them. `None` if there is no
/// such table.
///
/// # Errors
/// The text isn't TOML, or the table is part of an inline table.
pub fn remove_table(text: &str, path: &[&str]) -> Result<Option<String>, TextEditError> {
    let root = DeTable::parse(text).map_err(|_| TextEditError::InvalidToml)?;
    let Some(FoundEntry { parents, key_span, value }) = find(root.get_ref(), path) else { return Ok(None) };
    let mut spans = vec![key_span];
    add_spans(value, &mut spans);
    let is_inline = |parent: &Range<usize>| text.get(parent.clone()).is_some_and(|it| it.starts_with('{'));
    if parents.iter().any(is_inline) {
        return Err(TextEditError::InlineTable);
    }
    let mut lines: Vec<Range<usize>> = spans.into_iter().map(|span| whole_lines(text, &span)).collect();
    lines.sort_by_key(|range| range.start);
    let mut edited = String::with_capacity(text.len());
    let mut kept_from = 0;
    for removed in joined(text, lines) {
        let start = with_comments_above(text, removed.start);
        let start = without_blank_line(text, start, removed.end).max(kept_from);
        edited.push_str(&text[kept_from..start]);
        kept_from = removed.end;
    }
    edited.push_str(&text[kept_from..]);
    Ok(Some(edited))
}

/// A key of the file and its value.
struct FoundEntry<'t> {
    /// The spans of the tables around it.
    parents: Vec<Range<usize>>,
    key_span: Range<usize>,
    value: &'t Spanned<DeValue<'t>>,
}

/// The entry at this path.
fn find<'t>(root: &'t DeTable<'t>, path: &[&str]) -> Option<FoundEntry<'t>> {
    let (last, above) = path.split_last()?;
    let mut table = root;
    let mut parents = Vec::new();
    for name in above {
        let value = table.get(*name)?;
        parents.push(value.span());
        table = value.get_ref().as_table()?;
    }
    let (key, value) = table.get_key_value(*last)?;
    Some(FoundEntry { parents, key_span: key.span(), value })
}

/// Adds the spans of a value and of everything in it.
fn add_spans(value: &Spanned<DeValue<'_>>, spans: &mut Vec<Range<usize>>) {
    spans.push(value.span());
    match value.get_ref() {
        DeValue::Table(table) => {
            for (key, value) in table.iter() {
                spans.push(key.span());
                add_spans(value, spans);
            }
        }
        DeValue::Array(items) => items.iter().for_each(|item| add_spans(item, spans)),
        DeValue::String(_)
        | DeValue::Integer(_)
        | DeValue::Float(_)
        | DeValue::Boolean(_)
        | DeValue::Datetime(_) => {}
    }
}

/// The lines that contain the span, with the last line's end.
fn whole_lines(text: &str, span: &Range<usize>) -> Range<usize> {
    let start = text[..span.start].rfind('\n').map_or(0, |at| at + 1);
    let end = text[span.end..].find('\n').map_or(text.len(), |at| span.end + at + 1);
    start..end
}

/// The ranges, with those joined that have only comments and blank lines between them.
fn joined(text: &str, sorted: Vec<Range<usize>>) -> Vec<Range<usize>> {
    let mut all: Vec<Range<usize>> = Vec::new();
    for range in sorted {
        match all.last_mut() {
            Some(last) if range.start <= last.end || is_remark(&text[last.end..range.start]) => {
                last.end = last.end.max(range.end);
            }
            Some(_) | None => all.push(range),
        }
    }
    all
}

/// True if all lines are blank or comments.
fn is_remark(text: &str) -> bool {
    text.lines().map(str::trim).all(|line| line.is_empty() || line.starts_with('#'))
}

/// The start of the comment lines that end at `start`. A blank line separates them from earlier ones, and the comments
/// at the start of the file are about the file.
fn with_comments_above(text: &str, start: usize) -> usize {
    let mut at = start;
    for line in text[..start].split_inclusive('\n').rev() {
        if !line.trim_start().starts_with('#') {
            return at;
        }
        at -= line.len();
    }
    start
}

/// `start`, moved to before the blank line above it if one follows `end`, too, or nothing does.
fn without_blank_line(text: &str, start: usize, end: usize) -> usize {
    let before = text[..start].split_inclusive('\n').next_back();
    let after = text[end..].lines().next();
    match before {
        Some(line) if line.trim().is_empty() && after.is_none_or(|line| line.trim().is_empty()) => {
            start - line.len()
        }
        Some(_) | None => start,
    }
}

#[cfg(test)]
mod tests;
