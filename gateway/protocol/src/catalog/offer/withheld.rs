//! Resources of a plugin that clients can't read: hidden by the configuration, or left out.
//!
//! A plugin with a template gets every URI that starts with the template's prefix, so these must be refused by
//! themselves. They are compared in a form in which all spellings of RFC 3986, section 6.2.2, are equal, and also paths
//! with doubled or trailing slashes, because a file system doesn't distinguish these.

use std::collections::BTreeSet;

use percent_encoding::percent_decode_str;

/// URIs that a plugin has, but that aren't offered.
#[derive(Debug, Default)]
pub(in crate::catalog) struct WithheldUris {
    uris: BTreeSet<Vec<u8>>,
    /// The prefixes of templates, and their lengths as written.
    prefixes: BTreeSet<(Vec<u8>, usize)>,
}

impl WithheldUris {
    pub(super) fn add_uri(&mut self, uri: &str) {
        self.uris.insert(normalized(without_fragment(uri)));
    }

    /// Adds every URI that starts with `prefix`.
    pub(super) fn add_prefix(&mut self, prefix: &str) {
        self.prefixes.insert((normalized_prefix(prefix), prefix.len()));
    }

    /// Reports whether `uri` isn't offered. An offered template whose prefix has the length `offered` covers it, and of
    /// several templates the longest prefix counts.
    pub(in crate::catalog) fn covers(&self, uri: &str, offered: Option<usize>) -> bool {
        let start = normalized_prefix(uri);
        let is_longer = |length: usize| offered.is_none_or(|offered| length > offered);
        self.uris.contains(&normalized(without_fragment(uri)))
            || self.prefixes.iter().any(|(prefix, length)| is_longer(*length) && start.starts_with(prefix))
    }
}

/// A fragment names a part of a resource.
fn without_fragment(uri: &str) -> &str {
    uri.split('#').next().unwrap_or_default()
}

/// A URI without escapes, in lower case, and without dot segments and empty segments.
fn normalized(uri: &str) -> Vec<u8> {
    let decoded = decoded_lowercase(uri);
    let mut segments = Vec::new();
    for segment in decoded.split(|byte| *byte == b'/') {
        match segment {
            b"" | b"." => {}
            b".." => drop(segments.pop()),
            _ => segments.push(segment),
        }
    }
    segments.join(&b'/')
}

/// The same for the start of a URI: a slash at its end separates it from what follows.
fn normalized_prefix(prefix: &str) -> Vec<u8> {
    let mut bytes = normalized(prefix);
    if prefix.ends_with('/') {
        bytes.push(b'/');
    }
    bytes
}

/// The text without escapes and in lower case, as the bytes that it means.
fn decoded_lowercase(text: &str) -> Vec<u8> {
    percent_decode_str(text).map(|byte| byte.to_ascii_lowercase()).collect()
}

#[cfg(test)]
mod tests;
