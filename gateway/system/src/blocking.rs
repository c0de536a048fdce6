//! Limits on blocking work in file systems that might not respond.
//!
//! A thread that waits for a dead network file system can't be cancelled, and the number of blocking threads is
//! limited. So only a few of them do such work at once. The permit belongs to the thread and not to the task that waits
//! for the result: if that task gives up, the permit stays taken, so a dead file system costs a few threads instead of
//! one per attempt.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use moongate_model::names::PluginId;
use tokio::sync::Semaphore;
use tokio::task::{JoinError, spawn_blocking};

/// Limits the number of blocking threads that work at once.
#[derive(Debug, Clone)]
pub struct BlockingLimiter(Arc<Semaphore>);

impl BlockingLimiter {
    /// `width` is the number of threads.
    pub fn new(width: usize) -> Self {
        Self(Arc::new(Semaphore::new(width)))
    }

    /// Runs `work` on a blocking thread once a permit is free. Once started, it continues even if the future is
    /// dropped.
    ///
    /// # Errors
    /// The work panicked.
    pub async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, JoinError> {
        let permit = Arc::clone(&self.0).acquire_owned().await.expect("the semaphore is never closed");
        spawn_blocking(move || {
            let _permit = permit;
            work()
        })
        .await
    }
}

/// A [`BlockingLimiter`] for each plugin, which stays the same if the plugin's configuration or code changes.
#[derive(Debug)]
pub struct PluginBlockingLimiters {
    width: usize,
    /// A lane exists while something refers to it, such as a running thread. The names of plugins stay.
    limiters: Mutex<HashMap<PluginId, Weak<Semaphore>>>,
}

impl PluginBlockingLimiters {
    /// `width` is the number of threads for each plugin.
    pub fn new(width: usize) -> Self {
        Self { width, limiters: Mutex::default() }
    }

    /// The plugin's lane.
    pub fn for_plugin(&self, plugin: &PluginId) -> BlockingLimiter {
        let mut all = self.limiters.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(lane) = all.get(plugin).and_then(Weak::upgrade) {
            return BlockingLimiter(lane);
        }
        let lane = BlockingLimiter::new(self.width);
        all.insert(plugin.clone(), Arc::downgrade(&lane.0));
        lane
    }
}

#[cfg(test)]
mod tests;
