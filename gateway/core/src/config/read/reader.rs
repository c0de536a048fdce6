//! Typed reading of the parsed file: tables, keys and values with their places.
//!
//! Everything that is wrong is noted and reading goes on. Where a value is wrong its default stands in for it; that
//! is never seen, because a file with an error becomes no configuration.

use std::collections::BTreeSet;
use std::ops::Range;
use std::path::{Path, PathBuf};

use toml::de::{DeTable, DeValue};

use crate::config::Secret;
use crate::config::read::environment::Environment;
use crate::config::read::interpolate::{Expansion, Filled, expand};
use crate::config::spec::keys::{Key, Kind};
use crate::config::model::diagnostic::{Problem, quoted};
use crate::config::report::secrecy::{is_secret_variable, names_secret};
use crate::names::PluginId;

mod habits;
mod moved;
mod scalars;
mod spans;
mod types;
mod unknown;

pub(in crate::config) use habits::{Asked, TOKENS, asked_for};
pub(in crate::config) use scalars::{NameOrBoolean, TextOrTable};
pub(in crate::config) use spans::{Run, written_part};

/// What all stages of reading share.
pub(in crate::config) struct Reading<'a> {
    /// Where variables are looked up.
    pub(in crate::config) environment: &'a dyn Environment,
    /// The file's text, to find the place of a variable inside a value.
    pub(in crate::config) text: &'a str,
    /// The directory of the file, absolute: relative paths start here.
    pub(in crate::config) base: PathBuf,
    /// What is wrong so far.
    pub(in crate::config) problems: Vec<Problem>,
    /// The files that secrets were read from.
    pub(in crate::config) secret_files: Vec<PathBuf>,
    /// Every secret, and what is named like one.
    pub(in crate::config) secrets: Vec<Secret>,
    /// Every file that was looked at, and every directory that couldn't be used.
    pub(in crate::config) files: BTreeSet<PathBuf>,
    /// What is wrong for those who serve HTTP, and for nobody else.
    pub(in crate::config) of_http: Vec<Problem>,
    /// What the plugins' loading will say, but only where the rest of the file is right.
    pub(in crate::config) left_to_loading: Vec<Problem>,
    /// What leaves the gateway of variables, files and settings.
    pub(in crate::config) handed_out: Vec<HandedOut>,
    /// Where a secret stands in the file itself, though it shouldn't.
    pub(in crate::config) plain_secrets: Vec<Range<usize>>,
    /// What variables came to.
    pub(in crate::config) expansions: Vec<Expansion>,
    /// Where the format's version stands in a table, though it belongs to the top.
    misplaced_version: Option<Range<usize>>,
}

/// Something that a plugin, or a server for it, is given.
pub(in crate::config) struct HandedOut {
    /// Where in the file that is said.
    pub(in crate::config) place: Range<usize>,
    pub(in crate::config) text: Secret,
    /// What would be done with it, to stand after "this would".
    pub(in crate::config) how: &'static str,
}

impl HandedOut {
    /// The plugin reads it.
    pub(in crate::config) fn to_plugin(place: Range<usize>, text: Secret) -> Self {
        Self { place, text, how: "give the plugin" }
    }

    /// It is added to the plugin's requests.
    pub(in crate::config) fn to_server(place: Range<usize>, text: Secret) -> Self {
        Self { place, text, how: "send a server" }
    }
}

/// A table of the file.
#[derive(Clone)]
pub(in crate::config) struct Table<'t> {
    /// How it is written, such as `plugins.fetch.allow`; empty for the top level.
    pub(in crate::config) path: String,
    /// Where its name stands.
    pub(in crate::config) place: Range<usize>,
    entries: &'t DeTable<'t>,
    keys: &'static [Key],
}

/// A value of the file.
#[derive(Clone)]
pub(in crate::config) struct Value<'t> {
    /// How its key is written, such as `http.listen`.
    pub(in crate::config) path: String,
    /// Where it stands.
    pub(in crate::config) place: Range<usize>,
    /// Where its key stands; the value's own place for an item of a list.
    pub(in crate::config) key_place: Range<usize>,
    /// The value itself.
    pub(in crate::config) inner: &'t DeValue<'t>,
}

/// A text of the file, its variables filled in.
#[derive(Debug, Clone)]
pub(in crate::config) struct Text {
    /// The text.
    pub(in crate::config) text: String,
    /// Where it stands.
    pub(in crate::config) place: Range<usize>,
    /// How its key is written.
    pub(in crate::config) path: String,
    /// What the parser made of it, before variables were filled in.
    parsed: String,
    /// Where each stretch of the text comes from.
    runs: Vec<Run>,
}

