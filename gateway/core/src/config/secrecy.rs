//! What is a secret: the one place that decides it, by the name of the key, by how the text looks, and by the variables
//! that it names.
//!
//! `masking` asks it of what excerpts of the file show, `resolved` of what is printed of the whole configuration, and
//! `note_secrets` makes from it the list of what no record of messages may show.

use std::ops::Range;

use serde_json::Value as Json;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::Secret;
use super::expand::{expand, is_variable_name, variables};
use super::reading::Reading;

/// The words that stand before a secret in a header, with a blank between them (RFC 9110, 11.1; some are no standard).
const SCHEMES: [&str; 6] = ["bearer", "basic", "token", "bot", "apikey", "key"];

/// What they have in them.
const SECRET: [&str; 13] = [
    "token",
    "secret",
    "password",
    "passwd",
    "passphrase",
    "authorization",
    "credential",
    "cookie",
    "api_key",
    "apikey",
    "private_key",
    "access_key",
    "sealing_key",
];

/// What may follow without a mark between: `tokenizer` only begins like a secret's name, `tokenvalue` is one.
const COMPOUND: [&str; 6] = ["key", "value", "text", "string", "hash", "header"];

/// What such a name ends with where it says only where the secret is, which one, or how much there is of it.
const BESIDE: [&str; 13] = [
    "_env",
    "_file",
    "_name",
    "_path",
    "_url",
    "_ttl",
    "_timeout",
    "_lifetime",
    "_limit",
    "_count",
    "_size",
    "_length",
    "_budget",
];

/// The keys of a secret's table that say where it is, whose it is and what stands before it.
const AROUND: [&str; 5] = ["env", "file", "prefix", "name", "origin"];

/// How keys and tokens of well-known services begin.
const PREFIXES: [&str; 16] = [
    "sk-",
    "sk_live_",
    "rk_live_",
    "ghp_",
    "gho_",
    "ghu_",
    "ghs_",
    "ghr_",
    "github_pat_",
    "glpat-",
    "xoxb-",
    "xoxp-",
    "xapp-",
    "AKIA",
    "AIza",
    "hf_",
];

/// No key or token of such a service is shorter, in bytes.
const SHORTEST: usize = 16;

