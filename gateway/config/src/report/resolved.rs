//! The effective configuration as TOML, with defaults written out and absolute paths.
//!
//! It follows the key table, so that new keys appear automatically. With the same variables set, it loads as the same
//! configuration. Secrets stay references to a variable or a file, and strings keep their variables, because any of
//! them can contain a secret. A secret in the file itself is redacted, so it can't be loaded again.

use std::borrow::Cow;
use std::cell::Cell;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::read::environment::{Environment, is_single_variable, variables};
use crate::read::interpolate::interpolate;
use crate::read::is_builtin;
use crate::read::secret_detection::{contains_secret, is_auth_scheme, is_secret_ref, is_secret_value};
use crate::spec::keys::{Content, HEADER, Key, ROOT, SECRET, ValueKind};
use crate::{Config, LoadedConfig};

/// The effective configuration as TOML. `None` means that the file has errors.
#[must_use]
pub fn resolved_config(loaded: &LoadedConfig, environment: &dyn Environment) -> Option<String> {
    let config = loaded.config.as_ref()?;
    let parsed = DeTable::parse(config.source_text.expose()).ok()?;
    let base = config.file.parent().unwrap_or(Path::new("/"));
    let mut writer = ResolvedWriter {
        config,
        environment,
        base,
        defaults: None,
        has_redacted: Cell::new(false),
        out: String::new(),
    };
    let root = parsed.get_ref();
    writer.defaults = table(root, "defaults");
    writer.table("", ROOT, Some(root));
    Some(writer.out)
}

struct ResolvedWriter<'a> {
    config: &'a Config,
    environment: &'a dyn Environment,
    /// The base directory of relative paths.
    base: &'a Path,
    /// `[defaults]`.
    defaults: Option<&'a DeTable<'a>>,
    /// True if something was redacted since the last comment.
    has_redacted: Cell<bool>,
    out: String,
}

impl<'a> ResolvedWriter<'a> {
    /// Writes a table: its header, its keys, and then the tables below it.
    fn table(&mut self, path: &str, keys: &'static [Key], found: Option<&'a DeTable<'a>>) {
        if !path.is_empty() {
            let _ = write!(self.out, "\n[{path}]\n");
        }
        for key in keys {
            if let Some(value) = self.value(path, key, found.and_then(|found| found.get(key.name))) {
                let remark = self.remark();
                let _ = writeln!(self.out, "{} = {value}{remark}", key.name);
            }
        }
        for key in keys {
            let below = below(path, key.name);
            match key.kind.content() {
                Content::Keys(keys) => {
                    let its = found.and_then(|found| table(found, key.name));
                    // Without its table there is no admin listener, audit log, shared store, export, TLS or Unix socket.
                    if its.is_some()
                        || !["admin", "audit", "store", "telemetry", "tls", "unix_socket"].contains(&key.name)
                    {
                        self.table(&below, keys, its);
                    }
                }
                Content::Named(ValueKind::Table(keys)) if path.is_empty() => {
                    for (name, its) in in_order(found.and_then(|found| table(found, key.name))) {
                        self.table(&self::below(&below, name), keys, its.get_ref().as_table());
                    }
                }
                Content::Named(item) => {
                    self.named_table(
                        &below,
                        found.and_then(|found| table(found, key.name)),
                        |writer, _, value| writer.value_of_kind(item, value),
                    );
                }
                Content::Settings => {
                    self.named_table(&below, found.and_then(|found| table(found, key.name)), Self::setting);
                }
                Content::Nothing | Content::StringOrKeys(_) | Content::Items(_) => {}
            }
        }
    }

    /// Writes a table with any keys, if there is one.
    fn named_table(
        &mut self,
        path: &str,
        found: Option<&'a DeTable<'a>>,
        written: impl Fn(&Self, &str, &Spanned<DeValue<'a>>) -> String,
    ) {
        if found.is_some() {
            let _ = write!(self.out, "\n[{path}]\n");
        }
        for (name, value) in in_order(found) {
            let value = written(self, name, value);
            let remark = self.remark();
            let _ = writeln!(self.out, "{} = {value}{remark}", quoted_key(name));
        }
    }

    /// The comment after a value if something in it was redacted.
    fn remark(&self) -> &'static str {
        if self.has_redacted.take() { " # redacted: a secret in the file itself" } else { "" }
    }