impl Text {
    /// The text for people: what came from a variable that holds a secret, by its name or by how it looks, is left out.
    pub(in crate::config) fn without_secrets(&self) -> String {
        let shown = |run: &Run| match (&self.parsed[run.parsed.clone()], &self.text[run.filled.clone()]) {
            (written, filled) if is_secret_variable(written, filled) => "***".to_owned(),
            (_, filled) => filled.to_owned(),
        };
        self.runs.iter().map(shown).collect()
    }

    /// What stands in for a text that isn't there.
    pub(in crate::config) fn empty() -> Self {
        Self {
            text: String::new(),
            place: 0..0,
            path: String::new(),
            parsed: String::new(),
            runs: Vec::new(),
        }
    }
}

impl<'t> Table<'t> {
    /// The whole file.
    pub(in crate::config) fn root(entries: &'t DeTable<'t>, keys: &'static [Key]) -> Self {
        Self { path: String::new(), place: 0..0, entries, keys }
    }

    /// A table whose keys are nobody's business.
    pub(in crate::config) fn free(value: &Value<'_>, entries: &'t DeTable<'t>) -> Self {
        Self { path: value.path.clone(), place: value.key_place.clone(), entries, keys: &[] }
    }

    /// The value of a key.
    pub(in crate::config) fn get(&self, name: &str) -> Option<Value<'t>> {
        let (key, value) = self.entries.get_key_value(name)?;
        Some(self.value(key, value))
    }

    /// Is there such a key?
    fn has(&self, name: &str) -> bool {
        self.entries.contains_key(name)
    }

    /// Does the key table have such a key?
    fn has_key(&self, name: &str) -> bool {
        self.keys.iter().any(|key| key.name == name)
    }

    /// All keys with their values, in the order of the file.
    pub(in crate::config) fn entries(&self) -> Vec<(&'t str, Value<'t>)> {
        let mut entries: Vec<_> = self.entries.iter().collect();
        entries.sort_by_key(|(key, _)| key.span().start);
        entries.into_iter().map(|(key, value)| (&**key.get_ref(), self.value(key, value))).collect()
    }

    /// Where something stands that stands in this table: " in `[http]`".
    pub(in crate::config) fn within(&self) -> String {
        if self.path.is_empty() { String::new() } else { format!(" in `[{}]`", self.path) }
    }

    fn value(
        &self,
        key: &'t toml::Spanned<std::borrow::Cow<'t, str>>,
        value: &'t toml::Spanned<DeValue<'t>>,
    ) -> Value<'t> {
        Value {
            path: join(&self.path, key.get_ref()),
            place: value.span(),
            key_place: key.span(),
            inner: value.get_ref(),
        }
    }

    /// A value such as may stand under a key here, where the table's own name tells of one.
    fn example(&self, key: &Key) -> Option<String> {
        let name = self.path.strip_prefix("plugins.").filter(|_| key.name == "source")?;
        Some(format!("\"{}.wasm\"", PluginId::new(name).ok()?))
    }

    /// What the key table says of a key of this table.
    fn key(&self, name: &str) -> &'static Key {
        let found = self.keys.iter().find(|key| key.name == name);
        found.expect("the reader asks only for keys that stand in the key table")
    }
}

/// The path of a key in a table, quoted where TOML wants that.
fn join(table: &str, key: &str) -> String {
    let bare = !key.is_empty() && key.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-');
    let key = if bare { key.to_owned() } else { format!("{key:?}") };
    if table.is_empty() { key } else { format!("{table}.{key}") }
}

impl<'a> Reading<'a> {
    pub(in crate::config) fn new(file: &Path, text: &'a str, environment: &'a dyn Environment) -> Self {
        let base = file.parent().map(Path::to_owned).unwrap_or_default();
        Self {
            environment,
            text,
            base,
            problems: Vec::new(),
            secret_files: Vec::new(),
            secrets: Vec::new(),
            files: BTreeSet::from([file.to_owned()]),
            of_http: Vec::new(),
            left_to_loading: Vec::new(),
            handed_out: Vec::new(),
            plain_secrets: Vec::new(),
            expansions: Vec::new(),
            misplaced_version: None,
        }
    }

    /// Notes what must never be shown.
    pub(in crate::config) fn note_secret(&mut self, secret: Secret) {
        if !secret.expose().is_empty() && !self.secrets.contains(&secret) {
            self.secrets.push(secret);
        }
    }

    /// Notes a problem.
    pub(in crate::config) fn note(&mut self, problem: Problem) {
        self.problems.push(problem);
    }

    /// Takes a value as a table with these keys; unknown and missing ones are noted.
    pub(in crate::config) fn as_table<'t>(&mut self, value: &Value<'t>, keys: &'static [Key]) -> Option<Table<'t>> {
        self.as_table_without(value, keys, &[])
    }

