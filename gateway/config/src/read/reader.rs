//! Typed access to the parsed file: tables, keys and values with their spans.
//!
//! The reader reports everything that is wrong and continues. An invalid value is replaced by its default, which is
//! never used, because a file with an error yields no configuration.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::ops::Range;
use std::path::{Path, PathBuf};

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::environment::Environment;
use super::interpolate::{InterpolatedString, VariableExpansion, interpolate};
use crate::model::diagnostic::quoted;
use crate::model::{Diagnostic, Secret};
use crate::spec::keys::{Key, ValueKind};

/// The state of reading one file.
pub(crate) struct ConfigReader<'a> {
    /// The source of environment variables.
    pub(crate) environment: &'a dyn Environment,
    /// The text of the file.
    pub(crate) source: &'a str,
    /// The absolute directory of the file, to which relative paths are relative.
    pub(crate) base: PathBuf,
    /// The problems so far.
    pub(crate) problems: Vec<Diagnostic>,
    /// Problems that matter only if HTTP is served.
    pub(crate) http_problems: Vec<Diagnostic>,
    /// Static tokens that can't be used, which matter only if HTTP is served.
    pub(crate) token_problems: Vec<Diagnostic>,
    /// Problems with certificates and keys, which matter only if HTTP is served.
    pub(crate) tls_problems: Vec<Diagnostic>,
    /// Problems that loading the plugins would report too, apart from those of components. They are added only if other errors keep the plugins from
    /// being loaded.
    pub(crate) loading_problems: Vec<Diagnostic>,
    /// The components, as written and as paths. They are examined only if other errors keep the plugins from being loaded:
    /// a start needn't open a thousand files.
    pub(crate) component_files: Vec<(TomlString, PathBuf)>,
    /// The files that secrets were read from.
    pub(crate) secret_files: Vec<PathBuf>,
    /// The files with the keys of issuers.
    pub(crate) key_files: Vec<PathBuf>,
    /// Every secret to redact from the trace.
    pub(crate) secrets: Vec<Secret>,
    /// Every file that was examined, every component, and every directory that can't be used.
    pub(crate) files: BTreeSet<PathBuf>,
    /// The values of variables, files and settings that plugins or servers get.
    pub(crate) disclosed: Vec<DisclosedValue>,
    /// Spans that probably contain a secret, although they shouldn't.
    pub(crate) secret_spans: Vec<Range<usize>>,
    /// The values of variables that were filled in.
    pub(crate) expansions: Vec<VariableExpansion>,
}

/// A value that a plugin or a server gets.
pub(crate) struct DisclosedValue {
    /// The location in the file that discloses it.
    pub(crate) span: Range<usize>,
    pub(crate) value: Secret,
    /// The effect, as a phrase after "this would".
    pub(crate) action: &'static str,
}

impl DisclosedValue {
    /// A value that the plugin reads.
    pub(crate) fn to_plugin(span: Range<usize>, value: Secret) -> Self {
        Self { span, value, action: "give the plugin" }
    }

    /// A value that is added to the plugin's requests.
    pub(crate) fn to_server(span: Range<usize>, value: Secret) -> Self {
        Self { span, value, action: "send a server" }
    }
}

/// A table of the file.
#[derive(Clone)]
pub(crate) struct TomlTable<'t> {
    /// Its dotted name, such as `plugins.fetch.allow`. Empty for the top level.
    pub(crate) path: String,
    /// The span of its name.
    pub(crate) span: Range<usize>,
    pub(crate) entries: &'t DeTable<'t>,
    pub(crate) keys: &'static [Key],
}

/// A value of the file.
#[derive(Clone)]
pub(crate) struct TomlValue<'t> {
    /// The dotted name of its key, such as `http.listen`.
    pub(crate) path: String,
    /// Its span.
    pub(crate) span: Range<usize>,
    /// The span of its key. An item of an array has its own span here.
    pub(crate) key_span: Range<usize>,
    /// The value itself.
    pub(crate) inner: &'t DeValue<'t>,
}

/// A string of the file with its variables filled in.
#[derive(Debug, Clone, Default)]
pub(crate) struct TomlString {
    /// The string.
    pub(crate) text: String,
    /// The string for people, without the values of secret variables.
    pub(crate) shown: String,
    /// Its span.
    pub(crate) span: Range<usize>,
    /// The dotted name of its key.
    pub(crate) path: String,
}

