//! Blots out secrets in a message. Used by `trace` only.
//!
//! A secret is found however JSON escapes it, also in JSON that stands in a text of JSON: escapes are resolved, level by
//! level, and what is found is blotted out where it stands. So this needs no valid JSON, and what goes in as JSON comes
//! out as JSON, unless a secret reaches beyond one text of it.

use std::collections::BTreeSet;
use std::fmt;
use std::ops::Range;

use memchr::memchr;
use memchr::memmem::Finder;
use moongate_core::config::{Secret, Standing};

/// What stands in a secret's place.
const BLOT: &str = "<secret>";

/// What stands for the rest of something that isn't shown whole.
const REST: &str = "…";

/// So often escapes are resolved: JSON in a text of JSON, and once more.
const LEVELS: usize = 4;

/// The member whose value isn't shown whole: whoever has it can go on with another's call.
const STATE: &str = "requestState";

/// How many characters of it are shown.
const SHOWN: usize = 8;

/// All secrets that are known.
#[derive(Default)]
pub(super) struct Mask {
    known: BTreeSet<String>,
    needles: Vec<Needle>,
}

impl fmt::Debug for Mask {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Mask").field("secrets", &self.known.len()).finish_non_exhaustive()
    }
}

struct Needle {
    finder: Finder<'static>,
    standing: Standing,
}

