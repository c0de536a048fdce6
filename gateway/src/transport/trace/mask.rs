//! Redacts secrets in a message. Used by `trace` only.
//!
//! A secret is found in any JSON escaping, also in JSON within a JSON string: escapes are resolved level by level, and
//! matches are mapped back to the message. The message doesn't have to be valid JSON. Valid JSON stays valid, unless a
//! secret spans several strings.

use std::collections::BTreeSet;
use std::fmt;
use std::ops::Range;

use memchr::memchr;
use memchr::memmem::Finder;
use moongate_config::{MatchBoundary, Secret};

/// The replacement of a secret.
const SECRET_PLACEHOLDER: &str = "<secret>";

/// The replacement of the rest of a shortened value.
const ELLIPSIS: &str = "…";

/// The number of escape levels: JSON in a JSON string, and more.
const MAX_ESCAPE_LEVELS: usize = 4;

/// The member whose value is shortened, because its holder could continue another client's call.
const STATE_KEY: &str = "requestState";

/// The number of the value's characters that are shown.
const SHOWN_STATE_CHARS: usize = 8;

/// The known secrets.
#[derive(Default)]
pub(super) struct SecretMask {
    secrets: BTreeSet<String>,
    patterns: Vec<SecretPattern>,
}

impl fmt::Debug for SecretMask {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SecretMask").field("secrets", &self.secrets.len()).finish_non_exhaustive()
    }
}

struct SecretPattern {
    finder: Finder<'static>,
    boundary: MatchBoundary,
}

