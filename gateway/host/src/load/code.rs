//! Loaded code and its lifetime.
//!
//! Code is mapped when it is needed: for a description, and at the first call. The code of the first plugins stays mapped
//! after their descriptions, so that their first call is fast; the code of any others only after their first call, so
//! that plugins that nobody calls need no memory for it.
//!
//! Code is freed with its last reference: from catalogs that contain the plugin, from running calls, and from
//! multi-round calls that will call it again. Each loaded component counts as one generation of the plugin. A
//! [`CodeLease`] is one plugin's reference to code; it can be released while the plugin itself is still referenced.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, RwLock, Weak};
use std::time::Duration;

use moongate_config::PluginConfig;
use moongate_model::manifest::Interfaces;
use moongate_model::names::{Digest, PluginId};
use tokio_util::sync::CancellationToken;
use wasmtime::Engine;
use wasmtime::component::InstancePre;

use super::error::LoadError;
use super::exports::Exports;
use super::{ComponentLoader, LinkedComponent, file};
use crate::sandbox::guest_memory::TypicalMemory;
use crate::sandbox::store::StoreState;
use crate::wasi::linker;

/// The number of plugins whose code stays mapped although they weren't called.
const MAX_UNCALLED_MAPPED: u32 = 32;

/// A mapped component, ready to be instantiated.
pub(crate) struct MappedCode {
    pub(crate) pre: InstancePre<StoreState>,
    pub(crate) exports: Exports,
    /// True if it checks for cancellation, and so can end by itself.
    pub(crate) watches_cancel: bool,
    /// Its imports and exports.
    pub(crate) interfaces: Interfaces,
    _counted: MappedGuard,
}

impl MappedCode {
    pub(crate) fn new(linked: LinkedComponent, counted: MappedGuard) -> Arc<Self> {
        let LinkedComponent { pre, exports, imports } = linked;
        let linker::Imports { watches_cancel, interfaces } = imports;
        Arc::new(Self { pre, exports, watches_cancel, interfaces, _counted: counted })
    }
}

/// The number of mapped components.
#[derive(Debug, Clone, Default)]
pub(crate) struct MappedCount(Arc<AtomicU32>);

/// Counts a mapped component until it is dropped.
#[derive(Debug)]
pub(crate) struct MappedGuard(MappedCount);

impl MappedCount {
    /// Counts another component.
    pub(crate) fn add(&self) -> MappedGuard {
        self.0.fetch_add(1, Ordering::Relaxed);
        MappedGuard(self.clone())
    }

    fn is_small(&self) -> bool {
        self.0.load(Ordering::Relaxed) <= MAX_UNCALLED_MAPPED
    }
}

impl Drop for MappedGuard {
    fn drop(&mut self) {
        self.0.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// The time for which code stays mapped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum KeepMapped {
    /// As long as the plugin is loaded.
    WhileLoaded,
    /// As long as it is used, and longer only if few plugins are mapped.
    WhileUsed,
}

/// The origin of code that isn't mapped.
pub(crate) struct CodeSource {
    pub(crate) loader: Arc<ComponentLoader>,
    pub(crate) config: Arc<PluginConfig>,
    pub(crate) digest: Digest,
}

/// The code of a loaded plugin.
pub(crate) struct LoadedCode {
    source: CodeSource,
    /// The mapped code, if it stays mapped.
    kept: OnceLock<Arc<MappedCode>>,
    /// The code that was mapped last, which may still be in use.
    last: tokio::sync::Mutex<Weak<MappedCode>>,
    /// The peak memory of a call, in bytes.
    pub(crate) peak: Arc<AtomicU64>,
    /// The memory that a call usually needs.
    pub(crate) typical: Arc<TypicalMemory>,
    _counted: GenerationGuard,
}

impl LoadedCode {
    /// Code that isn't mapped, or that `mapped` refers to.
    pub(crate) fn new(source: CodeSource, mapped: Weak<MappedCode>, counted: GenerationGuard) -> Arc<Self> {
        let (peak, typical) = (Arc::default(), Arc::default());
        let last = tokio::sync::Mutex::new(mapped);
        Arc::new(Self { source, kept: OnceLock::new(), last, peak, typical, _counted: counted })
    }

    /// The engine that runs it.
    pub(crate) fn engine(&self) -> &Engine {
        self.source.loader.linker.engine()
    }

    /// The mapped code, if it stays mapped.
    pub(crate) fn kept(&self) -> Option<Arc<MappedCode>> {
        self.kept.get().cloned()
    }

    /// The mapped code. Maps it if it isn't mapped, and compiles it if it is no longer cached.
    ///
    /// # Errors
    /// The code is no longer cached, and the plugin's file can't be used or has changed.
    pub(crate) async fn mapped(&self, keep: KeepMapped) -> Result<Arc<MappedCode>, LoadError> {
        if let Some(kept) = self.kept() {
            return Ok(kept);
        }
        let mut last = self.last.lock().await;
        let mapped = match self.kept().or_else(|| last.upgrade()) {
            Some(mapped) => mapped,
            None => {
                let mapped = self.source.map().await?;
                *last = Arc::downgrade(&mapped);
                mapped
            }
        };
        let loader = &self.source.loader;
        if keep == KeepMapped::WhileLoaded || loader.mapped.is_small() || loader.cache.is_none() {
            let _ = self.kept.set(Arc::clone(&mapped));
        }
        Ok(mapped)
    }
}

impl CodeSource {
    async fn map(&self) -> Result<Arc<MappedCode>, LoadError> {
        let Self { loader, config, digest } = self;
        if let Some(mapped) = loader.map(*digest).await? {
            return Ok(mapped);
        }
        let file = file::read(config, &loader.file_reads.for_plugin(&config.id)).await?;
        if file.digest != *digest {
            return Err(LoadError::Internal(
                "its code is no longer cached, and its file has changed".to_owned(),
            ));
        }
        loader.load(file, config).await
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
