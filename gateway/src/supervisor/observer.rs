//! Observation of changes: what was requested, applied, rejected, and has to wait.

use std::fmt;

use moongate_model::names::{Digest, PluginId};

use super::control::ReloadCause;
use super::status::PendingChange;

/// Receives each change once, when it takes effect or starts to wait. The method runs on the reconciler's task, so it
/// must return at once.
pub trait SupervisorObserver: fmt::Debug + Send + Sync {
    /// Something changed.
    fn changed(&self, change: &SupervisorChange<'_>);
}

/// A change.
#[derive(Debug, Clone, Copy)]
pub enum SupervisorChange<'a> {
    /// An operator requested a reload.
    ReloadRequested(ReloadCause),
    /// A configuration was applied.
    ConfigurationApplied {
        /// The digest of the file.
        digest: Digest,
        /// Changes, one per line.
        lines: &'a [String],
        /// Keys that need a restart.
        needs_restart: &'a [String],
    },
    /// A configuration was rejected, and the earlier one stays.
    ConfigurationRejected(&'a str),
    /// These parts of a configuration wait for a reload request.
    ConfigurationWaits(&'a [String]),
    /// A change of a plugin waits for a reload request.
    Waits {
        /// The plugin.
        plugin: &'a PluginId,
        /// The change.
        pending: &'a PendingChange,
    },
    /// A plugin's grants changed.
    Grants {
        /// The plugin.
        plugin: &'a PluginId,
        /// What it is granted now, and wasn't before.
        added: &'a [String],
        /// What it isn't granted any more.
        removed: &'a [String],
        /// What it is still granted of that.
        remaining: &'a [String],
    },
    /// Other code of a plugin is served.
    Code {
        /// The plugin.
        plugin: &'a PluginId,
        /// The digest of the code before. `None` if the plugin wasn't served.
        before: Option<Digest>,
        /// The digest of the code now. `None` if the plugin was removed.
        after: Option<Digest>,
    },
}

/// Ignores everything.
#[derive(Debug, Clone, Copy)]
pub(super) struct IgnoreChanges;

impl SupervisorObserver for IgnoreChanges {
    fn changed(&self, _change: &SupervisorChange<'_>) {}
}
