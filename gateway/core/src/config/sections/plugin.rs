//! `[plugins.<id>]`: one plugin's table.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use crate::config::spec::keys::{Kind, ROOT};
use crate::config::model::diagnostic::{Problem, quoted};
use crate::config::read::reader::{Reading, Table, Text, Value};
use crate::config::{Exposure, LimitKey, Limits, PluginConfig, Spot};
use crate::names::{Digest, NameError, PluginId, PublicName, ResourceUri, ToolName};

/// What names are made of.
const LETTERS: &str = "choose one of ASCII letters, digits, `_` and `-`";

/// Which names are meant.
const OWN: &str = "give the plugin's own name for it, without the prefix; `moongate inspect` shows them";

/// `[defaults]`: what holds for every plugin that doesn't say otherwise.
#[derive(Default)]
pub(in crate::config) struct Defaults {
    limits: Limits,
    portable_schemas: bool,
    /// Where the limits stand.
    places: BTreeMap<Spot, Range<usize>>,
}

impl Reading<'_> {
    /// Reads `[defaults]`.
    pub(in crate::config) fn defaults(&mut self, root: &Table<'_>) -> Defaults {
        let usual = Defaults::default();
        let Some(table) = self.table(root, "defaults") else { return usual };
        Defaults {
            portable_schemas: self.boolean(&table, "portable_schemas", usual.portable_schemas),
            places: places_of_limits(&table),
            limits: match self.table(&table, "limits") {
                Some(limits) => self.limits(&limits, &usual.limits),
                None => usual.limits,
            },
        }
    }

    /// Reads `[plugins]`, in the order of the file.
    pub(in crate::config) fn plugins(&mut self, root: &Table<'_>, defaults: &Defaults) -> Vec<PluginConfig> {
        let plugin = ROOT.iter().find(|key| key.name == "plugins").map(|key| key.kind);
        let Some(Kind::Named(Kind::Table(keys))) = plugin else { unreachable!("`plugins` has named tables") };
        let mut plugins = Vec::new();
        let named = self.named(root, "plugins");
        for (name, value) in &named {
            let id = self.accept(
                PluginId::new(name),
                &value.key_place,
                "a plugin can't be called so",
                &instead(name),
            );
            let slip = slip(name, value, &named);
            let explained: &[&str] = if slip.is_some() { &["source"] } else { &[] };
            self.problems.extend(slip);
            let Some(table) = self.as_table_without(value, keys, explained) else { continue };
            let id = id.unwrap_or_else(|| PluginId::new("unnamed").expect("it is a good name"));
            plugins.push(self.plugin(id, value, &table, defaults));
        }
        plugins
    }

    fn plugin(
        &mut self,
        id: PluginId,
        value: &Value<'_>,
        table: &Table<'_>,
        defaults: &Defaults,
    ) -> PluginConfig {
        let source = self.text(table, "source");
        let (config, filled_from) =
            table.get("config").map(|config| self.settings(&config)).unwrap_or_default();
        let sha256 = self.text(table, "sha256");
        let mut places = defaults.places.clone();
        places.extend(places_of_limits(table));
        places.extend(table.get("config").iter().flat_map(places_of_settings));
        places.extend(sha256.as_ref().map(|text| (Spot::Sha256, text.place.clone())));
        PluginConfig {
            prefix: self.prefix(table).unwrap_or_else(|| id.as_str().to_owned()),
            id,
            place: value.key_place.clone(),
            source_place: source
                .as_ref()
                .map_or_else(|| value.key_place.clone(), |source| source.place.clone()),
            source: source.and_then(|source| self.component(&source)).unwrap_or_default(),
            sha256: sha256.and_then(|text| {
                let hint = match text.text.split_once(':') {
                    Some((kind, digest)) if digest.parse::<Digest>().is_ok() => {
                        format!("leave `{kind}:` away")
                    }
                    _ => "`moongate inspect FILE` shows the digest of a component".to_owned(),
                };
                self.accept(
                    text.text.parse::<Digest>(),
                    &text.place,
                    "no content can have this digest",
                    &hint,
                )
            }),
            reload: self.reload(table),
            instances: self.instances(table),
            tools: self.table(table, "tools").map(|tools| self.exposure(&tools)).unwrap_or_default(),
            uris: self.uris(table),
            portable_schemas: self.boolean(table, "portable_schemas", defaults.portable_schemas),
            allow: self.table(table, "allow").map(|allow| self.grants(&allow)).unwrap_or_default(),
            limits: match self.table(table, "limits") {
                Some(limits) => self.limits(&limits, &defaults.limits),
                None => defaults.limits.clone(),
            },
            config,
            filled_from,
            places,
        }
    }

    /// Notes a name that isn't one.
    fn accept<T>(
        &mut self,
        read: Result<T, NameError>,
        place: &Range<usize>,
        what: &str,
        hint: &str,
    ) -> Option<T> {
        match read {
            Ok(name) => Some(name),
            Err(error) => {
                let hint = match &error {
                    NameError::TooLong { .. } => "shorten it",
                    NameError::BadCharacter { name, .. } if hint == OWN && name.contains('*') => {
                        "name each tool: there are no wildcards here; `moongate inspect` shows the names"
                    }
                    NameError::Empty
                    | NameError::BadCharacter { .. }
                    | NameError::BadUri { .. }
                    | NameError::BadDigest(_) => hint,
                };
                self.note(Problem::error(format!("{what}: {error}")).at(place.clone()).hint(hint));
                None
            }
        }
    }

    fn prefix(&mut self, table: &Table<'_>) -> Option<String> {
        let text = self.text(table, "prefix")?;
        if !text.text.is_empty() {
            self.accept(PluginId::new(&text.text), &text.place, "a prefix can't be called so", LETTERS)?;
        }
        Some(text.text)
    }

    fn uris(&mut self, table: &Table<'_>) -> Vec<String> {
        let texts = self.texts(table, "uris").unwrap_or_default();
        let uri = |text: Text| {
            let uri = self.accept(
                ResourceUri::new(&text.text),
                &text.place,
                "only a URI can be granted",
                "write a whole one, or how several begin, such as \"notes://\"",
            )?;
            Some(uri.as_str().to_owned())
        };
        texts.into_iter().filter_map(uri).collect()
    }

    fn exposure(&mut self, tools: &Table<'_>) -> Exposure {
        let allow = self.texts(tools, "allow").map(|names| self.tool_names(names));
        let deny = self.texts(tools, "deny").map(|names| self.tool_names(names)).unwrap_or_default();
        for (name, denied) in &deny {
            if let Some(allowed) = allow.as_ref().and_then(|allow| allow.get(name)) {
                let message = format!("the tool `{name}` is both allowed and denied");
                let problem =
                    Problem::error(message).at(denied.clone()).related(allowed.clone(), "allowed here");
                self.note(problem.hint("remove it from one of the two"));
            }
        }
        if let Some(value) =
            tools.get("allow").filter(|value| value.inner.as_array().is_some_and(|list| list.is_empty()))
        {
            let problem = Problem::warning("an empty `allow` offers no tool at all").at(value.place);
            self.note(problem.hint("leave it out to offer all tools"));
        }
        let renamed = self.named(tools, "rename");
        let rename = self.renames(&renamed);
        let offered = |name: &str| {
            allow.as_ref().is_none_or(|allow| allow.contains_key(name)) && !deny.contains_key(name)
        };
        for (name, value) in renamed.iter().filter(|(name, _)| !offered(name)) {
            let problem = Problem::warning(format!("{} is renamed, but not offered", quoted(name)));
            self.note(
                problem
                    .at(value.key_place.clone())
                    .hint("the other names are the plugin's own, before renaming"),
            );
        }
        let mut places: BTreeMap<_, _> =
            renamed.iter().map(|(name, value)| ((*name).to_owned(), value.key_place.clone())).collect();
        places.extend(allow.iter().flatten().chain(&deny).map(|(name, place)| (name.clone(), place.clone())));
        let names = |names: BTreeMap<String, _>| names.into_keys().collect::<BTreeSet<_>>();
        Exposure { allow: allow.map(names), deny: names(deny), rename, places }
    }

    /// The tools' names, each with its place.
    fn tool_names(&mut self, texts: Vec<Text>) -> BTreeMap<String, Range<usize>> {
        let mut names = BTreeMap::new();
        for text in texts {
            if self.accept(ToolName::new(&text.text), &text.place, "no tool can be called so", OWN).is_some()
            {
                names.insert(text.text, text.place);
            }
        }
        names
    }

    fn renames(&mut self, renamed: &[(&str, Value<'_>)]) -> BTreeMap<String, PublicName> {
        let mut renames = BTreeMap::new();
        let mut taken: BTreeMap<PublicName, Range<usize>> = BTreeMap::new();
        for (name, value) in renamed {
            self.accept(ToolName::new(name), &value.key_place, "no tool can be called so", OWN);
            let Some(text) = self.as_text(value, &Kind::Text("a public name")) else { continue };
            let public =
                self.accept(PublicName::new(&text.text), &text.place, "no tool can be called so", LETTERS);
            let Some(public) = public else { continue };
            if let Some(first) = taken.get(&public) {
                let problem =
                    Problem::error(format!("two tools can't both be called {}", quoted(public.as_str())));
                let problem = problem.at(text.place.clone()).related(first.clone(), "first here");
                self.note(problem.hint("give each its own name"));
            }
            taken.entry(public.clone()).or_insert(text.place);
            renames.insert((*name).to_owned(), public);
        }
        renames
    }
}

/// The tables of a plugin that another has, whose name they were probably meant to have: there is nothing to load.
fn slip(name: &str, value: &Value<'_>, all: &[(&str, Value<'_>)]) -> Option<Problem> {
    let entries = value.inner.as_table().map(|entries| Table::free(value, entries).entries())?;
    if entries.is_empty() || entries.iter().any(|(_, value)| !value.inner.is_table()) {
        return None;
    }
    let loaded = all.iter().filter(|(other, value)| *other != name && value.inner.get("source").is_some());
    let meant = crate::names::alike(name, loaded.map(|(other, _)| *other))?;
    let tables: Vec<_> = entries.iter().map(|(key, _)| format!("`[plugins.{meant}.{key}]`")).collect();
    let problem = Problem::error(format!("`source` is missing in `[{}]`", value.path));
    Some(problem.at(value.key_place.clone()).hint(format!("did you mean {}?", tables.join(" and "))))
}

