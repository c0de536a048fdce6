//! Work in file systems that may not answer.
//!
//! A thread that waits for a dead network folder can't be called back, and there are only so many threads for work
//! that waits. So such work has a lane, in which only so much of it is done at once. A turn belongs to the thread that
//! does the work, not to whoever waits for the result: one that gives up leaves its turn taken, and a dead folder costs
//! as many threads as its lane is wide, not one for each attempt.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use moongate_core::names::PluginId;
use tokio::sync::Semaphore;
use tokio::task::{JoinError, spawn_blocking};

/// Where so much is done at once.
#[derive(Debug, Clone)]
pub(crate) struct Lane(Arc<Semaphore>);

impl Lane {
    /// For so much at once.
    pub(crate) fn new(width: usize) -> Self {
        Self(Arc::new(Semaphore::new(width)))
    }

    /// Does `work` where it may wait, when it is its turn. Once begun it goes on, whoever still waits for it.
    ///
    /// # Errors
    /// It panicked.
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, JoinError> {
        let turn = Arc::clone(&self.0).acquire_owned().await.expect("lanes aren't closed");
        spawn_blocking(move || {
            let _turn = turn;
            work()
        })
        .await
    }
}

/// A lane for each plugin, so that none takes another's turns, whatever becomes of its table and its code meanwhile.
#[derive(Debug)]
pub(crate) struct Lanes {
    width: usize,
    /// A lane is there as long as somebody has it, a thread that works in it included.
    all: Mutex<HashMap<PluginId, Weak<Semaphore>>>,
}

impl Lanes {
    /// Each for so much at once.
    pub(crate) fn new(width: usize) -> Self {
        Self { width, all: Mutex::default() }
    }

    /// The plugin's.
    pub(crate) fn of(&self, plugin: &PluginId) -> Lane {
        let mut all = self.all.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(lane) = all.get(plugin).and_then(Weak::upgrade) {
            return Lane(lane);
        }
        all.retain(|_, lane| lane.strong_count() > 0);
        let lane = Lane::new(self.width);
        all.insert(plugin.clone(), Arc::downgrade(&lane.0));
        lane
    }
}

#[cfg(test)]
mod tests;