/// A stretch of a text, and what stands in its place.
type Blot = (Range<usize>, &'static str);

impl Mask {
    /// This and `secrets`; none if they are known already.
    pub(super) fn and(&self, secrets: &[Secret]) -> Option<Self> {
        let texts = secrets.iter().map(Secret::expose).filter(|text| !text.is_empty());
        let mut known = self.known.clone();
        known.extend(texts.map(str::to_owned));
        (known.len() > self.known.len()).then(|| {
            let needles = known.iter().map(|text| Needle::new(text)).collect();
            Self { known, needles }
        })
    }

    /// `text` without secrets, up to what stood at `most` bytes.
    pub(super) fn over(&self, text: &str, most: usize) -> String {
        let first = unescape(text);
        let mut found = states(text);
        if !self.needles.is_empty() {
            self.search(text, |range| found.push((range, BLOT)));
            let mut deeper = None;
            for _ in 0..LEVELS {
                let Some(level): Option<&Level> = deeper.as_ref().or(first.as_ref()) else { break };
                self.search(&level.text, |range| {
                    found.push((level.from[range.start]..level.from[range.end], BLOT));
                });
                let Some(next) = unescape(&level.text) else { break };
                deeper = Some(level.within(next));
            }
        }
        if let Some(first) = &first {
            found.iter_mut().for_each(|(range, _)| first.widen(range));
        }
        blotted(text, found, most)
    }

    fn search(&self, text: &str, mut found: impl FnMut(Range<usize>)) {
        for Needle { finder, standing } in &self.needles {
            let length = finder.needle().len();
            for at in finder.find_iter(text.as_bytes()) {
                if standing.holds(&text[..at], &text[at + length..]) {
                    found(at..at + length);
                }
            }
        }
    }
}

impl Needle {
    fn new(text: &str) -> Self {
        let standing = Secret::new(text).standing();
        Self { finder: Finder::new(text).into_owned(), standing }
    }
}

/// A text whose escapes are resolved.
#[derive(Debug, Clone)]
struct Level {
    text: String,
    /// Where in the message that comes from which each byte stands for, and the end of the message.
    from: Vec<usize>,
}

impl Level {
    /// `next`, which was made of this, with places in the message.
    fn within(&self, mut next: Self) -> Self {
        next.from.iter_mut().for_each(|at| *at = self.from[*at]);
        next
    }

    /// Makes a stretch begin and end beside escapes, not in one.
    fn widen(&self, range: &mut Range<usize>) {
        let start = self.from.partition_point(|at| *at <= range.start);
        range.start = self.from[start.saturating_sub(1)];
        let end = self.from.partition_point(|at| *at < range.end);
        range.end = self.from.get(end).copied().unwrap_or(range.end);
    }
}

/// Resolves escapes as JSON has them; none if there is none. What is no escape stays.
fn unescape(text: &str) -> Option<Level> {
    memchr(b'\\', text.as_bytes())?;
    let mut level =
        Level { text: String::with_capacity(text.len()), from: Vec::with_capacity(text.len() + 1) };
    let mut at = 0;
    while at < text.len() {
        let rest = &text[at..];
        let plain = memchr(b'\\', rest.as_bytes()).unwrap_or(rest.len());
        level.text.push_str(&rest[..plain]);
        // Each byte of a character, so that none is cut.
        level.from.extend(at..at + plain);
        at += plain;
        if at < text.len() {
            let (character, length) = escape(&text[at..]);
            level.text.push(character);
            level.from.extend(std::iter::repeat_n(at, character.len_utf8()));
            at += length;
        }
    }
    level.from.push(text.len());
    Some(level)
}

/// The character that `text`, which begins with a backslash, stands for, and how many bytes that takes.
fn escape(text: &str) -> (char, usize) {
    match text.as_bytes().get(1) {
        Some(b'"') => ('"', 2),
        Some(b'\\') => ('\\', 2),
        Some(b'/') => ('/', 2),
        Some(b'b') => ('\u{8}', 2),
        Some(b'f') => ('\u{c}', 2),
        Some(b'n') => ('\n', 2),
        Some(b'r') => ('\r', 2),
        Some(b't') => ('\t', 2),
        Some(b'u') => numbered(text).unwrap_or(('\\', 1)),
        Some(_) | None => ('\\', 1),
    }
}

/// `\u` with four digits, or two of them that stand for one character.
fn numbered(text: &str) -> Option<(char, usize)> {
    let unit = |at: usize| {
        let digits = text.get(at..at + 4).filter(|it| it.bytes().all(|byte| byte.is_ascii_hexdigit()))?;
        u16::from_str_radix(digits, 16).ok()
    };
    let first = unit(2)?;
    let second = text.get(6..8).filter(|it| *it == "\\u").and_then(|_| unit(8));
    let pair = second.and_then(|second| char::decode_utf16([first, second]).next()?.ok());
    Some(match (char::from_u32(u32::from(first)), pair) {
        (Some(character), _) => (character, 6),
        (None, Some(character)) => (character, 12),
        (None, None) => (char::REPLACEMENT_CHARACTER, 6),
    })
}

/// What isn't shown of the states that calls are gone on with.
fn states(text: &str) -> Vec<Blot> {
    let mut found = Vec::new();
    let (mut at, mut is_state) = (0, false);
    while let Some(open) = memchr(b'"', &text.as_bytes()[at..]) {
        let inside = at + open + 1;
        is_state &= text[at..inside - 1].trim().trim_start_matches(':').trim().is_empty();
        let length = end_of_text(&text[inside..]);
        let content = &text[inside..inside + length];
        at = (inside + length + 1).min(text.len());
        if is_state {
            let shown = content.char_indices().nth(SHOWN).map_or(content.len(), |(at, _)| at);
            found.push((inside + shown..inside + length, REST));
        }
        is_state = !is_state && text[at..].trim_start().starts_with(':') && is_the_state(content);
    }
    found.retain(|(range, _)| !range.is_empty());
    found
}

fn is_the_state(key: &str) -> bool {
    key == STATE || unescape(key).is_some_and(|key| key.text == STATE)
}

/// Where a text ends that began before.
fn end_of_text(text: &str) -> usize {
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

/// `text` up to `most` bytes, with what was found replaced. What begins before that is replaced as a whole.
fn blotted(text: &str, mut found: Vec<Blot>, most: usize) -> String {
    let most = text.floor_char_boundary(most);
    found.sort_by_key(|(range, _)| range.start);
    let mut out = String::with_capacity(most);
    let mut at = 0;
    let mut blots = found.into_iter().peekable();
    while let Some((mut range, mut with)) = blots.next() {
        while let Some((next, its)) = blots.next_if(|(next, _)| next.start < range.end) {
            range.end = range.end.max(next.end);
            with = if its == BLOT { BLOT } else { with };
        }
        if range.start >= most {
            break;
        }
        out.push_str(&text[at..range.start]);
        out.push_str(with);
        at = range.end;
    }
    if at < most {
        out.push_str(&text[at..most]);
    }
    out
}

#[cfg(test)]
mod tests;
