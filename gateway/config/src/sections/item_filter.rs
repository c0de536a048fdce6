//! `tools`, `prompts` and `resources` of a plugin: the offered items and their public names.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use moongate_model::manifest::ItemKind;
use moongate_model::names::{NameError, PromptName, PublicName, ToolName};

use super::plugin::{NAME_HINT, or_report_name};
use crate::model::diagnostic::quoted;
use crate::model::{Diagnostic, ItemFilter};
use crate::read::{ConfigReader, TomlString, TomlTable, TomlValue};
use crate::spec::keys::ValueKind;

const OWN_NAME_HINT: &str =
    "write the plugin's own name for it, without the prefix; `moongate inspect` lists them";

/// Reads the table of a plugin that selects items of this kind.
pub(super) fn read_filter(
    reader: &mut ConfigReader<'_>,
    plugin: &TomlTable<'_>,
    kind: ItemKind,
) -> ItemFilter {
    let Some(table) = reader.table(plugin, kind.config_table()) else { return ItemFilter::default() };
    let allow = reader.strings(&table, "allow").map(|names| own_names(reader, kind, names));
    let deny = reader.strings(&table, "deny").map(|names| own_names(reader, kind, names)).unwrap_or_default();
    let what = kind.as_str();
    for (name, denied) in &deny {
        if let Some(allowed) = allow.as_ref().and_then(|allow| allow.get(name)) {
            let problem =
                Diagnostic::error(format!("the {what} {} is both allowed and denied", quoted(name)));
            let problem = problem.with_span(denied.clone()).with_related(allowed.clone(), "allowed here");
            reader.report(problem.with_hint("remove one of the two"));
        }
    }
    let is_empty = |value: &TomlValue<'_>| value.inner.as_array().is_some_and(|list| list.is_empty());
    if let Some(value) = table.get("allow").filter(is_empty) {
        let problem =
            Diagnostic::warning(format!("an empty `allow` hides all {what}s")).with_span(value.span);
        reader.report(problem.with_hint(format!("remove it to offer all {what}s")));
    }
    let mut places: BTreeMap<_, _> =
        allow.iter().flatten().chain(&deny).map(|(name, span)| (name.clone(), span.clone())).collect();
    let names = |names: BTreeMap<String, _>| names.into_keys().collect::<BTreeSet<_>>();
    let mut filter = ItemFilter { allow: allow.map(names), deny: names(deny), ..ItemFilter::default() };
    if matches!(kind, ItemKind::Tool | ItemKind::Prompt) {
        let renamed = reader.named_entries(&table, "rename");
        for (name, value) in &renamed {
            places.entry((*name).to_owned()).or_insert_with(|| value.key_span.clone());
            if !filter.offers(name) {
                let problem =
                    Diagnostic::warning(format!("the {what} {} is renamed but not offered", quoted(name)));
                let hint = "use the plugin's own names in `allow` and `deny`, not the new ones";
                reader.report(problem.with_span(value.key_span.clone()).with_hint(hint));
            }
        }
        filter.rename = read_renames(reader, kind, &renamed);
    }
    if kind == ItemKind::Tool {
        let described = reader.named_entries(&table, "describe");
        for (name, value) in &described {
            places.entry((*name).to_owned()).or_insert_with(|| value.key_span.clone());
        }
        filter.describe = read_descriptions(reader, &described);
    }
    ItemFilter { places, ..filter }
}

/// The longest description of a tool, in bytes: as long as those of plugins.
const MAX_DESCRIPTION_BYTES: usize = 16 << 10;

fn read_descriptions(
    reader: &mut ConfigReader<'_>,
    described: &[(&str, TomlValue<'_>)],
) -> BTreeMap<String, String> {
    let mut descriptions = BTreeMap::new();
    for (name, value) in described {
        or_report_name(
            reader,
            check_own_name(ItemKind::Tool, name),
            &value.key_span,
            "invalid tool name",
            OWN_NAME_HINT,
        );
        let Some(text) = reader.as_string(value, &ValueKind::String("a description")) else { continue };
        let length = text.text.len();
        let problem = if text.text.trim().is_empty() {
            Diagnostic::error(format!("empty description of the tool {}", quoted(name)))
                .with_hint("describe what the tool does and when to use it, or remove the line")
        } else if length > MAX_DESCRIPTION_BYTES {
            Diagnostic::error(format!(
                "the description of the tool {} is too long: {length} bytes",
                quoted(name)
            ))
            .with_hint(format!("shorten it to {MAX_DESCRIPTION_BYTES} bytes"))
        } else {
            descriptions.insert((*name).to_owned(), text.text);
            continue;
        };
        reader.report(problem.with_span(text.span));
    }
    descriptions
}

/// Checks the plugin's own name of an item. Nothing is checked of a URI or template, because invalid ones can be denied.
fn check_own_name(kind: ItemKind, name: &str) -> Result<(), NameError> {
    match kind {
        ItemKind::Tool => ToolName::new(name).map(drop),
        ItemKind::Prompt => PromptName::new(name).map(drop),
        ItemKind::Resource | ItemKind::Template => Ok(()),
    }
}

/// The plugin's own names of items, each with its location.
fn own_names(
    reader: &mut ConfigReader<'_>,
    kind: ItemKind,
    texts: Vec<TomlString>,
) -> BTreeMap<String, Range<usize>> {
    let what = format!("invalid {} name", kind.as_str());
    let mut names = BTreeMap::new();
    for text in texts {
        let name = check_own_name(kind, &text.text);
        if or_report_name(reader, name, &text.span, &what, OWN_NAME_HINT).is_some() {
            names.insert(text.text, text.span);
        }
    }
    names
}

fn read_renames(
    reader: &mut ConfigReader<'_>,
    kind: ItemKind,
    renamed: &[(&str, TomlValue<'_>)],
) -> BTreeMap<String, PublicName> {
    let what = format!("invalid {} name", kind.as_str());
    let mut renames = BTreeMap::new();
    let mut taken: BTreeMap<PublicName, Range<usize>> = BTreeMap::new();
    for (name, value) in renamed {
        or_report_name(reader, check_own_name(kind, name), &value.key_span, &what, OWN_NAME_HINT);
        let Some(text) = reader.as_string(value, &ValueKind::String("a public name")) else { continue };
        let public = or_report_name(reader, PublicName::new(&text.text), &text.span, &what, NAME_HINT);
        let Some(public) = public else { continue };
        if let Some(first) = taken.get(&public) {
            let problem = Diagnostic::error(format!("duplicate public name {}", quoted(public.as_str())));
            let problem = problem.with_span(text.span.clone()).with_related(first.clone(), "first used here");
            reader.report(problem.with_hint(format!("use a different name for each {}", kind.as_str())));
        }
        taken.entry(public.clone()).or_insert(text.span);
        renames.insert((*name).to_owned(), public);
    }
    renames
}
