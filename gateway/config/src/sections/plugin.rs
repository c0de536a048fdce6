//! `[defaults]` and `[plugins.NAME]`.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use super::item_filter::read_filter;
use super::limits::read_limits;
use super::rates::read_tool_rates;
use super::settings::read_settings;
use super::sources::SourceReader;
use crate::grants::read_grants;
use crate::model::{
    Diagnostic, InstancePolicy, LimitKey, Limits, PluginConfig, ReloadPolicy, SourceField, StateGrant,
    StateScope,
};
use crate::read::{ConfigReader, TomlString, TomlTable, TomlValue};
use crate::spec::keys::{ROOT, ValueKind};
use moongate_model::builtin_plugin::BuiltinPlugin;
use moongate_model::manifest::ItemKind;
use moongate_model::names::{Digest, NameError, PluginId, ResourceUri};
use moongate_model::text::nearest_name;

pub(super) const NAME_HINT: &str = "use only ASCII letters, digits, `_` and `-`";

/// `[defaults]`: defaults for all plugins.
#[derive(Default)]
pub(crate) struct PluginDefaults {
    limits: Limits,
    portable_schemas: bool,
    /// The byte ranges of the limits.
    places: BTreeMap<SourceField, Range<usize>>,
}

/// Reads `[defaults]`.
pub(crate) fn read_defaults(reader: &mut ConfigReader<'_>, root: &TomlTable<'_>) -> PluginDefaults {
    let default = PluginDefaults::default();
    let Some(table) = reader.table(root, "defaults") else { return default };
    PluginDefaults {
        portable_schemas: reader.boolean(&table, "portable_schemas", default.portable_schemas),
        places: limit_places(&table),
        limits: match reader.table(&table, "limits") {
            Some(limits) => read_limits(reader, &limits, &default.limits),
            None => default.limits,
        },
    }
}

/// Reads `[plugins]`, in the order of the file.
pub(crate) fn read_plugins(
    reader: &mut ConfigReader<'_>,
    root: &TomlTable<'_>,
    defaults: &PluginDefaults,
    sources: &SourceReader,
) -> Vec<PluginConfig> {
    let plugin = ROOT.iter().find(|key| key.name == "plugins").map(|key| key.kind);
    let Some(kind @ ValueKind::Named(ValueKind::Table(keys))) = plugin else {
        unreachable!("`plugins` has named tables in the key table")
    };
    let mut plugins = Vec::new();
    let named = reader.named_entries(root, "plugins");
    for (name, value) in &named {
        let id =
            or_report_name(reader, PluginId::new(name), &value.key_span, "invalid plugin name", NAME_HINT);
        let Some(entries) = value.inner.as_table() else {
            let ValueKind::Named(table) = kind else { continue };
            reader.report_wrong_type(value, table);
            continue;
        };
        let table = TomlTable { path: value.path.clone(), span: value.key_span.clone(), entries, keys };
        let misspelt = misspelt_plugin(name, value, &named);
        let explained: &[&str] = if misspelt.is_some() { &["source"] } else { &[] };
        reader.problems.extend(misspelt);
        reader.check_keys(&table, explained);
        let id = id.unwrap_or_else(|| PluginId::new("unnamed").expect("a valid name"));
        let inherited = InheritedConfig { defaults, sources };
        plugins.push(read_plugin(reader, id, value, &table, inherited));
    }
    plugins
}

/// The parts of the configuration outside a plugin's table that it depends on.
#[derive(Clone, Copy)]
struct InheritedConfig<'a> {
    defaults: &'a PluginDefaults,
    sources: &'a SourceReader,
}

fn read_plugin(
    reader: &mut ConfigReader<'_>,
    id: PluginId,
    value: &TomlValue<'_>,
    table: &TomlTable<'_>,
    InheritedConfig { defaults, sources }: InheritedConfig<'_>,
) -> PluginConfig {
    let config = table.get("config");
    let (settings, filled_from) =
        config.as_ref().map(|config| read_settings(reader, config)).unwrap_or_default();
    let sha256 = reader.string(table, "sha256");
    let mut places = defaults.places.clone();
    places.extend(limit_places(table));
    places.extend(config.iter().flat_map(setting_places));
    places.extend(sha256.as_ref().map(|text| (SourceField::Sha256, text.span.clone())));
    let sha256 = sha256.and_then(|text| {
        let hint = "run `moongate inspect FILE` to get the digest of a component";
        or_report_name(reader, text.text.parse::<Digest>(), &text.span, "invalid digest", hint)
    });
    let source = table.get("source").filter(|source| source.inner.is_str());
    let source_span = source.map_or_else(|| value.key_span.clone(), |source| source.span);
    let component = sources.read_component(reader, &id, table, sha256.as_ref());
    let (source, remote) = component.unwrap_or_default();
    let builtin = source.to_str().and_then(BuiltinPlugin::from_source);
    let locked = remote.as_ref().and_then(|remote| remote.locked.as_ref().ok());
    PluginConfig {
        prefix: read_prefix(reader, table).unwrap_or_else(|| id.as_str().to_owned()),
        id,
        span: value.key_span.clone(),
        source_span,
        source,
        builtin,
        sha256: sha256.or(locked.map(|locked| locked.component)),
        remote: remote.map(Arc::new),
        reload: match word(reader, table, "reload").as_deref() {
            Some("pinned") => ReloadPolicy::Pinned,
            Some(_) | None => ReloadPolicy::Live, // any other word was reported
        },
        instances: match word(reader, table, "instances").as_deref() {
            Some("reused") => InstancePolicy::Reused,
            Some(_) | None => InstancePolicy::Fresh, // any other word was reported
        },
        tools: read_filter(reader, table, ItemKind::Tool),
        prompts: read_filter(reader, table, ItemKind::Prompt),
        resources: read_filter(reader, table, ItemKind::Resource),
        uris: read_uris(reader, table),
        portable_schemas: reader.boolean(table, "portable_schemas", defaults.portable_schemas),
        allow: reader.table(table, "allow").map(|allow| read_grants(reader, &allow)).unwrap_or_default(),
        limits: match reader.table(table, "limits") {
            Some(limits) => read_limits(reader, &limits, &defaults.limits),
            None => defaults.limits.clone(),
        },
        rates: read_tool_rates(reader, table),
        settings,
        setting_origins: filled_from,
        spans: places,
    }
}

