//! `gateway.toml`: parses the file into a [`Config`] that is valid by construction.
//!
//! Loading parses the text with the span of every value, converts names and limits to types, looks up variables and
//! secrets, and compares grants with the gateway's own files. It doesn't stop at the first problem: all are collected,
//! each with its location and a fix.
//!
//! - `model`: the types that a configuration consists of.
//! - `spec`: the key table, and the JSON Schema and `docs/config.md` that are generated from it.
//! - `lock_file`: `moongate.lock`, which components the addresses of plugins have led to.
//! - `read`: the reader, which gives typed access to the file.
//! - `sections` and `grants`: the tables of the file.
//! - `protected_paths`: keeps grants away from the gateway's own files.
//! - `report`: diagnostics, redaction, and the resolved configuration.
//! - `text_edit`: adds tables to the text of a file and removes them.
//! - `restart`: the differences between two configurations that need a restart.

use std::num::NonZeroU32;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use bytesize::ByteSize;
use moongate_model::call_rate::CallerLimits;
use moongate_model::names::Digest;
use moongate_model::roles::AccessRoles;

pub mod protected_paths;
mod grants;
mod load;
mod lock_file;
mod model;
mod plugin_policy;
mod read;
mod report;
mod restart;
mod sections;
mod spec;
mod text_edit;

#[cfg(any(test, feature = "fuzz"))]
pub use grants::fuzz_grant;
pub use load::{LoadedConfig, load_config, parse_config};
#[cfg(any(test, feature = "fuzz"))]
pub use lock_file::fuzz_lock;
pub use lock_file::{LockFile, LockFileError, LockedComponent};
pub use model::{
    CertificateContent, CertificateName, ClientFeature, Credential, Diagnostic, DirGrant, DirMode, Grants,
    HostPattern, HttpGrant, HttpOrigin, HttpScheme, InstancePolicy, InvalidSignerError, InvalidTargetError,
    ItemFilter, LimitKey, Limits, MatchBoundary, NeedMatch, OciReference, PlainHttpHosts, PluginConfig,
    ReloadPolicy, RemoteSource, RequestTarget, Requested, ReservedHeader, Secret, Severity, SignatureKey,
    SignatureKeyContent, SignatureRule, SignerId, SourceField, SourceProblem, SourceReference,
    SourceReferenceError, StateGrant, StateScope, TraceContextGrant, WebOrigin, dir_grant_entry, grant_line,
    is_localhost_name, is_loopback_host, is_public_address, is_same_header, parse_host, parse_host_and_port,
    parse_sha256, parse_web_address, reached_addresses, readable_dir_entry, toml_string,
};
pub use read::{EntryKind, Environment, ProcessEnvironment, nearest_path};
pub use report::{ConfigSource, RenderStyle, render_diagnostics, resolved_config};
pub use sections::admin::{AdminConfig, ToolTrialPolicy, admin_listener};
pub use sections::audit::{AuditArguments, AuditConfig, AuditWhenFull};
pub use sections::gateway::{WatchConfig, WiderGrantsPolicy};
pub use sections::http::{BearerToken, HttpConfig, ListenerKind};
pub use sections::http_tls::{
    ClientAuthority, ClientCertificatePolicy, TlsConfig, certificate_problem, listener_certificate,
};
pub use sections::oauth::{
    IntrospectionConfig, IssuerConfig, KeyLocation, OAuthConfig, ProtectedResource, is_secure_url,
};
pub use sections::sources::{COMPONENT_DIRECTORY, SourcesConfig, component_file_name};
pub use sections::store::{RatesWhenDown, StoreAddress, StoreConfig, StoreEncryption};
pub use sections::telemetry::{TelemetryConfig, TelemetrySignal};
pub use sections::unix_socket::{UnixSocketConfig, UnixSocketLimits};
pub use spec::json_schema as schema;
pub use spec::{keys, reference};
pub use text_edit::{TextEditError, append_block, contains_table, remove_table};

/// The whole configuration: paths are absolute, defaults filled in, secrets read.
#[derive(Debug, Clone)]
pub struct Config {
    /// The file that it was read from.
    pub file: PathBuf,
    /// The HTTP endpoint.
    pub http: HttpConfig,
    /// The Unix socket. `None` means that it is off.
    pub unix_socket: Option<UnixSocketConfig>,
    /// The admin listener. `None` means that it is off.
    pub admin: Option<AdminConfig>,
    /// The store that several gateways share. `None` if there is none.
    pub store: Option<StoreConfig>,
    /// The audit log. `None` means that it is off.
    pub audit: Option<AuditConfig>,
    /// The export of traces and metrics. `None` means that the file doesn't turn it on.
    pub telemetry: Option<TelemetryConfig>,
    /// Settings for noticing changed files.
    pub watch: WatchConfig,
    /// The limits of each caller.
    pub callers: CallerLimits,
    /// The time at which a wider grant takes effect. `None` if the file doesn't say.
    pub wider_grants: Option<WiderGrantsPolicy>,
    /// True if the gateway starts only if all plugins can be loaded.
    pub require_all: bool,
    /// The time that lists and calls to unknown names wait for plugins that are being loaded after a start.
    pub startup_wait: Duration,
    /// The time that running calls get to finish on shutdown.
    pub stop_grace: Duration,
    /// The directory for compiled code, private to the gateway.
    pub cache: PathBuf,
    /// The directory for plugins' state. `None` keeps state in memory.
    pub state: Option<PathBuf>,
    /// A CA bundle that plugins' requests and requests to issuers trust in addition to the system trust store.
    pub ca_file: Option<PathBuf>,
    /// The system's certificate stores that environment variables name.
    pub certificates: Vec<PathBuf>,
    /// The number of concurrent calls to all plugins together.
    pub concurrency: u32,
    /// The memory for the whole process. `None` means three quarters of what the system allows.
    pub memory: Option<ByteSize>,
    /// The number of items on a page of a list. `None` puts all items on one page.
    pub page_size: Option<NonZeroU32>,
    /// The key that gateways with the same clients share. `None` generates one at start.
    pub sealing_key: Option<Secret>,
    /// The sources of plugins from addresses.
    pub sources: SourcesConfig,
    /// The plugins, in the order of the file.
    pub plugins: Vec<Arc<PluginConfig>>,
    /// The roles of callers. `None` means that all callers see everything.
    pub roles: Option<Arc<AccessRoles>>,
    /// Files that secrets were read from. No plugin may access them.
    pub secret_files: Vec<PathBuf>,
    /// Files with the keys of issuers. No plugin may write to them.
    pub key_files: Vec<PathBuf>,
    /// Secrets to redact from the trace, without duplicates: those that the file refers to, and other values that the
    /// gateway passes on under the name of a secret.
    pub secrets: Vec<Secret>,
    /// The digest of the text of the file, with its secrets redacted. Gateways with the same file have the same one.
    pub digest: Digest,
    /// The text of the file, including any secrets in it.
    pub source_text: Secret,
}

#[cfg(test)]
mod tests;
