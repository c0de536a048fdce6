//! `[plugins.NAME.config]`: the plugin's own settings.
//!
//! The plugin gets strings unchanged and any other value as compact JSON. A table with exactly one key, `env` or
//! `file`, is a reference to a secret, but only as a whole setting, so that no secret ends up inside JSON.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Number, Value as Json};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::model::diagnostic::quoted;
use crate::model::{Diagnostic, Secret};
use crate::read::environment::variables;
use crate::read::interpolate::interpolate;
use crate::read::secret_detection::{contains_secret, is_secret_name, is_secret_ref};
use crate::read::{ConfigReader, DisclosedValue, TomlTable, TomlValue};
use crate::spec::keys::ValueKind;

/// The shortest value that is redacted from messages, in bytes. A shorter one can occur in a message by chance.
const MIN_DISTINCTIVE_BYTES: usize = 8;

/// Settings by key, and the variables and files that they are filled from.
type PluginSettings = (BTreeMap<String, Secret>, BTreeMap<String, BTreeSet<String>>);

/// Reads the settings of a plugin.
pub(crate) fn read_settings(reader: &mut ConfigReader<'_>, config: &TomlValue<'_>) -> PluginSettings {
    let mut settings = BTreeMap::new();
    let mut filled_from = BTreeMap::new();
    let DeValue::Table(entries) = config.inner else {
        reader.report_wrong_type(config, &ValueKind::Settings);
        return (settings, filled_from);
    };
    for (key, value) in members(config, entries) {
        add_secrets(reader, key, value.inner);
        if let Some(setting) = read_setting(reader, &value) {
            let mut origins = BTreeSet::new();
            find_origins(reader, value.inner, &mut origins);
            if !origins.is_empty() {
                filled_from.insert(key.to_owned(), origins);
            }
            reader.disclosed.push(DisclosedValue::to_plugin(value.span, setting.clone()));
            settings.insert(key.to_owned(), setting);
        }
    }
    (settings, filled_from)
}

/// Adds the secrets of a setting to those that are redacted from the trace.
fn add_secrets(reader: &mut ConfigReader<'_>, key: &str, value: &DeValue<'_>) {
    match value {
        DeValue::String(written) => {
            for name in variables(written) {
                let Ok(value) = reader.environment.variable(name) else { continue };
                if value.len() >= MIN_DISTINCTIVE_BYTES || is_secret_name(key) || is_secret_name(name) {
                    reader.add_secret(Secret::new(value));
                }
            }
            let filled = interpolate(written, reader.environment).map(|filled| filled.text);
            let filled = filled.unwrap_or_default();
            if is_secret_name(key)
                || variables(written).any(is_secret_name)
                || contains_secret(written)
                || contains_secret(&filled)
            {
                reader.add_secret(Secret::new(filled));
            }
        }
        DeValue::Integer(number) if is_secret_name(key) => reader.add_secret(Secret::new(number.as_str())),
        DeValue::Float(number) if is_secret_name(key) => reader.add_secret(Secret::new(number.as_str())),
        DeValue::Array(items) => items.iter().for_each(|item| add_secrets(reader, key, item.get_ref())),
        DeValue::Table(table) if !is_secret_ref(table) => {
            for (name, value) in table.iter() {
                add_secrets(reader, &format!("{key}.{}", name.get_ref()), value.get_ref());
            }
        }
        DeValue::Integer(_)
        | DeValue::Float(_)
        | DeValue::Boolean(_)
        | DeValue::Datetime(_)
        | DeValue::Table(_) => {}
    }
}

/// Finds the variables and files that a value is filled from: `env NAME`, `file PATH`.
fn find_origins(reader: &ConfigReader<'_>, value: &DeValue<'_>, found: &mut BTreeSet<String>) {
    match value {
        DeValue::String(text) => found.extend(variables(text).map(|name| format!("env {name}"))),
        DeValue::Array(items) => items.iter().for_each(|item| find_origins(reader, item.get_ref(), found)),
        DeValue::Table(table) if is_secret_ref(table) => {
            for (key, value) in table.iter() {
                let Some(text) = value.get_ref().as_str() else { continue };
                found.insert(match key.get_ref().as_ref() {
                    "env" => format!("env {text}"),
                    _ => format!("file {}", reader.base.join(text).display()),
                });
            }
        }
        DeValue::Table(table) => {
            table.values().for_each(|value| find_origins(reader, value.get_ref(), found));
        }
        DeValue::Boolean(_) | DeValue::Datetime(_) | DeValue::Integer(_) | DeValue::Float(_) => {}
    }
}

