//! The progress of a start.
//!
//! A start has three steps. First, every plugin whose compiled code is cached is loaded, and the first catalog contains
//! them all. Then the others are compiled, and each is added when it is ready. When every plugin has been loaded or has
//! failed, those whose lists come from a cache are asked for their current ones.

use std::sync::Arc;

use moongate_config::Diagnostic;
use moongate_model::names::PluginId;
use moongate_protocol::dispatch::StartupStages;
use tokio::sync::SetOnce;
use tokio_util::sync::CancellationToken;

/// The progress of a start. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub(super) struct StartupProgress {
    /// Cancelled when the first catalog is published.
    first_catalog: CancellationToken,
    stages: StartupStages,
    result: Arc<SetOnce<StartupResult>>,
}

/// The result of loading every plugin.
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

    /// Every plugin has been loaded or has failed. Only the first call has an effect.
    pub(super) fn set_loaded(&self, result: StartupResult) {
        let _ = self.result.set(result);
        self.first_catalog.cancel();
        self.stages.loaded.cancel();
    }

    /// Every plugin whose lists came from a cache has been asked for its current ones.
    pub(super) fn set_confirmed(&self) {
        self.stages.confirmed.cancel();
    }

    /// The stages that requests wait for.
    pub(super) fn stages(&self) -> &StartupStages {
        &self.stages
    }

    /// The result. `None` while plugins are being loaded.
    pub(super) fn result(&self) -> Option<&StartupResult> {
        self.result.get()
    }

    /// Waits for the result. Then the stage `loaded` is complete, too.
    pub(super) async fn loaded(&self) -> &StartupResult {
        self.stages.loaded.cancelled().await;
        self.result.wait().await
    }
}
