//! Loaded code and its lifetime.
//!
//! Code is freed with its last reference: from catalogs that contain the plugin, from running calls, and from
//! multi-round calls that will call it again. Each loaded component counts as one generation of the plugin. A
//! [`CodeLease`] is one plugin's reference to code; it can be released while the plugin itself is still referenced.

use std::collections::BTreeMap;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use std::time::Duration;

use moongate_model::manifest::Interfaces;
use moongate_model::names::PluginId;
use tokio_util::sync::CancellationToken;
use wasmtime::component::InstancePre;

use super::exports::Exports;
use crate::load::LinkedComponent;
use crate::sandbox::guest_memory::TypicalMemory;
use crate::sandbox::store::StoreState;
use crate::wasi::linker;

/// A component, ready to be instantiated.
pub(crate) struct LoadedCode {
    pub(crate) pre: InstancePre<StoreState>,
    pub(crate) exports: Exports,
    /// True if it checks for cancellation, and so can end by itself.
    pub(crate) watches_cancel: bool,
    /// Its imports and exports.
    pub(crate) interfaces: Arc<Interfaces>,
    /// The peak memory of a call, in bytes.
    pub(crate) peak: Arc<AtomicU64>,
    /// The memory that a call usually needs.
    pub(crate) typical: Arc<TypicalMemory>,
    _counted: GenerationGuard,
}

impl LoadedCode {
    pub(crate) fn new(linked: LinkedComponent, size: u64, counted: GenerationGuard) -> Arc<Self> {
        let LinkedComponent { pre, exports, imports } = linked;
        let linker::Imports { watches_cancel, interfaces } = imports;
        let interfaces = Arc::new(Interfaces { file_size: size, ..interfaces });
        let (peak, typical) = (Arc::default(), Arc::default());
        Arc::new(Self { pre, exports, watches_cancel, interfaces, peak, typical, _counted: counted })
    }
}

/// The number of loaded components by plugin. Usually one; more while calls finish on an earlier one.
#[derive(Debug, Clone, Default)]
pub(crate) struct Generations(Arc<Mutex<BTreeMap<PluginId, u32>>>);

/// Counts a loaded component of a plugin until it is dropped.
#[derive(Debug)]
pub(crate) struct GenerationGuard {
    plugin: PluginId,
    all: Generations,
}

impl Generations {
    /// Counts another component.
    pub(crate) fn add(&self, plugin: PluginId) -> GenerationGuard {
        *self.lock().entry(plugin.clone()).or_default() += 1;
        GenerationGuard { plugin, all: self.clone() }
    }

    /// The number of components by plugin. Plugins without any aren't included.
    pub(crate) fn counts(&self) -> BTreeMap<PluginId, u32> {
        self.lock().clone()
    }

    /// The number of components of all plugins.
    pub(crate) fn total(&self) -> u32 {
        self.lock().values().sum()
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<PluginId, u32>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for GenerationGuard {
    fn drop(&mut self) {
        let mut all = self.all.lock();
        if let Some(count) = all.get_mut(&self.plugin) {
            *count -= 1;
            if *count == 0 {
                all.remove(&self.plugin);
            }
        }
    }
}

/// One plugin's reference to its code.
pub(crate) struct CodeLease<T = LoadedCode> {
    /// `None` after the release.
    code: RwLock<Option<Arc<T>>>,
    /// Cancelled when running calls must end, and when the lease is dropped.
    aborted: CancellationToken,
}

impl<T> CodeLease<T> {
    pub(crate) fn new(code: Arc<T>) -> Arc<Self> {
        Arc::new(Self { code: RwLock::new(Some(code)), aborted: CancellationToken::new() })
    }

    /// Another lease on the same code, which is released separately.
    pub(crate) fn renew(&self) -> Arc<Self> {
        Arc::new(Self { code: RwLock::new(self.code()), aborted: CancellationToken::new() })
    }

    /// The code, for one call. `None` after the release.
    pub(crate) fn code(&self) -> Option<Arc<T>> {
        self.code.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Cancelled when running calls must end.
    pub(crate) fn aborted(&self) -> &CancellationToken {
        &self.aborted
    }

    fn release(&self) {
        // Freed after the lock is released.
        let _code = self.code.write().unwrap_or_else(PoisonError::into_inner).take();
    }
}

impl<T: Send + Sync + 'static> CodeLease<T> {
    /// Releases the code after `delay`, and aborts calls that are still running `grace` later. If the lease is dropped
    /// earlier, no task remains.
    pub(crate) fn release_after(self: &Arc<Self>, delay: Duration, grace: Duration) {
        let lease = Arc::downgrade(self);
        let aborted = self.aborted.clone();
        let release = async move {
            tokio::time::sleep(delay).await;
            if let Some(lease) = lease.upgrade() {
                lease.release();
            }
            tokio::time::sleep(grace).await;
            if let Some(lease) = lease.upgrade() {
                lease.aborted.cancel();
            }
        };
        tokio::spawn(async move {
            tokio::select! {
                () = aborted.cancelled() => {}
                () = release => {}
            }
        });
    }
}

impl<T> Drop for CodeLease<T> {
    fn drop(&mut self) {
        self.aborted.cancel();
    }
}

#[cfg(test)]
mod tests;