    fn redacted(&self, text: &str) -> String {
        self.has_redacted.set(true);
        self::text(&"*".repeat(text.len()))
    }

    /// The effective value of a key that isn't a table. `None` means that it has none.
    fn value(&self, path: &str, key: &Key, found: Option<&Spanned<DeValue<'a>>>) -> Option<String> {
        match (path, key.name) {
            // Variables take precedence over the file here.
            ("gateway", "cache") => return Some(self.directory(&self.config.cache, found)),
            ("gateway", "state") => {
                return self.config.state.as_ref().map(|state| self.directory(state, found));
            }
            (path, "prefix") if found.is_none() => return path.strip_prefix("plugins.").map(text),
            _ => {}
        }
        if matches!(key.kind, ValueKind::Table(_) | ValueKind::Named(_) | ValueKind::Settings) {
            return None;
        }
        if let Some(found) = found {
            return Some(self.value_of_kind(&key.kind, found));
        }
        self.inherited(path, key).or_else(|| key.default.map(str::to_owned))
    }

    /// The value that a plugin inherits from `[defaults]`.
    fn inherited(&self, path: &str, key: &Key) -> Option<String> {
        let mut parts = path.strip_prefix("plugins.")?.split('.').skip(1);
        let defaults = self.defaults?;
        let found = match (parts.next(), key.name) {
            (Some("limits"), name) => table(defaults, "limits")?.get(name)?,
            (None, "portable_schemas") => defaults.get("portable_schemas")?,
            _ => return None,
        };
        Some(self.value_of_kind(&key.kind, found))
    }

    /// One of the gateway's own directories, as written in the file if that takes effect.
    fn directory(&self, path: &Path, found: Option<&Spanned<DeValue<'a>>>) -> String {
        let written = found.and_then(|found| found.get_ref().as_str());
        match written.filter(|written| self.absolute(written).is_some_and(|its| its == path)) {
            Some(written) => self.path(written),
            None => text(&path.to_string_lossy()),
        }
    }

    /// The absolute path of a path in the file.
    fn absolute(&self, raw: &str) -> Option<PathBuf> {
        std::path::absolute(self.base.join(self.interpolated(raw))).ok()
    }

    /// An absolute path. Variables in it are kept.
    fn path(&self, raw: &str) -> String {
        if is_builtin(&self.interpolated(raw)) {
            return toml::Value::from(raw).to_string();
        }
        if variables(raw).next().is_none() {
            return text(
                &self.absolute(raw).map_or_else(|| raw.into(), |path| path.to_string_lossy().into_owned()),
            );
        }
        if Path::new(&self.interpolated(raw)).is_absolute() {
            return toml::Value::from(raw).to_string();
        }
        let base = self.base.to_string_lossy().replace("${", "$${");
        toml::Value::from(format!("{}/{raw}", base.trim_end_matches('/'))).to_string()
    }

    /// A value with its paths absolute.
    fn value_of_kind(&self, kind: &ValueKind, value: &Spanned<DeValue<'a>>) -> String {
        match (value.get_ref(), kind.content()) {
            (DeValue::String(raw), _) if contains_secret(raw) => self.redacted(raw),
            (DeValue::String(raw), _) if matches!(kind, ValueKind::Path(_)) && !raw.contains("://") => {
                self.path(raw)
            }
            (DeValue::String(raw), _) => toml::Value::from(raw.as_ref()).to_string(),
            (DeValue::Array(items), Content::Items(item)) => {
                list(items.iter().map(|it| self.value_of_kind(item, it)))
            }
            (DeValue::Table(found), Content::Keys(keys) | Content::StringOrKeys(keys)) => {
                self.inline(keys, found)
            }
            (DeValue::Table(found), Content::Nothing) => self.inline(SECRET, found),
            (DeValue::Table(found), Content::Named(item)) => members(
                in_order(Some(found))
                    .into_iter()
                    .map(|(name, value)| (quoted_key(name), self.value_of_kind(item, value))),
            ),
            (
                DeValue::Array(_),
                Content::Nothing
                | Content::Keys(_)
                | Content::StringOrKeys(_)
                | Content::Named(_)
                | Content::Settings,
            )
            | (DeValue::Table(_), Content::Items(_) | Content::Settings)
            | (
                DeValue::Integer(_) | DeValue::Float(_) | DeValue::Boolean(_) | DeValue::Datetime(_),
                Content::Nothing
                | Content::Keys(_)
                | Content::StringOrKeys(_)
                | Content::Named(_)
                | Content::Items(_)
                | Content::Settings,
            ) => self.setting("", value),
        }
    }

