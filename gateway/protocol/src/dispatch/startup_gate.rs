//! Requests that wait for plugins which are still being loaded after a start.

use std::time::Duration;

use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

/// Lets requests wait until every plugin was tried once, for a limited time.
#[derive(Debug, Clone)]
pub struct StartupGate {
    /// Cancelled when every plugin was tried once.
    complete: CancellationToken,
    /// The longest wait of one request. `None` means no limit.
    max_wait: Option<Duration>,
}

impl StartupGate {
    /// A gate that opens when `complete` is cancelled.
    #[must_use]
    pub fn new(complete: CancellationToken, max_wait: Option<Duration>) -> Self {
        Self { complete, max_wait }
    }

    /// A gate of plugins that are all loaded.
    pub(super) fn open() -> Self {
        let complete = CancellationToken::new();
        complete.cancel();
        Self { complete, max_wait: None }
    }

    /// True if no request has to wait.
    pub(crate) fn is_open(&self) -> bool {
        self.complete.is_cancelled()
    }

    /// Waits until every plugin was tried, for the longest wait, or until the request is cancelled.
    pub(crate) async fn wait(&self, cancel: &CancellationToken) {
        let limit = async {
            match self.max_wait {
                Some(max_wait) => sleep(max_wait).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            () = self.complete.cancelled() => {}
            () = cancel.cancelled() => {}
            () = limit => {}
        }
    }
}
