//! Requests that wait for plugins which are still being loaded after a start.

use std::time::Duration;

use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

/// The stages of a start that requests wait for. Each token is cancelled when its stage is complete.
#[derive(Debug, Clone, Default)]
pub struct StartupStages {
    /// Every plugin has been loaded or has failed.
    pub loaded: CancellationToken,
    /// Every plugin whose lists came from a cache has been asked for its current ones, too.
    pub confirmed: CancellationToken,
}

/// Lets requests wait, for a limited time, until a start is complete.
#[derive(Debug, Clone)]
pub struct StartupWait {
    stages: StartupStages,
    /// The longest wait of one request. `None` means no limit.
    max_wait: Option<Duration>,
}

impl StartupWait {
    /// Lets each request wait for at most `max_wait`.
    #[must_use]
    pub fn new(stages: StartupStages, max_wait: Option<Duration>) -> Self {
        Self { stages, max_wait }
    }

    /// No request waits, because all plugins are loaded.
    pub(super) fn over() -> Self {
        let stages = StartupStages::default();
        stages.loaded.cancel();
        stages.confirmed.cancel();
        Self { stages, max_wait: None }
    }

    /// True if lists are complete.
    pub(crate) fn is_over_for_lists(&self) -> bool {
        self.stages.loaded.is_cancelled()
    }

    /// True if an unknown name is certainly unknown.
    pub(crate) fn is_over_for_names(&self) -> bool {
        self.stages.confirmed.is_cancelled()
    }

    /// Waits until lists are complete, for the longest wait, or until the request is cancelled.
    pub(crate) async fn wait_for_lists(&self, cancel: &CancellationToken) {
        self.wait(&self.stages.loaded, cancel).await;
    }

    /// Waits until all names are known, for the longest wait, or until the request is cancelled.
    pub(crate) async fn wait_for_names(&self, cancel: &CancellationToken) {
        self.wait(&self.stages.confirmed, cancel).await;
    }

    async fn wait(&self, stage: &CancellationToken, cancel: &CancellationToken) {
        let limit = async {
            match self.max_wait {
                Some(max_wait) => sleep(max_wait).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            () = stage.cancelled() => {}
            () = cancel.cancelled() => {}
            () = limit => {}
        }
    }
}
