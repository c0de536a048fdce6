//! Secret strings, and how to find them in other text.

use std::fmt;
use std::sync::Arc;

use serde_json::Value as Json;

/// The shortest secret that is searched for, in bytes. A shorter one can occur in other text by chance.
const MIN_DISTINCTIVE_BYTES: usize = 8;

/// The maximum depth to which JSON within JSON strings is searched.
const MAX_JSON_LEVELS: usize = 4;

/// A string that is never printed.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(Arc<str>);

/// The kind of occurrence of a secret in other text that counts as a match.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MatchBoundary {
    /// Anywhere.
    Anywhere,
    /// As a word: not next to a letter or digit.
    Word,
    /// As a whole JSON string: the secret reads like other JSON, such as `true`.
    JsonString,
}

impl MatchBoundary {
    /// Reports whether an occurrence between these two texts is a match.
    #[must_use]
    pub fn matches_between(self, before: &str, after: &str) -> bool {
        match self {
            Self::Anywhere => true,
            Self::Word => {
                !before.ends_with(char::is_alphanumeric) && !after.starts_with(char::is_alphanumeric)
            }
            Self::JsonString => before.ends_with('"') && after.starts_with(['"', '\\']),
        }
    }
}

impl Secret {
    /// Wraps `text`.
    pub fn new(text: impl Into<Arc<str>>) -> Self {
        Self(text.into())
    }

    /// The string, for comparing and passing on. Never show it.
    #[must_use]
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// The kind of occurrence that counts as a match.
    #[must_use]
    pub fn match_boundary(&self) -> MatchBoundary {
        let is_json = |text: &str| {
            serde_json::from_str::<Json>(text)
                .is_ok_and(|value| value.is_boolean() || value.is_null() || value.is_number())
        };
        match self.expose() {
            text if text.len() >= MIN_DISTINCTIVE_BYTES => MatchBoundary::Anywhere,
            text if is_json(text) => MatchBoundary::JsonString,
            _ => MatchBoundary::Word,
        }
    }

    /// Reports whether `text` contains it, directly or within JSON.
    #[must_use]
    pub fn is_in(&self, text: &str) -> bool {
        self.is_in_plain(text)
            || serde_json::from_str(text).is_ok_and(|json| self.is_in_json(&json, MAX_JSON_LEVELS))
    }

    fn is_in_plain(&self, text: &str) -> bool {
        let secret = self.expose();
        let standing = self.match_boundary();
        text == secret
            || standing != MatchBoundary::JsonString
                && text
                    .match_indices(secret)
                    .any(|(at, _)| standing.matches_between(&text[..at], &text[at + secret.len()..]))
    }

    fn is_in_json(&self, value: &Json, levels: usize) -> bool {
        match value {
            Json::String(text) => {
                self.is_in_plain(text)
                    || levels > 0
                        && serde_json::from_str(text).is_ok_and(|inner| self.is_in_json(&inner, levels - 1))
            }
            Json::Array(items) => items.iter().any(|item| self.is_in_json(item, levels)),
            Json::Object(members) => {
                members.iter().any(|(name, value)| self.is_in_plain(name) || self.is_in_json(value, levels))
            }
            Json::Number(_) => self.is_in_plain(&value.to_string()),
            Json::Null | Json::Bool(_) => false,
        }
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("<secret>")
    }
}