fn word(reader: &mut ConfigReader<'_>, table: &TomlTable<'_>, name: &str) -> Option<String> {
    reader.string(table, name).map(|word| word.text)
}

/// Reports an invalid name.
pub(super) fn or_report_name<T>(
    reader: &mut ConfigReader<'_>,
    read: Result<T, NameError>,
    span: &Range<usize>,
    what: &str,
    hint: &str,
) -> Option<T> {
    match read {
        Ok(name) => Some(name),
        Err(error) => {
            let hint = match &error {
                NameError::TooLong { .. } => "shorten it",
                NameError::BadOwnCharacter { found: '*', .. } => {
                    "list each name: wildcards aren't supported here; `moongate inspect` lists the names"
                }
                NameError::Empty
                | NameError::BadCharacter { .. }
                | NameError::BadOwnCharacter { .. }
                | NameError::BadUri { .. }
                | NameError::BadDigest(_) => hint,
            };
            let message = match &error {
                NameError::BadDigest(_) => "invalid `sha256`: expected 64 hexadecimal digits".to_owned(),
                _ => format!("{what}: {error}"),
            };
            reader.report(Diagnostic::error(message).with_span(span.clone()).with_hint(hint));
            None
        }
    }
}

fn read_prefix(reader: &mut ConfigReader<'_>, table: &TomlTable<'_>) -> Option<String> {
    let text = reader.string(table, "prefix")?;
    if !text.text.is_empty() {
        or_report_name(reader, PluginId::new(&text.text), &text.span, "invalid prefix", NAME_HINT)?;
    }
    Some(text.text)
}

fn read_uris(reader: &mut ConfigReader<'_>, table: &TomlTable<'_>) -> Vec<String> {
    let texts = reader.strings(table, "uris").unwrap_or_default();
    let hint = "write a whole URI or the start of several, such as \"notes://\"";
    let uri = |text: TomlString| {
        // A scheme with `:` is the start of URIs too.
        let uri = ResourceUri::new(&text.text)
            .or_else(|error| ResourceUri::new(&format!("{}x", text.text)).map_err(|_| error));
        or_report_name(reader, uri, &text.span, "invalid URI", hint).map(|_| text.text)
    };
    texts.into_iter().filter_map(uri).collect()
}

/// Errors for plugins that would keep state in memory for each caller: the number of callers is unlimited, and so would
/// be the memory.
pub(crate) fn callers_state_in_memory(plugins: &[Arc<PluginConfig>]) -> impl Iterator<Item = Diagnostic> {
    let of_callers = plugins
        .iter()
        .map(|plugin| &plugin.allow)
        .filter(|allow| allow.state != StateGrant::NotGranted && allow.state_scope == StateScope::Caller);
    of_callers.map(|allow| {
        let span = allow.spans.get("state_scope").cloned().unwrap_or_default();
        Diagnostic::error("`state_scope = \"caller\"` needs a directory or a store for the callers' state")
            .with_span(span)
            .with_hint("set `state` in `[gateway]`, such as `state = \"state\"`, or add `[store]`")
    })
}

/// Diagnostics for plugin tables without `source` whose names are similar to that of another plugin.
fn misspelt_plugin(name: &str, value: &TomlValue<'_>, all: &[(&str, TomlValue<'_>)]) -> Option<Diagnostic> {
    let entries = value.inner.as_table().map(|entries| TomlTable::untyped(value, entries).entries())?;
    if entries.is_empty() || entries.iter().any(|(_, value)| !value.inner.is_table()) {
        return None;
    }
    let loaded = all.iter().filter(|(other, value)| *other != name && value.inner.get("source").is_some());
    let near = nearest_name(name, loaded.map(|(other, _)| *other))?;
    let problem = Diagnostic::error(format!("missing key `source` in `[{}]`", value.path));
    Some(problem.with_span(value.key_span.clone()).with_hint(format!("did you mean `[plugins.{near}]`?")))
}

/// The byte ranges of the limits of a table.
fn limit_places(table: &TomlTable<'_>) -> BTreeMap<SourceField, Range<usize>> {
    let limits = table.get("limits");
    let entries = limits.as_ref().and_then(|limits| Some((limits, limits.inner.as_table()?)));
    let entries =
        entries.map(|(limits, entries)| TomlTable::untyped(limits, entries).entries()).unwrap_or_default();
    let spot =
        |name: &str| LimitKey::ALL.into_iter().find(|key| key.as_str() == name).map(SourceField::Limit);
    entries.into_iter().filter_map(|(key, value)| Some((spot(key)?, value.span))).collect()
}

/// The byte ranges of the settings of a plugin and of their keys.
fn setting_places(config: &TomlValue<'_>) -> BTreeMap<SourceField, Range<usize>> {
    let entries = config.inner.as_table().map(|entries| TomlTable::untyped(config, entries).entries());
    let mut places = BTreeMap::from([(SourceField::Settings, config.key_span.clone())]);
    for (key, value) in entries.unwrap_or_default() {
        places.insert(SourceField::SettingKey(key.to_owned()), value.key_span);
        places.insert(SourceField::SettingValue(key.to_owned()), value.span);
    }
    places
}
