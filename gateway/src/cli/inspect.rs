//! `inspect`: shows a component: its tools and other items, its needs, and its grants.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;
use moongate_config::{Config, Credential, LoadedConfig, NeedMatch, PluginConfig, Requested, StateGrant};
use moongate_model::builtin_plugin::BUILTIN_PREFIX;
use moongate_model::manifest::{
    Interfaces, ItemKind, Manifest, RejectedItem, Resource, ResourceTemplate, Tool,
};
use moongate_model::names::PluginId;
use moongate_protocol::catalog::CatalogPlugin;
use moongate_sources::{AuditedPackage, Provenance};
use serde_json::{Map, Value, json};

use crate::cli::error::{CommandError, CommandResult};
use crate::cli::{CommonOptions, ExitKind, OutputFormat, configuration, print};
use crate::supervisor::{Supervisor, SupervisorOptions};

mod text;

/// Show a plugin's tools, imports and grants
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  moongate inspect fetch                            a plugin of gateway.toml, with its grants
  moongate inspect target/wasm32-wasip2/release/hello.wasm
  moongate inspect ./hello.wasm --format json       with full schemas
  moongate inspect builtin:fetch                    a plugin that is part of the gateway

An argument that contains `/` or ends in `.wasm` is a file. Files and built-in plugins are shown without grants.")]
pub(super) struct Inspect {
    /// Component file, name of a plugin in the configuration, or `builtin:` and the name of a built-in plugin
    #[arg(value_name = "FILE|NAME")]
    which: PathBuf,
    /// Output format
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    format: OutputFormat,
}

impl Inspect {
    /// True if the target is a file, which has no grants.
    pub(super) fn is_bare(&self) -> bool {
        plugin_id(&self.which).is_none()
    }

    pub(super) async fn run(self, common: &CommonOptions) -> CommandResult {
        if let Some(address) = self.which.to_str().filter(|text| text.contains("://")) {
            let hint = format!(
                "run `moongate add {}`, which shows what it requests and asks for your consent",
                print::shell_word(address)
            );
            let message = "only files and plugins of the configuration can be inspected";
            return Err(CommandError::new(ExitKind::Usage).message(message, Some(&hint)));
        }
        let found = match plugin_id(&self.which) {
            None => InspectTarget { config: configuration::bare(&self.which)?, source: None },
            Some(id) => configured_target(&id, common)?,
        };
        let InspectTarget { config, source } = found;
        let state = config.state.clone();
        let supervisor = Supervisor::start(config, SupervisorOptions::inspecting()).await?;
        let catalog = Arc::clone(&supervisor.catalog().borrow());
        let [catalog_plugin] = catalog.plugins() else {
            let failure = CommandError::new(ExitKind::Configuration);
            let problems = supervisor.problems();
            return Err(match &source {
                Some(source) => failure.diagnostics(problems, source),
                None => problems.iter().fold(failure, |failure, problem| {
                    failure.message(&problem.message, problem.hint.as_deref())
                }),
            });
        };
        let entry = if source.is_some() { PluginEntry::Present { state } } else { PluginEntry::Absent };
        let config = supervisor.plugin_config(catalog_plugin.id()).expect("the plugin was started with it");
        let shown = PluginReport::new(catalog_plugin, config, entry);
        match self.format {
            OutputFormat::Text => print::untrusted(&text::page(&shown))?,
            OutputFormat::Json => print::json(&shown.document())?,
        }
        Ok(ExitKind::Success)
    }
}

/// The plugin to show.
struct InspectTarget {
    config: Config,
    /// The file that problems refer to; `None` without a configuration.
    source: Option<moongate_config::ConfigSource>,
}

/// The name of a plugin; `None` if the argument is a file or a built-in plugin.
fn plugin_id(which: &Path) -> Option<PluginId> {
    let text = which.to_str()?;
    let is_file = text.contains(['/', '\\']) || text.ends_with(".wasm") || text.starts_with(BUILTIN_PREFIX);
    if is_file { None } else { PluginId::new(text).ok() }
}