/// Is a text that stands in the file under this key a secret? `key` with those of the tables that it is in, between dots.
pub(super) fn is_secret(key: &str, written: &str) -> bool {
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
pub(super) fn is_scheme(prefix: &str) -> bool {
    let word = prefix.trim_end();
    word.is_empty() || SCHEMES.iter().any(|scheme| word.eq_ignore_ascii_case(scheme))
}

/// Does this name of a key, with those of the tables that it is in, or of a variable sound like a secret's?
pub(super) fn is_named_secret(key: &str) -> bool {
    key.split('.').any(sounds_secret)
}

/// Does a text give a secret away, whatever its key? By how it looks, or because it has one ready for a variable that
/// isn't set.
pub(super) fn gives_away(written: &str) -> bool {
    looks_secret(written)
        || defaults(written).any(|(name, default)| is_named_secret(name) && !default.is_empty())
}

/// Is this a use of a variable that holds a secret, by its name or by what it comes to?
pub(super) fn is_secret_variable(written: &str, filled: &str) -> bool {
    written.starts_with("${") && (variables(written).any(is_named_secret) || gives_away(filled))
}

/// Is it one use of a variable and nothing else? Then it only says where the secret is.
pub(super) fn is_variable(written: &str) -> bool {
    let name = written.strip_prefix("${").and_then(|rest| rest.strip_suffix('}'));
    name.is_some_and(is_variable_name)
}

/// The variables of a text with what stands in for each, also of one that is never closed.
fn defaults(written: &str) -> impl Iterator<Item = (&str, &str)> {
    let uses = written.split("${").skip(1).filter_map(|used| used.split('}').next()?.split_once(':'));
    uses.map(|(name, default)| (name, default.trim_start_matches('-')))
}

/// Does a text look like a private key, a token of a well-known service or an address with a password in it?
fn looks_secret(text: &str) -> bool {
    let is_part = |c: char| c.is_ascii_alphanumeric() || "_-.".contains(c);
    let mut words = text.split(|c: char| !is_part(c)).filter(|word| word.len() >= SHORTEST);
    text.contains("PRIVATE KEY-----")
        || words.any(|word| PREFIXES.iter().any(|prefix| word.starts_with(prefix)) || is_web_token(word))
        || passwords(text).any(|password| !password.is_empty() && !is_variable(password))
}

/// A token of RFC 7519: three parts of Base64, the first of which is JSON.
fn is_web_token(word: &str) -> bool {
    word.starts_with("eyJ") && word.matches('.').count() == 2
}

/// What stands between the name and the host of each address: `scheme://name:password@host`.
fn passwords(text: &str) -> impl Iterator<Item = &str> {
    text.split("://").skip(1).filter_map(|rest| {
        let authority = rest.split(['/', '?', '#', ' ', '"', '\'']).next()?;
        Some(authority.rsplit_once('@')?.0.split_once(':')?.1)
    })
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
pub(super) const TELLING: usize = 8;

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
    pub(super) fn is_told_by(&self, text: &str) -> bool {
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

impl Reading<'_> {
    /// Notes what of a plugin's settings, or of one with this key, no record of messages may show.
    pub(super) fn note_secrets(&mut self, key: &str, value: &DeValue<'_>) {
        match value {
            DeValue::String(written) => {
                for name in variables(written) {
                    let Ok(held) = self.environment.variable(name) else { continue };
                    // A short one may stand anywhere by chance.
                    if held.len() >= TELLING || is_named_secret(key) || is_named_secret(name) {
                        self.note_secret(Secret::new(held));
                    }
                }
                let filled = expand(written, self.environment).map(|filled| filled.text).unwrap_or_default();
                if is_secret_when_filled(key, written, &filled) {
                    self.note_secret(Secret::new(filled));
                }
            }
            DeValue::Integer(number) if is_named_secret(key) => {
                self.note_secret(Secret::new(number.as_str()))
            }
            DeValue::Float(number) if is_named_secret(key) => self.note_secret(Secret::new(number.as_str())),
            DeValue::Array(items) => items.iter().for_each(|item| self.note_secrets(key, item.get_ref())),
            DeValue::Table(table) if !names_secret(table) => {
                for (name, value) in table.iter() {
                    self.note_secrets(&format!("{key}.{}", name.get_ref()), value.get_ref());
                }
            }
            DeValue::Integer(_)
            | DeValue::Float(_)
            | DeValue::Boolean(_)
            | DeValue::Datetime(_)
            | DeValue::Table(_) => {}
        }
    }
}

impl Reading<'_> {
    /// Hides what plugins' settings hold from excerpts that aren't about it: much of it is secret, under any name.
    pub(super) fn hide_settings(&mut self, root: &DeTable<'_>) {
        let plugins = root.get("plugins").and_then(|plugins| plugins.get_ref().as_table());
        for plugin in plugins.into_iter().flat_map(DeTable::values) {
            if let Some(settings) = plugin.get_ref().get("config") {
                self.hide_texts(settings);
            }
        }
    }

    /// Hides what a value holds from excerpts, but for that which a problem is about, and for the names of variables and
    /// files that hold secrets.
    fn hide_texts(&mut self, value: &Spanned<DeValue<'_>>) {
        let mut places = Vec::new();
        texts(value, &mut places);
        places.into_iter().for_each(|place| self.hide_beside_problems(place));
    }

    fn hide_beside_problems(&mut self, place: Range<usize>) {
        let places = self.problems.iter().filter_map(|problem| problem.place.clone());
        let mut shown: Vec<_> = places.filter(|at| at.start < place.end && place.start < at.end).collect();
        shown.sort_by_key(|at| at.start);
        let mut from = place.start;
        for at in shown {
            self.plain_secrets.extend((from < at.start).then_some(from..at.start));
            from = from.max(at.end);
        }
        self.plain_secrets.extend((from < place.end).then_some(from..place.end));
    }
}

/// Collects where the texts and numbers of a value stand, but for the names of variables and files that hold secrets.
pub(super) fn texts(value: &Spanned<DeValue<'_>>, places: &mut Vec<Range<usize>>) {
    match value.get_ref() {
        DeValue::Array(items) => items.iter().for_each(|item| texts(item, places)),
        DeValue::Table(table) if names_secret(table) => {}
        DeValue::Table(table) => table.values().for_each(|value| texts(value, places)),
        DeValue::String(text) if is_variable(text) => {}
        DeValue::Boolean(_) => {}
        DeValue::String(_) | DeValue::Integer(_) | DeValue::Float(_) | DeValue::Datetime(_) => {
            places.push(value.span());
        }
    }
}

/// Is it a table that says where a secret is, and nothing else?
pub(super) fn names_secret(table: &DeTable<'_>) -> bool {
    table.len() == 1 && (table.contains_key("env") || table.contains_key("file"))
        || table.len() == 2 && table.contains_key("env") && table.contains_key("file")
}

/// Does a part of a key, between dots, sound like a secret's?
pub(super) fn sounds_secret(part: &str) -> bool {
    let plain = part.to_ascii_lowercase().replace('-', "_");
    let is_beside = BESIDE.iter().any(|end| plain.ends_with(end))
        || ["max_", "min_"].iter().any(|start| plain.starts_with(start));
    // In capitals alone they say nothing of where a word begins.
    let cased = if part.contains(char::is_lowercase) { part } else { &plain };
    let sounds = |word: &&str| {
        let mut found = plain.match_indices(*word);
        found.any(|(at, _)| ends_word(&cased[at + word.len()..])) || is_slip(&plain, word)
    };
    !is_beside && SECRET.iter().any(sounds)
}

/// May the word end before this?
fn ends_word(rest: &str) -> bool {
    let is_end = |rest: &str| !rest.starts_with(|c: char| c.is_lowercase());
    let lower = rest.to_ascii_lowercase();
    is_end(rest)
        || rest.strip_prefix(['s', 'S']).is_some_and(is_end)
        || COMPOUND.iter().any(|word| lower.starts_with(word))
}

/// Is one letter of it wrong?
fn is_slip(part: &str, word: &str) -> bool {
    part.len().abs_diff(word.len()) <= 1 && strsim::damerau_levenshtein(part, word) <= 1
}

/// Is this a key of a secret's table whose value is none?
pub(super) fn is_around(part: &str) -> bool {
    AROUND.contains(&part)
}

/// A key in double quotes as it is read.
pub(super) fn unescaped(content: &str) -> String {
    let mut out = String::with_capacity(content.len());
    let mut rest = content;
    while let Some((before, after)) = rest.split_once('\\') {
        out.push_str(before);
        let length = match after.chars().next() {
            Some('x') => 2,
            Some('u') => 4,
            Some('U') => 8,
            Some(_) | None => 0,
        };
        let code = after.get(1..=length).and_then(|digits| u32::from_str_radix(digits, 16).ok());
        rest = match code.and_then(char::from_u32) {
            Some(c) => {
                out.push(c);
                &after[1 + length..]
            }
            None => after,
        };
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests;
