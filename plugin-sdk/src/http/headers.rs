//! [`Headers`]: names and values, in the order in which they arrived.

use std::fmt;

use super::HttpError;

/// Headers that a plugin can't send, because they control the gateway's connection.
const CONNECTION_HEADERS: &[&str] = &[
    "connection",
    "host",
    "http2-settings",
    "keep-alive",
    "proxy-authenticate",
    "proxy-authorization",
    "proxy-connection",
    "te",
    "transfer-encoding",
    "upgrade",
];

/// The headers of a response, or of a request that a test inspects. Names are case-insensitive.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Headers(Vec<(String, Vec<u8>)>);

impl Headers {
    /// Returns the first value of this name, if it is UTF-8.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&str> {
        let (_, value) = self.0.iter().find(|(key, _)| key.eq_ignore_ascii_case(name))?;
        std::str::from_utf8(value).ok()
    }

    /// Returns names, in lower case, and values.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &[u8])> {
        self.0.iter().map(|(name, value)| (name.as_str(), value.as_slice()))
    }

    pub(crate) fn add(&mut self, name: &str, value: Vec<u8>) {
        self.0.push((name.to_ascii_lowercase(), value));
    }

    /// Sets this header and removes other values of the name.
    #[cfg(not(target_family = "wasm"))]
    pub(crate) fn replace(&mut self, name: &str, value: Vec<u8>) {
        self.remove(&[name]);
        self.add(name, value);
    }

    pub(crate) fn remove(&mut self, names: &[&str]) {
        self.0.retain(|(name, _)| !names.contains(&name.as_str()));
    }
}

/// Checks that a plugin can send this header.
pub(super) fn check(name: &str, value: &[u8]) -> Result<(), HttpError> {
    let invalid =
        |reason: &str| Err(HttpError::InvalidHeader { name: name.to_owned(), reason: reason.to_owned() });
    if name.is_empty() || !name.bytes().all(is_token) {
        return invalid("the name contains a character that isn't allowed in header names");
    }
    if CONNECTION_HEADERS.contains(&name.to_ascii_lowercase().as_str()) {
        return invalid("the gateway sets it itself");
    }
    if value.iter().any(|byte| (*byte < 0x20 && *byte != b'\t') || *byte == 0x7f) {
        return invalid("the value contains a control character");
    }
    Ok(())
}

/// Returns `true` if the byte is allowed in an HTTP token (RFC 9110, section 5.6.2).
pub(super) fn is_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}

impl fmt::Debug for Headers {
    /// Shows only names, because values can be secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.0.iter().map(|(name, _)| name)).finish()
    }
}

impl<N: AsRef<str>, V: Into<Vec<u8>>> FromIterator<(N, V)> for Headers {
    fn from_iter<I: IntoIterator<Item = (N, V)>>(pairs: I) -> Self {
        let mut headers = Self::default();
        for (name, value) in pairs {
            headers.add(name.as_ref(), value.into());
        }
        headers
    }
}
