//! `inspect`: what one component is, what it offers, and what it asks for beside what it is granted.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;
use moongate_core::config::{self, Asked, Config, Credential, Loaded, Match, PluginConfig, StateGrant};
use moongate_model::manifest::{Interfaces, Manifest, Resource, ResourceTemplate};
use moongate_model::names::PluginId;
use moongate_protocol::catalog::Member;
use serde_json::{Map, Value, json};

use crate::cli::failure::{Done, Failure};
use crate::cli::{Common, Exit, Format, configuration, print};
use crate::supervisor::{Options, Supervisor};

mod text;

/// Show what a plugin offers, what it imports, and what it is granted
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  moongate inspect fetch                            a plugin of gateway.toml, with its grants
  moongate inspect target/wasm32-wasip2/release/hello.wasm
  moongate inspect ./hello.wasm --format json       with whole schemas

What has a `/` in it or ends in `.wasm` is a file; a file is shown without any grants.")]
pub(super) struct Inspect {
    /// A component's file, or a plugin's name in the configuration
    #[arg(value_name = "FILE|NAME")]
    which: PathBuf,
    /// How to print the answer
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    format: Format,
}

impl Inspect {
    /// Is it about a file alone, which nothing is granted to?
    pub(super) fn is_bare(&self) -> bool {
        id(&self.which).is_none()
    }

    pub(super) async fn run(self, common: &Common) -> Done {
        let found = match id(&self.which) {
            None => Found { config: configuration::bare(&self.which)?, source: None },
            Some(id) => table(&id, common)?,
        };
        let Found { config, source } = found;
        let state = config.state.clone();
        let supervisor = Supervisor::start(config, Options::looking()).await?;
        let catalog = Arc::clone(&supervisor.catalog().borrow());
        let [member] = catalog.members() else {
            let (failure, problems) = (Failure::new(Exit::Configuration), supervisor.problems());
            return Err(match &source {
                Some(source) => failure.problems(problems, source),
                None => problems.iter().fold(failure, |failure, problem| {
                    failure.says(&problem.message, problem.hint.as_deref())
                }),
            });
        };
        let table = if source.is_some() { Table::Read { state } } else { Table::None };
        let config = supervisor.plugin_config(member.id()).expect("the plugin was started with it");
        let shown = Shown::new(member, config, table);
        match self.format {
            Format::Text => print::foreign(&text::page(&shown))?,
            Format::Json => print::json(&shown.document())?,
        }
        Ok(Exit::Success)
    }
}

/// One plugin alone.
struct Found {
    config: Config,
    /// Where problems point; none: there is no configuration.
    source: Option<config::Source>,
}

/// The name of a plugin, unless a file is meant.
fn id(which: &Path) -> Option<PluginId> {
    let text = which.to_str()?;
    let is_file = text.contains(['/', '\\']) || text.ends_with(".wasm");
    if is_file { None } else { PluginId::new(text).ok() }
}

/// A plugin of the configuration.
fn table(id: &PluginId, common: &Common) -> Result<Found, Failure> {
    let Loaded { source, config, problems, .. } = configuration::read(common.config.as_deref());
    let Some(mut config) = config else {
        return Err(Failure::new(Exit::Configuration).problems(&problems, &source));
    };
    print::problems(&problems, &source);
    let names: Vec<String> = config.plugins.iter().map(|plugin| format!("`{}`", plugin.id)).collect();
    config.plugins.retain(|plugin| plugin.id == *id);
    if config.plugins.is_empty() {
        let there = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
        let hint = format!("it has {there}; a file is named with a `/`, such as `./{id}`");
        let message = format!("there is no plugin `{id}` in `{}`", source.path.display());
        return Err(Failure::new(Exit::Usage).says(&message, Some(&hint)));
    }
    Ok(Found { config, source: Some(source) })
}

/// Whether there is a table for the plugin.
#[derive(Debug, PartialEq, Eq)]
enum Table {
    /// It is a file alone.
    None,
    /// There is one.
    Read {
        /// The directory that plugins' state is kept in; none: it is kept in memory.
        state: Option<PathBuf>,
    },
}

