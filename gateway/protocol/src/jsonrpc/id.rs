//! The id of a request: a string or an integer, returned exactly as received.

use std::borrow::Cow;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use crate::json::string_value;

/// The id of a request.
///
/// It keeps its token: peers compare text, so `9007199254740993` must not be rounded, and `1.0` must not become `1`.
/// Two ids are equal if they are strings of the same characters, however escaped, or numbers with the same token; `1`
/// and `"1"` are different, and so are `1` and `1.0`. A lone surrogate isn't a character, so its escape is compared.
#[derive(Clone)]
pub struct Id {
    token: Arc<str>,
    /// The characters of a string with escapes, compared instead of the token.
    unescaped: Option<Arc<str>>,
}

/// An invalid id.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum IdError {
    /// `null`: allowed by JSON-RPC, but not by MCP.
    #[error("`id` must not be null; omit it to send a notification")]
    Null,
    /// Another type.
    #[error("`id` must be a string or an integer")]
    Type,
    /// A number with a fraction or an exponent.
    #[error("`id` must be an integer without fraction and exponent")]
    Fraction,
    /// A number outside the range of 64-bit integers.
    #[error("`id` must fit into a 64-bit integer")]
    Range,
    /// A string that would fill logs and tables.
    #[error("`id` must not be longer than {} bytes", Id::MAX_BYTES)]
    TooLong,
}

impl Id {
    /// The longest token, in bytes. Ids are kept while requests run, and printed in logs.
    pub const MAX_BYTES: usize = 1024;

    /// Reads an id from its token, which is valid JSON.
    ///
    /// An integer can be written with an empty fraction (`1.0`), as serializers without integers do.
    ///
    /// # Errors
    /// The value is neither a string nor a 64-bit integer, or is longer than [`Id::MAX_BYTES`].
    pub fn from_token(token: &str) -> Result<Self, IdError> {
        if token.len() > Self::MAX_BYTES {
            return Err(if token.starts_with('"') { IdError::TooLong } else { IdError::Type });
        }
        match token.as_bytes().first() {
            Some(b'"') => {
                let unescaped = match string_value(token) {
                    Some(Cow::Owned(text)) => Some(text.into()),
                    // Without escapes, or with half of a surrogate pair: its token is compared.
                    Some(Cow::Borrowed(_)) | None => None,
                };
                Ok(Self { token: token.into(), unescaped })
            }
            Some(b'-' | b'0'..=b'9') => {
                check_number(token)?;
                Ok(Self { token: token.into(), unescaped: None })
            }
            Some(b'n') => Err(IdError::Null),
            _ => Err(IdError::Type),
        }
    }

    /// A string id.
    #[must_use]
    pub fn string(text: &str) -> Self {
        let token: Arc<str> = serde_json::Value::from(text).to_string().into();
        let unescaped = (token.len() != text.len() + 2).then(|| text.into());
        Self { token, unescaped }
    }

    /// The token: a JSON string or number.
    #[must_use]
    pub fn as_json(&self) -> &str {
        &self.token
    }

    /// The key for equality: whether the id is a string, and the characters of the string or the token of the number.
    fn key(&self) -> (bool, &str) {
        match (&self.unescaped, self.token.strip_prefix('"')) {
            (Some(text), _) => (true, text),
            (None, Some(rest)) => (true, &rest[..rest.len() - 1]),
            (None, None) => (false, &self.token),
        }
    }
}

/// Rejects numbers that aren't 64-bit integers. `token` is a valid JSON number.
fn check_number(token: &str) -> Result<(), IdError> {
    if token.contains(['e', 'E']) {
        return Err(IdError::Fraction);
    }
    let (whole, fraction) = token.split_once('.').unwrap_or((token, "0"));
    if fraction.bytes().any(|digit| digit != b'0') {
        return Err(IdError::Fraction);
    }
    if whole.parse::<i64>().is_err() && whole.parse::<u64>().is_err() {
        return Err(IdError::Range);
    }
    Ok(())
}

impl From<u64> for Id {
    fn from(number: u64) -> Self {
        Self { token: number.to_string().into(), unescaped: None }
    }
}

impl PartialEq for Id {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}

impl Eq for Id {}

impl Hash for Id {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.key().hash(state);
    }
}

impl fmt::Debug for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.token)
    }
}

impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.token)
    }
}
