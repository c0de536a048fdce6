//! Cleaning of text from plugins that is shown to a model, in a terminal or in a log.
//!
//! Control, bidirectional and tag characters can hide or reorder text, so they are removed. Long text is truncated.
//! Results of calls are data and aren't cleaned.

use std::path::Path;

use moongate_model::text::{is_hidden_in_block, truncated};

/// The maximum length of a name or title, in bytes.
pub(crate) const MAX_NAME_BYTES: usize = 256;
/// The maximum length of a media type, size or date, in bytes.
pub(crate) const MAX_WORD_BYTES: usize = 128;
/// The maximum length of a description, in bytes. Some tools include a short manual.
pub(crate) const MAX_DESCRIPTION_BYTES: usize = 16 << 10;
/// The maximum length of instructions, in bytes. Every client passes them to its model.
pub(crate) const MAX_INSTRUCTIONS_BYTES: usize = 4 << 10;
/// The maximum length of a failure message, a progress report or a log line, in bytes.
pub(crate) const MAX_MESSAGE_BYTES: usize = 4 << 10;
/// The maximum nesting of JSON.
pub(crate) const MAX_JSON_DEPTH: usize = 100;
/// The maximum length of a sentence about a trap or a rejection, in bytes.
pub(crate) const MAX_SENTENCE_BYTES: usize = 400;

/// True if the character is removed. Line breaks and tabs are kept.
pub(crate) fn is_removed(c: char) -> bool {
    is_hidden_in_block(c) && !matches!(c, '\u{2028}' | '\u{2029}')
}

/// A path with control and invisible characters escaped.
pub(crate) fn display_path(path: &Path) -> String {
    let mut shown = String::new();
    for c in path.to_string_lossy().chars() {
        if c.is_control() || is_removed(c) { shown.extend(c.escape_default()) } else { shown.push(c) }
    }
    shown
}

/// Cleans text with several lines, and truncates it to `most` bytes.
pub(crate) fn clean_block(text: String, most: usize) -> String {
    let text = if text.contains(is_removed) { text.replace(is_removed, "") } else { text };
    truncated(text, most)
}

/// Cleans text of one line, and truncates it to `most` bytes. Line breaks become spaces.
pub(crate) fn clean_line(text: &str, most: usize) -> String {
    let breaks = |c| matches!(c, '\n' | '\t' | '\r' | '\u{2028}' | '\u{2029}');
    let one: String = text.trim().chars().map(|c| if breaks(c) { ' ' } else { c }).collect();
    clean_block(one, most)
}

/// Cleans the strings in JSON text, including escaped characters.
///
/// Numbers, order and white space are kept. Invalid JSON stays invalid.
pub(crate) fn clean_json(text: String) -> String {
    let escapes = ["\\u", "\\b", "\\f", "\\r"].iter().any(|escape| text.contains(escape));
    if !escapes && !text.contains(is_removed) {
        return text;
    }
    let mut out = String::with_capacity(text.len());
    let mut rest = text.as_str();
    while let Some(c) = rest.chars().next() {
        let (length, hidden) = match c {
            '\\' => parse_escape(rest),
            // A carriage return can only be white space between tokens.
            c => (c.len_utf8(), is_removed(c) && c != '\r'),
        };
        let (piece, after) = rest.split_at(length);
        if !hidden {
            out.push_str(piece);
        }
        rest = after;
    }
    out
}

/// The nesting depth of the arrays and objects in JSON text.
pub(crate) fn json_depth(json: &str) -> usize {
    let mut depth = 0_usize;
    let mut deepest = 0;
    let mut in_string = false;
    let mut escaped = false;
    for byte in json.bytes() {
        if in_string {
            in_string = escaped || byte != b'"';
            escaped = !escaped && byte == b'\\';
            continue;
        }
        match byte {
            b'"' => in_string = true,
            b'[' | b'{' => {
                depth += 1;
                deepest = deepest.max(depth);
            }
            b']' | b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    deepest
}

/// The length of the escape at the start of `text`, and `true` if it stands for a hidden character.
fn parse_escape(text: &str) -> (usize, bool) {
    match text.as_bytes().get(1) {
        Some(b'b' | b'f' | b'r') => (2, true),
        Some(b'u') => {
            let Some(first) = parse_code_unit(text) else { return (1, false) };
            if !(0xd800..0xdc00).contains(&first) {
                return (6, char::from_u32(first).is_some_and(is_removed));
            }
            let low = parse_code_unit(&text[6..]).filter(|low| (0xdc00..0xe000).contains(low));
            let Some(low) = low else { return (6, false) };
            let joined = 0x10000 + ((first - 0xd800) << 10) + (low - 0xdc00);
            (12, char::from_u32(joined).is_some_and(is_removed))
        }
        Some(byte) if byte.is_ascii() => (2, false),
        _ => (1, false),
    }
}

/// The code unit of a `\uXXXX` escape at the start of `text`.
fn parse_code_unit(text: &str) -> Option<u32> {
    let digits = text.strip_prefix("\\u")?.get(..4)?;
    u32::from_str_radix(digits, 16).ok()
}

#[cfg(test)]
mod tests;
