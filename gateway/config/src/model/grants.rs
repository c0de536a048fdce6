//! The grants of a plugin.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::path::PathBuf;

use super::{ClientFeature, Credential, HttpGrant};
use moongate_model::names::StoreName;

/// The grants of a plugin. Nothing is allowed by default.
#[derive(Debug, Clone, Default)]
pub struct Grants {
    /// Directories that the plugin can access.
    pub dirs: Vec<DirGrant>,
    /// Environment variables with their values.
    pub env: Vec<(String, String)>,
    /// Client features: `elicitation`, `sampling`, `roots`.
    pub client: BTreeSet<ClientFeature>,
    /// True if it may add to the server's instructions.
    pub instructions: bool,
    /// Destinations of HTTP requests.
    pub http: Vec<HttpGrant>,
    /// Headers that the gateway adds to its requests. The plugin can't read them.
    pub credentials: Vec<Credential>,
    /// The store for its state between calls.
    pub state: StateGrant,
    /// The callers that share a store.
    pub state_scope: StateScope,
    /// The byte range of each key of the table in the file.
    pub spans: BTreeMap<String, Range<usize>>,
}

impl Grants {
    /// True if nothing is granted.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.is_equivalent_to(&Self::default())
    }

    pub(crate) fn is_equivalent_to(&self, other: &Self) -> bool {
        let Self { dirs, env, client, instructions, http, credentials, state, state_scope, spans: _ } = self;
        dirs.len() == other.dirs.len()
            && dirs.iter().zip(&other.dirs).all(|(a, b)| a.is_equivalent_to(b))
            && *env == other.env
            && *client == other.client
            && *instructions == other.instructions
            && http.len() == other.http.len()
            && http.iter().zip(&other.http).all(|(a, b)| a.is_equivalent_to(b))
            && credentials.len() == other.credentials.len()
            && credentials.iter().zip(&other.credentials).all(|(a, b)| a.is_equivalent_to(b))
            && *state == other.state
            && *state_scope == other.state_scope
    }
}

/// The store for a plugin's state between calls.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum StateGrant {
    /// No store.
    #[default]
    NotGranted,
    /// Its own store, named like its table.
    Own,
    /// The store with this name, which other plugins can share.
    Shared(StoreName),
}

/// The callers that share a plugin's store.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum StateScope {
    /// All callers.
    #[default]
    Plugin,
    /// Each caller has a store of its own.
    Caller,
}

impl StateScope {
    /// The end of a phrase about a store.
    pub(crate) fn described(self) -> &'static str {
        match self {
            Self::Plugin => "",
            Self::Caller => ", for each caller",
        }
    }
}

/// A directory that a plugin may use. The directories of a plugin don't overlap inside the sandbox; otherwise the
/// plugin's language runtime would decide which one a path refers to.
#[derive(Debug, Clone)]
pub struct DirGrant {
    /// The byte range of the grant in the file.
    pub span: Range<usize>,
    /// The canonical directory on this machine. If it doesn't exist, the path that it would have.
    pub host_path: PathBuf,
    /// The absolute path as written, with its symlinks, which can point elsewhere at the next reload.
    pub unresolved_host_path: PathBuf,
    /// Its path inside the sandbox: absolute, without `.`, `..` and a trailing `/`.
    pub guest_path: String,
    /// Its access mode.
    pub mode: DirMode,
    /// True if it may be writable even if it is a system directory.
    pub allows_system: bool,
}

impl DirGrant {
    fn is_equivalent_to(&self, other: &Self) -> bool {
        let Self {
            span: _,
            host_path: host,
            unresolved_host_path: named,
            guest_path: guest,
            mode,
            allows_system,
        } = self;
        *host == other.host_path
            && *named == other.unresolved_host_path
            && *guest == other.guest_path
            && *mode == other.mode
            && *allows_system == other.allows_system
    }
}

/// The access mode of a directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DirMode {
    /// Read-only.
    ReadOnly,
    /// Read-write.
    ReadWrite,
}

impl DirMode {
    /// Reports whether `other` allows everything that this mode allows.
    pub(crate) fn is_covered_by(self, other: Self) -> bool {
        match (self, other) {
            (Self::ReadOnly, _) | (Self::ReadWrite, Self::ReadWrite) => true,
            (Self::ReadWrite, Self::ReadOnly) => false,
        }
    }

    /// Its name in the file.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::ReadOnly => "ro",
            Self::ReadWrite => "rw",
        }
    }
}
