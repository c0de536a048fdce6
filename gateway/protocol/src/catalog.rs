//! Everything that all plugins offer together, immutable once built.
//!
//! A plugin is added in two steps. [`CatalogPlugin::new`] examines it alone: public names, compiled schemas, digests. That
//! takes time and is done once per load, so that an unchanged plugin isn't compiled again, and an invalid one is
//! rejected before it replaces a valid one. [`Catalog::build`] then examines all plugins together, which is fast.

use std::collections::HashMap;
use std::sync::Arc;

use crate::names::{Digest, PluginId, PublicName, ResourceUri};

mod conflict_resolution;
mod header_arguments;
mod build;
mod claims;
mod conflict;
mod diff;
mod entry;
#[cfg(any(test, feature = "test-support"))]
pub mod fake;
mod catalog_plugin;
mod offer;
mod portable;
mod schema;
mod settings;
mod shown_schemas;
mod view;

use claims::UriClaims;
use view::CatalogScope;

pub use build::CatalogBuild;
pub use catalog_plugin::CatalogPlugin;
pub use conflict::{ConflictSubject, PluginConflict, RefusedPlugin, Replacement, RestartEffect};
pub use conflict_resolution::CatalogCandidate;
pub use diff::{CatalogDiff, ItemChange, ItemPart, KindDiff, WeakerHint};
pub use entry::{PromptEntry, ResourceEntry, TemplateEntry, ToolEntry};
pub use header_arguments::{HeaderArgument, header_arguments};
pub use schema::{Schema, SchemaError, SchemaMismatchError};
pub use settings::named_members;
pub use view::ViewId;

pub use crate::plugin::{PastChecks, Plugin, PluginFuture};

/// Everything offered at one moment, in the order of `gateway.toml` and, for each plugin, in its own order.
#[derive(Debug)]
pub struct Catalog {
    generation: u64,
    plugins: Vec<Arc<CatalogPlugin>>,
    tools: Vec<ToolEntry>,
    prompts: Vec<PromptEntry>,
    resources: Vec<ResourceEntry>,
    templates: Vec<TemplateEntry>,
    tool_at: HashMap<PublicName, usize>,
    prompt_at: HashMap<PublicName, usize>,
    resource_at: HashMap<ResourceUri, usize>,
    claims: Arc<UriClaims>,
    /// The plugins that `claims` refers to.
    owners: Vec<Arc<CatalogPlugin>>,
    digests: [Digest; ListKind::ALL.len()],
    scope: CatalogScope,
}

/// The lists that a client can be notified about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ListKind {
    /// Tools.
    Tools,
    /// Prompts.
    Prompts,
    /// Resources and resource templates.
    Resources,
}

impl ListKind {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Tools, Self::Prompts, Self::Resources];

    fn index(self) -> usize {
        match self {
            Self::Tools => 0,
            Self::Prompts => 1,
            Self::Resources => 2,
        }
    }
}

impl Catalog {
    /// An empty catalog, before the first is built.
    #[must_use]
    pub fn empty() -> Self {
        Self::build(0, Vec::new(), None).catalog
    }

    /// The number of catalogs built before this one.
    #[must_use]
    pub fn generation(&self) -> u64 {
        self.generation
    }

    /// The plugins that serve.
    #[must_use]
    pub fn plugins(&self) -> &[Arc<CatalogPlugin>] {
        &self.plugins
    }

    /// The plugin with that id.
    #[must_use]
    pub fn plugin(&self, id: &PluginId) -> Option<&Arc<CatalogPlugin>> {
        self.plugins.iter().find(|catalog_plugin| catalog_plugin.id() == id)
    }

    /// The tools.
    #[must_use]
    pub fn tools(&self) -> &[ToolEntry] {
        &self.tools
    }

    /// The tool with the public name `name`.
    #[must_use]
    pub fn tool(&self, name: &str) -> Option<&ToolEntry> {
        self.tool_at.get(name).map(|at| &self.tools[*at])
    }

    /// The prompts.
    #[must_use]
    pub fn prompts(&self) -> &[PromptEntry] {
        &self.prompts
    }

    /// The prompt with the public name `name`.
    #[must_use]
    pub fn prompt(&self, name: &str) -> Option<&PromptEntry> {
        self.prompt_at.get(name).map(|at| &self.prompts[*at])
    }

    /// The listed resources.
    #[must_use]
    pub fn resources(&self) -> &[ResourceEntry] {
        &self.resources
    }

    /// The resource listed under `uri`.
    #[must_use]
    pub fn resource(&self, uri: &str) -> Option<&ResourceEntry> {
        self.resource_at.get(uri).map(|at| &self.resources[*at])
    }

    /// The resource templates.
    #[must_use]
    pub fn templates(&self) -> &[TemplateEntry] {
        &self.templates
    }

    /// The resource template with exactly that text.
    #[must_use]
    pub fn template(&self, text: &str) -> Option<&TemplateEntry> {
        self.templates.iter().find(|entry| entry.template().uri_template.as_str() == text)
    }

    /// The plugin that owns `uri`: the one that lists it, otherwise the one with the template that has the longest
    /// matching literal prefix. `None` if that plugin doesn't offer it.
    #[must_use]
    pub fn resource_owner(&self, uri: &str) -> Option<&Arc<CatalogPlugin>> {
        if uri.len() > ResourceUri::MAX_BYTES {
            return None; // comparing it would take many times its length
        }
        let is_visible = |owner: usize| self.scope.has_resource(self.owners[owner].id(), uri);
        let claim = self.claims.covering(uri, is_visible)?;
        let catalog_plugin = &self.owners[claim.owner];
        let is_withheld = claim.prefix.is_some() && catalog_plugin.offer().withheld.covers(uri, claim.prefix);
        (!is_withheld).then_some(catalog_plugin)
    }

    /// The digest of everything that clients see of one kind, order included. It changes if and only if clients would
    /// see a difference.
    #[must_use]
    pub fn digest(&self, kind: ListKind) -> Digest {
        self.digests[kind.index()]
    }
}

#[cfg(test)]
mod tests;