impl<'t> TomlTable<'t> {
    /// The whole file.
    pub(crate) fn root(entries: &'t DeTable<'t>, keys: &'static [Key]) -> Self {
        Self { path: String::new(), span: 0..0, entries, keys }
    }

    /// A table with any keys.
    pub(crate) fn untyped(value: &TomlValue<'_>, entries: &'t DeTable<'t>) -> Self {
        Self { path: value.path.clone(), span: value.key_span.clone(), entries, keys: &[] }
    }

    /// The value of a key.
    pub(crate) fn get(&self, name: &str) -> Option<TomlValue<'t>> {
        let (key, value) = self.entries.get_key_value(name)?;
        Some(self.value(key, value))
    }

    /// Reports whether this key is valid in the table.
    pub(crate) fn is_valid_key(&self, name: &str) -> bool {
        self.keys.iter().any(|key| key.name == name)
    }

    /// All keys with their values, in the order of the file.
    pub(crate) fn entries(&self) -> Vec<(&'t str, TomlValue<'t>)> {
        let mut entries: Vec<_> = self.entries.iter().collect();
        entries.sort_by_key(|(key, _)| key.span().start);
        entries.into_iter().map(|(key, value)| (&**key.get_ref(), self.value(key, value))).collect()
    }

    /// Its name as a phrase, such as " in `[http]`". Empty for the top level.
    pub(crate) fn location(&self) -> String {
        if self.path.is_empty() { String::new() } else { format!(" in `[{}]`", self.path) }
    }

    fn value(&self, key: &'t Spanned<Cow<'t, str>>, value: &'t Spanned<DeValue<'t>>) -> TomlValue<'t> {
        TomlValue {
            path: join(&self.path, key.get_ref()),
            span: value.span(),
            key_span: key.span(),
            inner: value.get_ref(),
        }
    }

    /// The entry of a key in the key table.
    pub(crate) fn key(&self, name: &str) -> &'static Key {
        let found = self.keys.iter().find(|key| key.name == name);
        found.expect("the reader asks only for keys of the key table")
    }
}

/// The dotted name of a key in a table, quoted if TOML needs it.
pub(crate) fn join(table: &str, key: &str) -> String {
    let bare = !key.is_empty() && key.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-');
    let key = if bare { key.to_owned() } else { format!("{key:?}") };
    if table.is_empty() { key } else { format!("{table}.{key}") }
}

impl<'a> ConfigReader<'a> {
    pub(crate) fn new(file: &Path, source: &'a str, environment: &'a dyn Environment) -> Self {
        Self {
            environment,
            source,
            base: file.parent().map(Path::to_owned).unwrap_or_default(),
            problems: Vec::new(),
            http_problems: Vec::new(),
            token_problems: Vec::new(),
            tls_problems: Vec::new(),
            loading_problems: Vec::new(),
            component_files: Vec::new(),
            secret_files: Vec::new(),
            key_files: Vec::new(),
            secrets: Vec::new(),
            files: BTreeSet::from([file.to_owned()]),
            disclosed: Vec::new(),
            secret_spans: Vec::new(),
            expansions: Vec::new(),
        }
    }

    /// Adds a secret to redact from the trace.
    pub(crate) fn add_secret(&mut self, secret: Secret) {
        if !secret.expose().is_empty() && !self.secrets.contains(&secret) {
            self.secrets.push(secret);
        }
    }

    /// Reports a problem.
    pub(crate) fn report(&mut self, problem: Diagnostic) {
        self.problems.push(problem);
    }

