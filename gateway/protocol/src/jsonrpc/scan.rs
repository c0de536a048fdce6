//! A check that serde_json doesn't make on raw text: depth.
//!
//! Every later reader, ours and the plugin's, can read a message that passed.

use super::MAX_DEPTH;

/// Text that nests too deep.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("it is nested deeper than {MAX_DEPTH} levels at byte {0}")]
pub(super) struct TooDeep(usize);

/// Checks `text`. Text that isn't JSON at all can pass: it is parsed afterwards.
pub(super) fn check_depth(text: &str) -> Result<(), TooDeep> {
    let bytes = text.as_bytes();
    let mut depth = 0_usize;
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        match byte {
            b'"' => {
                at = skip_string(bytes, at + 1);
                continue;
            }
            b'{' | b'[' => {
                depth += 1;
                if depth > MAX_DEPTH {
                    return Err(TooDeep(at));
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
fn skip_string(bytes: &[u8], mut at: usize) -> usize {
    while let Some(&byte) = bytes.get(at) {
        match byte {
            b'"' => return at + 1,
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
    at
}
