//! The supervisor's status: plain values for the command line, the admin listener and tests.

use std::collections::VecDeque;
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use moongate_config::PluginConfig;
use moongate_model::names::{Digest, PluginId};
use moongate_protocol::catalog::Catalog;

/// The maximum number of remembered reloads.
pub const MAX_RELOAD_HISTORY: usize = 20;

/// The state of the gateway's plugins at one moment. Published through a `watch` channel at each change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SupervisorStatus {
    /// The number of the current catalog.
    pub generation: u64,
    /// The configuration in use.
    pub config: ConfigStatus,
    /// The plugins, in the order of `gateway.toml`.
    pub plugins: Vec<PluginStatus>,
    /// The method of detecting file changes.
    pub watch_mode: WatchMode,
    /// True if no work is in progress or queued. Future retries don't count.
    pub is_settled: bool,
    /// Counts since the start.
    pub reload_counts: ReloadCounts,
    /// The last reloads, newest first, up to [`MAX_RELOAD_HISTORY`].
    pub history: VecDeque<ReloadRecord>,
}

impl SupervisorStatus {
    /// The status with the directories that calls to these plugins couldn't open, which can change at any call.
    pub(super) fn with_unavailable_directories(&self, catalog: &Catalog) -> Self {
        let mut status = self.clone();
        for plugin in &mut status.plugins {
            let serving = catalog.plugin(&plugin.id);
            plugin.unavailable_directories =
                serving.map(|serving| serving.plugin().unavailable_directories()).unwrap_or_default();
        }
        status
    }
}

/// The status of the configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigStatus {
    /// Its file.
    pub file: PathBuf,
    /// The digest of its text, without its secrets.
    pub digest: Digest,
    /// The time when it was last applied.
    pub since: SystemTime,
    /// The reason that the current content of the file isn't in use. `None` if it is.
    pub rejected: Option<String>,
    /// Keys and tables that changed since the start and need a restart, such as `http.listen`.
    pub needs_restart: Vec<String>,
    /// Keys that changed and need a reload request, such as `gateway.wider_grants`.
    pub pending_keys: Vec<String>,
    /// The time that running calls get to finish on shutdown.
    pub stop_grace: Duration,
}

/// One plugin of the configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PluginStatus {
    /// Its name in the configuration.
    pub id: PluginId,
    /// Its component's file.
    pub source: PathBuf,
    /// The place that its component comes from.
    pub origin: CodeOrigin,
    /// Its state.
    pub state: PluginState,
    /// The step of a change in progress.
    pub activity: PluginActivity,
    /// The digest of the active code. `None` if no version is active.
    pub digest: Option<Digest>,
    /// The time when that code became active.
    pub since: Option<SystemTime>,
    /// Its description. `None` if no version is active.
    pub about: Option<PluginAbout>,
    /// Counts of its items.
    pub offer_counts: OfferCounts,
    /// A change that needs a reload request.
    pub pending_change: Option<PendingChange>,
    /// The granted directories that couldn't be opened for the last call. Calls use the others.
    pub unavailable_directories: Vec<PathBuf>,
}

/// The place that a plugin's component comes from, and how its code is fixed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CodeOrigin {
    /// It is part of the gateway.
    Builtin,
    /// A file with any content.
    File,
    /// A file with the digest in the configuration.
    PinnedFile,
    /// An address whose component is in the lock file.
    Locked {
        /// The address, without its query, which can contain secrets.
        address: String,
    },
    /// An address that isn't in the lock file.
    Unlocked {
        /// The same.
        address: String,
    },
}

impl CodeOrigin {
    /// The origin of the component of this configuration.
    pub(super) fn of(config: &PluginConfig) -> Self {
        match &config.remote {
            Some(remote) => {
                let address = remote.text.split('?').next().unwrap_or_default().to_owned();
                if remote.locked.is_ok() { Self::Locked { address } } else { Self::Unlocked { address } }
            }
            None if config.builtin.is_some() => Self::Builtin,
            None if config.sha256.is_some() => Self::PinnedFile,
            None => Self::File,
        }
    }
}

/// The step of a change in progress.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PluginActivity {
    /// Nothing is in progress.
    Idle,
    /// A reload request or a changed configuration is checked.
    Checking,
    /// New code is compiled.
    Compiling,
}

/// A plugin's description of itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PluginAbout {
    /// Its display name.
    pub title: Option<String>,
    /// Its purpose.
    pub description: Option<String>,
    /// Its version.
    pub version: String,
}

/// The state of a plugin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PluginState {
    /// It is being loaded for the first time.
    Loading,
    /// It serves its current file and configuration.
    Serving,
    /// An earlier version serves, because the current file or configuration can't be used.
    Degraded(PluginIssue),
    /// It can't be used, and it has no earlier version.
    Failed(PluginIssue),
}

/// A problem with a plugin's current file or configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PluginIssue {
    /// The reason, in one line.
    pub reason: String,
    /// The hint for the operator.
    pub hint: Option<String>,
    /// True if every call fails until the problem is fixed, including calls to an earlier version.
    pub ends_calls: bool,
    /// The time of the next retry. `None` if only a change can help.
    pub retry_at: Option<SystemTime>,
}

/// Counts of the items that a plugin offers to clients.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct OfferCounts {
    /// Tools.
    pub tools: usize,
    /// Listed resources.
    pub resources: usize,
    /// Resource templates.
    pub templates: usize,
    /// Prompts.
    pub prompts: usize,
}

/// A change that needs a reload request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PendingChange {
    /// New code of a plugin with `reload = "pinned"`.
    Code(Digest),
    /// These new grants, because of `wider_grants = "wait"`.
    Grants(Vec<String>),
}

/// The method of detecting file changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WatchMode {
    /// Reports from the system. In addition, files are polled.
    Events,
    /// Polling, because the system doesn't report everything, for this reason.
    Polling(String),
    /// None. Changes need a reload request.
    Off,
}

/// Counts of reloads since the start.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ReloadCounts {
    /// Plugins that got new code or a new configuration.
    pub replaced: u64,
    /// Files that were written without new content.
    pub unchanged: u64,
    /// Plugins that couldn't be used.
    pub failed: u64,
    /// Configurations that were applied.
    pub configured: u64,
    /// Configurations that were rejected.
    pub rejected: u64,
}

/// A completed reload.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReloadRecord {
    /// The time when it completed.
    pub at: SystemTime,
    /// The time from detecting the change until it completed.
    pub took: Duration,
    /// The plugin. `None` for the configuration.
    pub plugin: Option<PluginId>,
    /// The change or the failure, in one line, as in the log.
    pub outcome: Result<String, String>,
}
