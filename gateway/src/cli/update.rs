//! `update`: resolves the addresses of plugins again, shows what would change, and locks it.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use bytesize::ByteSize;
use clap::Args;
use moongate_config::LockedComponent;
use moongate_sources::update_lock;
use serde_json::{Value, json};

use self::component_summary::ComponentSummary;
use crate::cli::error::{CommandError, CommandResult};
use crate::cli::remote_plugins::{RemotePlugin, RemotePlugins, source_error};
use crate::cli::{CommonOptions, ExitKind, OutputFormat, print, prompt};

mod component_summary;

/// Resolve the addresses of plugins again, show what changes, and lock it
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  moongate update               all plugins from addresses
  moongate update time --yes    one plugin, without asking
  moongate update --dry-run     only show what would change

A running gateway loads an updated plugin as soon as moongate.lock changes, except with `reload = \"pinned\"`.")]
pub(super) struct Update {
    /// Names of plugins in the configuration [default: all]
    #[arg(value_name = "PLUGIN")]
    plugins: Vec<String>,
    /// Lock the changes without asking
    #[arg(short, long, conflicts_with = "dry_run")]
    yes: bool,
    /// Only show what would change
    #[arg(long)]
    dry_run: bool,
    /// Output format
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    format: OutputFormat,
}

/// A plugin whose address leads to something else now.
struct PluginUpdate<'a> {
    plugin: &'a RemotePlugin,
    before: Option<&'a LockedComponent>,
    after: LockedComponent,
    changes: ComponentChanges,
}

/// The differences between two components.
struct ComponentChanges {
    /// One line each.
    lines: Vec<String>,
    /// True if the new component's tools are unknown, because it can't describe itself without grants.
    has_unknown_tools: bool,
}

/// The answer of the person at the terminal, or of the command line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Consent {
    Given,
    Refused,
    NotAsked,
}

impl Update {
    pub(super) async fn run(self, common: &CommonOptions) -> CommandResult {
        let plugins = RemotePlugins::read(common, &self.plugins)?;
        let fetcher = plugins.fetcher().await?;
        let mut updates = Vec::new();
        let mut failure = None;
        for plugin in &plugins.selected {
            let before = plugins.lock.plugins.get(plugin.id());
            match fetcher.fetch(&plugin.request()).await {
                Ok(after) if before.is_some_and(|before| is_same(before, &after)) => {}
                Ok(after) => {
                    let changes = changes(plugin, &plugins, before, &after, &fetcher).await;
                    updates.push(PluginUpdate { plugin, before, after, changes });
                }
                Err(error) => {
                    let earlier = failure.unwrap_or_else(|| CommandError::new(ExitKind::Failure));
                    failure = Some(plugin.failed(earlier, &error));
                }
            }
        }
        if self.format == OutputFormat::Text {
            print::untrusted(&page(&updates))?;
        }
        let consent = self.confirm(&updates)?;
        let is_confirmed = consent == Consent::Given;
        if is_confirmed {
            let entries: Vec<_> =
                updates.iter().map(|update| (update.plugin.id().clone(), update.after.clone())).collect();
            update_lock(&plugins.config.sources.lock_file, |lock| lock.plugins.extend(entries))
                .map_err(source_error)?;
        }
        let documents: Vec<Value> = updates.iter().map(|update| update.document(&plugins)).collect();
        let document = json!({ "updates": documents, "locked": is_confirmed });
        match failure {
            Some(failure) => Err(failure
                .member("updates", document["updates"].clone())
                .member("locked", json!(is_confirmed))),
            None if self.format == OutputFormat::Json => {
                print::json(&document)?;
                Ok(ExitKind::Success)
            }
            None => {
                print::note(self.note(&updates, is_confirmed));
                Ok(if consent == Consent::Refused { ExitKind::Failure } else { ExitKind::Success })
            }
        }
    }