    /// The same, where it is explained already why some keys are missing.
    pub(in crate::config) fn as_table_without<'t>(
        &mut self,
        value: &Value<'t>,
        keys: &'static [Key],
        explained: &[&str],
    ) -> Option<Table<'t>> {
        let DeValue::Table(entries) = value.inner else {
            self.wrong_type(value, &Kind::Table(keys));
            return None;
        };
        if keys.iter().any(|key| key.name == "token") && names_secret(entries) {
            let problem = Problem::error(format!("`{}` doesn't say whom the token stands for", value.path));
            let hint = format!("write `{}`", moved::token(value.inner));
            self.note(problem.at(value.place.clone()).hint(hint));
            return None;
        }
        let table = Table { path: value.path.clone(), place: value.key_place.clone(), entries, keys };
        self.check_keys(&table, explained);
        Some(table)
    }

    /// Notes the keys that a table shouldn't have, and those that it lacks, but for those whose lack is explained already.
    pub(in crate::config) fn check_keys(&mut self, table: &Table<'_>, explained: &[&str]) {
        let mut meant = self.note_unknown(table);
        if table.path.is_empty() && !table.has("version") && self.note_misplaced_version(table.entries, "") {
            meant.push("version");
        }
        let is_missing = |key: &&Key| {
            key.required && !table.entries.contains_key(key.name) && !explained.contains(&key.name)
        };
        // A slip that explains it was noted with its cure.
        for key in table.keys.iter().filter(is_missing).filter(|key| !meant.contains(&key.name)) {
            let problem = Problem::error(format!("`{}` is missing{}", key.name, table.within()));
            let hint = match key.kind {
                Kind::Version => "start the file with `version = 1`".to_owned(),
                Kind::Secret => format!("add `{} = {{ env = \"NAME\" }}`", key.name),
                kind => {
                    let value = table.example(key).unwrap_or_else(|| kind.example());
                    format!("add `{} = {value}`: {}", key.name, first_sentence(key.doc))
                }
            };
            let problem = problem.hint(hint);
            self.note(if table.path.is_empty() { problem } else { problem.at(table.place.clone()) });
        }
    }

    /// Notes the format's version where it stands below the header of a table, to which it belongs there.
    fn note_misplaced_version(&mut self, entries: &DeTable<'_>, path: &str) -> bool {
        for (key, value) in entries.iter() {
            let its = key.get_ref().as_ref();
            match value.get_ref() {
                DeValue::Integer(number)
                    if its == "version" && !path.is_empty() && number.as_str() == "1" =>
                {
                    let problem = Problem::error(format!("`version` stands in `[{path}]`, below its header"));
                    let problem = problem.at(key.span());
                    self.note(problem.hint("move it to the top of the file, before the first header"));
                    self.misplaced_version = Some(key.span());
                    return true;
                }
                // A plugin may have such a setting.
                DeValue::Table(inner)
                    if its != "config" && self.note_misplaced_version(inner, &join(path, its)) =>
                {
                    return true;
                }
                DeValue::Array(items) => {
                    // What follows the header of a list's item belongs to the last one.
                    let path = join(path, its);
                    let last = items.iter().last().and_then(|item| item.get_ref().as_table());
                    if last.is_some_and(|last| self.note_misplaced_version(last, &path)) {
                        return true;
                    }
                }
                _ => {}
            }
        }
        false
    }

    /// The table under a key, if it is there.
    pub(in crate::config) fn table<'t>(&mut self, parent: &Table<'t>, name: &str) -> Option<Table<'t>> {
        let value = parent.get(name)?;
        match parent.key(name).kind {
            Kind::Table(keys) => self.as_table(&value, keys),
            kind => {
                self.wrong_type(&value, &kind);
                None
            }
        }
    }

    /// The entries of a table whose keys the operator chooses, in the order of the file.
    pub(in crate::config) fn named<'t>(&mut self, parent: &Table<'t>, name: &str) -> Vec<(&'t str, Value<'t>)> {
        let Some(value) = parent.get(name) else { return Vec::new() };
        let DeValue::Table(entries) = value.inner else {
            self.wrong_type(&value, &parent.key(name).kind);
            return Vec::new();
        };
        Table { path: value.path, place: value.key_place, entries, keys: &[] }.entries()
    }

    /// The items of a list; nothing where the key is missing.
    pub(in crate::config) fn items<'t>(&mut self, parent: &Table<'t>, name: &str) -> Option<Vec<Value<'t>>> {
        let value = parent.get(name)?;
        let DeValue::Array(items) = value.inner else {
            self.wrong_type(&value, &parent.key(name).kind);
            return Some(Vec::new());
        };
        let item = |(index, item): (usize, &'t toml::Spanned<DeValue<'t>>)| Value {
            path: format!("{}[{index}]", value.path),
            place: item.span(),
            key_place: item.span(),
            inner: item.get_ref(),
        };
        Some(items.iter().enumerate().map(item).collect())
    }

    /// A list of tables.
    pub(in crate::config) fn tables<'t>(&mut self, parent: &Table<'t>, name: &str) -> Vec<Table<'t>> {
        let Kind::List(Kind::Table(keys)) = parent.key(name).kind else {
            unreachable!("`{name}` is a list of tables in the key table")
        };
        let items = self.items(parent, name).unwrap_or_default();
        items.iter().filter_map(|item| self.as_table(item, keys)).collect()
    }

    /// A list of texts; nothing where the key is missing.
    pub(in crate::config) fn texts(&mut self, parent: &Table<'_>, name: &str) -> Option<Vec<Text>> {
        let Kind::List(kind) = parent.key(name).kind else {
            unreachable!("`{name}` is a list in the key table")
        };
        let items = self.items(parent, name)?;
        Some(items.iter().filter_map(|item| self.as_text(item, kind)).collect())
    }

    /// A text, its variables filled in.
    pub(in crate::config) fn text(&mut self, parent: &Table<'_>, name: &str) -> Option<Text> {
        let value = parent.get(name)?;
        self.as_text(&value, &parent.key(name).kind)
    }

    /// Takes a value as a text and fills its variables in.
    pub(in crate::config) fn as_text(&mut self, value: &Value<'_>, kind: &Kind) -> Option<Text> {
        let DeValue::String(raw) = value.inner else {
            self.wrong_type(value, kind);
            return None;
        };
        let Filled { text, runs } = self.filled(value, raw)?;
        if let Kind::Word(words) = kind
            && !words.contains(&text.as_str())
        {
            let message = format!("`{}` must be {}, not {}", value.path, kind.expected(), quoted(&text));
            let problem = Problem::error(message).at(value.place.clone());
            self.note(
                match other_mode(&text).filter(|mode| words.contains(mode)).or_else(|| begun(&text, words)) {
                    Some(mode) => problem.hint(format!("did you mean `{mode}`?")),
                    None => unknown::suggest(&text, words.iter().copied(), problem),
                },
            );
            return None;
        }
        let (place, path) = (value.place.clone(), value.path.clone());
        Some(Text { text, place, path, parsed: raw.to_string(), runs })
    }

    /// Fills in the variables of a text that stands at `value`.
    pub(in crate::config) fn expanded(&mut self, value: &Value<'_>, raw: &str) -> Option<String> {
        self.filled(value, raw).map(|filled| filled.text)
    }

    fn filled(&mut self, value: &Value<'_>, raw: &str) -> Option<Filled> {
        let written = self.text.get(value.place.clone()).unwrap_or("");
        match expand(raw, self.environment) {
            Ok(filled) => {
                for run in &filled.runs {
                    let value = &filled.text[run.filled.clone()];
                    if is_secret_variable(&raw[run.parsed.clone()], value) {
                        self.note_secret(Secret::new(value));
                    }
                }
                self.expansions.extend(filled.expansions(raw, &value.place));
                Some(filled)
            }
            Err(faults) => {
                for fault in faults {
                    if let Some(hidden) = fault.hidden(&value.path) {
                        let part = written_part(written, raw, hidden);
                        let start = value.place.start;
                        let place = part.map(|part| start + part.start..start + part.end);
                        self.plain_secrets.push(place.unwrap_or_else(|| value.place.clone()));
                    }
                    self.note(fault.into_problem(value, written, raw, self.environment));
                }
                None
            }
        }
    }
}

/// What `ro` and `rw` are called elsewhere.
fn other_mode(text: &str) -> Option<&'static str> {
    let text = text.to_ascii_lowercase();
    match text.as_str() {
        _ if text.contains("write") || text == "w" => Some("rw"),
        _ if text.starts_with("read") || text == "r" => Some("ro"),
        _ => None,
    }
}

/// The one word that begins as the text does.
fn begun(text: &str, words: &[&'static str]) -> Option<&'static str> {
    let stem = text.get(..4)?.to_ascii_lowercase();
    let mut alike = words.iter().filter(|word| word.starts_with(&stem));
    alike.next().copied().filter(|_| alike.next().is_none())
}

fn first_sentence(doc: &str) -> String {
    let end = doc.find(". ").unwrap_or(doc.len());
    let mut sentence = doc[..end].trim_end_matches('.').to_owned();
    if let Some(first) = sentence.get(..1).map(str::to_lowercase) {
        sentence.replace_range(..1, &first);
    }
    sentence
}