/// A range of a text, and its replacement.
type Redaction = (Range<usize>, &'static str);

impl SecretMask {
    /// The known secrets and these. `None` if all of these are already known.
    pub(super) fn with_secrets(&self, secrets: &[Secret]) -> Option<Self> {
        let texts = secrets.iter().map(Secret::expose).filter(|text| !text.is_empty());
        let mut known = self.secrets.clone();
        known.extend(texts.map(str::to_owned));
        (known.len() > self.secrets.len()).then(|| {
            let patterns = known.iter().map(|text| SecretPattern::new(text)).collect();
            Self { secrets: known, patterns }
        })
    }

    /// `text` without secrets, up to the original position `limit`.
    pub(super) fn redact(&self, text: &str, limit: usize) -> String {
        let first = unescape(text);
        let mut found = request_states(text);
        if !self.patterns.is_empty() {
            self.search(text, |range| found.push((range, SECRET_PLACEHOLDER)));
            let mut deeper = None;
            for _ in 0..MAX_ESCAPE_LEVELS {
                let Some(level): Option<&Unescaped> = deeper.as_ref().or(first.as_ref()) else { break };
                self.search(&level.text, |range| {
                    found
                        .push((level.positions[range.start]..level.positions[range.end], SECRET_PLACEHOLDER));
                });
                let Some(next) = unescape(&level.text) else { break };
                deeper = Some(level.within(next));
            }
        }
        if let Some(first) = &first {
            found.iter_mut().for_each(|(range, _)| first.widen(range));
        }
        apply(text, found, limit)
    }

    fn search(&self, text: &str, mut found: impl FnMut(Range<usize>)) {
        for SecretPattern { finder, boundary } in &self.patterns {
            let length = finder.needle().len();
            for at in finder.find_iter(text.as_bytes()) {
                if boundary.matches_between(&text[..at], &text[at + length..]) {
                    found(at..at + length);
                }
            }
        }
    }
}

impl SecretPattern {
    fn new(text: &str) -> Self {
        let boundary = Secret::new(text).match_boundary();
        Self { finder: Finder::new(text).into_owned(), boundary }
    }
}

/// A text with its escapes resolved.
#[derive(Debug, Clone)]
struct Unescaped {
    text: String,
    /// The position in the original message of each byte, and the end of the message.
    positions: Vec<usize>,
}

impl Unescaped {
    /// Maps the positions of `next`, which was derived from this text, to the original message.
    fn within(&self, mut next: Self) -> Self {
        next.positions.iter_mut().for_each(|at| *at = self.positions[*at]);
        next
    }

    /// Extends a range to whole escapes.
    fn widen(&self, range: &mut Range<usize>) {
        let start = self.positions.partition_point(|at| *at <= range.start);
        range.start = self.positions[start.saturating_sub(1)];
        let end = self.positions.partition_point(|at| *at < range.end);
        range.end = self.positions.get(end).copied().unwrap_or(range.end);
    }
}

/// Resolves JSON escapes. `None` if there are none. Invalid escapes are kept.
fn unescape(text: &str) -> Option<Unescaped> {
    memchr(b'\\', text.as_bytes())?;
    let mut level =
        Unescaped { text: String::with_capacity(text.len()), positions: Vec::with_capacity(text.len() + 1) };
    let mut at = 0;
    while at < text.len() {
        let rest = &text[at..];
        let plain = memchr(b'\\', rest.as_bytes()).unwrap_or(rest.len());
        level.text.push_str(&rest[..plain]);
        // One position for each byte, so that no character is split.
        level.positions.extend(at..at + plain);
        at += plain;
        if at < text.len() {
            let (character, length) = escape(&text[at..]);
            level.text.push(character);
            level.positions.extend(std::iter::repeat_n(at, character.len_utf8()));
            at += length;
        }
    }
    level.positions.push(text.len());
    Some(level)
}

/// The character of the escape at the start of `text`, and the length of the escape. An invalid escape is a backslash.
fn escape(text: &str) -> (char, usize) {
    let is_unicode = text.as_bytes().get(1) == Some(&b'u');
    // A surrogate pair, or a single code unit.
    let lengths: &[usize] = if is_unicode { &[12, 6] } else { &[2] };
    let parse = |length: usize| {
        let escape = text.get(..length)?;
        Some((serde_json::from_str::<char>(&format!("\"{escape}\"")).ok()?, length))
    };
    // A lone surrogate is an escape, too, but no character.
    let is_lone = || {
        let digits = text.get(2..6);
        is_unicode && digits.is_some_and(|digits| digits.bytes().all(|digit| digit.is_ascii_hexdigit()))
    };
    let parsed = lengths.iter().find_map(|length| parse(*length));
    parsed.unwrap_or_else(|| if is_lone() { (char::REPLACEMENT_CHARACTER, 6) } else { ('\\', 1) })
}

/// The hidden parts of request states.
fn request_states(text: &str) -> Vec<Redaction> {
    let mut found = Vec::new();
    let mut at = 0;
    let mut is_state = false;
    while let Some(open) = memchr(b'"', &text.as_bytes()[at..]) {
        let inside = at + open + 1;
        is_state &= text[at..inside - 1].trim().trim_start_matches(':').trim().is_empty();
        let length = string_length(&text[inside..]);
        let content = &text[inside..inside + length];
        at = (inside + length + 1).min(text.len());
        if is_state {
            let shown = content.char_indices().nth(SHOWN_STATE_CHARS).map_or(content.len(), |(at, _)| at);
            found.push((inside + shown..inside + length, ELLIPSIS));
        }
        is_state = !is_state && text[at..].trim_start().starts_with(':') && is_state_key(content);
    }
    found.retain(|(range, _)| !range.is_empty());
    found
}

fn is_state_key(key: &str) -> bool {
    key == STATE_KEY || unescape(key).is_some_and(|key| key.text == STATE_KEY)
}

/// The length of a string without its closing quote.
fn string_length(text: &str) -> usize {
    let mut at = 0;
    while let Some(found) = memchr::memchr2(b'"', b'\\', &text.as_bytes()[at..]) {
        at += found;
        if text.as_bytes()[at] == b'"' {
            return at;
        }
        at += 2;
        if at >= text.len() {
            break;
        }
    }
    text.len()
}

/// `text` up to `limit` bytes, with the redactions. A redaction that starts before the limit is applied as a whole.
fn apply(text: &str, mut found: Vec<Redaction>, limit: usize) -> String {
    let limit = text.floor_char_boundary(limit);
    found.sort_by_key(|(range, _)| range.start);
    let mut out = String::with_capacity(limit);
    let mut at = 0;
    let mut redactions = found.into_iter().peekable();
    while let Some((mut range, mut with)) = redactions.next() {
        while let Some((next, its)) = redactions.next_if(|(next, _)| next.start < range.end) {
            range.end = range.end.max(next.end);
            with = if its == SECRET_PLACEHOLDER { SECRET_PLACEHOLDER } else { with };
        }
        if range.start >= limit {
            break;
        }
        out.push_str(&text[at..range.start]);
        out.push_str(with);
        at = range.end;
    }
    if at < limit {
        out.push_str(&text[at..limit]);
    }
    out
}

#[cfg(test)]
mod tests;