/// A plugin in the configuration.
fn configured_target(id: &PluginId, common: &CommonOptions) -> Result<InspectTarget, CommandError> {
    let LoadedConfig { source, config, problems, .. } = configuration::read(common.config.as_deref());
    let Some(mut config) = config else {
        return Err(CommandError::new(ExitKind::Configuration).diagnostics(&problems, &source));
    };
    configuration::report_kinds(&problems, &source, common);
    let names: Vec<String> = config.plugins.iter().map(|plugin| format!("`{}`", plugin.id)).collect();
    config.plugins.retain(|plugin| plugin.id == *id);
    if config.plugins.is_empty() {
        let there = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
        let hint = format!("the plugins are {there}; to inspect a file, write `./{id}`");
        let message = format!("no plugin `{id}` in `{}`", source.path.display());
        return Err(CommandError::new(ExitKind::Usage).message(&message, Some(&hint)));
    }
    Ok(InspectTarget { config, source: Some(source) })
}

/// The plugin's entry in the configuration.
#[derive(Debug, PartialEq, Eq)]
enum PluginEntry {
    /// The plugin is only a file, without an entry.
    Absent,
    /// The plugin is in the configuration.
    Present {
        /// The directory of plugins' state; `None` keeps state in memory.
        state: Option<PathBuf>,
    },
}

/// Everything that `inspect` shows of a plugin.
struct PluginReport<'a> {
    catalog_plugin: &'a CatalogPlugin,
    config: &'a PluginConfig,
    entry: PluginEntry,
    manifest: &'a Manifest,
    interfaces: Interfaces,
    matches: Vec<NeedMatch>,
    provenance: Provenance,
}

impl<'a> PluginReport<'a> {
    fn new(catalog_plugin: &'a CatalogPlugin, config: &'a PluginConfig, entry: PluginEntry) -> Self {
        let interfaces = catalog_plugin.plugin().interfaces().cloned().unwrap_or_default();
        let matches = config.compare_with_imports(&interfaces);
        Self {
            catalog_plugin,
            config,
            entry,
            manifest: catalog_plugin.plugin().manifest(),
            interfaces,
            matches,
            provenance: std::fs::read(&config.source)
                .map(|bytes| Provenance::read(&bytes))
                .unwrap_or_default(),
        }
    }

    /// The version of the contract, from the exports. `None` if the plugin is a component without the contract.
    fn contract(&self) -> Option<&str> {
        let ours = self.interfaces.exports.iter().find(|name| name.starts_with("moongate:plugin/"))?;
        ours.split_once('@').map(|(_, version)| version)
    }

    /// The location of the plugin's state; `None` if it has none or there is no configuration.
    fn state_location(&self) -> Option<String> {
        match (&self.entry, &self.config.allow.state) {
            (PluginEntry::Absent, _) | (_, StateGrant::NotGranted) => None,
            (PluginEntry::Present { state: Some(place) }, _) => Some(place.display().to_string()),
            (PluginEntry::Present { state: None }, _) => Some("memory".to_owned()),
        }
    }

    /// True if the plugin has instructions for the model.
    fn has_instructions(&self) -> bool {
        self.manifest.info.instructions.as_deref().is_some_and(|text| !text.trim().is_empty())
    }

    /// True if the configuration hides an item of the plugin.
    fn is_hidden(&self, kind: ItemKind, name: &str) -> bool {
        !self.catalog_plugin.policy().filter(kind).offers(name)
    }

    /// A tool's description as clients see it.
    fn description<'t>(&'t self, tool: &'t Tool) -> &'t str {
        let described = self.catalog_plugin.policy().tools.describe.get(tool.name.as_str());
        described.unwrap_or(&tool.description)
    }

