//! Warnings about patterns of roles that match nothing.

use moongate_config::Diagnostic;
use moongate_model::manifest::ItemKind;
use moongate_model::roles::{ItemPatterns, NamePattern, UriPattern};
use moongate_model::text::quotable;
use moongate_protocol::catalog::Catalog;

/// The patterns that match no tool, prompt or resource. The items of plugins that couldn't be loaded
/// are unknown, so use this only with a catalog of all plugins.
pub(super) fn unmatched_patterns(catalog: &Catalog) -> Vec<Diagnostic> {
    let Some(roles) = catalog.roles() else { return Vec::new() };
    let mut problems = Vec::new();
    for role in roles.roles() {
        for ItemPatterns { plugins: _, tools, prompts, resources } in [&role.allow, &role.deny] {
            let names: Vec<_> = catalog.tools().iter().map(|entry| entry.public_name().as_str()).collect();
            problems.extend(unmatched_names(ItemKind::Tool, tools, &names));
            let names: Vec<_> = catalog.prompts().iter().map(|entry| entry.public_name().as_str()).collect();
            problems.extend(unmatched_names(ItemKind::Prompt, prompts, &names));
            let unmatched = resources.iter().filter(|pattern| !matches_resource(pattern, catalog));
            problems.extend(unmatched.map(|pattern| {
                let message = format!("no resource or template matches `{}`", quotable(pattern.as_str()));
                Diagnostic::warning(message)
                    .with_span(pattern.span().clone())
                    .with_hint("`moongate list` shows their URIs")
            }));
        }
    }
    problems
}

fn unmatched_names(kind: ItemKind, patterns: &[NamePattern], names: &[&str]) -> Vec<Diagnostic> {
    let unmatched = patterns.iter().filter(|pattern| !names.iter().any(|name| pattern.matches(name)));
    let what = kind.as_str();
    let warning = |pattern: &NamePattern| {
        Diagnostic::warning(format!("no {what} matches `{}`", quotable(pattern.as_str())))
            .with_span(pattern.span().clone())
            .with_hint(format!(
                "write the public name, as in `moongate list {what}s`, or a pattern such as `NAME_*`"
            ))
    };
    unmatched.map(warning).collect()
}

/// Reports whether a listed resource matches, or a template could have URIs that do.
fn matches_resource(pattern: &UriPattern, catalog: &Catalog) -> bool {
    let start = pattern.as_str().split(['*', '{']).next().unwrap_or_default();
    catalog.resources().iter().any(|entry| pattern.may_be(entry.resource().uri.as_str()))
        || catalog.templates().iter().any(|entry| {
            let prefix = entry.template().uri_template.prefix();
            start.starts_with(prefix) || prefix.starts_with(start)
        })
}
