//! Keys that other programs' files have, and what is written here instead: with the operator's own words in it, so that
//! following the hint to the letter is enough.

use toml::de::{DeTable, DeValue};

use crate::config::model::literal::literal;
use crate::config::report::secrecy::gives_away;
use crate::config::read::reader::Table;
use crate::names::is_hidden;

mod addresses;
mod clients;
mod credentials;
mod grants;
mod limits;
mod shapes;
mod words;

pub(in crate::config) use addresses::{Asked, TOKENS, asked_for};
pub(in crate::config) use grants::directory;
pub(in crate::config) use shapes::own_shape;

/// What to do about a key that is right elsewhere.
pub(in crate::config) struct Habit {
    /// None: it was told with another key of the same table.
    pub(in crate::config) hint: Option<String>,
    /// The keys whose lack is explained by it.
    pub(in crate::config) explains: &'static [&'static str],
}

impl Habit {
    fn new(hint: impl Into<String>) -> Self {
        Self { hint: Some(hint.into()), explains: &[] }
    }

    fn explaining(self, explains: &'static [&'static str]) -> Self {
        Self { explains, ..self }
    }
}

/// A key that its table doesn't have.
struct Stray<'s, 't> {
    table: &'s Table<'t>,
    name: &'s str,
    value: &'s DeValue<'t>,
}

impl Stray<'_, '_> {
    fn is(&self, words: &[&str]) -> bool {
        words.iter().any(|word| self.name.eq_ignore_ascii_case(word))
    }

    /// Does its table have all of these keys?
    fn is_where(&self, keys: &[&str]) -> bool {
        keys.iter().all(|key| self.table.has_key(key))
    }

    /// The plugin whose table it stands in, or a table of that.
    fn plugin(&self) -> Option<&str> {
        self.table.path.strip_prefix("plugins.")?.split('.').next()
    }

    /// Is its table that of a plugin?
    fn is_in_plugin(&self) -> bool {
        self.is_where(&["source", "allow"])
    }

    /// Does it come before all others of its table that are such, too? What is said of one then holds for all.
    fn is_first(&self, is_such: impl Fn(&str) -> bool) -> bool {
        self.table
            .entries()
            .iter()
            .find(|(name, _)| is_such(name))
            .is_some_and(|(name, _)| *name == self.name)
    }
}

/// What to do about a key that is right elsewhere; none: nothing is known of it.
pub(in crate::config) fn known_elsewhere(table: &Table<'_>, name: &str, value: &DeValue<'_>) -> Option<Habit> {
    let stray = Stray { table, name, value };
    addresses::habit(&stray)
        .or_else(|| credentials::habit(&stray))
        .or_else(|| grants::habit(&stray))
        .or_else(|| clients::habit(&stray))
        .or_else(|| limits::habit(&stray))
        .or_else(|| words::habit(&stray))
}

/// A text as it may stand in a hint, in quotes; none where it can't be shown.
pub(in crate::config) fn shown(text: &str) -> Option<String> {
    let is_plain = text.len() <= 120 && !text.contains('`') && !text.chars().any(is_hidden);
    (is_plain && !gives_away(text)).then(|| literal(text))
}

/// The same of a text value.
fn shown_value(value: &DeValue<'_>) -> Option<String> {
    shown(value.as_str()?)
}

/// The texts of a list, or one alone; none where there are others.
fn texts<'t>(value: &'t DeValue<'_>) -> Option<Vec<&'t str>> {
    match value {
        DeValue::String(text) => Some(vec![text]),
        DeValue::Array(items) => items.iter().map(|item| item.get_ref().as_str()).collect(),
        _ => None,
    }
}

/// The keys of a table, in the order of the file.
fn keys<'t>(table: &'t DeTable<'_>) -> Vec<&'t str> {
    let mut keys: Vec<_> = table.keys().collect();
    keys.sort_by_key(|key| key.span().start);
    keys.into_iter().map(|key| key.get_ref().as_ref()).collect()
}

/// A key as TOML wants it.
pub(in crate::config) fn bare(key: &str) -> String {
    crate::config::read::reader::join("", key)
}
