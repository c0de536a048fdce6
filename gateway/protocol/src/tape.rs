//! A compact representation of a JSON value: its text, and the position of each value and key in it.
//!
//! An entry takes 8 bytes, while a parsed tree takes 72 bytes for a number and some 400 for a small object. So checking
//! a value takes at most four times the memory of its text, whatever the text contains.

use std::borrow::Cow;
use std::cmp::Ordering;

use serde_json::Number;

use crate::check_meter;
use crate::json::{has_escapes, scalar_end, string_end, unescape, unescaped_chars};

mod equality;
mod representation;

pub(crate) use representation::TapeJson;

/// The longest text, in bytes, so that positions fit into the entries.
const MAX_TEXT_BYTES: usize = 1 << 30;

/// The minimum number of members of an object with an index.
const MIN_INDEXED_MEMBERS: usize = 9;

/// The bit of [`TapeEntry::next`] that marks an object with an index.
const INDEXED: u32 = 1 << 31;

/// A JSON value as positions in its text.
#[derive(Debug)]
pub(crate) struct JsonTape<'t> {
    text: &'t str,
    /// The values and keys, in the order of the text. An object with many members is followed by their indices, sorted
    /// by key, two in an entry, and by an entry with their number.
    entries: Vec<TapeEntry>,
    size: ValueSize,
}

/// The size of a value.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct ValueSize {
    /// The number of values, without keys.
    pub(crate) nodes: u64,
    /// The nesting depth. A scalar has 1.
    pub(crate) depth: usize,
    /// The length of all strings and keys as written.
    pub(crate) bytes: u64,
    /// The length of all keys as written.
    pub(crate) key_bytes: u64,
}

/// A value or a key.
#[derive(Debug, Clone, Copy)]
struct TapeEntry {
    /// The position of its first byte.
    start: u32,
    /// The index of the entry after it and everything in it.
    next: u32,
}

/// A value of a tape, or a free-standing string.
#[derive(Debug, Clone, Copy)]
pub(crate) enum TapeNode<'a> {
    Entry { tape: &'a JsonTape<'a>, index: u32 },
    String(&'a str),
}

/// An object or an array of a tape.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TapeContainer<'a> {
    tape: &'a JsonTape<'a>,
    index: u32,
}

/// The entries directly in a container: values, and keys before the values of an object.
#[derive(Debug)]
pub(crate) struct TapeChildren<'a> {
    tape: &'a JsonTape<'a>,
    at: u32,
    end: u32,
}

/// A text that is too long for a tape.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TextTooLongError;

impl<'t> JsonTape<'t> {
    /// Reads `text`, which is valid JSON without duplicate keys. Any other text gives an unspecified value.
    pub(crate) fn read(text: &'t str) -> Result<Self, TextTooLongError> {
        if text.len() > MAX_TEXT_BYTES {
            return Err(TextTooLongError);
        }
        let mut tape =
            Self { text, entries: Vec::with_capacity(count_entries(text)), size: ValueSize::default() };
        let bytes = text.as_bytes();
        let mut open: Vec<u32> = Vec::new();
        let mut last_string = 0;
        let mut at = 0;
        while let Some(&byte) = bytes.get(at) {
            match byte {
                b'"' => {
                    let end = string_end(bytes, at);
                    last_string = (end - at).saturating_sub(2) as u64;
                    tape.size.bytes += last_string;
                    tape.size.depth = tape.size.depth.max(open.len() + 1);
                    tape.push(at);
                    at = end;
                    continue;
                }
                b'{' | b'[' => {
                    open.push(tape.push(at));
                    tape.size.depth = tape.size.depth.max(open.len());
                }
                b'}' | b']' => {
                    if let Some(index) = open.pop() {
                        tape.close(index, byte == b'}');
                    }
                }
                b':' => {
                    // The last string was a key.
                    tape.size.nodes = tape.size.nodes.saturating_sub(1);
                    tape.size.key_bytes += last_string;
                }
                b',' | b' ' | b'\t' | b'\n' | b'\r' => {}
                _ => {
                    tape.push(at);
                    at = scalar_end(bytes, at);
                    tape.size.depth = tape.size.depth.max(open.len() + 1);
                    continue;
                }
            }
            at += 1;
        }
        Ok(tape)
    }

