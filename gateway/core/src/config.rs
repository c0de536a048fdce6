//! `gateway.toml`: from text to a [`Config`] in which nothing can be wrong any more.
//!
//! Reading goes in stages: the text is parsed with the place of every value kept, names and limits become types,
//! variables and secrets are looked up, and grants are compared with the gateway's own files. Problems don't stop
//! it: all are collected, each with its place and its cure, and rendered at the end.
//!
//! This file holds what comes out. What the keys are called, which type and default they have and what they are for
//! stands in one table, `config/keys.rs`, from which unknown keys are found and the JSON Schema is written.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::num::NonZeroU32;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use bytesize::ByteSize;

use crate::names::{Digest, PluginId};

mod admin;
mod environment;
mod expand;
mod files;
mod gateway;
mod grants;
mod http;
pub mod keys;
mod limits;
mod live;
mod literal;
mod load;
mod masking;
mod nearby;
pub mod overlap;
mod plugin;
mod policy;
mod problem;
mod reading;
pub mod reference;
mod render;
mod resolved;
mod restart;
pub mod schema;
mod secrecy;
mod secret;
mod settings;
mod syntax;

pub use admin::{AdminConfig, admin_listener};
pub use environment::{Environment, ProcessEnvironment};
pub use grants::{
    Asked, Credential, DirGrant, DirMode, Grants, HostPattern, HttpGrant, HttpOrigin, HttpScheme, Match,
    NoTarget, Reserved, StateGrant, Target, directory_item, directory_to_read, fuzz_grant, is_public,
    is_same_header, is_this_machine,
};
pub use limits::{Instances, LimitKey, Limits};
pub use literal::literal;
pub use live::{Reload, WatchConfig, WiderGrants};
pub use load::{Loaded, from_text, load};
pub use nearby::{Entry, nearest_path};
pub use problem::Source;
pub use render::{Style, render};
pub use resolved::resolved;
pub use secrecy::Standing;

pub use crate::diagnostic::{Problem, Severity};
pub use crate::policy::{ClientFeature, Secret, ToolFilter};

/// The whole configuration, resolved: paths are absolute, defaults filled in, secrets read.
#[derive(Debug, Clone)]
pub struct Config {
    /// The file it was read from.
    pub file: PathBuf,
    /// The HTTP endpoint.
    pub http: HttpConfig,
    /// The listener for operators; none: there is none.
    pub admin: Option<AdminConfig>,
    /// How changed files are noticed.
    pub watch: WatchConfig,
    /// When a change of the configuration that grants more comes into force.
    pub wider_grants: WiderGrants,
    /// Whether a plugin that can't be used keeps the gateway from starting.
    pub require_all: bool,
    /// How long calls that run may go on when the gateway stops.
    pub stop_grace: Duration,
    /// Where compiled code is kept; private to the gateway.
    pub cache: PathBuf,
    /// Where plugins' state is kept; none: in memory.
    pub state: Option<PathBuf>,
    /// Whom plugins' requests trust beside those that the machine trusts: a file of certificates.
    pub ca_file: Option<PathBuf>,
    /// How many calls run at once, of all plugins together.
    pub concurrency: u32,
    /// How many items a page of a list holds; none: all of them.
    pub page_size: Option<NonZeroU32>,
    /// What the gateways that share clients seal with; none: each has its own.
    pub sealing_key: Option<Secret>,
    /// The plugins, in the order of the file.
    pub plugins: Vec<Arc<PluginConfig>>,
    /// Files that secrets were read from: no plugin may reach them.
    pub secret_files: Vec<PathBuf>,
    /// What no record of messages may show: every secret that the file names, and whatever else it hands out under a
    /// name that sounds like one's. Each once.
    pub secrets: Vec<Secret>,
    /// The text that it was read from, secrets and all.
    pub written: Secret,
}

/// The HTTP endpoint.
#[derive(Debug, Clone)]
pub struct HttpConfig {
    /// The address to listen on. One that isn't loopback needs `tokens`.
    pub listen: SocketAddr,
    /// Who may call; empty: everybody who reaches the address, if there are no `unread_tokens`.
    pub tokens: Vec<Token>,
    /// How many tokens the file names whose variable or file isn't there: nobody may serve HTTP then, see
    /// [`Loaded::for_http`].
    pub unread_tokens: usize,
    /// Host names that a request may be addressed to, beside loopback names and the listening address; lower case,
    /// without a port.
    pub allowed_hosts: Vec<String>,
    /// Origins (scheme, host, port) of web pages that may call, beside loopback ones.
    pub allowed_origins: Vec<String>,
    /// The largest request body.
    pub max_body: ByteSize,
    /// How many sessions may be open at once.
    pub max_sessions: u32,
    /// A session that was silent for so long is ended.
    pub session_idle: Duration,
    /// How often a silent stream of events says that it is alive.
    pub keep_alive: Duration,
    /// When a stream of events is closed before its end, for its client to come back to it; none: never.
    pub close_streams_after: Option<Duration>,
    /// Whether clients that know no later transport than that of 2024-11-05 are served too.
    pub legacy_sse: bool,
}

