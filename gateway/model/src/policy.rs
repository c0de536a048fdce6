//! The part of a plugin's configuration that the protocol needs: names, schemas, settings and client features.
//!
//! [`PluginPolicy`] is plain data and doesn't depend on the configuration reader, which produces it. Grants and limits
//! that only the sandbox enforces aren't part of it.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::time::Duration;

use bytesize::ByteSize;

use crate::call_rate::ToolRates;
use crate::manifest::ItemKind;
use crate::names::{PluginId, PublicName};

pub use crate::secret::Secret;

/// A plugin's configuration, as far as the catalog, dispatch and the protocol need it.
#[derive(Debug, Clone)]
pub struct PluginPolicy {
    /// The plugin's id.
    pub id: PluginId,
    /// The byte range of the plugin's key in the configuration file.
    pub place: Range<usize>,
    /// The prefix of public names, without the `_` that follows it. Empty means no prefix.
    pub prefix: String,
    /// The tools that are offered, and their public names.
    pub tools: ItemFilter,
    /// The prompts that are offered, and their public names.
    pub prompts: ItemFilter,
    /// The resources and resource templates that are offered. They aren't renamed.
    pub resources: ItemFilter,
    /// URIs or URI prefixes that are granted to this plugin even if another one claims them.
    pub uris: Vec<String>,
    /// True if tool schemas are simplified to a form that every client can read.
    pub portable_schemas: bool,
    /// The client features that the plugin may request.
    pub client_features: BTreeSet<ClientFeature>,
    /// True if the plugin may add to the server's instructions.
    pub instructions: bool,
    /// The largest JSON Schema that is accepted from the plugin.
    pub schema_bounds: SchemaBounds,
    /// The number of calls that run at the same time.
    pub concurrency: u32,
    /// The number of calls that wait for a running one.
    pub queue: u32,
    /// The time that a call can take, from its arrival.
    pub timeout: Duration,
    /// The CPU time of one call.
    pub cpu_time: Duration,
    /// The time that a cancelled call gets to clean up, if it checks for cancellation.
    pub cancel_grace: Duration,
    /// How often its tools can be called.
    pub rates: ToolRates,
    /// The plugin's own settings.
    pub settings: PluginSettings,
}

impl PluginPolicy {
    /// The filter of the items of this kind.
    #[must_use]
    pub fn filter(&self, kind: ItemKind) -> &ItemFilter {
        match kind {
            ItemKind::Tool => &self.tools,
            ItemKind::Prompt => &self.prompts,
            ItemKind::Resource | ItemKind::Template => &self.resources,
        }
    }

    /// The location of an item's name in the configuration, or of the plugin's key if the item isn't mentioned.
    #[must_use]
    pub fn item_place(&self, kind: ItemKind, name: &str) -> Range<usize> {
        let rated = || self.rates.places.get(name).filter(|_| kind == ItemKind::Tool);
        self.filter(kind).places.get(name).or_else(rated).unwrap_or(&self.place).clone()
    }

    /// Compares two policies, ignoring their locations in the file.
    #[must_use]
    pub fn is_equivalent_to(&self, other: &Self) -> bool {
        let Self {
            id,
            place: _,
            prefix,
            tools,
            prompts,
            resources,
            uris,
            portable_schemas,
            client_features,
            instructions,
            schema_bounds,
            concurrency,
            queue,
            timeout,
            cpu_time,
            cancel_grace,
            rates,
            settings,
        } = self;
        *id == other.id
            && *prefix == other.prefix
            && tools.is_equivalent_to(&other.tools)
            && prompts.is_equivalent_to(&other.prompts)
            && resources.is_equivalent_to(&other.resources)
            && *uris == other.uris
            && *portable_schemas == other.portable_schemas
            && *client_features == other.client_features
            && *instructions == other.instructions
            && *schema_bounds == other.schema_bounds
            && *concurrency == other.concurrency
            && *queue == other.queue
            && *timeout == other.timeout
            && *cpu_time == other.cpu_time
            && *cancel_grace == other.cancel_grace
            && rates.is_equivalent_to(&other.rates)
            && settings.is_equivalent_to(&other.settings)
    }
}

/// A selection of a plugin's items. Keys are the plugin's own names, URIs or templates and aren't validated here: loading
/// the plugin reports unknown names, and rejects the plugin if an unknown name is denied.
#[derive(Debug, Clone, Default)]
pub struct ItemFilter {
    /// The only items that are offered. `None` means all.
    pub allow: Option<BTreeSet<String>>,
    /// Items that aren't offered.
    pub deny: BTreeSet<String>,
    /// Items with another public name. Resources have none.
    pub rename: BTreeMap<String, PublicName>,
    /// Tools with another description than the plugin's.
    pub describe: BTreeMap<String, String>,
    /// The byte range of each of these names in the configuration file.
    pub places: BTreeMap<String, Range<usize>>,
}

impl ItemFilter {
    /// Reports whether the item with this name is offered.
    #[must_use]
    pub fn offers(&self, name: &str) -> bool {
        self.allow.as_ref().is_none_or(|only| only.contains(name)) && !self.deny.contains(name)
    }

    /// Compares two filters, ignoring their locations in the file.
    #[must_use]
    pub fn is_equivalent_to(&self, other: &Self) -> bool {
        let Self { allow, deny, rename, describe, places: _ } = self;
        *allow == other.allow && *deny == other.deny && *rename == other.rename && *describe == other.describe
    }
}

/// A feature of the client that a plugin may request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ClientFeature {
    /// Ask the user.
    Elicitation,
    /// Ask the model.
    Sampling,
    /// Ask for the client's working directories.
    Roots,
}

impl ClientFeature {
    /// All features.
    pub const ALL: [Self; 3] = [Self::Elicitation, Self::Sampling, Self::Roots];

    /// The first part of the name of its MCP capability.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Elicitation => "elicitation",
            Self::Sampling => "sampling",
            Self::Roots => "roots",
        }
    }

    /// The configuration line that grants it.
    #[must_use]
    pub fn suggest_grant(self) -> String {
        format!("client = [\"{}\"]", self.as_str())
    }
}

/// The largest JSON Schema that is accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SchemaBounds {
    /// The length of its text.
    pub max_size: ByteSize,
    /// The nesting depth of its text. Each level of a schema takes two.
    pub max_depth: u32,
}

/// A plugin's own settings.
#[derive(Debug, Clone, Default)]
pub struct PluginSettings {
    /// The byte range of the settings in the configuration file.
    pub place: Range<usize>,
    /// The settings, by key.
    pub entries: BTreeMap<String, Setting>,
}

impl PluginSettings {
    /// Compares two plugins' settings, ignoring their locations in the file.
    #[must_use]
    pub fn is_equivalent_to(&self, other: &Self) -> bool {
        let Self { place: _, entries } = self;
        entries.len() == other.entries.len()
            && entries.iter().zip(&other.entries).all(|((a_key, a), (b_key, b))| {
                let Setting { value, sources, key_place: _, value_place: _ } = a;
                a_key == b_key && *value == b.value && *sources == b.sources
            })
    }
}

/// One setting of a plugin.
#[derive(Debug, Clone)]
pub struct Setting {
    /// The value, as the plugin gets it.
    pub value: Secret,
    /// The variables and files that the value is filled from: `env NAME`, `file PATH`. Empty if the value is written
    /// in the configuration file itself.
    pub sources: BTreeSet<String>,
    /// The byte range of the key in the configuration file.
    pub key_place: Range<usize>,
    /// The byte range of the value in the configuration file.
    pub value_place: Range<usize>,
}
