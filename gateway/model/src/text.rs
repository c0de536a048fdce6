//! Untrusted text: makes it safe to show, cuts it, and finds the name that was probably meant.
//!
//! This module is about text that is shown to people and models. The result of a call is data and isn't changed.

use std::borrow::Cow;

mod similar;

pub use similar::{
    MatchBudget, NameSuffix, file_extension_distance, is_one_typo, name_distance, name_suffix, nearest_name,
};

/// The longest quotation in a message, in characters.
const MAX_QUOTED_CHARS: usize = 80;

/// Reports whether a reader can't see `c`, or `c` moves other characters. Line breaks and tabs count as hidden;
/// [`is_hidden_in_block`] allows them.
#[must_use]
pub fn is_hidden(c: char) -> bool {
    c.is_control()
        || matches!(c,
            // Line and paragraph separators.
            '\u{2028}' | '\u{2029}'
            // Bidirectional marks, embeddings, overrides and isolates.
            | '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}'
            // Zero width and meaningless by themselves: spaces, operators, byte order marks and annotation marks. The
            // joiners are allowed, because emoji and some scripts need them.
            | '\u{200b}' | '\u{2060}'..='\u{2065}' | '\u{206a}'..='\u{206f}' | '\u{feff}'
            | '\u{fff9}'..='\u{fffb}'
            // Tags and the rarer variation selectors: invisible copies of ASCII and of all bytes.
            | '\u{e0000}'..='\u{e0fff}')
}

/// The same for a URI, which doesn't need joiners either: such characters are `%` escapes there (RFC 3987, section 4.1).
#[must_use]
pub fn is_hidden_in_uri(c: char) -> bool {
    is_hidden(c) || matches!(c, '\u{200c}' | '\u{200d}')
}

/// The same for text of several lines, in which line breaks and tabs are allowed.
#[must_use]
pub fn is_hidden_in_block(c: char) -> bool {
    is_hidden(c) && !matches!(c, '\n' | '\t')
}

/// `text` with its hidden characters escaped, line breaks included.
#[must_use]
pub fn escape_hidden(text: &str) -> Cow<'_, str> {
    escape(text, is_hidden)
}

/// `text` with its hidden characters escaped. Line breaks and tabs stay.
#[must_use]
pub fn escape_hidden_in_block(text: &str) -> Cow<'_, str> {
    escape(text, is_hidden_in_block)
}

/// At most the first `max_chars` characters of `text`, with hidden ones escaped and `…` if there are more.
#[must_use]
pub fn escaped_line(text: &str, max_chars: usize) -> String {
    let (start, is_cut) = first_chars(text, max_chars);
    let mut line = escape_hidden(start).into_owned();
    if is_cut {
        line.push('…');
    }
    line
}

/// The first sentence of a description, without line breaks. It never continues after an empty line, or into a list, a
/// heading or a code block.
#[must_use]
pub fn first_sentence(text: &str) -> String {
    let ends =
        |line: &str| line.is_empty() || ["- ", "* ", "#", "```"].iter().any(|mark| line.starts_with(mark));
    let mut lines = text.lines().map(str::trim).skip_while(|line| line.is_empty());
    let first = lines.next().unwrap_or_default();
    let mut sentence = first.to_owned();
    for line in lines.take_while(|line| !ends(line)) {
        sentence.push(' ');
        sentence.push_str(line);
    }
    // After an abbreviation, the sentence continues in lower case.
    let is_end = |at: &usize| {
        let rest = sentence[at + 1..].strip_prefix(' ');
        rest.is_some_and(|rest| rest.starts_with(char::is_uppercase))
    };
    if let Some(end) = sentence.match_indices(['.', '?', '!']).map(|(at, _)| at).find(is_end) {
        sentence.truncate(end + 1);
    }
    sentence
}

/// `text` without its hidden characters. Line breaks and tabs stay.
#[must_use]
pub fn remove_hidden(text: &str) -> String {
    text.replace(is_hidden_in_block, "")
}

/// At most the first `max_chars` characters of `text`, with a space for each hidden one and `…` if there are more.
#[must_use]
pub fn blanked_line(text: &str, max_chars: usize) -> String {
    let (start, is_cut) = first_chars(text, max_chars);
    let mut line = start.replace(is_hidden, " ");
    if is_cut {
        line.push('…');
    }
    line
}

/// `text` for use between backticks in a message: unprintable characters escaped, without backticks, and not longer than
/// a line.
#[must_use]
pub fn quotable(text: &str) -> String {
    let (start, is_cut) = first_chars(text, MAX_QUOTED_CHARS);
    let mut quoted: String = start.chars().flat_map(char::escape_debug).collect();
    quoted = quoted.replace('`', "'");
    if is_cut {
        quoted.push('…');
    }
    quoted
}

/// `text`, cut at a character boundary to at most `max_bytes` bytes, with `…` if something was cut.
#[must_use]
pub fn truncated(mut text: String, max_bytes: usize) -> String {
    if text.len() > max_bytes {
        text.truncate(text.floor_char_boundary(max_bytes.saturating_sub('…'.len_utf8())));
        text.push('…');
    }
    text
}

/// The first `max_chars` characters of `text`, and whether there are more.
#[must_use]
pub fn first_chars(text: &str, max_chars: usize) -> (&str, bool) {
    match text.char_indices().nth(max_chars) {
        Some((end, _)) => (&text[..end], true),
        None => (text, false),
    }
}

fn escape(text: &str, is_escaped: fn(char) -> bool) -> Cow<'_, str> {
    if !text.contains(is_escaped) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        if is_escaped(c) { out.extend(c.escape_default()) } else { out.push(c) }
    }
    Cow::Owned(out)
}

#[cfg(test)]
mod tests;