impl HttpConfig {
    /// Must callers show a token?
    #[must_use]
    pub fn asks_for_tokens(&self) -> bool {
        !self.tokens.is_empty() || self.unread_tokens > 0
    }

    /// Would strangers be served? Yes where the address isn't loopback and nobody is asked for a token.
    ///
    /// The file is refused then; ask again where another address is given on the command line.
    #[must_use]
    pub fn is_open_to_strangers(&self, listen: SocketAddr) -> bool {
        !listen.ip().to_canonical().is_loopback() && !self.asks_for_tokens()
    }
}

/// A bearer token and whom it stands for.
#[derive(Debug, Clone)]
pub struct Token {
    /// The principal's name.
    pub name: Arc<str>,
    /// The token itself.
    pub token: Secret,
    /// The variable that it was read from; none: a file.
    pub variable: Option<Arc<str>>,
}

/// One plugin's table.
#[derive(Debug, Clone)]
pub struct PluginConfig {
    /// The table's key.
    pub id: PluginId,
    /// Where in the file the table's key stands, in bytes.
    pub place: Range<usize>,
    /// The component.
    pub source: PathBuf,
    /// Where in the file the source's value stands, in bytes.
    pub source_place: Range<usize>,
    /// The only content that is accepted.
    pub sha256: Option<Digest>,
    /// Whether a changed file is taken by itself.
    pub reload: Reload,
    /// Whether calls share instances.
    pub instances: Instances,
    /// What stands before `_` in public names; empty: nothing.
    pub prefix: String,
    /// Which tools are offered, and under which name.
    pub tools: ToolFilter,
    /// URIs or URI prefixes that are granted to this plugin against another's claim.
    pub uris: Vec<String>,
    /// Whether its tools' schemas are shown in a form that every client can read.
    pub portable_schemas: bool,
    /// What it may reach.
    pub allow: Grants,
    /// How much it may use.
    pub limits: Limits,
    /// What `wasi:config/store` answers, by key.
    pub config: BTreeMap<String, Secret>,
    /// The variables and files that settings are filled from, by key: `env NAME`, `file PATH`.
    pub filled_from: BTreeMap<String, BTreeSet<String>>,
    /// Where in the file that stands which loading may find wrong, in bytes.
    pub places: BTreeMap<Spot, Range<usize>>,
}

/// A part of a plugin's table that loading may find wrong.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Spot {
    /// The value of `sha256`.
    Sha256,
    /// The value of a limit, in the plugin's own table or else in `[defaults]`.
    Limit(LimitKey),
    /// The key `config`.
    Settings,
    /// The key of a setting.
    SettingKey(String),
    /// What a setting is set to.
    SettingValue(String),
}

impl PluginConfig {
    /// A plugin without grants, with the usual limits: for a component that no file mentions.
    #[must_use]
    pub fn bare(id: PluginId, source: PathBuf) -> Self {
        Self {
            prefix: id.as_str().to_owned(),
            id,
            place: 0..0,
            source,
            source_place: 0..0,
            sha256: None,
            reload: Reload::default(),
            instances: Instances::default(),
            tools: ToolFilter::default(),
            uris: Vec::new(),
            portable_schemas: false,
            allow: Grants::default(),
            limits: Limits::default(),
            config: BTreeMap::new(),
            filled_from: BTreeMap::new(),
            places: BTreeMap::new(),
        }
    }

    /// Where a tool is named in `tools`, or else the table itself.
    #[must_use]
    pub fn tool_place(&self, name: &str) -> Range<usize> {
        self.tools.places.get(name).unwrap_or(&self.place).clone()
    }

    /// Does `other` say the same, wherever in the file it stands? Then there is nothing to reload.
    #[must_use]
    pub fn says_the_same_as(&self, other: &Self) -> bool {
        let Self {
            id,
            place: _,
            source,
            source_place: _,
            sha256,
            reload,
            instances,
            prefix,
            tools,
            uris,
            portable_schemas,
            allow,
            limits,
            config,
            filled_from,
            places: _,
        } = self;
        *id == other.id
            && *source == other.source
            && *sha256 == other.sha256
            && *reload == other.reload
            && *instances == other.instances
            && *prefix == other.prefix
            && tools.is_equivalent_to(&other.tools)
            && *uris == other.uris
            && *portable_schemas == other.portable_schemas
            && allow.says_the_same_as(&other.allow)
            && *limits == other.limits
            && *config == other.config
            && *filled_from == other.filled_from
    }
}

#[cfg(test)]
mod tests;