    fn inline(&self, keys: &'static [Key], found: &DeTable<'a>) -> String {
        let is_prefix = |key: &Key| std::ptr::eq(keys, HEADER) && key.name == "prefix";
        let member = |key: &Key| {
            let value = match found.get(key.name) {
                // The prefix of a secret can be a secret too.
                Some(found) if is_prefix(key) && !is_harmless(found.get_ref()) => {
                    self.redacted(&plain(found.get_ref()))
                }
                Some(found) => self.value_of_kind(&key.kind, found),
                None => key.default?.to_owned(),
            };
            Some((key.name.to_owned(), value))
        };
        members(keys.iter().filter_map(member))
    }

    /// A setting as written in the file, with secrets redacted and paths of secrets absolute.
    fn setting(&self, key: &str, value: &Spanned<DeValue<'a>>) -> String {
        match value.get_ref() {
            DeValue::Array(items) => list(items.iter().map(|it| self.setting(key, it))),
            DeValue::Table(found) if is_secret_ref(found) => self.inline(SECRET, found),
            DeValue::Table(found) => members(
                in_order(Some(found))
                    .into_iter()
                    .map(|(name, value)| (quoted_key(name), self.setting(&format!("{key}.{name}"), value))),
            ),
            inner if !inner.is_bool() && is_secret_value(key, &plain(inner)) => self.redacted(&plain(inner)),
            DeValue::String(raw) => toml::Value::from(raw.as_ref()).to_string(),
            inner => plain(inner).into_owned(),
        }
    }

    fn interpolated(&self, raw: &str) -> String {
        interpolate(raw, self.environment).map_or_else(|_| raw.to_owned(), |filled| filled.text)
    }
}

/// Reports whether a header's prefix is only an authentication scheme or one use of a variable.
fn is_harmless(prefix: &DeValue<'_>) -> bool {
    prefix.as_str().is_none_or(|written| is_auth_scheme(written) || is_single_variable(written))
}

/// A scalar without quotes.
fn plain<'t>(value: &'t DeValue<'_>) -> Cow<'t, str> {
    match value {
        DeValue::String(raw) => Cow::Borrowed(raw.as_ref()),
        DeValue::Integer(number) => Cow::Owned(number.to_string()),
        DeValue::Float(number) => Cow::Owned(number.to_string()),
        DeValue::Boolean(answer) => Cow::Owned(answer.to_string()),
        DeValue::Datetime(time) => Cow::Owned(time.to_string()),
        DeValue::Array(_) | DeValue::Table(_) => Cow::Borrowed(""),
    }
}

/// A string literal without uses of variables.
fn text(text: &str) -> String {
    toml::Value::from(text.replace("${", "$${")).to_string()
}

fn list(items: impl Iterator<Item = String>) -> String {
    format!("[{}]", items.collect::<Vec<_>>().join(", "))
}

fn members(members: impl Iterator<Item = (String, String)>) -> String {
    let members: Vec<String> = members.map(|(name, value)| format!("{name} = {value}")).collect();
    if members.is_empty() { "{}".to_owned() } else { format!("{{ {} }}", members.join(", ")) }
}

fn table<'t>(found: &'t DeTable<'t>, name: &str) -> Option<&'t DeTable<'t>> {
    found.get(name)?.get_ref().as_table()
}

/// The members of a table, in the order of the file: of two conflicting plugins the first one wins.
fn in_order<'t, 'a>(found: Option<&'t DeTable<'a>>) -> Vec<(&'t str, &'t Spanned<DeValue<'a>>)> {
    let mut all: Vec<_> = found.into_iter().flat_map(DeTable::iter).collect();
    all.sort_by_key(|(key, _)| key.span().start);
    all.into_iter().map(|(key, value)| (key.get_ref().as_ref(), value)).collect()
}

fn below(path: &str, name: &str) -> String {
    let name = quoted_key(name);
    if path.is_empty() { name } else { format!("{path}.{name}") }
}

/// A key, in quotes if TOML needs them.
fn quoted_key(name: &str) -> String {
    let is_bare = !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-');
    if is_bare { name.to_owned() } else { toml::Value::from(name).to_string() }
}

#[cfg(test)]
mod tests;
