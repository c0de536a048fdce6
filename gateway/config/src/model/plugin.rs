//! The configuration of one plugin.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::model::{Grants, ItemFilter, LimitKey, Limits, RemoteSource, Secret};
use moongate_model::builtin_plugin::BuiltinPlugin;
use moongate_model::call_rate::ToolRates;
use moongate_model::names::{Digest, PluginId};

/// The configuration of one plugin: its table in the file.
#[derive(Debug, Clone)]
pub struct PluginConfig {
    /// The table's key.
    pub id: PluginId,
    /// The byte range of the table's key in the file.
    pub span: Range<usize>,
    /// The component's file. For a plugin from an address, it is in the component store, and
    /// missing if nothing is locked. For a built-in plugin, it is `builtin:NAME`.
    pub source: PathBuf,
    /// The built-in plugin that `source` names. It has no file.
    pub builtin: Option<BuiltinPlugin>,
    /// The address that the component comes from. `None` if it is a file.
    pub remote: Option<Arc<RemoteSource>>,
    /// The byte range of the value of `source` in the file.
    pub source_span: Range<usize>,
    /// The digest that the file must have. `None` means any.
    pub sha256: Option<Digest>,
    /// The trigger for loading a changed component.
    pub reload: ReloadPolicy,
    /// The sharing of instances between calls.
    pub instances: InstancePolicy,
    /// The part before `_` in public names. If empty, public names have no prefix.
    pub prefix: String,
    /// The offered tools and their public names.
    pub tools: ItemFilter,
    /// The offered prompts and their public names.
    pub prompts: ItemFilter,
    /// The offered resources and resource templates.
    pub resources: ItemFilter,
    /// URIs or URI prefixes that this plugin owns even if another plugin claims them.
    pub uris: Vec<String>,
    /// True if its tools' schemas are simplified for clients.
    pub portable_schemas: bool,
    /// Its grants.
    pub allow: Grants,
    /// Its limits.
    pub limits: Limits,
    /// How often its tools can be called.
    pub rates: ToolRates,
    /// Its settings by key, as `wasi:config/store` returns them.
    pub settings: BTreeMap<String, Secret>,
    /// The variables and files that each setting is filled from: `env NAME`, `file PATH`.
    pub setting_origins: BTreeMap<String, BTreeSet<String>>,
    /// The byte ranges of the parts that loading can reject.
    pub spans: BTreeMap<SourceField, Range<usize>>,
}

/// A part of a plugin's configuration that loading can reject.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum SourceField {
    /// The value of `sha256`.
    Sha256,
    /// The value of a limit, in the plugin's own table or else in `[defaults]`.
    Limit(LimitKey),
    /// The key `config`.
    Settings,
    /// The key of a setting.
    SettingKey(String),
    /// The value of a setting.
    SettingValue(String),
}

/// The trigger for loading a changed component.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ReloadPolicy {
    /// As soon as the change is noticed.
    #[default]
    Live,
    /// On the operator's reload request, by SIGHUP or at the admin listener.
    Pinned,
}

/// The sharing of instances between calls.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum InstancePolicy {
    /// Each call has its own instance.
    #[default]
    Fresh,
    /// An instance can serve several calls from the same caller.
    Reused,
}

impl PluginConfig {
    /// A plugin without grants and with the default limits, for a component that no configuration mentions.
    #[must_use]
    pub fn ungranted(id: PluginId, source: PathBuf) -> Self {
        Self {
            prefix: id.as_str().to_owned(),
            id,
            span: 0..0,
            source,
            builtin: None,
            remote: None,
            source_span: 0..0,
            sha256: None,
            reload: ReloadPolicy::default(),
            instances: InstancePolicy::default(),
            tools: ItemFilter::default(),
            prompts: ItemFilter::default(),
            resources: ItemFilter::default(),
            uris: Vec::new(),
            portable_schemas: false,
            allow: Grants::default(),
            limits: Limits::default(),
            rates: ToolRates::default(),
            settings: BTreeMap::new(),
            setting_origins: BTreeMap::new(),
            spans: BTreeMap::new(),
        }
    }

    /// A built-in plugin without grants and with the default limits.
    #[must_use]
    pub fn ungranted_builtin(id: PluginId, plugin: BuiltinPlugin) -> Self {
        Self { builtin: Some(plugin), ..Self::ungranted(id, plugin.source().into()) }
    }

    /// The file with the component. `None` if it is part of the gateway.
    #[must_use]
    pub fn component_file(&self) -> Option<&Path> {
        match self.builtin {
            Some(_) => None,
            None => Some(&self.source),
        }
    }

    /// Reports whether `other` is the same configuration, ignoring its location in the file. If so, there is nothing to
    /// reload.
    #[must_use]
    pub fn is_equivalent_to(&self, other: &Self) -> bool {
        let Self {
            id,
            span: _,
            source,
            builtin,
            remote,
            source_span: _,
            sha256,
            reload,
            instances,
            prefix,
            tools,
            prompts,
            resources,
            uris,
            portable_schemas,
            allow,
            limits,
            rates,
            settings: config,
            setting_origins: filled_from,
            spans: _,
        } = self;
        *id == other.id
            && *source == other.source
            && *builtin == other.builtin
            && match (remote, &other.remote) {
                (Some(remote), Some(other)) => remote.is_equivalent_to(other),
                (remote, other) => remote.is_none() && other.is_none(),
            }
            && *sha256 == other.sha256
            && *reload == other.reload
            && *instances == other.instances
            && *prefix == other.prefix
            && tools.is_equivalent_to(&other.tools)
            && prompts.is_equivalent_to(&other.prompts)
            && resources.is_equivalent_to(&other.resources)
            && *uris == other.uris
            && *portable_schemas == other.portable_schemas
            && allow.is_equivalent_to(&other.allow)
            && *limits == other.limits
            && rates.is_equivalent_to(&other.rates)
            && *config == other.settings
            && *filled_from == other.setting_origins
    }
}
