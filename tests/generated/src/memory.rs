//! The initial memory of a plugin: strings, and records of 32-bit words in the layout of the canonical ABI.
//!
//! Unset words are zero, which means "absent", "empty list" or "the first case".

use std::fmt::Write as _;

/// The start address. Lower addresses stay unused, so that no address is zero.
const BASE: u32 = 1024;

/// The alignment of the records.
const ALIGNMENT: usize = 8;

/// The contents so far.
#[derive(Debug, Default)]
pub(crate) struct Memory {
    bytes: Vec<u8>,
}

impl Memory {
    /// Adds a string. Returns its address and length.
    pub(crate) fn string(&mut self, text: &str) -> (u32, u32) {
        let at = self.address();
        self.bytes.extend_from_slice(text.as_bytes());
        (at, text.len() as u32)
    }

    /// Adds a record that starts with these words and has `length` words in total. Returns its address.
    pub(crate) fn record(&mut self, words: &[u32], length: usize) -> u32 {
        self.bytes.resize(self.bytes.len().next_multiple_of(ALIGNMENT), 0);
        let at = self.address();
        self.bytes.extend(words.iter().flat_map(|word| word.to_le_bytes()));
        self.bytes.resize(self.bytes.len() + 4 * length.saturating_sub(words.len()), 0);
        at
    }

    /// The data segment.
    pub(crate) fn text(&self) -> String {
        let mut text = format!("(data (i32.const {BASE}) \"");
        for byte in &self.bytes {
            let _ = write!(text, "\\{byte:02x}");
        }
        text.push_str("\")");
        text
    }

    fn address(&self) -> u32 {
        BASE + self.bytes.len() as u32
    }
}
