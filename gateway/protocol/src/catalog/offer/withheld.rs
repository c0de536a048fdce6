//! Resources of a plugin that clients can't read: hidden by the configuration, or left out.
//!
//! A plugin with a template gets every URI that starts with the template's prefix, so these must be refused by
//! themselves. They are compared in a form in which all spellings of RFC 3986, section 6.2.2, are equal.

use std::collections::BTreeSet;

/// URIs that a plugin has, but that aren't offered.
#[derive(Debug, Default)]
pub(in crate::catalog) struct WithheldUris {
    uris: BTreeSet<Vec<u8>>,
    /// The prefixes of templates, and their lengths as written.
    prefixes: BTreeSet<(Vec<u8>, usize)>,
}

impl WithheldUris {
    pub(super) fn add_uri(&mut self, uri: &str) {
        self.uris.insert(folded(without_fragment(uri)));
    }

    /// Adds every URI that starts with `prefix`.
    pub(super) fn add_prefix(&mut self, prefix: &str) {
        self.prefixes.insert((folded(prefix), prefix.len()));
    }

    /// Reports whether `uri` isn't offered. An offered template whose prefix has the length `offered` covers it, and of
    /// several templates the longest prefix counts.
    pub(in crate::catalog) fn covers(&self, uri: &str, offered: Option<usize>) -> bool {
        let uri_folded = folded(uri);
        let is_longer = |length: usize| offered.is_none_or(|offered| length > offered);
        self.uris.contains(&folded(without_fragment(uri)))
            || self
                .prefixes
                .iter()
                .any(|(prefix, length)| is_longer(*length) && uri_folded.starts_with(prefix))
    }
}

/// A fragment names a part of a resource.
fn without_fragment(uri: &str) -> &str {
    uri.split('#').next().unwrap_or_default()
}

/// The text without escapes and in lower case, as bytes.
fn folded(text: &str) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, after @ ..] = rest {
        let escaped = match rest {
            [b'%', high, low, after @ ..] => {
                hex_value(*high).zip(hex_value(*low)).map(|(high, low)| (high << 4 | low, after))
            }
            _ => None,
        };
        let (byte, after) = escaped.unwrap_or((*first, after));
        bytes.push(byte.to_ascii_lowercase());
        rest = after;
    }
    bytes
}

fn hex_value(digit: u8) -> Option<u8> {
    char::from(digit).to_digit(16).and_then(|value| u8::try_from(value).ok())
}

#[cfg(test)]
mod tests;
