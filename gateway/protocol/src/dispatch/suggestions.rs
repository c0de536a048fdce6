//! Suggestions for unknown names and URIs.
//!
//! Clients show tools under names of their own, such as `mcp__server__hello_greet`, and models shorten them. So the
//! plugin's own name counts as well as the public one, and separators between words don't count.

use std::fmt;

use crate::text::{MatchBudget, NameSuffix, name_suffix, nearest_name, quotable};

/// The maximum number of suggestions. Many plugins can have a tool with the same name.
const MAX_SUGGESTIONS: usize = 3;
/// The longest name or URI that has suggestions, in bytes. Comparing longer ones takes longer than a call.
const MAX_COMPARED_BYTES: usize = 4 << 10;

/// An unknown name or URI.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnknownName {
    /// The name or URI that the caller sent.
    pub requested: String,
    /// Suggestions, from the names that the caller may see.
    pub suggestions: Vec<String>,
}

impl UnknownName {
    /// An unknown name or URI without suggestions.
    #[must_use]
    pub fn new(asked: &str) -> Self {
        Self { requested: asked.to_owned(), suggestions: Vec::new() }
    }

    /// An unknown name, with suggestions from `all`: pairs of a public name and the plugin's own.
    pub(super) fn with_name_suggestions<'a>(
        asked: &str,
        all: impl Iterator<Item = (&'a str, &'a str)> + Clone,
    ) -> Self {
        Self { suggestions: suggest_names(asked, all), ..Self::new(asked) }
    }

    /// An unknown URI, with a suggestion from `all`.
    pub(super) fn with_uri_suggestion<'a>(asked: &str, all: impl Iterator<Item = &'a str> + Clone) -> Self {
        Self { suggestions: suggest_uri(asked, all).into_iter().collect(), ..Self::new(asked) }
    }
}

impl fmt::Display for UnknownName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}`", quotable(&self.requested))?;
        for (at, name) in self.suggestions.iter().enumerate() {
            f.write_str(match at {
                0 => "; did you mean ",
                at if at + 1 == self.suggestions.len() => " or ",
                _ => ", ",
            })?;
            write!(f, "`{}`", quotable(name))?;
        }
        f.write_str(if self.suggestions.is_empty() { "" } else { "?" })
    }
}

fn suggest_names<'a>(asked: &str, all: impl Iterator<Item = (&'a str, &'a str)> + Clone) -> Vec<String> {
    if asked.len() > MAX_COMPARED_BYTES {
        return Vec::new();
    }
    // In order of precedence. Similar names come before the last group.
    let mut same = Vec::new();
    let mut within = Vec::new();
    let mut own = Vec::new();
    let mut own_within = Vec::new();
    for (public, its_own) in all.clone() {
        match (name_suffix(asked, public), name_suffix(asked, its_own)) {
            (Some(NameSuffix::Whole), _) => same.push(public),
            (Some(NameSuffix::Words), _) => within.push(public),
            (None, Some(NameSuffix::Whole)) => own.push(public),
            (None, Some(NameSuffix::Words)) => own_within.push(public),
            (None, None) => {}
        }
    }
    // `greet` is the last part of any name that `hello_greet` is the last part of.
    within.sort_by_key(|public| std::cmp::Reverse(public.len()));
    within.truncate(1);
    let nearest = || {
        let both = all.flat_map(|(public, its_own)| [(public, public), (its_own, public)]);
        MatchBudget::default().nearest(asked, both).into_iter().collect()
    };
    let found = [same, within, own].into_iter().find(|found| !found.is_empty()).unwrap_or_else(nearest);
    let found = if found.is_empty() { own_within } else { found };
    found.into_iter().take(MAX_SUGGESTIONS).map(str::to_owned).collect()
}

fn suggest_uri<'a>(asked: &str, all: impl Iterator<Item = &'a str> + Clone) -> Option<String> {
    if asked.is_empty() || asked.len() > MAX_COMPARED_BYTES {
        return None;
    }
    // A URI without its beginning.
    let is_end = |uri: &&str| uri.strip_suffix(asked).is_some_and(|before| before.ends_with(['/', ':']));
    let found = all.clone().find(is_end);
    found.or_else(|| nearest_name(asked, all)).map(str::to_owned)
}

#[cfg(test)]
mod tests;
