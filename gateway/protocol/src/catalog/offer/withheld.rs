//! Resources of a plugin that clients can't read: hidden by the configuration, or left out.
//!
//! A plugin with a template gets every URI that starts with the template's prefix, so these must be refused by
//! themselves. They are compared in a form in which equivalent spellings are equal.

use std::collections::BTreeSet;

use crate::uri_form::{comparable_prefix, comparable_uri, possible_readings};

/// URIs that a plugin has, but that aren't offered.
#[derive(Debug, Default)]
pub(in crate::catalog) struct WithheldUris {
    uris: BTreeSet<Vec<u8>>,
    /// The prefixes of templates, and their lengths as written.
    prefixes: BTreeSet<(Vec<u8>, usize)>,
}

impl WithheldUris {
    pub(super) fn add_uri(&mut self, uri: &str) {
        let [without_fragment, _] = possible_readings(uri);
        self.uris.insert(comparable_uri(without_fragment));
    }

    /// Adds every URI that starts with `prefix`.
    pub(super) fn add_prefix(&mut self, prefix: &str) {
        self.prefixes.insert((comparable_prefix(prefix), prefix.len()));
    }

    /// Reports whether `uri` isn't offered. An offered template whose prefix has the length `offered` covers it, and of
    /// several templates the longest prefix counts.
    pub(in crate::catalog) fn covers(&self, uri: &str, offered: Option<usize>) -> bool {
        let is_longer = |length: usize| offered.is_none_or(|offered| length > offered);
        possible_readings(uri).into_iter().any(|uri| {
            let start = comparable_prefix(uri);
            self.uris.contains(&comparable_uri(uri))
                || self
                    .prefixes
                    .iter()
                    .any(|(prefix, length)| is_longer(*length) && start.starts_with(prefix))
        })
    }
}

#[cfg(test)]
mod tests;
