//! The items and permissions of a component, to compare two versions of it.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use moongate_config::{Config, PluginConfig, Requested};
use moongate_model::manifest::Manifest;

use super::difference;
use crate::cli::remote_plugins::RemotePlugin;
use crate::cli::{configuration, print};
use crate::supervisor::{Supervisor, SupervisorOptions};

/// The items and permissions of a component. Each map has a text for each name, which differs if the item differs.
#[derive(Debug, Default)]
pub(super) struct ComponentSummary {
    version: String,
    tools: BTreeMap<String, String>,
    prompts: BTreeMap<String, String>,
    resources: BTreeMap<String, String>,
    /// The permissions that it asks for.
    permissions: BTreeMap<String, String>,
    imports: BTreeMap<String, String>,
}

impl ComponentSummary {
    /// Describes a component without any grants: the operator hasn't accepted it yet.
    ///
    /// # Errors
    /// It can't be loaded.
    pub(super) async fn of_file(file: &Path, plugin: &RemotePlugin, config: &Config) -> Result<Self, String> {
        let mut bare = configuration::bare(file).map_err(|error| error.to_string())?;
        bare.cache.clone_from(&config.cache);
        let own = PluginConfig {
            limits: plugin.config.limits.clone(),
            ..PluginConfig::ungranted(plugin.id().clone(), file.to_owned())
        };
        bare.plugins = vec![Arc::new(own)];
        let started = Supervisor::start(bare, SupervisorOptions::inspecting()).await;
        let supervisor = started.map_err(|error| error.to_string())?;
        let catalog = Arc::clone(&supervisor.catalog().borrow());
        let [described] = catalog.plugins() else {
            let problem = supervisor.problems().first().map(|problem| problem.message.clone());
            return Err(problem.unwrap_or_default());
        };
        let Manifest { info, tools, resources, templates, prompts, .. } = described.plugin().manifest();
        let interfaces = described.plugin().interfaces().cloned().unwrap_or_default();
        let needs = plugin.config.compare_with_imports(&interfaces).into_iter();
        let needs = needs.filter(|need| need.requested != Requested::No);
        let shown = |value: &dyn std::fmt::Debug| format!("{value:?}");
        let resources = resources.iter().map(|it| (it.uri.as_str().to_owned(), shown(it)));
        let templates = templates.iter().map(|it| (it.uri_template.as_str().to_owned(), shown(it)));
        Ok(Self {
            version: print::name_and_version(info),
            tools: tools.iter().map(|it| (it.name.as_str().to_owned(), shown(it))).collect(),
            prompts: prompts.iter().map(|it| (it.name.as_str().to_owned(), shown(it))).collect(),
            resources: resources.chain(templates).collect(),
            permissions: needs.map(|need| (need.need.config_key().to_owned(), String::new())).collect(),
            imports: interfaces.imports.into_iter().map(|name| (name, String::new())).collect(),
        })
    }

    /// The differences to an earlier version, one line each.
    pub(super) fn differences(&self, before: &Self) -> Vec<String> {
        let Self { version, tools, prompts, resources, permissions, imports } = self;
        let mut lines = Vec::new();
        if *version != before.version {
            let before = if before.version.is_empty() {
                String::new()
            } else {
                format!(" instead of {}", before.version)
            };
            lines.push(crate::cli::print::inline(&format!("version: {version}{before}")));
        }
        let lists = [
            ("permissions", &before.permissions, permissions),
            ("tools", &before.tools, tools),
            ("prompts", &before.prompts, prompts),
            ("resources", &before.resources, resources),
            ("imports", &before.imports, imports),
        ];
        for (what, before, after) in lists {
            let difference = difference(before, after);
            if !difference.is_empty() {
                lines.push(format!("{what}: {}", difference.join(", ")));
            }
        }
        if lines.is_empty() {
            lines.push("tools, permissions and imports: the same".to_owned());
        }
        lines
    }
}
