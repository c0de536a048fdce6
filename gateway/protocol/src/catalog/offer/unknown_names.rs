//! Names in the configuration that a plugin doesn't have.

use crate::diagnostic::Diagnostic;
use crate::manifest::{ItemKind, Manifest};
use crate::names::{PluginId, PublicName};
use crate::policy::PluginPolicy;
use crate::text::{name_suffix, nearest_name, quotable};

use super::OfferWarning;

/// The maximum number of a plugin's names that a message lists.
const MAX_LISTED_NAMES: usize = 10;

/// The tables of a plugin's configuration that select items, each with one of the kinds that it selects.
const SELECTED_KINDS: [ItemKind; 3] = [ItemKind::Tool, ItemKind::Prompt, ItemKind::Resource];

/// The unknown names that are denied. They are errors, because the intended items would be offered. A URI that a
/// template covers is known.
pub(super) fn denied(manifest: &Manifest, policy: &PluginPolicy) -> Vec<OfferWarning> {
    let mut found = Vec::new();
    for kind in SELECTED_KINDS {
        let known = known_names(manifest, kind);
        for name in policy.filter(kind).deny.iter().filter(|name| !known.contains(&name.as_str())) {
            if kind == ItemKind::Resource && !name.contains('{') && is_covered(manifest, name) {
                continue;
            }
            let problem = unknown_name(&policy.id, kind, &list(kind, "deny"), name, &known).into_error();
            found.push(OfferWarning { problem, item: Some((kind, name.clone())) });
        }
    }
    found
}

/// The unknown names that are allowed, renamed or described, or have rates.
pub(super) fn selected(manifest: &Manifest, policy: &PluginPolicy) -> Vec<OfferWarning> {
    let mut found = Vec::new();
    for kind in SELECTED_KINDS {
        let known = known_names(manifest, kind);
        let filter = policy.filter(kind);
        let is_unknown = |name: &&String| !known.contains(&name.as_str());
        for name in filter.allow.iter().flatten().filter(is_unknown) {
            let problem = unknown_name(&policy.id, kind, &list(kind, "allow"), name, &known);
            found.push(OfferWarning { problem, item: Some((kind, name.clone())) });
        }
        for (name, public) in filter.rename.iter().filter(|(name, _)| is_unknown(name)) {
            let problem = unknown_name(&policy.id, kind, &list(kind, "rename"), name, &known);
            let problem = match Some(PublicName::as_str(public)).filter(|new| known.contains(new)) {
                Some(old) => problem.with_hint(format!("put the old name first: `{old} = \"{name}\"`")),
                None => problem,
            };
            found.push(OfferWarning { problem, item: Some((kind, name.clone())) });
        }
        for name in filter.describe.keys().filter(is_unknown) {
            let problem = unknown_name(&policy.id, kind, &list(kind, "describe"), name, &known);
            found.push(OfferWarning { problem, item: Some((kind, name.clone())) });
        }
    }
    let known = known_names(manifest, ItemKind::Tool);
    for name in policy.rates.tools.keys().filter(|name| !known.contains(&name.as_str())) {
        let problem = unknown_name(&policy.id, ItemKind::Tool, "rates", name, &known);
        found.push(OfferWarning { problem, item: Some((ItemKind::Tool, name.clone())) });
    }
    found
}

/// The dotted name of a list in a plugin's table.
fn list(kind: ItemKind, key: &str) -> String {
    format!("{}.{key}", kind.config_table())
}

/// The plugin's own names of the items that the table of `kind` selects, including those that can't be offered.
fn known_names(manifest: &Manifest, kind: ItemKind) -> Vec<&str> {
    let mut known: Vec<&str> = match kind {
        ItemKind::Tool => manifest.tools.iter().map(|tool| tool.name.as_str()).collect(),
        ItemKind::Prompt => manifest.prompts.iter().map(|prompt| prompt.name.as_str()).collect(),
        ItemKind::Resource | ItemKind::Template => {
            let templates = manifest.templates.iter().map(|template| template.uri_template.as_str());
            manifest.resources.iter().map(|resource| resource.uri.as_str()).chain(templates).collect()
        }
    };
    let rejected = manifest.rejected.iter().filter(|item| item.kind.config_table() == kind.config_table());
    known.extend(rejected.map(|item| item.name.as_str()));
    known
}

/// Reports whether a template of the plugin covers `uri`.
fn is_covered(manifest: &Manifest, uri: &str) -> bool {
    manifest.templates.iter().any(|template| uri.starts_with(template.uri_template.prefix()))
}

/// The problem of an unknown name in the configuration; `known` are the plugin's names.
fn unknown_name(id: &PluginId, kind: ItemKind, list: &str, name: &str, known: &[&str]) -> Diagnostic {
    let what = kind.as_str();
    let problem = Diagnostic::warning(format!(
        "plugin `{id}` has no {what} `{}`, which `{list}` names",
        quotable(name)
    ));
    let own = match kind {
        ItemKind::Tool | ItemKind::Prompt => "these are the plugin's own names, without the prefix",
        ItemKind::Resource | ItemKind::Template => "write whole URIs and templates, without wildcards",
    };
    // A public name means the plugin's own name that it ends with.
    let is_end = |known: &&&str| name_suffix(name, known).is_some();
    let meant = known.iter().filter(is_end).max_by_key(|known| known.len()).copied();
    match meant.or_else(|| nearest_name(name, known.iter().copied())) {
        Some(meant) => problem.with_hint(format!("did you mean `{}`? {own}", quotable(meant))),
        None if known.is_empty() => problem.with_hint(format!("remove it: the plugin has no {what}s")),
        None => {
            let listed: Vec<_> =
                known.iter().take(MAX_LISTED_NAMES).map(|known| format!("`{}`", quotable(known))).collect();
            let and_more = if known.len() > MAX_LISTED_NAMES { ", …" } else { "" };
            problem.with_hint(format!("use one of {}{and_more}; {own}", listed.join(", ")))
        }
    }
}
