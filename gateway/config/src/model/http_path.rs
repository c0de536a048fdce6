//! The path of an HTTP grant, and paths that servers could read in different ways.

use std::borrow::Cow;
use std::ops::Range;

use url::Url;

use super::diagnostic::{quoted, visible};

/// An invalid part of a grant's text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PatternError {
    /// The bytes of the part.
    pub(crate) part: Range<usize>,
    pub(crate) message: String,
    pub(crate) hint: String,
    /// True if the part can contain a secret and must not be shown.
    pub(crate) is_secret: bool,
}

impl PatternError {
    pub(crate) fn new(part: Range<usize>, message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { part, message: message.into(), hint: hint.into(), is_secret: false }
    }
}

/// Parses the path that starts at the byte `start`. The result has no trailing `/`.
pub(crate) fn parse_path(text: &str, start: usize) -> Result<String, PatternError> {
    let written = &text[start..];
    let at = |found: usize, length: usize| start + found..start + found + length;
    if let Some(found) = written.find(['?', '#']) {
        let what = if written[found..].starts_with('?') { "a query" } else { "a fragment" };
        let hint = "remove it: only the path is compared";
        let part = at(found, written.len() - found);
        let error = PatternError::new(part, format!("a grant can't contain {what}"), hint);
        return Err(PatternError { is_secret: true, ..error }); // often a key
    }
    if let Some(found) = written.find('*') {
        let before = written[..found].trim_end_matches('/');
        let hint = if before.is_empty() {
            "remove the path to grant every path".to_owned()
        } else if written.ends_with("/*") || written.ends_with("/**") {
            format!("write `{}`: it includes the paths below", visible(before))
        } else {
            "grant the first part of the path, up to a `/`".to_owned()
        };
        let stars = written[found..].bytes().take_while(|byte| *byte == b'*').count();
        return Err(PatternError::new(at(found, stars), "a path can't contain `*`", hint));
    }
    let mut found = 0;
    for segment in written.split('/') {
        if let Err((message, hint)) = check_segment(segment) {
            return Err(PatternError::new(at(found, segment.len()), message, hint));
        }
        found += segment.len() + 1;
    }
    if let Some(found) = written.find("//") {
        return Err(PatternError::new(at(found, 2), "a path can't contain `//`", "write one `/`"));
    }
    // The same normalization as for a request: non-ASCII characters become `%…`.
    let url =
        Url::parse("http://host").and_then(|base| base.join(if written.is_empty() { "/" } else { written }));
    match url {
        Ok(url) => Ok(url.path().trim_end_matches('/').to_owned()),
        Err(error) => {
            let message = format!("invalid path {}: {error}", quoted(written));
            Err(PatternError::new(start..text.len(), message, "write it as in a URL"))
        }
    }
}

/// Checks one segment. The error is a message and a hint.
fn check_segment(segment: &str) -> Result<(), (String, &'static str)> {
    if is_dot_segment(segment) {
        let message = format!("a path can't contain the segment {}", quoted(segment));
        return Err((message, "write the resolved path"));
    }
    if is_ambiguous(segment) {
        let message = format!(
            "{} hides a `.`, `/`, `\\`, `;` or NUL, which servers read in different ways",
            quoted(segment)
        );
        return Err((message, "grant the path before it"));
    }
    let mut rest = segment;
    while let Some(at) = rest.find('%') {
        rest = &rest[at + 1..];
        if !rest.get(..2).is_some_and(|digits| digits.bytes().all(|digit| digit.is_ascii_hexdigit())) {
            let message = format!("a `%` in {} isn't followed by two hexadecimal digits", quoted(segment));
            return Err((message, "write `%25` for a literal `%`"));
        }
    }
    Ok(())
}

/// Reports whether the segment is `.` or `..`. Some servers ignore everything after a `;`.
fn is_dot_segment(segment: &str) -> bool {
    matches!(segment.split(';').next(), Some("." | ".."))
}

/// Reports whether the segment contains an encoded `.`, `/` or `\`, perhaps encoded several times, or invalid UTF-8.
/// Servers decode once, twice or loosely. Some end a path at NUL, or a segment at `;`, even if these are encoded.
fn is_ambiguous(segment: &str) -> bool {
    let mut plain = Cow::Borrowed(segment);
    for _ in 0..3 {
        if plain.contains("%25") {
            plain = plain.replace("%25", "%").into();
        }
    }
    let plain = plain.to_ascii_lowercase();
    // Anything that is encoded more often is meant to hide something.
    ["%2e", "%2f", "%5c", "%3b", "%00", "\\", "%25"].iter().any(|hidden| plain.contains(hidden))
        || is_invalid_utf8(&plain)
}

/// Reports whether the encoded bytes decode to invalid UTF-8. Some decoders accept an overlong `/`.
fn is_invalid_utf8(plain: &str) -> bool {
    let mut bytes = Vec::with_capacity(plain.len());
    let mut rest = plain.as_bytes();
    while let [first, tail @ ..] = rest {
        let code = if *first == b'%' { tail.get(..2) } else { None };
        let code = code.and_then(|digits| std::str::from_utf8(digits).ok());
        match code.and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
            Some(byte) => {
                bytes.push(byte);
                rest = &tail[2..];
            }
            None => {
                bytes.push(*first);
                rest = tail;
            }
        }
    }
    std::str::from_utf8(&bytes).is_err()
}

/// Reports whether every server reads this path in the same way. If not, no prefix is compared with it.
pub(crate) fn is_unambiguous_path(path: &str) -> bool {
    !path.split('/').any(|segment| is_dot_segment(segment) || is_ambiguous(segment))
}
