//! What is a secret: the one place that decides it, by the name of the key, by how the text looks, and by the variables
//! that it names.
//!
//! `masking` asks it of what excerpts of the file show, `resolved` of what is printed of the whole configuration, and
//! `note_secrets` makes from it the list of what no record of messages may show.

use serde_json::Value as Json;
use toml::de::DeTable;

use crate::config::Secret;
use crate::config::read::interpolate::{is_variable_name, variables};

mod looks;
mod names;
mod reading;

use looks::looks_secret;
pub(in crate::config) use names::{is_around, sounds_secret, unescaped};
pub(in crate::config) use reading::texts;

/// The words that stand before a secret in a header, with a blank between them (RFC 9110, 11.1; some are no standard).
const SCHEMES: [&str; 6] = ["bearer", "basic", "token", "bot", "apikey", "key"];

/// Is a text that stands in the file under this key a secret? `key` with those of the tables that it is in, between dots.
pub(in crate::config) fn is_secret(key: &str, written: &str) -> bool {
    is_named_secret(key) && !is_variable(written) || gives_away(written)
}

/// Is what such a text comes to, its variables filled in, a secret?
fn is_secret_when_filled(key: &str, written: &str, filled: &str) -> bool {
    is_named_secret(key)
        || variables(written).any(is_named_secret)
        || gives_away(written)
        || gives_away(filled)
}

/// Is it only the word that stands before a secret in a header?
pub(in crate::config) fn is_scheme(prefix: &str) -> bool {
    let word = prefix.trim_end();
    word.is_empty() || SCHEMES.iter().any(|scheme| word.eq_ignore_ascii_case(scheme))
}

/// Does this name of a key, with those of the tables that it is in, or of a variable sound like a secret's?
pub(in crate::config) fn is_named_secret(key: &str) -> bool {
    key.split('.').any(sounds_secret)
}

/// Does a text give a secret away, whatever its key? By how it looks, or because it has one ready for a variable that
/// isn't set.
pub(in crate::config) fn gives_away(written: &str) -> bool {
    looks_secret(written)
        || defaults(written).any(|(name, default)| is_named_secret(name) && !default.is_empty())
}

/// Is this a use of a variable that holds a secret, by its name or by what it comes to?
pub(in crate::config) fn is_secret_variable(written: &str, filled: &str) -> bool {
    written.starts_with("${") && (variables(written).any(is_named_secret) || gives_away(filled))
}

/// Is it one use of a variable and nothing else? Then it only says where the secret is.
pub(in crate::config) fn is_variable(written: &str) -> bool {
    let name = written.strip_prefix("${").and_then(|rest| rest.strip_suffix('}'));
    name.is_some_and(is_variable_name)
}

/// The variables of a text with what stands in for each, also of one that is never closed.
fn defaults(written: &str) -> impl Iterator<Item = (&str, &str)> {
    let uses = written.split("${").skip(1).filter_map(|used| used.split('}').next()?.split_once(':'));
    uses.map(|(name, default)| (name, default.trim_start_matches('-')))
}

/// Is it a table that says where a secret is, and nothing else?
pub(in crate::config) fn names_secret(table: &DeTable<'_>) -> bool {
    table.len() == 1 && (table.contains_key("env") || table.contains_key("file"))
        || table.len() == 2 && table.contains_key("env") && table.contains_key("file")
}

/// Where in somebody else's text a secret counts as found: a short one may stand anywhere by chance.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// Anywhere.
    Anywhere,
    /// Between what isn't letter or digit.
    Word,
    /// Between quotes: it says what JSON itself says, such as `true`.
    Text,
}

/// A shorter secret may stand anywhere by chance, in bytes.
const TELLING: usize = 8;

/// So often JSON is looked for in a text of JSON.
const LEVELS: usize = 4;

impl Standing {
    /// Does it count as found between these two?
    #[must_use]
    pub fn holds(self, before: &str, after: &str) -> bool {
        match self {
            Self::Anywhere => true,
            Self::Word => {
                !before.ends_with(char::is_alphanumeric) && !after.starts_with(char::is_alphanumeric)
            }
            Self::Text => before.ends_with('"') && after.starts_with(['"', '\\']),
        }
    }
}

impl Secret {
    /// Where it counts as found.
    #[must_use]
    pub fn standing(&self) -> Standing {
        let is_json = |text: &str| {
            serde_json::from_str::<Json>(text)
                .is_ok_and(|value| value.is_boolean() || value.is_null() || value.is_number())
        };
        match self.expose() {
            text if text.len() >= TELLING => Standing::Anywhere,
            text if is_json(text) => Standing::Text,
            _ => Standing::Word,
        }
    }

    /// Does `text` give it away to whoever reads it, also as JSON?
    pub(in crate::config) fn is_told_by(&self, text: &str) -> bool {
        self.stands_in(text)
            || serde_json::from_str(text).is_ok_and(|json| self.stands_in_json(&json, LEVELS))
    }

    fn stands_in(&self, text: &str) -> bool {
        let secret = self.expose();
        let standing = self.standing();
        text == secret
            || standing != Standing::Text
                && text
                    .match_indices(secret)
                    .any(|(at, _)| standing.holds(&text[..at], &text[at + secret.len()..]))
    }

    fn stands_in_json(&self, value: &Json, levels: usize) -> bool {
        match value {
            Json::String(text) => {
                self.stands_in(text)
                    || levels > 0
                        && serde_json::from_str(text)
                            .is_ok_and(|inner| self.stands_in_json(&inner, levels - 1))
            }
            Json::Array(items) => items.iter().any(|item| self.stands_in_json(item, levels)),
            Json::Object(members) => {
                members.iter().any(|(name, value)| self.stands_in(name) || self.stands_in_json(value, levels))
            }
            Json::Number(_) => self.stands_in(&value.to_string()),
            Json::Null | Json::Bool(_) => false,
        }
    }
}

#[cfg(test)]
mod tests;