/// What there is to be shown.
struct Shown<'a> {
    member: &'a Member,
    config: &'a PluginConfig,
    table: Table,
    manifest: &'a Manifest,
    interfaces: Interfaces,
    matches: Vec<Match>,
}

impl<'a> Shown<'a> {
    fn new(member: &'a Member, config: &'a PluginConfig, table: Table) -> Self {
        let interfaces = member.plugin().interfaces().cloned().unwrap_or_default();
        let matches = config.against(&interfaces);
        Self { member, config, table, manifest: member.plugin().manifest(), interfaces, matches }
    }

    /// The version of the contract that it was built for, as its exports say.
    fn contract(&self) -> &str {
        let ours = self.interfaces.exports.iter().find(|name| name.starts_with("moongate:plugin/"));
        ours.and_then(|name| name.split_once('@')).map_or("", |(_, version)| version)
    }

    /// Where what it keeps lies; none: it may keep nothing, or nobody knows.
    fn state_place(&self) -> Option<String> {
        match (&self.table, &self.config.allow.state) {
            (Table::None, _) | (_, StateGrant::Refused) => None,
            (Table::Read { state: Some(place) }, _) => Some(place.display().to_string()),
            (Table::Read { state: None }, _) => Some("memory".to_owned()),
        }
    }

    /// Whether it says something to the model beside its tools.
    fn instructs(&self) -> bool {
        self.manifest.info.instructions.as_deref().is_some_and(|text| !text.trim().is_empty())
    }

    fn document(&self) -> Value {
        let config = self.config;
        let Manifest { info, tools, resources, templates, prompts, completes } = self.manifest;
        let grants = self.matches.iter().map(|Match { need, granted, asked }| {
            json!({ "key": need.key(), "asked": word(*asked), "granted": granted })
        });
        let tools = tools.iter().map(|tool| {
            json!({
                "name": tool.name.as_str(), "title": tool.title, "description": tool.description,
                "input": tool.input_schema.to_value().ok(),
                "output": tool.output_schema.as_ref().and_then(|schema| schema.to_value().ok()),
            })
        });
        let resources = resources.iter().map(|it| {
            let Resource { uri, name, title, description, mime_type, .. } = it;
            json!({ "uri": uri.as_str(), "name": name, "title": title, "description": description, "mimeType": mime_type })
        });
        let templates = templates.iter().map(|it| {
            let ResourceTemplate { uri_template, name, title, description, mime_type, .. } = it;
            json!({
                "uri": uri_template.as_str(), "name": name, "title": title, "description": description,
                "mimeType": mime_type,
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
            })
        });
        json!({
            "id": config.id.as_str(),
            "file": config.source.to_string_lossy(),
            "digest": self.member.plugin().digest().to_string(),
            "size": self.interfaces.size,
            "contract": self.contract(),
            "name": info.name, "version": info.version, "title": info.title, "description": info.description,
            "exports": self.interfaces.exports,
            "imports": self.interfaces.imports,
            "grants": grants.collect::<Vec<_>>(),
            "credentials": config.allow.credentials.iter().map(Credential::described).collect::<Vec<_>>(),
            "instructions": { "asked": self.instructs(), "granted": config.allow.instructions },
            "state": self.state_place(),
            "limits": config.limits.changed().into_iter().map(limit).collect::<Map<_, _>>(),
            "settings": info.config_schema.as_ref().and_then(|schema| schema.to_value().ok()),
            "tools": tools.collect::<Vec<_>>(),
            "resources": resources.collect::<Vec<_>>(),
            "templates": templates.collect::<Vec<_>>(),
            "prompts": prompts.collect::<Vec<_>>(),
            "completes": completes,
        })
    }
}

/// A limit for a document: numbers as numbers, all else as texts.
fn limit((key, written): (&'static str, String)) -> (String, Value) {
    // A number and a text without escapes are written alike in TOML and JSON.
    (key.to_owned(), serde_json::from_str(&written).unwrap_or_default())
}

fn word(asked: Asked) -> &'static str {
    match asked {
        Asked::Yes => "yes",
        Asked::Maybe => "maybe",
        Asked::No => "no",
    }
}

#[cfg(test)]
mod tests;
