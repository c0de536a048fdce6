//! Reads parts of valid JSON text without building a value. The results for other text are unspecified.

use std::borrow::Cow;
use std::collections::HashMap;

use super::text_run::{scalar_end, string_end};
use super::unescape::{has_escapes, unescape};

/// The exact text of one member of an object. `None` if `text` isn't an object or doesn't have the member.
#[must_use]
pub fn member<'a>(text: &'a str, key: &str) -> Option<&'a str> {
    let [found] = members(text, [key]);
    found
}

/// The exact texts of several members of an object, found in one pass.
#[must_use]
pub fn members<'a, const N: usize>(text: &'a str, keys: [&str; N]) -> [Option<&'a str>; N] {
    let mut found = [None; N];
    let mut walker = ChildWalker::new(text, b'{');
    while let Some((name, value)) = walker.next_member() {
        let name = unescape(name);
        if let Some(at) = keys.iter().position(|wanted| *wanted == name) {
            found[at] = Some(value);
        }
    }
    found
}

/// The characters of a string, borrowed if it has no escapes. `None` for other values.
#[must_use]
pub fn string_value(text: &str) -> Option<Cow<'_, str>> {
    let text = text.trim_ascii();
    let inner = text.strip_prefix('"')?.strip_suffix('"')?;
    if has_escapes(inner) {
        return serde_json::from_str(text).ok().map(Cow::Owned);
    }
    Some(Cow::Borrowed(inner))
}

/// The type of the value with this text, in JSON Schema's terms.
#[must_use]
pub fn type_of_text(text: &str) -> &'static str {
    match text.trim_ascii_start().bytes().next() {
        Some(b'{') => "object",
        Some(b'[') => "array",
        Some(b'"') => "string",
        Some(b't' | b'f') => "boolean",
        Some(b'-' | b'0'..=b'9') => "number",
        _ => "null",
    }
}

/// Visits the members of an object in their order, until the first error. Other values have none.
///
/// # Errors
/// The error of `visit`.
pub fn visit_members<'a, E>(
    text: &'a str,
    mut visit: impl FnMut(Cow<'a, str>, &'a str) -> Result<(), E>,
) -> Result<(), E> {
    let mut walker = ChildWalker::new(text, b'{');
    while let Some((name, value)) = walker.next_member() {
        visit(unescape(name), value)?;
    }
    Ok(())
}

/// Visits the elements of an array in their order, until the first error. Other values have none.
///
/// # Errors
/// The error of `visit`.
pub fn visit_elements<'a, E>(
    text: &'a str,
    mut visit: impl FnMut(&'a str) -> Result<(), E>,
) -> Result<(), E> {
    let mut walker = ChildWalker::new(text, b'[');
    while let Some(element) = walker.next_value() {
        visit(element)?;
    }
    Ok(())
}

/// The texts at several paths of member names, found in one pass. The result has an entry for each path.
#[must_use]
pub fn at_paths<'a>(text: &'a str, paths: &[&[String]]) -> Vec<Option<&'a str>> {
    let mut found = vec![None; paths.len()];
    let wanted = paths.iter().enumerate().map(|(index, path)| WantedPath { index, rest: path });
    find_paths(text, wanted.collect(), &mut found);
    found
}

/// The rest of a path.
#[derive(Clone, Copy)]
struct WantedPath<'p> {
    index: usize,
    rest: &'p [String],
}

/// The recursion is as deep as the longest path.
fn find_paths<'a>(text: &'a str, wanted: Vec<WantedPath<'_>>, found: &mut [Option<&'a str>]) {
    let mut by_name: HashMap<&str, Vec<WantedPath<'_>>> = HashMap::new();
    for WantedPath { index, rest } in wanted {
        if let Some((name, rest)) = rest.split_first() {
            by_name.entry(name).or_default().push(WantedPath { index, rest });
        }
    }
    let _: Result<(), ()> = visit_members(text, |name, value| {
        let Some(wanted) = by_name.remove(&*name) else { return Ok(()) };
        let (here, deeper): (Vec<_>, Vec<_>) = wanted.into_iter().partition(|path| path.rest.is_empty());
        here.iter().for_each(|path| found[path.index] = Some(value));
        if !deeper.is_empty() {
            find_paths(value, deeper, found);
        }
        if by_name.is_empty() { Err(()) } else { Ok(()) }
    });
}

/// Reads the names and values directly in a container.
struct ChildWalker<'t> {
    text: &'t str,
    bytes: &'t [u8],
    at: usize,
}

impl<'t> ChildWalker<'t> {
    /// The content of an object or array, whose first byte is `open`. Other values have no content.
    fn new(text: &'t str, open: u8) -> Self {
        let bytes = text.as_bytes();
        let start = bytes.iter().position(|byte| !byte.is_ascii_whitespace()).unwrap_or(bytes.len());
        let at = if bytes.get(start) == Some(&open) { start + 1 } else { bytes.len() };
        Self { text, bytes, at }
    }

    /// The next member: its name as written, and its value.
    fn next_member(&mut self) -> Option<(&'t str, &'t str)> {
        let name = self.next_value()?;
        let name = name.strip_prefix('"')?.strip_suffix('"')?;
        Some((name, self.next_value()?))
    }

    /// The next value, or the next name.
    fn next_value(&mut self) -> Option<&'t str> {
        let is_between = |byte: &u8| matches!(byte, b' ' | b'\t' | b'\n' | b'\r' | b',' | b':');
        let rest = self.bytes.get(self.at..)?;
        let start = self.at + rest.iter().position(|byte| !is_between(byte))?;
        if matches!(self.bytes[start], b'}' | b']') {
            self.at = self.bytes.len();
            return None;
        }
        self.at = value_end(self.bytes, start);
        self.text.get(start..self.at)
    }
}

/// The position after the value that starts at `start`.
fn value_end(bytes: &[u8], start: usize) -> usize {
    let mut depth = 0_usize;
    let mut at = start;
    while let Some(&byte) = bytes.get(at) {
        at = match byte {
            b'"' => string_end(bytes, at),
            b'{' | b'[' => {
                depth += 1;
                at + 1
            }
            b'}' | b']' => {
                depth = depth.saturating_sub(1);
                at + 1
            }
            _ if depth == 0 => scalar_end(bytes, at),
            _ => at + 1,
        };
        if depth == 0 {
            return at;
        }
    }
    bytes.len()
}