    /// Reports whether the changes are to be locked.
    fn confirm(&self, updates: &[PluginUpdate<'_>]) -> Result<Consent, CommandError> {
        if updates.is_empty() || self.dry_run {
            return Ok(Consent::NotAsked);
        }
        if self.yes {
            return Ok(Consent::Given);
        }
        if self.format == OutputFormat::Json || !prompt::can_ask() {
            let failure = CommandError::new(ExitKind::Usage);
            return Err(
                failure.message("the changes aren't confirmed, so nothing changed", Some("pass `--yes`"))
            );
        }
        let unknown = updates.iter().filter(|update| update.changes.has_unknown_tools).count();
        let unknown = match unknown {
            0 => String::new(),
            number => format!(", {number} of which with unknown tools"),
        };
        let question = format!("Lock {}{unknown}?", print::count(updates.len(), "update"));
        Ok(if prompt::confirm(&question)? { Consent::Given } else { Consent::Refused })
    }

    fn note(&self, updates: &[PluginUpdate<'_>], is_confirmed: bool) -> &'static str {
        match (updates.is_empty(), is_confirmed) {
            (true, _) => "all plugins are up to date",
            (false, true) => "moongate.lock is updated",
            (false, false) => "nothing changed",
        }
    }
}

impl PluginUpdate<'_> {
    fn document(&self, plugins: &RemotePlugins) -> Value {
        let mut document = self.plugin.document(&self.after, &plugins.config, "updated");
        document["before"] = json!(self.before.map(|before| before.component.to_string()));
        document["changes"] = json!(self.changes.lines);
        document
    }
}

/// Reports whether both lead to the same component by the same way.
fn is_same(before: &LockedComponent, after: &LockedComponent) -> bool {
    let LockedComponent { source, resolved, component, size: _, signer, fetched: _ } = before;
    *source == after.source
        && *resolved == after.resolved
        && *component == after.component
        && *signer == after.signer
}

/// The differences between two components.
async fn changes(
    plugin: &RemotePlugin,
    plugins: &RemotePlugins,
    before: Option<&LockedComponent>,
    after: &LockedComponent,
    fetcher: &moongate_sources::SourceFetcher,
) -> ComponentChanges {
    let mut lines = Vec::new();
    let size = |locked: &LockedComponent| ByteSize::b(locked.size).display().iec().to_string();
    match before {
        Some(before) if before.component == after.component => lines.push("component: the same".to_owned()),
        Some(before) => lines.push(format!(
            "component: sha256:{} ({}) instead of sha256:{} ({})",
            after.component,
            size(after),
            before.component,
            size(before)
        )),
        None => lines.push(format!("component: sha256:{} ({})", after.component, size(after))),
    }
    if let Some(before) = before.filter(|before| before.source != after.source) {
        lines.push(format!(
            "address: {} instead of {}",
            print::inline(&after.source),
            print::inline(&before.source)
        ));
    }
    let signer = plugin.signer_name(after, &plugins.config);
    let signer_before = before.and_then(|before| plugin.signer_name(before, &plugins.config));
    match (before, &signer) {
        (None, Some(signer)) => lines.push(format!("signed by {signer}")),
        (Some(_), _) if signer != signer_before => {
            let name = |signer: Option<String>| signer.unwrap_or_else(|| "no key".to_owned());
            lines.push(format!("signed by {} instead of {}", name(signer), name(signer_before)));
        }
        (Some(_) | None, _) => {}
    }
    if before.is_some_and(|before| before.component == after.component) {
        return ComponentChanges { lines, has_unknown_tools: false };
    }
    let file = fetcher.store().path(&after.component);
    let new = ComponentSummary::of_file(&file, plugin, &plugins.config).await;
    let old = match before.filter(|before| fetcher.store().find(&before.component).is_some()) {
        Some(before) => {
            ComponentSummary::of_file(&fetcher.store().path(&before.component), plugin, &plugins.config).await
        }
        None => Ok(ComponentSummary::empty()),
    };
    let has_unknown_tools = match new {
        Ok(new) => {
            lines.extend(new.differences(&old.unwrap_or_else(|_| ComponentSummary::empty())));
            !new.is_described()
        }
        Err(reason) => {
            lines.push(format!("can't be read: {}", print::inline(&reason)));
            true
        }
    };
    ComponentChanges { lines, has_unknown_tools }
}

fn page(updates: &[PluginUpdate<'_>]) -> String {
    let mut page = String::new();
    for PluginUpdate { plugin, after, changes, .. } in updates {
        let resolved = after.resolved.as_deref().map(|resolved| format!(" → {resolved}")).unwrap_or_default();
        let _ =
            writeln!(page, "{}: {}{resolved}", plugin.id(), print::inline(&plugin.source.reference.shown()));
        for change in &changes.lines {
            let _ = writeln!(page, "  {change}");
        }
    }
    page
}

/// The names that are only in one of two maps, or have different values, with a sign each.
fn difference(before: &BTreeMap<String, String>, after: &BTreeMap<String, String>) -> Vec<String> {
    let added = after.keys().filter(|name| !before.contains_key(*name)).map(|name| format!("+{name}"));
    let removed = before.keys().filter(|name| !after.contains_key(*name)).map(|name| format!("-{name}"));
    let changed = after.iter().filter(|(name, its)| before.get(*name).is_some_and(|before| before != *its));
    let changed = changed.map(|(name, _)| format!("~{name}"));
    added.chain(removed).chain(changed).map(|name| print::inline(&name)).collect()
}
