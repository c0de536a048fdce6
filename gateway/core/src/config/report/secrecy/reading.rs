//! What reading the file hides of plugins' settings: from excerpts, and from records of messages.

use std::ops::Range;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::config::report::secrecy::{TELLING, is_named_secret, is_secret_when_filled, is_variable, names_secret};
use crate::config::Secret;
use crate::config::read::interpolate::{expand, variables};
use crate::config::read::reader::Reading;

impl Reading<'_> {
    /// Notes what of a plugin's settings, or of one with this key, no record of messages may show.
    pub(in crate::config) fn note_secrets(&mut self, key: &str, value: &DeValue<'_>) {
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

    /// Of what a setting holds an excerpt shows only the part in which reading the file finds a problem, and none that
    /// looks like a secret: much of it is secret, under any name. This hides the rest; what looks like a secret is hidden
    /// by `masking` and by whoever finds the problem.
    pub(in crate::config) fn hide_settings(&mut self, root: &DeTable<'_>) {
        let plugins = root.get("plugins").and_then(|plugins| plugins.get_ref().as_table());
        for plugin in plugins.into_iter().flat_map(DeTable::values) {
            if let Some(settings) = plugin.get_ref().get("config") {
                self.hide_texts(settings);
            }
        }
    }

    /// Hides what a value holds from excerpts, but for that in which a problem was found, for `true` and `false`, and for
    /// the names of variables and files that hold it.
    pub(in crate::config) fn hide_texts(&mut self, value: &Spanned<DeValue<'_>>) {
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
pub(in crate::config) fn texts(value: &Spanned<DeValue<'_>>, places: &mut Vec<Range<usize>>) {
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
