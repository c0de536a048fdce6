//! The progress of a start: which plugins are known, and the result of trying all of them.
//!
//! A start has two steps. First, every plugin whose compiled code is cached is loaded, and the first catalog contains
//! them all. Then the others are compiled, and each is added when it is ready.

use std::sync::Arc;

use moongate_config::Diagnostic;
use moongate_model::names::PluginId;
use tokio::sync::SetOnce;
use tokio_util::sync::CancellationToken;

/// The progress of a start. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub(super) struct StartupProgress {
    /// Cancelled when the first catalog is published.
    first_catalog: CancellationToken,
    /// Cancelled when every plugin was tried once.
    complete: CancellationToken,
    result: Arc<SetOnce<StartupResult>>,
}

/// The result of trying every plugin once.
#[derive(Debug)]
pub(super) struct StartupResult {
    /// The plugins' problems, in configuration order.
    pub(super) problems: Vec<Diagnostic>,
    /// The plugins that can't be used.
    pub(super) inactive: Vec<PluginId>,
}

impl StartupProgress {
    /// The first catalog is published.
    pub(super) fn set_first_catalog(&self) {
        self.first_catalog.cancel();
    }

    /// Waits for the first catalog.
    pub(super) async fn first_catalog(&self) {
        self.first_catalog.cancelled().await;
    }

    /// Every plugin was tried once. Only the first call has an effect.
    pub(super) fn set_complete(&self, result: StartupResult) {
        let _ = self.result.set(result);
        self.first_catalog.cancel();
        self.complete.cancel();
    }

    /// Cancelled when every plugin was tried once.
    pub(super) fn complete(&self) -> &CancellationToken {
        &self.complete
    }

    /// The result. `None` while plugins are being loaded.
    pub(super) fn result(&self) -> Option<&StartupResult> {
        self.result.get()
    }

    /// Waits for the result. Then [`Self::complete`] is cancelled, too.
    pub(super) async fn wait(&self) -> &StartupResult {
        self.complete.cancelled().await;
        self.result.wait().await
    }
}
