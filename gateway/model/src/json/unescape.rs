//! The characters of JSON strings as written between their quotes.

use std::borrow::Cow;

use super::code_unit;

/// True if a string contains escapes.
#[must_use]
pub fn has_escapes(written: &str) -> bool {
    memchr::memchr(b'\\', written.as_bytes()).is_some()
}

/// The characters of a string. Invalid text stays unchanged.
#[must_use]
pub fn unescape(written: &str) -> Cow<'_, str> {
    if !has_escapes(written) {
        return Cow::Borrowed(written);
    }
    serde_json::from_str(&format!("\"{written}\"")).map_or(Cow::Borrowed(written), Cow::Owned)
}

/// The characters of a valid string, one by one, without a copy.
pub fn unescaped_chars(written: &str) -> impl Iterator<Item = char> {
    let mut at = 0;
    std::iter::from_fn(move || {
        let (c, length) = match written[at..].chars().next()? {
            '\\' => read_escape(written, at),
            c => (c, c.len_utf8()),
        };
        at += length;
        Some(c)
    })
}

/// The character of the escape at `at`, and the length of the escape. Invalid escapes give an unspecified character.
fn read_escape(written: &str, at: usize) -> (char, usize) {
    if let Some(first) = code_unit(written, at) {
        let second = code_unit(written, at + 6);
        let units = [first, second.unwrap_or_default()];
        let c = char::decode_utf16(units).next().and_then(Result::ok).unwrap_or(char::REPLACEMENT_CHARACTER);
        return (c, 6 * c.len_utf16());
    }
    match written[at + 1..].chars().next() {
        Some('b') => ('\u{8}', 2),
        Some('f') => ('\u{c}', 2),
        Some('n') => ('\n', 2),
        Some('r') => ('\r', 2),
        Some('t') => ('\t', 2),
        Some(c) => (c, 1 + c.len_utf8()),
        None => ('\\', 1),
    }
}

#[cfg(test)]
mod tests {
    //! Characters of strings, against serde_json.

    use super::*;

    #[test]
    fn reads_the_same_characters_as_serde_json() {
        for written in [
            "",
            "plain ä🌙",
            r#"\"\\\/\b\f\n\r\t"#,
            r"\u0041\u00e4\u20ac\ud83d\ude00x\u0000",
            r"a\\u0041",
            r"\uD83D\uDE00\uffff",
        ] {
            let expected: String = serde_json::from_str(&format!("\"{written}\"")).unwrap();
            assert_eq!(unescaped_chars(written).collect::<String>(), expected, "{written}");
            assert_eq!(unescape(written), expected, "{written}");
        }
        for invalid in [r"\", r"\u12", r"\ud83d", r"\x", r"\🌙"] {
            assert_eq!(unescape(invalid), invalid);
            assert!(unescaped_chars(invalid).count() <= 4);
        }
    }
}
