//! The items and permissions of a component, to compare two versions of it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use moongate_config::{Config, PluginConfig, Requested};
use moongate_model::manifest::Manifest;
use moongate_sources::read_interfaces;

use super::difference;
use crate::cli::remote_plugins::RemotePlugin;
use crate::cli::{configuration, print};
use crate::supervisor::{Supervisor, SupervisorOptions};

/// The items and permissions of a component.
#[derive(Debug)]
pub(super) struct ComponentSummary {
    /// Its description of itself, or the reason why it can't describe itself without grants.
    described: Result<DescribedItems, String>,
    /// The permissions that it asks for.
    permissions: BTreeMap<String, String>,
    imports: BTreeSet<String>,
}

/// The items of a component. Each map has a text for each name, which differs if the item differs.
#[derive(Debug, Default)]
struct DescribedItems {
    version: String,
    tools: BTreeMap<String, String>,
    prompts: BTreeMap<String, String>,
    resources: BTreeMap<String, String>,
}

impl ComponentSummary {
    /// A component without anything.
    pub(super) fn empty() -> Self {
        Self {
            described: Ok(DescribedItems::default()),
            permissions: BTreeMap::new(),
            imports: BTreeSet::new(),
        }
    }

    /// Reads the imports of a component, which it can't hide, and lets it describe itself without any grants: the
    /// operator hasn't accepted it yet.
    ///
    /// # Errors
    /// It can't be read.
    pub(super) async fn of_file(file: &Path, plugin: &RemotePlugin, config: &Config) -> Result<Self, String> {
        let bytes = std::fs::read(file).map_err(|error| error.to_string())?;
        let interfaces = read_interfaces(&bytes)?;
        let needs = plugin.config.compare_with_imports(&interfaces).into_iter();
        let needs = needs.filter(|need| need.requested != Requested::No);
        Ok(Self {
            described: DescribedItems::of_file(file, plugin, config).await,
            permissions: needs.map(|need| (need.need.config_key().to_owned(), String::new())).collect(),
            imports: interfaces.imports.into_iter().collect(),
        })
    }

    /// True if its tools are known.
    pub(super) fn is_described(&self) -> bool {
        self.described.is_ok()
    }

    /// The differences to an earlier version, one line each.
    pub(super) fn differences(&self, before: &Self) -> Vec<String> {
        let nothing = DescribedItems::default();
        let mut lines = match &self.described {
            Ok(described) => described.differences(before.described.as_ref().unwrap_or(&nothing)),
            Err(reason) => {
                let reason = print::inline(reason);
                vec![format!("tools: unknown, because it can't be described without grants: {reason}")]
            }
        };
        let new_imports = |own: &Self, other: &Self| {
            let there: BTreeSet<&str> = other.imports.iter().map(|name| without_patch(name)).collect();
            let new = own.imports.iter().filter(|name| !there.contains(without_patch(name)));
            new.map(|name| (name.clone(), String::new())).collect()
        };
        let lists = [
            ("permissions", difference(&before.permissions, &self.permissions)),
            ("imports", difference(&new_imports(before, self), &new_imports(self, before))),
        ];
        lines.extend(shown(lists));
        if lines.is_empty() {
            lines.push("tools, permissions and imports: the same".to_owned());
        }
        lines
    }
}

impl DescribedItems {
    async fn of_file(file: &Path, plugin: &RemotePlugin, config: &Config) -> Result<Self, String> {
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
        let shown = |value: &dyn std::fmt::Debug| format!("{value:?}");
        let resources = resources.iter().map(|it| (it.uri.as_str().to_owned(), shown(it)));
        let templates = templates.iter().map(|it| (it.uri_template.as_str().to_owned(), shown(it)));
        Ok(Self {
            version: print::name_and_version(info),
            tools: tools.iter().map(|it| (it.name.as_str().to_owned(), shown(it))).collect(),
            prompts: prompts.iter().map(|it| (it.name.as_str().to_owned(), shown(it))).collect(),
            resources: resources.chain(templates).collect(),
        })
    }

    fn differences(&self, before: &Self) -> Vec<String> {
        let Self { version, tools, prompts, resources } = self;
        let mut lines = Vec::new();
        if *version != before.version {
            let before = if before.version.is_empty() {
                String::new()
            } else {
                format!(" instead of {}", before.version)
            };
            lines.push(print::inline(&format!("version: {version}{before}")));
        }
        lines.extend(shown([
            ("tools", difference(&before.tools, tools)),
            ("prompts", difference(&before.prompts, prompts)),
            ("resources", difference(&before.resources, resources)),
        ]));
        lines
    }
}

/// A line for each list that isn't empty.
fn shown<const N: usize>(lists: [(&str, Vec<String>); N]) -> impl Iterator<Item = String> {
    let lists = lists.into_iter().filter(|(_, names)| !names.is_empty());
    lists.map(|(what, names)| format!("{what}: {}", names.join(", ")))
}

/// The name of an import without the patch number of its version: `wasi:io/poll@0.2` for `wasi:io/poll@0.2.9`. Every
/// build of a component can have another one.
fn without_patch(name: &str) -> &str {
    match name.rsplit_once('.') {
        Some((start, patch)) if start.contains('@') && patch.bytes().all(|byte| byte.is_ascii_digit()) => {
            start
        }
        Some(_) | None => name,
    }
}