/// What to call a plugin instead.
fn instead(name: &str) -> String {
    let mark = |c: char| if c.is_ascii_alphanumeric() || c == '_' { c } else { '-' };
    match PluginId::new(&name.trim().chars().map(mark).collect::<String>()) {
        Ok(id) if id.as_str() != name => format!("write `[plugins.{}]`", id.as_str()),
        Ok(_) | Err(_) => LETTERS.to_owned(),
    }
}

/// Where the limits of a table stand.
fn places_of_limits(table: &Table<'_>) -> BTreeMap<Spot, Range<usize>> {
    let limits = table.get("limits");
    let entries = limits.as_ref().and_then(|limits| Some((limits, limits.inner.as_table()?)));
    let entries = entries.map(|(limits, entries)| Table::free(limits, entries).entries()).unwrap_or_default();
    let spot = |name: &str| LimitKey::ALL.into_iter().find(|key| key.as_str() == name).map(Spot::Limit);
    entries.into_iter().filter_map(|(key, value)| Some((spot(key)?, value.place))).collect()
}

/// Where the settings of a plugin stand, and their keys.
fn places_of_settings(config: &Value<'_>) -> BTreeMap<Spot, Range<usize>> {
    let entries = config.inner.as_table().map(|entries| Table::free(config, entries).entries());
    let mut places = BTreeMap::from([(Spot::Settings, config.key_place.clone())]);
    for (key, value) in entries.unwrap_or_default() {
        places.insert(Spot::SettingKey(key.to_owned()), value.key_place);
        places.insert(Spot::SettingValue(key.to_owned()), value.place);
    }
    places
}
