//! What all plugins offer together, immutable once built.
//!
//! [`Plugin`] is what may be asked of any plugin. It stands here, above the Wasm host, so that everything from
//! names to errors is tested with a fake of twenty lines.
//!
//! A plugin comes in two steps. [`Member::new`] looks at it alone: public names, schemas compiled, digests. That
//! takes time and is done once per load, so that a plugin that doesn't change isn't compiled again, and one that
//! can't be used is found out before it replaces one that can. [`Catalog::build`] then looks at all of them together,
//! which takes little.

use std::collections::HashMap;
use std::sync::Arc;

use crate::names::{Digest, PluginId, Principal, PublicName, ResourceUri};

mod admit;
mod annotated;
mod build;
mod claims;
mod conflict;
mod diff;
mod entry;
#[cfg(any(test, feature = "test-support"))]
pub mod fake;
mod member;
mod portable;
mod schema;
mod settings;
mod shown;

use claims::Claims;

pub use admit::Candidate;
pub use annotated::{HeaderArgument, header_arguments};
pub use build::Build;
pub use conflict::{Conflict, Instead, Refused, Restart, Subject};
pub use diff::{Change, Diff, KindDiff, Part, Weaker};
pub use entry::{PromptEntry, ResourceEntry, TemplateEntry, ToolEntry};
pub use member::Member;
pub use schema::{Misfit, Schema, SchemaError};
pub use settings::named_members;

pub use crate::plugin::{Answer, Plugin};

/// All that is offered at one moment, in the order of `gateway.toml` and, for each plugin, in its own order.
#[derive(Debug)]
pub struct Catalog {
    generation: u64,
    members: Vec<Arc<Member>>,
    tools: Vec<ToolEntry>,
    prompts: Vec<PromptEntry>,
    resources: Vec<ResourceEntry>,
    templates: Vec<TemplateEntry>,
    tool_at: HashMap<PublicName, usize>,
    prompt_at: HashMap<PublicName, usize>,
    resource_at: HashMap<ResourceUri, usize>,
    claims: Claims,
    digests: [Digest; Kind::ALL.len()],
}

/// What clients are told to list again when it changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kind {
    /// Tools.
    Tools,
    /// Prompts.
    Prompts,
    /// Resources and resource templates.
    Resources,
}

impl Kind {
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
    /// A catalog of nothing, before the first is built.
    #[must_use]
    pub fn empty() -> Self {
        Self::build(0, Vec::new(), None).catalog
    }

    /// How many catalogs were built before this one.
    #[must_use]
    pub fn generation(&self) -> u64 {
        self.generation
    }

    /// What `principal` may use. Today that is all, and lists are the same for everybody; calls go through here, so
    /// that it can become less.
    #[must_use]
    pub fn view(&self, _principal: &Principal) -> &Self {
        self
    }

    /// The plugins that serve.
    #[must_use]
    pub fn members(&self) -> &[Arc<Member>] {
        &self.members
    }

    /// The plugin of that key.
    #[must_use]
    pub fn member(&self, id: &PluginId) -> Option<&Arc<Member>> {
        self.members.iter().find(|member| member.id() == id)
    }

    /// The tools.
    #[must_use]
    pub fn tools(&self) -> &[ToolEntry] {
        &self.tools
    }

    /// The tool that clients call `name`.
    #[must_use]
    pub fn tool(&self, name: &str) -> Option<&ToolEntry> {
        self.tool_at.get(name).map(|at| &self.tools[*at])
    }

    /// The prompts.
    #[must_use]
    pub fn prompts(&self) -> &[PromptEntry] {
        &self.prompts
    }

    /// The prompt that clients call `name`.
    #[must_use]
    pub fn prompt(&self, name: &str) -> Option<&PromptEntry> {
        self.prompt_at.get(name).map(|at| &self.prompts[*at])
    }

    /// The resources that are listed.
    #[must_use]
    pub fn resources(&self) -> &[ResourceEntry] {
        &self.resources
    }

    /// The resource that is listed under `uri`.
    #[must_use]
    pub fn resource(&self, uri: &str) -> Option<&ResourceEntry> {
        self.resource_at.get(uri).map(|at| &self.resources[*at])
    }

    /// The resource templates.
    #[must_use]
    pub fn templates(&self) -> &[TemplateEntry] {
        &self.templates
    }

    /// The resource template of exactly that text.
    #[must_use]
    pub fn template(&self, text: &str) -> Option<&TemplateEntry> {
        self.templates.iter().find(|entry| entry.template().uri_template.as_str() == text)
    }

    /// The plugin whose space `uri` lies in: the one that lists it, else the one with the template whose literal
    /// beginning is the longest that `uri` starts with.
    #[must_use]
    pub fn resource_owner(&self, uri: &str) -> Option<&Arc<Member>> {
        self.claims.owner(uri).map(|owner| &self.members[owner])
    }

    /// The digest of all that clients see of one kind, order included: it changes when, and only when, they would
    /// see something else.
    #[must_use]
    pub fn digest(&self, kind: Kind) -> Digest {
        self.digests[kind.index()]
    }
}

#[cfg(test)]
mod tests;