fn read_setting(reader: &mut ConfigReader<'_>, value: &TomlValue<'_>) -> Option<Secret> {
    match value.inner {
        DeValue::String(text) => reader.interpolated(value, text).map(|filled| Secret::new(filled.text)),
        DeValue::Table(table) if is_secret_ref(table) => reader.secret(value),
        _ => {
            check_table(reader, value);
            read_json(reader, value).map(|json| Secret::new(json.to_string()))
        }
    }
}

/// Warns about a table that looks like a reference to a secret but is passed as JSON.
fn check_table(reader: &mut ConfigReader<'_>, value: &TomlValue<'_>) {
    let Some(table) = value.inner.as_table() else { return };
    let keys: Vec<String> = table.keys().map(|key| key.get_ref().to_ascii_lowercase()).collect();
    let is_source = |key: &String| matches!(key.as_str(), "env" | "file");
    if !keys.iter().any(is_source) || !keys.iter().all(|key| is_source(key) || key == "prefix") {
        return;
    }
    let message = format!("`{}` looks like a secret but is passed to the plugin as JSON", value.path);
    let hint = "write a secret as `{ env = \"NAME\" }` or `{ file = \"path\" }`, in lower case and without other keys";
    reader.report(Diagnostic::warning(message).with_span(value.key_span.clone()).with_hint(hint));
}

fn read_json(reader: &mut ConfigReader<'_>, value: &TomlValue<'_>) -> Option<Json> {
    match value.inner {
        DeValue::String(text) => reader.interpolated(value, text).map(|filled| Json::String(filled.text)),
        DeValue::Boolean(boolean) => Some(Json::Bool(*boolean)),
        DeValue::Datetime(time) => Some(Json::String(time.to_string())),
        DeValue::Integer(number) => {
            let read = i64::from_str_radix(number.as_str(), number.radix());
            or_report_number(reader, value, read.ok().map(Number::from))
        }
        DeValue::Float(number) => {
            let read = number.as_str().parse().ok().and_then(Number::from_f64);
            or_report_number(reader, value, read)
        }
        DeValue::Array(items) => {
            let item = |(index, item): (usize, &Spanned<DeValue<'_>>)| {
                let path = format!("{}[{index}]", value.path);
                let inner = item.get_ref();
                read_json(reader, &TomlValue { path, span: item.span(), key_span: item.span(), inner })
            };
            let read: Vec<_> = items.iter().enumerate().map(item).collect();
            read.into_iter().collect::<Option<_>>().map(Json::Array)
        }
        DeValue::Table(table) if is_secret_ref(table) => {
            let message = format!("a secret can't be a part of a setting, as in `{}`", value.path);
            reader.report(Diagnostic::error(message).with_span(value.span.clone()).with_hint(
                "make it a setting of its own; if it isn't a secret, write the whole setting as a string",
            ));
            None
        }
        DeValue::Table(table) => {
            let read: Vec<_> = members(value, table)
                .into_iter()
                .map(|(key, value)| Some((key.to_owned(), read_json(reader, &value)?)))
                .collect();
            read.into_iter().collect::<Option<Map<_, _>>>().map(Json::Object)
        }
    }
}

fn or_report_number(
    reader: &mut ConfigReader<'_>,
    value: &TomlValue<'_>,
    read: Option<Number>,
) -> Option<Json> {
    if read.is_none() {
        let message = format!("JSON can't represent the number in {}", quoted(&value.path));
        reader.report(
            Diagnostic::error(message).with_span(value.span.clone()).with_hint("write it as a string"),
        );
    }
    read.map(Json::Number)
}

/// The members of a table, in the order of the file.
fn members<'t>(parent: &TomlValue<'_>, entries: &'t DeTable<'t>) -> Vec<(&'t str, TomlValue<'t>)> {
    TomlTable::untyped(parent, entries).entries()
}