    fn document(&self) -> Value {
        let config = self.config;
        let Manifest { info, tools, resources, templates, prompts, rejected: _, has_completions: completes } =
            self.manifest;
        let grants = self.matches.iter().map(|NeedMatch { need, granted, requested: asked }| {
            json!({ "key": need.config_key(), "asked": asked_word(*asked), "granted": granted })
        });
        let tools = tools.iter().map(|tool| {
            json!({
                "name": tool.name.as_str(), "title": tool.title, "description": self.description(tool),
                "input": tool.input_schema.to_value().ok(),
                "output": tool.output_schema.as_ref().and_then(|schema| schema.to_value().ok()),
                "hidden": self.is_hidden(ItemKind::Tool, tool.name.as_str()),
            })
        });
        let resources = resources.iter().map(|it| {
            let Resource { uri, name, title, description, mime_type, .. } = it;
            json!({
                "uri": uri.as_str(), "name": name, "title": title, "description": description,
                "mimeType": mime_type, "hidden": self.is_hidden(ItemKind::Resource, uri.as_str()),
            })
        });
        let templates = templates.iter().map(|it| {
            let ResourceTemplate { uri_template, name, title, description, mime_type, .. } = it;
            json!({
                "uri": uri_template.as_str(), "name": name, "title": title, "description": description,
                "mimeType": mime_type, "hidden": self.is_hidden(ItemKind::Template, uri_template.as_str()),
            })
        });
        let prompts = prompts.iter().map(|prompt| {
            let arguments = prompt
                .arguments
                .iter()
                .map(|it| json!({ "name": it.name, "title": it.title, "description": it.description, "required": it.required }));
            json!({
                "name": prompt.name.as_str(), "title": prompt.title, "description": prompt.description,
                "arguments": arguments.collect::<Vec<_>>(),
                "hidden": self.is_hidden(ItemKind::Prompt, prompt.name.as_str()),
            })
        });
        let left_out = self.catalog_plugin.left_out().iter().map(|item| {
            let RejectedItem { kind, name, reason, fix } = item;
            json!({ "kind": kind.as_str(), "name": name, "reason": reason, "fix": fix })
        });
        json!({
            "id": config.id.as_str(),
            "file": config.source.to_string_lossy(),
            "source": config.remote.as_ref().map(|remote| remote.reference.shown()),
            "digest": self.catalog_plugin.plugin().digest().to_string(),
            "size": self.interfaces.file_size,
            "contract": self.contract(),
            "name": info.name, "version": info.version, "title": info.title, "description": info.description,
            "exports": self.interfaces.exports,
            "imports": self.interfaces.imports,
            "grants": grants.collect::<Vec<_>>(),
            "credentials": config.allow.credentials.iter().map(Credential::describe).collect::<Vec<_>>(),
            "instructions": { "asked": self.has_instructions(), "granted": config.allow.instructions },
            "state": self.state_location(),
            "limits": config.limits.non_default().into_iter().map(limit_member).collect::<Map<_, _>>(),
            "settings": info.settings_schema.as_ref().and_then(|schema| schema.to_value().ok()),
            "tools": tools.collect::<Vec<_>>(),
            "resources": resources.collect::<Vec<_>>(),
            "templates": templates.collect::<Vec<_>>(),
            "prompts": prompts.collect::<Vec<_>>(),
            "leftOut": left_out.collect::<Vec<_>>(),
            "completes": completes,
            "provenance": provenance_document(&self.provenance),
        })
    }
}

/// The origin that the component claims.
fn provenance_document(provenance: &Provenance) -> Value {
    let Provenance { fields, producers, packages } = provenance;
    let fields = fields.iter().map(|(name, value)| json!({ "name": name, "value": value }));
    let producers = producers
        .iter()
        .map(|(field, name, version)| json!({ "field": field, "name": name, "version": version }));
    let package = |package: &AuditedPackage| {
        let AuditedPackage { name, version, source, kind } = package;
        json!({ "name": name, "version": version, "source": source, "kind": kind })
    };
    json!({
        "fields": fields.collect::<Vec<_>>(),
        "producers": producers.collect::<Vec<_>>(),
        "packages": packages.as_ref().map(|packages| packages.iter().map(package).collect::<Vec<_>>()),
    })
}

/// A limit as a JSON member: a number, or a string.
fn limit_member((key, written): (&'static str, String)) -> (String, Value) {
    // Numbers and strings without escapes are the same in TOML and JSON.
    (key.to_owned(), serde_json::from_str(&written).unwrap_or_default())
}

fn asked_word(asked: Requested) -> &'static str {
    match asked {
        Requested::Yes => "yes",
        Requested::Maybe => "maybe",
        Requested::No => "no",
    }
}

#[cfg(test)]
mod tests;
