//! `file:` URIs of paths.

use std::fmt::Write as _;

/// The URI of an absolute path.
pub(crate) fn of(path: &str) -> String {
    let mut uri = "file://".to_owned();
    for byte in path.bytes() {
        if byte.is_ascii_alphanumeric() || b"/-._!$&'()*+,;=:@".contains(&byte) {
            uri.push(char::from(byte));
        } else {
            let _infallible = write!(uri, "%{byte:02X}");
        }
    }
    uri
}

#[cfg(test)]
mod tests;
