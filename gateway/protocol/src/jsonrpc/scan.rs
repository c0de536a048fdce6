//! Checks that serde_json doesn't make on raw text: depth, and escapes that aren't a character.
//!
//! Every later reader, ours and the plugin's, can read a message that passed.

use super::MAX_DEPTH;

/// A problem in a text, and its byte.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(super) enum ScanError {
    /// The text nests too deep.
    #[error("it is nested deeper than {MAX_DEPTH} levels at byte {0}")]
    Depth(usize),
    /// Half of a surrogate pair.
    #[error("the escape at byte {0} is half of a surrogate pair")]
    Surrogate(usize),
}

/// Checks `text`. Text that isn't JSON at all can pass: it is parsed afterwards.
pub(super) fn scan(text: &str) -> Result<(), ScanError> {
    let bytes = text.as_bytes();
    let mut depth = 0_usize;
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        match byte {
            b'"' => {
                at = skip_string(bytes, at + 1)?;
                continue;
            }
            b'{' | b'[' => {
                depth += 1;
                if depth > MAX_DEPTH {
                    return Err(ScanError::Depth(at));
                }
            }
            b'}' | b']' => depth = depth.saturating_sub(1),
            _ => {}
        }
        at += 1;
    }
    Ok(())
}

/// The position after the closing quote of the string whose content starts at `at`.
fn skip_string(bytes: &[u8], mut at: usize) -> Result<usize, ScanError> {
    while let Some(&byte) = bytes.get(at) {
        match byte {
            b'"' => return Ok(at + 1),
            b'\\' => at = skip_escape(bytes, at)?,
            _ => at += 1,
        }
    }
    Ok(at)
}

/// The position after the escape, or pair of escapes, that starts at `at`.
fn skip_escape(bytes: &[u8], at: usize) -> Result<usize, ScanError> {
    match code_unit(bytes, at) {
        Some(0xD800..=0xDBFF) => match code_unit(bytes, at + 6) {
            Some(0xDC00..=0xDFFF) => Ok(at + 12),
            Some(_) | None => Err(ScanError::Surrogate(at)),
        },
        Some(0xDC00..=0xDFFF) => Err(ScanError::Surrogate(at)),
        Some(_) | None => Ok(at + 2),
    }
}

/// The code unit of the `\uXXXX` escape at `at`. `None` if there is no such escape.
fn code_unit(bytes: &[u8], at: usize) -> Option<u16> {
    let digits = bytes.get(at..at + 6)?.strip_prefix(b"\\u")?;
    digits.iter().try_fold(0, |unit, digit| {
        let value = char::from(*digit).to_digit(16)?;
        Some(unit << 4 | u16::try_from(value).ok()?)
    })
}
