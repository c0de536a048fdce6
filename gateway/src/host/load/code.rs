//! Loaded code, and who holds it.
//!
//! Code is freed with the last that holds it: the catalogs in which a plugin stands, the calls that run in it, the
//! conversations that will call it again. Each of them is counted as one generation of the plugin together. A
//! [`Lease`] is one plugin's hold on code; it can be ended while somebody still has the plugin.

use std::collections::BTreeMap;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use std::time::Duration;

use moongate_core::manifest::Interfaces;
use moongate_core::names::PluginId;
use tokio_util::sync::CancellationToken;
use wasmtime::component::InstancePre;

use super::exports::Exports;
use crate::host::load::Linked;
use crate::host::sandbox::store::State;
use crate::host::wasi::linker;

/// A component, ready to be instantiated.
pub(in crate::host) struct Code {
    pub(in crate::host) pre: InstancePre<State>,
    pub(in crate::host) exports: Exports,
    /// It asks whether its caller has lost interest, and so may end by itself.
    pub(in crate::host) watches_cancel: bool,
    /// What it imports and exports.
    pub(in crate::host) interfaces: Arc<Interfaces>,
    /// The most memory that a call has had, in bytes.
    pub(in crate::host) peak: Arc<AtomicU64>,
    _counted: Generation,
}

impl Code {
    pub(in crate::host) fn new(linked: Linked, size: u64, counted: Generation) -> Arc<Self> {
        let Linked { pre, exports, imports } = linked;
        let linker::Imports { watches_cancel, interfaces } = imports;
        let interfaces = Arc::new(Interfaces { size, ..interfaces });
        Arc::new(Self { pre, exports, watches_cancel, interfaces, peak: Arc::default(), _counted: counted })
    }
}

/// How many loaded components each plugin has. Usually one; more while calls end on an earlier one.
#[derive(Debug, Clone, Default)]
pub(in crate::host) struct Generations(Arc<Mutex<BTreeMap<PluginId, u32>>>);

/// One loaded component of a plugin, as long as this lives.
#[derive(Debug)]
pub(in crate::host) struct Generation {
    plugin: PluginId,
    all: Generations,
}

impl Generations {
    /// Counts one more.
    pub(in crate::host) fn one_more(&self, plugin: PluginId) -> Generation {
        *self.lock().entry(plugin.clone()).or_default() += 1;
        Generation { plugin, all: self.clone() }
    }

    /// How many each plugin has; plugins that have none aren't there.
    pub(in crate::host) fn counts(&self) -> BTreeMap<PluginId, u32> {
        self.lock().clone()
    }

    /// How many there are.
    pub(in crate::host) fn total(&self) -> u32 {
        self.lock().values().sum()
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<PluginId, u32>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Generation {
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

/// One plugin's hold on its code.
pub(in crate::host) struct Lease<T = Code> {
    /// None: it was given back.
    held: RwLock<Option<Arc<T>>>,
    /// Set when calls that still run are to end; and when nobody has the plugin any more.
    over: CancellationToken,
}

impl<T> Lease<T> {
    pub(in crate::host) fn new(code: Arc<T>) -> Arc<Self> {
        Arc::new(Self { held: RwLock::new(Some(code)), over: CancellationToken::new() })
    }

    /// Another hold on the same code, with an end of its own.
    pub(in crate::host) fn another(&self) -> Arc<Self> {
        Arc::new(Self { held: RwLock::new(self.code()), over: CancellationToken::new() })
    }

    /// The code, for one call; none: the lease has ended.
    pub(in crate::host) fn code(&self) -> Option<Arc<T>> {
        self.held.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Set when calls that still run are to end.
    pub(in crate::host) fn over(&self) -> &CancellationToken {
        &self.over
    }

    fn give_back(&self) {
        // Freed after the lock.
        let _code = self.held.write().unwrap_or_else(PoisonError::into_inner).take();
    }
}

impl<T: Send + Sync + 'static> Lease<T> {
    /// Gives the code back after a while; calls that run then have `rest` left. Nothing of this stays behind where
    /// everybody lets go of the plugin earlier.
    pub(in crate::host) fn end(self: &Arc<Self>, after: Duration, rest: Duration) {
        let (lease, over) = (Arc::downgrade(self), self.over.clone());
        let end = async move {
            tokio::time::sleep(after).await;
            if let Some(lease) = lease.upgrade() {
                lease.give_back();
            }
            tokio::time::sleep(rest).await;
            if let Some(lease) = lease.upgrade() {
                lease.over.cancel();
            }
        };
        tokio::spawn(async move {
            tokio::select! {
                () = over.cancelled() => {}
                () = end => {}
            }
        });
    }
}

impl<T> Drop for Lease<T> {
    fn drop(&mut self) {
        self.over.cancel();
    }
}

#[cfg(test)]
mod tests;
