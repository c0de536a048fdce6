//! Lists and tables in values that are never closed: whatever follows is read as a part of them, and looks wrong.

use toml::de::Error;

use crate::config::report::syntax::line_start;

/// A list or table that the file's next key or header finds open.
pub(in crate::config) struct Unclosed {
    /// Where it begins.
    pub(in crate::config) opened: usize,
    /// Where that key or header stands.
    pub(in crate::config) found: usize,
    /// What would close it.
    pub(in crate::config) close: char,
}

/// How many places are looked at, because for each the whole text before it is: the first ones have the cause before them.
const MOST: usize = 20;

/// The first such, if what the parser found comes of one.
pub(in crate::config) fn unclosed(errors: &[Error], text: &str) -> Option<Unclosed> {
    let within = |error: &&Error| {
        let words = ["array", "inline table", "key-value pairs", "must be quoted"];
        words.iter().any(|word| error.message().contains(word))
    };
    let mut places: Vec<_> = errors.iter().filter(within).filter_map(Error::span).collect();
    places.sort_by_key(|place| place.start);
    places.into_iter().take(MOST).map(|place| place.start.min(text.len())).find_map(|at| found_at(at, text))
}

fn found_at(at: usize, text: &str) -> Option<Unclosed> {
    let line = line_start(text, at);
    let rest = text[line..].split('\n').next().unwrap_or_default();
    let is_next =
        text[line..at].trim_start_matches('[').trim().is_empty() && (is_header(rest) || is_assignment(rest));
    if !is_next {
        return None;
    }
    let (opened, close) = open_at(&text[..line])?;
    // In a table of several lines each of them has a key.
    (close == ']' || !rest.starts_with([' ', '\t'])).then_some(Unclosed { opened, found: line, close })
}

pub(in crate::config) fn is_header(line: &str) -> bool {
    let line = line.lines().next().unwrap_or_default();
    let name = line.trim_start_matches('[');
    name.len() < line.len() && name.starts_with(|c: char| c.is_ascii_alphabetic()) && name.contains(']')
}

fn is_assignment(line: &str) -> bool {
    let key = line.split_once('=').map_or("", |(key, _)| key.trim());
    !key.is_empty() && key.chars().all(|c| c.is_ascii_alphanumeric() || "_-.".contains(c))
}

/// Where the outermost list or table begins that is still open at the end of a text, and what would close it.
fn open_at(text: &str) -> Option<(usize, char)> {
    let (mut open, mut in_value, mut at) = (Vec::new(), false, 0);
    while let Some(c) = text[at..].chars().next() {
        let rest = &text[at..];
        match c {
            '=' => in_value = true,
            '\n' => in_value &= !open.is_empty(),
            '[' if in_value => open.push((at, ']')),
            '{' if in_value => open.push((at, '}')),
            ']' | '}' => drop(open.pop()),
            _ => {}
        }
        at += match c {
            '"' | '\'' => quoted(rest),
            '#' => rest.find('\n').unwrap_or(rest.len()),
            _ => c.len_utf8(),
        };
    }
    open.last().copied()
}

/// How long the text in quotes is that begins here; one of a single line ends with the line.
fn quoted(rest: &str) -> usize {
    let quotes = ["\"\"\"", "'''", "\"", "'"];
    let quote = quotes.into_iter().find(|quote| rest.starts_with(quote)).unwrap_or_default();
    let mut at = quote.len();
    while let Some(c) = rest[at..].chars().next() {
        if rest[at..].starts_with(quote) {
            return at + quote.len();
        }
        match c {
            '\n' if quote.len() == 1 => return at,
            '\\' if quote.starts_with('"') => {
                at += 1 + rest[at + 1..].chars().next().filter(|c| *c != '\n').map_or(0, char::len_utf8);
            }
            c => at += c.len_utf8(),
        }
    }
    at
}