    /// The whole value.
    pub(crate) fn root(&self) -> TapeNode<'_> {
        TapeNode::Entry { tape: self, index: 0 }
    }

    /// The size of the whole value.
    pub(crate) fn size(&self) -> ValueSize {
        self.size
    }

    /// Appends a value or key without children. Returns its index.
    fn push(&mut self, at: usize) -> u32 {
        let index = position(self.entries.len());
        self.entries.push(TapeEntry { start: position(at), next: index + 1 });
        self.size.nodes += 1;
        index
    }

    /// Ends a container, and adds the index of a large object.
    fn close(&mut self, index: u32, is_object: bool) {
        let mut next = position(self.entries.len());
        if is_object && next - index > 2 * position(MIN_INDEXED_MEMBERS) - 1 {
            let mut keys = Vec::new();
            let mut at = index + 1;
            while at < next {
                keys.push(at);
                at = self.next(self.next(at));
            }
            if keys.len() >= MIN_INDEXED_MEMBERS {
                keys.sort_unstable_by(|a, b| compare_strings(self.string(*a), self.string(*b)));
                self.entries.extend(keys.chunks(2).map(|pair| TapeEntry {
                    start: pair[0],
                    next: pair.get(1).copied().unwrap_or_default(),
                }));
                self.entries.push(TapeEntry { start: position(keys.len()), next: 0 });
                next = position(self.entries.len()) | INDEXED;
            }
        }
        if let Some(entry) = self.entries.get_mut(index as usize) {
            entry.next = next;
        }
    }

    fn entry(&self, index: u32) -> TapeEntry {
        self.entries.get(index as usize).copied().unwrap_or(TapeEntry { start: 0, next: index + 1 })
    }

    /// The index after an entry and everything in it.
    fn next(&self, index: u32) -> u32 {
        (self.entry(index).next & !INDEXED).max(index + 1)
    }

    /// The first byte of a value.
    fn first_byte(&self, index: u32) -> u8 {
        self.text.as_bytes().get(self.entry(index).start as usize).copied().unwrap_or(b'n')
    }

    /// A string as written, without its quotes.
    fn string(&self, index: u32) -> &'t str {
        let start = self.entry(index).start as usize;
        let end = string_end(self.text.as_bytes(), start);
        self.text.get(start + 1..end.saturating_sub(1)).unwrap_or_default()
    }

    /// A number or a word as written.
    fn scalar(&self, index: u32) -> Option<&'t str> {
        let start = self.entry(index).start as usize;
        self.text.get(start..scalar_end(self.text.as_bytes(), start))
    }
}

impl<'a> TapeNode<'a> {
    /// The value at a JSON pointer.
    pub(crate) fn pointer(self, pointer: &str) -> Option<Self> {
        let mut steps = pointer.split('/');
        if !steps.next()?.is_empty() {
            return None;
        }
        steps.try_fold(self, |at, step| {
            let name = step.replace("~1", "/").replace("~0", "~");
            match at.container()? {
                container if container.is_object() => container.member(&name),
                container => container.elements().nth(name.parse().ok()?),
            }
        })
    }

    /// The object or array.
    pub(crate) fn container(self) -> Option<TapeContainer<'a>> {
        match self {
            Self::Entry { tape, index } if matches!(tape.first_byte(index), b'{' | b'[') => {
                Some(TapeContainer { tape, index })
            }
            Self::Entry { .. } | Self::String(_) => None,
        }
    }

    pub(crate) fn is_object(self) -> bool {
        self.container().is_some_and(TapeContainer::is_object)
    }

    pub(crate) fn is_null(self) -> bool {
        self.first_byte() == b'n'
    }

    /// The first byte, which shows the type.
    fn first_byte(self) -> u8 {
        match self {
            Self::Entry { tape, index } => tape.first_byte(index),
            Self::String(_) => b'"',
        }
    }

    /// The characters of a string.
    pub(crate) fn string(self) -> Option<Cow<'a, str>> {
        match self {
            Self::Entry { tape, index } if tape.first_byte(index) == b'"' => {
                Some(unescape(tape.string(index)))
            }
            Self::Entry { .. } => None,
            Self::String(text) => Some(Cow::Borrowed(text)),
        }
    }

    /// `true`, `false`, or `null` for every other value.
    pub(crate) fn word(self) -> &'static str {
        match self.first_byte() {
            b't' => "true",
            b'f' => "false",
            _ => "null",
        }
    }

    /// A number.
    pub(crate) fn number(self) -> Option<Number> {
        serde_json::from_str(self.number_text()?).ok()
    }

    /// A number as written.
    fn number_text(self) -> Option<&'a str> {
        match self {
            Self::Entry { tape, index } if is_number(tape.first_byte(index)) => tape.scalar(index),
            Self::Entry { .. } | Self::String(_) => None,
        }
    }

    /// A number without fraction and exponent, as written. Different texts are different integers, except for `-0`.
    fn integer_text(self) -> Option<&'a str> {
        self.number_text().filter(|text| !text.contains(['.', 'e', 'E']))
    }
}

impl<'a> TapeContainer<'a> {
    pub(crate) fn is_object(self) -> bool {
        self.tape.first_byte(self.index) == b'{'
    }

    /// The number of members of an object with an index.
    fn indexed_members(self) -> Option<u32> {
        let next = self.tape.entry(self.index).next;
        (next & INDEXED != 0).then(|| self.tape.entry((next & !INDEXED) - 1).start)
    }

