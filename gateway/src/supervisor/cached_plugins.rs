//! Finds the plugins whose descriptions are cached, at a start.
//!
//! A few threads look at all plugins' files in turn. A start with many plugins would otherwise need a task, a thread and
//! an event for each. A file system that doesn't respond stops one of the threads, and the search ends after a limited
//! time. Plugins that it hasn't found are loaded one by one, as if nothing were cached.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use moongate_config::{PluginConfig, protected_paths};
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::plugin_host::{LoadedPlugin, PluginHost};

/// The number of threads that search.
const MAX_THREADS: usize = 4;
/// The time limit of the search. Without file systems that don't respond, it takes microseconds for each plugin.
const MAX_DURATION: Duration = Duration::from_secs(1);

/// A search for plugins with cached descriptions.
pub(super) struct CachedPluginSearch {
    host: Arc<dyn PluginHost>,
    configs: Vec<Arc<PluginConfig>>,
    /// True if a plugin can write to a directory.
    has_writable_dirs: bool,
    next: AtomicUsize,
    /// For each plugin, its result. Not set if it isn't known yet.
    found: Vec<OnceLock<Option<LoadedPlugin>>>,
}

impl CachedPluginSearch {
    pub(super) fn new(
        host: Arc<dyn PluginHost>,
        configs: Vec<Arc<PluginConfig>>,
        has_writable_dirs: bool,
    ) -> Arc<Self> {
        let found = configs.iter().map(|_| OnceLock::new()).collect();
        Arc::new(Self { host, configs, has_writable_dirs, next: AtomicUsize::new(0), found })
    }

    /// The plugins that were found, in the order of the configurations.
    pub(super) async fn run(self: Arc<Self>) -> Vec<Option<LoadedPlugin>> {
        let mut threads = JoinSet::new();
        for _ in 0..self.configs.len().min(MAX_THREADS) {
            let search = Arc::clone(&self);
            threads.spawn_blocking(move || search.run_thread());
        }
        // Plugins that a stopped thread leaves are loaded one by one.
        let _ = timeout(MAX_DURATION, threads.join_all()).await;
        self.found.iter().map(|found| found.get().cloned().flatten()).collect()
    }

    fn run_thread(&self) {
        loop {
            let at = self.next.fetch_add(1, Ordering::Relaxed);
            let (Some(config), Some(found)) = (self.configs.get(at), self.found.get(at)) else { return };
            // A plugin with a panic is loaded like one that wasn't found, which reports it.
            let plugin = catch_unwind(AssertUnwindSafe(|| self.find(config))).unwrap_or_default();
            let _ = found.set(plugin); // each is set once
        }
    }

    fn find(&self, config: &Arc<PluginConfig>) -> Option<LoadedPlugin> {
        if self.has_writable_dirs && protected_paths::check_component(config, &self.configs).is_some() {
            return None;
        }
        let code = self.host.find_described(config)?;
        LoadedPlugin::new(code, Arc::clone(config)).ok()
    }
}

#[cfg(test)]
mod tests;
