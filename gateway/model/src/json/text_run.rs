//! Searches in text, several bytes at a time.

use memchr::{memchr2, memchr2_iter};

/// The number of bytes that are searched in words of 8 bytes. Most strings are shorter.
const NEAR_BYTES: usize = 32;

/// The size of the blocks that are searched at once after that. The compiler uses vector instructions for a loop over
/// a block.
const BLOCK_BYTES: usize = 64;

/// The length of the longest start of `bytes` without quotes, backslashes and control characters: the bytes that are
/// the same in a JSON string.
pub(super) fn clean_run(bytes: &[u8]) -> usize {
    let near = &bytes[..bytes.len().min(NEAR_BYTES)];
    let clean = clean_words(near);
    if clean < near.len() || near.len() == bytes.len() {
        return clean;
    }
    let mut at = near.len();
    for block in bytes[at..].chunks_exact(BLOCK_BYTES) {
        // Without an early exit, so that the loop is vectorised.
        if block.iter().fold(false, |found, byte| found | is_special(*byte)) {
            break;
        }
        at += BLOCK_BYTES;
    }
    at + clean_words(&bytes[at..])
}

/// The position after the string that starts with the quote at `at`, in valid JSON. The end of the text if the string
/// doesn't end.
#[must_use]
pub fn string_end(bytes: &[u8], at: usize) -> usize {
    let mut at = at + 1;
    while let Some(found) = bytes.get(at..).and_then(|rest| memchr2(b'"', b'\\', rest)) {
        at += found;
        if bytes[at] == b'"' {
            return at + 1;
        }
        at += 2;
    }
    bytes.len()
}

/// The position after the number or word that starts at `at`, in valid JSON.
#[must_use]
pub fn scalar_end(bytes: &[u8], at: usize) -> usize {
    let rest = bytes.get(at..).unwrap_or_default();
    let length =
        rest.iter().position(|byte| matches!(byte, b',' | b'}' | b']' | b' ' | b'\t' | b'\n' | b'\r'));
    at + length.unwrap_or(rest.len()).max(1)
}

/// The position of the first bracket that nests deeper than `max_depth`. Text that isn't JSON gives an unspecified
/// result.
#[must_use]
pub fn find_too_deep(text: &str, max_depth: usize) -> Option<usize> {
    let bytes = text.as_bytes();
    let mut depth = 0_usize;
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        match byte {
            b'"' => {
                at = string_end(bytes, at);
                continue;
            }
            b'{' | b'[' => {
                depth += 1;
                if depth > max_depth {
                    return Some(at);
                }
            }
            b'}' | b']' => depth = depth.saturating_sub(1),
            _ => {}
        }
        at += 1;
    }
    None
}

/// The positions of raw line breaks.
pub(super) fn line_breaks(text: &str) -> impl Iterator<Item = usize> {
    memchr2_iter(b'\n', b'\r', text.as_bytes())
}

fn is_special(byte: u8) -> bool {
    byte < 0x20 || byte == b'"' || byte == b'\\'
}

/// The same as [`clean_run`], 8 bytes at a time.
fn clean_words(bytes: &[u8]) -> usize {
    const ONES: u64 = u64::MAX / 0xFF;
    const HIGH_BITS: u64 = ONES << 7;
    let mut at = 0;
    while let Some(word) = bytes.get(at..).and_then(|rest| rest.first_chunk()) {
        let word = u64::from_le_bytes(*word);
        // A byte's high bit is set if the byte is below 0x20 or zero, by a borrow. The lowest such bit is exact, and
        // only bytes after it can be wrong.
        let controls = word.wrapping_sub(ONES * 0x20) & !word;
        let quotes = word ^ (ONES * 0x22);
        let quotes = quotes.wrapping_sub(ONES) & !quotes;
        let backslashes = word ^ (ONES * 0x5C);
        let backslashes = backslashes.wrapping_sub(ONES) & !backslashes;
        let found = (controls | quotes | backslashes) & HIGH_BITS;
        if found != 0 {
            return at + found.trailing_zeros() as usize / 8;
        }
        at += 8;
    }
    let rest = &bytes[at..];
    at + rest.iter().position(|byte| is_special(*byte)).unwrap_or(rest.len())
}

#[cfg(test)]
mod tests;
