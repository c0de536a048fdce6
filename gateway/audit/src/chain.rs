//! How a line depends on the line before it and on the key.
//!
//! A line is a JSON object. Its member `previous` is the hash of the line before, and its last member, `hash`, is the
//! HMAC-SHA-256 of all bytes of the line before that member. Nothing needs a canonical form, because the bytes are kept
//! as they were written.

use std::fmt::{self, Write as _};
use std::str::FromStr;

use serde::Deserialize;

use crate::key::AuditKey;
use crate::record::RECORD_VERSION;

/// The start of every line.
pub(crate) const LINE_START: &[u8] = b"{\"version\":";

/// Between the hashed bytes of a line and the hash.
const HASH_MEMBER: &[u8] = b",\"hash\":\"";

/// After the hash.
const LINE_END: &[u8] = b"\"}";

/// The length of a hash, in hexadecimal digits.
const HASH_DIGITS: usize = 64;

/// The hash of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChainHash([u8; 32]);

/// A text that isn't a hash.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a hash has 64 hexadecimal digits")]
pub struct InvalidHashError;

impl ChainHash {
    /// The hash before the first line.
    pub(crate) const GENESIS: Self = Self([0; 32]);

    pub(crate) fn new(hash: [u8; 32]) -> Self {
        Self(hash)
    }
}

impl fmt::Display for ChainHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&hex(&self.0))
    }
}

impl FromStr for ChainHash {
    type Err = InvalidHashError;

    fn from_str(text: &str) -> Result<Self, InvalidHashError> {
        let digits = text.as_bytes();
        if digits.len() != HASH_DIGITS {
            return Err(InvalidHashError);
        }
        let mut hash = [0; 32];
        for (byte, pair) in hash.iter_mut().zip(digits.chunks_exact(2)) {
            // `from_str_radix` would accept a sign.
            if !pair.iter().all(u8::is_ascii_hexdigit) {
                return Err(InvalidHashError);
            }
            let pair = std::str::from_utf8(pair).map_err(|_| InvalidHashError)?;
            *byte = u8::from_str_radix(pair, 16).map_err(|_| InvalidHashError)?;
        }
        Ok(Self(hash))
    }
}

/// Bytes in lower-case hexadecimal digits.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}"); // writing to a string can't fail
        text
    })
}

/// The end of the chain: the last line's number and hash.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChainHead {
    /// The number of the last line, from 1. 0 before the first line.
    pub sequence: u64,
    /// The hash of the last line.
    pub hash: ChainHash,
}

impl ChainHead {
    /// The head before the first line.
    pub(crate) const GENESIS: Self = Self { sequence: 0, hash: ChainHash::GENESIS };
}

/// The start of the line with this number.
pub(crate) fn line_start(sequence: u64) -> String {
    format!("{{\"version\":{RECORD_VERSION},\"sequence\":{sequence},")
}

/// Appends a line with these members to `lines`, and returns the new head.
pub(crate) fn add_line(
    lines: &mut Vec<u8>,
    key: &AuditKey,
    head: ChainHead,
    gateway: &str,
    members: &[u8],
) -> ChainHead {
    let start = lines.len();
    let sequence = head.sequence + 1;
    let before = format!("{}\"previous\":\"{}\",\"gateway\":\"{gateway}\",", line_start(sequence), head.hash);
    lines.extend_from_slice(before.as_bytes());
    lines.extend_from_slice(members);
    let hash = key.hash_line(&lines[start..]);
    lines.extend_from_slice(HASH_MEMBER);
    lines.extend_from_slice(hash.to_string().as_bytes());
    lines.extend_from_slice(LINE_END);
    lines.push(b'\n');
    ChainHead { sequence, hash }
}

/// The place of a line in the chain, as the line states it.
#[derive(Debug)]
pub(crate) struct ChainLine {
    pub(crate) sequence: u64,
    pub(crate) previous: ChainHash,
    pub(crate) hash: ChainHash,
    pub(crate) event: String,
    /// For repairs: the bytes and the hash of the incomplete lines.
    pub(crate) count: Option<u64>,
    pub(crate) detail: Option<String>,
    /// For rotations: the first line that was kept.
    pub(crate) kept_from: Option<u64>,
}

impl ChainLine {
    pub(crate) fn head(&self) -> ChainHead {
        ChainHead { sequence: self.sequence, hash: self.hash }
    }
}

/// The reason that a line isn't one of the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum LineError {
    #[error("it isn't a line of an audit log")]
    Form,
    #[error("its version isn't supported")]
    Version,
    #[error("its hash is wrong: the line was changed, or it was written with another key")]
    Hash,
}

#[derive(Deserialize)]
struct LineMembers {
    version: u32,
    sequence: u64,
    previous: String,
    event: String,
    count: Option<u64>,
    detail: Option<String>,
    kept_from: Option<u64>,
}

/// Checks a line without its end of line.
pub(crate) fn check_line(key: &AuditKey, line: &[u8]) -> Result<ChainLine, LineError> {
    let rest = line.strip_suffix(LINE_END).ok_or(LineError::Form)?;
    let (rest, digits) =
        rest.len().checked_sub(HASH_DIGITS).map(|at| rest.split_at(at)).ok_or(LineError::Form)?;
    let hashed = rest.strip_suffix(HASH_MEMBER).ok_or(LineError::Form)?;
    let digits = std::str::from_utf8(digits).map_err(|_| LineError::Form)?;
    let hash: ChainHash = digits.parse().map_err(|_| LineError::Form)?;
    if key.hash_line(hashed) != hash {
        return Err(LineError::Hash);
    }
    // From here on, the line is authentic.
    let members: LineMembers = serde_json::from_slice(line).map_err(|_| LineError::Form)?;
    if members.version != RECORD_VERSION {
        return Err(LineError::Version);
    }
    let previous = members.previous.parse().map_err(|_| LineError::Form)?;
    let LineMembers { version: _, sequence, previous: _, event, count, detail, kept_from } = members;
    Ok(ChainLine { sequence, previous, hash, event, count, detail, kept_from })
}
