//! From bytes to text: a byte order mark comes first, then what the server says, then what the document says, then
//! UTF-8, and where it isn't that the web's oldest habit, Windows-1252. So browsers do it (HTML standard, "determining
//! the character encoding").

use encoding_rs::{Encoding, UTF_8, UTF_16BE, UTF_16LE, WINDOWS_1252};

/// How much of a document is searched for its own word, in bytes.
const SEARCHED: usize = 1024;

/// The text of `bytes`; what is no character of the charset becomes `U+FFFD`.
pub(crate) fn decode(bytes: &[u8], content_type: &str) -> String {
    // `decode` looks for a byte order mark by itself, and leaves it out.
    let said = label_after(content_type.as_bytes(), b"charset").and_then(Encoding::for_label);
    let charset = said.or_else(|| declared(bytes)).unwrap_or_else(|| guessed(bytes));
    charset.decode(bytes).0.into_owned()
}

/// What `<meta charset=…>`, `<meta http-equiv=… content="…; charset=…">` or `<?xml encoding=…?>` says.
fn declared(bytes: &[u8]) -> Option<&'static Encoding> {
    let head = &bytes[..bytes.len().min(SEARCHED)];
    let xml = head.strip_prefix(b"<?xml").and_then(|rest| label_after(until(rest, b'>'), b"encoding"));
    let label = xml.or_else(|| {
        let tags = head.split(|byte| *byte == b'<').skip(1);
        let mut metas = tags.filter(|tag| tag.len() > 4 && tag[..4].eq_ignore_ascii_case(b"meta"));
        metas.find_map(|meta| label_after(until(meta, b'>'), b"charset"))
    });
    let charset = Encoding::for_label(label?)?;
    // A document that could be read so far isn't in two-byte units.
    Some(if charset == UTF_16LE || charset == UTF_16BE { UTF_8 } else { charset })
}

fn guessed(bytes: &[u8]) -> &'static Encoding {
    match std::str::from_utf8(bytes) {
        Ok(_) => UTF_8,
        // One that was cut off in a character is still UTF-8.
        Err(error) if error.error_len().is_none() => UTF_8,
        Err(_) => WINDOWS_1252,
    }
}

/// The word after `name=`, with or without quotes.
fn label_after<'a>(text: &'a [u8], name: &[u8]) -> Option<&'a [u8]> {
    let mut at = 0;
    while let Some(found) =
        text.get(at..)?.windows(name.len()).position(|part| part.eq_ignore_ascii_case(name))
    {
        at += found + name.len();
        let rest = text[at..].trim_ascii_start();
        if let Some(value) = rest.strip_prefix(b"=") {
            let value = value.trim_ascii_start();
            let value = value.strip_prefix(b"\"").or_else(|| value.strip_prefix(b"'")).unwrap_or(value);
            let end = value.iter().position(|byte| b"\"';, \t\r\n\x0c/>?".contains(byte));
            return Some(&value[..end.unwrap_or(value.len())]);
        }
    }
    None
}

fn until(text: &[u8], end: u8) -> &[u8] {
    text.split(|byte| *byte == end).next().unwrap_or(text)
}

#[cfg(test)]
mod tests;
