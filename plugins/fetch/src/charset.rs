//! Decodes bytes to text. In order of precedence: a byte order mark, the server's charset, the document's charset,
//! UTF-8, and Windows-1252 if the text isn't valid UTF-8. Browsers do the same (HTML standard, "determining the
//! character encoding").

use encoding_rs::{Encoding, UTF_8, UTF_16BE, UTF_16LE, WINDOWS_1252};

/// The number of bytes that are searched for a document's own charset.
const SEARCHED_BYTES: usize = 1024;

/// Decodes `bytes`. Invalid characters become `U+FFFD`.
pub(crate) fn decode(bytes: &[u8], content_type: &str) -> String {
    // `decode` detects and removes a byte order mark.
    let encoding_label = label_after(content_type.as_bytes(), b"charset").and_then(Encoding::for_label);
    let charset = encoding_label.or_else(|| declared(bytes)).unwrap_or_else(|| guessed(bytes));
    charset.decode(bytes).0.into_owned()
}

/// The charset in `<meta charset=…>`, `<meta http-equiv=… content="…; charset=…">` or `<?xml encoding=…?>`.
fn declared(bytes: &[u8]) -> Option<&'static Encoding> {
    let head = &bytes[..bytes.len().min(SEARCHED_BYTES)];
    let xml = head.strip_prefix(b"<?xml").and_then(|rest| label_after(until(rest, b'>'), b"encoding"));
    let label = xml.or_else(|| {
        let tags = head.split(|byte| *byte == b'<').skip(1);
        let mut metas = tags.filter(|tag| tag.len() > 4 && tag[..4].eq_ignore_ascii_case(b"meta"));
        metas.find_map(|meta| label_after(until(meta, b'>'), b"charset"))
    });
    let charset = Encoding::for_label(label?)?;
    // A document that is readable up to here can't be UTF-16.
    Some(if charset == UTF_16LE || charset == UTF_16BE { UTF_8 } else { charset })
}

fn guessed(bytes: &[u8]) -> &'static Encoding {
    match std::str::from_utf8(bytes) {
        Ok(_) => UTF_8,
        // Text that was cut off inside a character is still UTF-8.
        Err(error) if error.error_len().is_none() => UTF_8,
        Err(_) => WINDOWS_1252,
    }
}

/// The label after `name=`, with or without quotes.
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