    /// The keys and values of an object, or the elements of an array.
    fn children(self) -> TapeChildren<'a> {
        let next = self.tape.next(self.index);
        let end = self.indexed_members().map_or(next, |count| next - 1 - count.div_ceil(2));
        TapeChildren { tape: self.tape, at: self.index + 1, end }
    }

    /// The elements of an array.
    pub(crate) fn elements(self) -> impl Iterator<Item = TapeNode<'a>> {
        self.children()
    }

    /// The members of an object, in the order of the text.
    pub(crate) fn members(self) -> impl Iterator<Item = (TapeNode<'a>, TapeNode<'a>)> {
        let mut children = self.children();
        std::iter::from_fn(move || Some((children.next()?, children.next()?)))
    }

    /// The members of an object, sorted by name.
    pub(crate) fn sorted_members(self) -> impl Iterator<Item = (TapeNode<'a>, TapeNode<'a>)> {
        let count = self.indexed_members();
        let mut few: Vec<_> = if count.is_none() { self.members().collect() } else { Vec::new() };
        few.sort_by_cached_key(|(name, _)| name.string());
        let tape = self.tape;
        let indexed = (0..count.unwrap_or_default()).map(move |place| {
            let index = self.sorted_key(place);
            (TapeNode::Entry { tape, index }, TapeNode::Entry { tape, index: index + 1 })
        });
        few.into_iter().chain(indexed)
    }

    /// The key at a place of the index.
    fn sorted_key(self, place: u32) -> u32 {
        let count = self.indexed_members().unwrap_or_default();
        let first = self.tape.next(self.index) - 1 - count.div_ceil(2);
        let pair = self.tape.entry(first + place / 2);
        if place.is_multiple_of(2) { pair.start } else { pair.next }
    }

    fn member(self, name: &str) -> Option<TapeNode<'a>> {
        let tape = self.tape;
        let node = |key: u32| TapeNode::Entry { tape, index: key + 1 };
        let Some(count) = self.indexed_members() else {
            let mut at = self.index + 1;
            let end = tape.next(self.index);
            while at < end {
                if is_same_string(tape.string(at), name) {
                    return Some(node(at));
                }
                at = tape.next(tape.next(at));
            }
            return None;
        };
        let mut low = 0;
        let mut high = count;
        while low < high {
            let middle = low + (high - low) / 2;
            match compare_with_name(tape.string(self.sorted_key(middle)), name) {
                Ordering::Less => low = middle + 1,
                Ordering::Greater => high = middle,
                Ordering::Equal => return Some(node(self.sorted_key(middle))),
            }
        }
        None
    }
}

impl TapeChildren<'_> {
    /// The same entries again, from here on.
    fn copy(&self) -> Self {
        Self { ..*self }
    }
}

impl<'a> Iterator for TapeChildren<'a> {
    type Item = TapeNode<'a>;

    fn next(&mut self) -> Option<TapeNode<'a>> {
        if self.at >= self.end || !check_meter::may_step() {
            return None;
        }
        let index = self.at;
        self.at = self.tape.next(index);
        Some(TapeNode::Entry { tape: self.tape, index })
    }
}

/// The most entries of a text. Memory that isn't written to isn't resident, but growing would copy the tape.
pub(crate) fn count_entries(text: &str) -> usize {
    let bytes = text.as_bytes();
    let mut count = 0;
    let mut members = 0;
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        at = match byte {
            b'"' => string_end(bytes, at),
            b'{' | b'[' => at + 1,
            b':' | b',' | b'}' | b']' | b' ' | b'\t' | b'\n' | b'\r' => {
                members += usize::from(byte == b':');
                at += 1;
                continue;
            }
            _ => scalar_end(bytes, at),
        };
        count += 1;
    }
    // Half an entry for each member of an indexed object, and two more.
    count + members.div_ceil(2) + members / MIN_INDEXED_MEMBERS * 2
}

fn is_number(first: u8) -> bool {
    first == b'-' || first.is_ascii_digit()
}

fn is_same_string(written: &str, name: &str) -> bool {
    compare_with_name(written, name).is_eq()
}

/// Compares the characters of a string, as written between its quotes, with a name.
fn compare_with_name(written: &str, name: &str) -> Ordering {
    if has_escapes(written) { unescaped_chars(written).cmp(name.chars()) } else { written.cmp(name) }
}

/// Compares the characters of two strings, as written between their quotes. Sorting allocates nothing.
fn compare_strings(a: &str, b: &str) -> Ordering {
    if has_escapes(a) || has_escapes(b) { unescaped_chars(a).cmp(unescaped_chars(b)) } else { a.cmp(b) }
}

/// A position or an index, which fits because the text is short enough.
fn position(at: usize) -> u32 {
    u32::try_from(at).unwrap_or(u32::MAX >> 1)
}

#[cfg(test)]
mod tests;
