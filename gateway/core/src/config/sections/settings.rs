//! `[plugins.<id>.config]`: the plugin's own settings.
//!
//! A text is given to the plugin as it is, everything else as compact JSON. A table of exactly one key, `env` or
//! `file`, is a secret; that holds for a whole value only, so that no secret ends up inside a JSON text.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Number, Value as Json};
use toml::de::{DeTable, DeValue};

use crate::config::Secret;
use crate::config::read::interpolate::variables;
use crate::config::spec::keys::Kind;
use crate::config::model::diagnostic::{Problem, quoted};
use crate::config::read::reader::{HandedOut, Reading, Value};
use crate::config::report::secrecy::names_secret;

/// Settings by key, and what those of them that don't stand in the file are filled from.
type Settings = (BTreeMap<String, Secret>, BTreeMap<String, BTreeSet<String>>);

impl Reading<'_> {
    /// Reads the settings of a plugin, and notes what they are filled from.
    pub(in crate::config) fn settings(&mut self, config: &Value<'_>) -> Settings {
        let (mut settings, mut filled_from) = (BTreeMap::new(), BTreeMap::new());
        let DeValue::Table(entries) = config.inner else {
            self.wrong_type(config, &Kind::Settings);
            return (settings, filled_from);
        };
        for (key, value) in members(config, entries) {
            self.note_secrets(key, value.inner);
            if let Some(setting) = self.setting(&value) {
                let mut origins = BTreeSet::new();
                self.origins(value.inner, &mut origins);
                if !origins.is_empty() {
                    filled_from.insert(key.to_owned(), origins);
                }
                self.handed_out.push(HandedOut::to_plugin(value.place, setting.clone()));
                settings.insert(key.to_owned(), setting);
            }
        }
        (settings, filled_from)
    }

    /// The variables and files that a value is filled from, as grants call them: `env NAME`, `file PATH`.
    fn origins(&self, value: &DeValue<'_>, found: &mut BTreeSet<String>) {
        match value {
            DeValue::String(text) => found.extend(variables(text).map(|name| format!("env {name}"))),
            DeValue::Array(items) => items.iter().for_each(|item| self.origins(item.get_ref(), found)),
            DeValue::Table(table) if names_secret(table) => {
                for (key, value) in table.iter() {
                    let Some(text) = value.get_ref().as_str() else { continue };
                    found.insert(match key.get_ref().as_ref() {
                        "env" => format!("env {text}"),
                        _ => format!("file {}", self.base.join(text).display()),
                    });
                }
            }
            DeValue::Table(table) => table.values().for_each(|value| self.origins(value.get_ref(), found)),
            DeValue::Boolean(_) | DeValue::Datetime(_) | DeValue::Integer(_) | DeValue::Float(_) => {}
        }
    }

    fn setting(&mut self, value: &Value<'_>) -> Option<Secret> {
        match value.inner {
            DeValue::String(text) => self.expanded(value, text).map(Secret::new),
            DeValue::Table(table) if names_secret(table) => self.secret(value),
            _ => {
                self.judge_table(value);
                self.json(value).map(|json| Secret::new(json.to_string()))
            }
        }
    }

    /// Warns of a table that is nearly a secret, and is handed over as it stands.
    fn judge_table(&mut self, value: &Value<'_>) {
        let Some(table) = value.inner.as_table() else { return };
        let keys: Vec<String> = table.keys().map(|key| key.get_ref().to_ascii_lowercase()).collect();
        let is_source = |key: &String| matches!(key.as_str(), "env" | "file");
        if !keys.iter().any(is_source) || !keys.iter().all(|key| is_source(key) || key == "prefix") {
            return;
        }
        let path = &value.path;
        let message = format!("`{path}` looks like a secret, but is handed over as JSON, as it stands");
        let hint = "a secret is `{ env = \"NAME\" }` or `{ file = \"path\" }`, in small letters and with nothing beside it";
        // At its key: what stands beside may be the secret itself.
        self.note(Problem::warning(message).at(value.key_place.clone()).hint(hint));
    }

    fn json(&mut self, value: &Value<'_>) -> Option<Json> {
        match value.inner {
            DeValue::String(text) => self.expanded(value, text).map(Json::String),
            DeValue::Boolean(answer) => Some(Json::Bool(*answer)),
            DeValue::Datetime(time) => Some(Json::String(time.to_string())),
            DeValue::Integer(number) => {
                let read = i64::from_str_radix(number.as_str(), number.radix());
                self.number(value, read.ok().map(Number::from))
            }
            DeValue::Float(number) => {
                let read = number.as_str().parse().ok().and_then(Number::from_f64);
                self.number(value, read)
            }
            DeValue::Array(items) => {
                let item = |(index, item): (usize, &toml::Spanned<DeValue<'_>>)| {
                    self.json(&Value {
                        path: format!("{}[{index}]", value.path),
                        place: item.span(),
                        key_place: item.span(),
                        inner: item.get_ref(),
                    })
                };
                let read: Vec<_> = items.iter().enumerate().map(item).collect();
                read.into_iter().collect::<Option<_>>().map(Json::Array)
            }
            DeValue::Table(table) if names_secret(table) => {
                self.note(
                    Problem::error(format!("a secret can't be a part of a value, as in `{}`", value.path))
                        .at(value.place.clone())
                        .hint(
                            "give it a key of its own in the plugin's `config`; \
                               or, if no secret is meant, write the whole value as a text that holds JSON",
                        ),
                );
                None
            }
            DeValue::Table(table) => {
                let read: Vec<_> = members(value, table)
                    .into_iter()
                    .map(|(key, value)| Some((key.to_owned(), self.json(&value)?)))
                    .collect();
                read.into_iter().collect::<Option<Map<_, _>>>().map(Json::Object)
            }
        }
    }

    fn number(&mut self, value: &Value<'_>, read: Option<Number>) -> Option<Json> {
        if read.is_none() {
            let written = self.text.get(value.place.clone()).unwrap_or_default();
            let problem = Problem::error(format!("{} has no form in JSON", quoted(written)));
            self.note(problem.at(value.place.clone()).hint("write it as a text"));
        }
        read.map(Json::Number)
    }
}

/// The members of a table, in the order of the file.
fn members<'t>(parent: &Value<'_>, entries: &'t DeTable<'t>) -> Vec<(&'t str, Value<'t>)> {
    crate::config::read::reader::Table::free(parent, entries).entries()
}