    /// Reads a value as a table with these keys. Reports unknown and missing ones.
    pub(crate) fn as_table<'t>(
        &mut self,
        value: &TomlValue<'t>,
        keys: &'static [Key],
    ) -> Option<TomlTable<'t>> {
        let DeValue::Table(entries) = value.inner else {
            self.report_wrong_type(value, &ValueKind::Table(keys));
            return None;
        };
        let table = TomlTable { path: value.path.clone(), span: value.key_span.clone(), entries, keys };
        self.check_keys(&table, &[]);
        Some(table)
    }

    /// The table of a key, if there is one.
    pub(crate) fn table<'t>(&mut self, parent: &TomlTable<'t>, name: &str) -> Option<TomlTable<'t>> {
        let value = parent.get(name)?;
        match parent.key(name).kind {
            ValueKind::Table(keys) => self.as_table(&value, keys),
            kind => {
                self.report_wrong_type(&value, &kind);
                None
            }
        }
    }

    /// The entries of a table with any keys, in the order of the file.
    pub(crate) fn named_entries<'t>(
        &mut self,
        parent: &TomlTable<'t>,
        name: &str,
    ) -> Vec<(&'t str, TomlValue<'t>)> {
        let Some(value) = parent.get(name) else { return Vec::new() };
        let DeValue::Table(entries) = value.inner else {
            self.report_wrong_type(&value, &parent.key(name).kind);
            return Vec::new();
        };
        TomlTable::untyped(&value, entries).entries()
    }

    /// The items of an array. `None` means that the key is missing.
    pub(crate) fn items<'t>(&mut self, parent: &TomlTable<'t>, name: &str) -> Option<Vec<TomlValue<'t>>> {
        let value = parent.get(name)?;
        let DeValue::Array(items) = value.inner else {
            self.report_wrong_type(&value, &parent.key(name).kind);
            return Some(Vec::new());
        };
        let item = |(index, item): (usize, &'t Spanned<DeValue<'t>>)| TomlValue {
            path: format!("{}[{index}]", value.path),
            span: item.span(),
            key_span: item.span(),
            inner: item.get_ref(),
        };
        Some(items.iter().enumerate().map(item).collect())
    }

    /// An array of tables.
    pub(crate) fn tables<'t>(&mut self, parent: &TomlTable<'t>, name: &str) -> Vec<TomlTable<'t>> {
        let ValueKind::Array(ValueKind::Table(keys)) = parent.key(name).kind else {
            unreachable!("`{name}` is an array of tables in the key table")
        };
        let items = self.items(parent, name).unwrap_or_default();
        items.iter().filter_map(|item| self.as_table(item, keys)).collect()
    }

    /// An array of strings. `None` means that the key is missing.
    pub(crate) fn strings(&mut self, parent: &TomlTable<'_>, name: &str) -> Option<Vec<TomlString>> {
        let ValueKind::Array(kind) = parent.key(name).kind else {
            unreachable!("`{name}` is an array in the key table")
        };
        let items = self.items(parent, name)?;
        Some(items.iter().filter_map(|item| self.as_string(item, kind)).collect())
    }

    /// A string with its variables filled in.
    pub(crate) fn string(&mut self, parent: &TomlTable<'_>, name: &str) -> Option<TomlString> {
        let value = parent.get(name)?;
        self.as_string(&value, &parent.key(name).kind)
    }

    /// Reads a value as a string and fills its variables in.
    pub(crate) fn as_string(&mut self, value: &TomlValue<'_>, kind: &ValueKind) -> Option<TomlString> {
        let DeValue::String(raw) = value.inner else {
            self.report_wrong_type(value, kind);
            return None;
        };
        let InterpolatedString { text, shown, .. } = self.interpolated(value, raw)?;
        if let ValueKind::OneOf(words) = kind
            && !words.contains(&text.as_str())
        {
            let message = format!("`{}` must be {}, not {}", value.path, kind.expected(), quoted(&text));
            let problem = Diagnostic::error(message).with_span(value.span.clone());
            self.report(problem.hint_nearest(&text, words.iter().copied()));
            return None;
        }
        Some(TomlString { text, shown, span: value.span.clone(), path: value.path.clone() })
    }

    /// Fills in the variables of a string.
    pub(crate) fn interpolated(&mut self, value: &TomlValue<'_>, raw: &str) -> Option<InterpolatedString> {
        match interpolate(raw, self.environment) {
            Ok(filled) => {
                for secret in filled.secrets() {
                    self.add_secret(Secret::new(secret));
                }
                self.expansions.extend(filled.expansions(raw, &value.span));
                Some(filled)
            }
            Err(errors) => {
                for error in errors {
                    let span = self.part(&value.span, raw, error.part());
                    self.report(error.into_problem(&value.path, self.environment).with_span(span));
                }
                None
            }
        }
    }

    /// The span of a part of a string. It is the span of the whole string if that is written with escapes or variables.
    pub(crate) fn part(&self, span: &Range<usize>, text: &str, part: Range<usize>) -> Range<usize> {
        let written = self.source.get(span.start + 1..span.end.saturating_sub(1));
        if written == Some(text) {
            span.start + 1 + part.start..span.start + 1 + part.end
        } else {
            span.clone()
        }
    }
}
