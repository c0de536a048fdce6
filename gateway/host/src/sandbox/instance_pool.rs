//! Idle instances of plugins that reuse theirs (`instances = "reused"`).
//!
//! An instance serves calls from only one principal, because anything in its memory can show up in its next answer. Idle
//! instances use slots of the engine's pool: together with the running calls, they never exceed the limit on concurrent
//! calls, so they never cause a call to be rejected. A call that needs a slot evicts the instance that has been idle
//! longest.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use moongate_model::names::{PluginId, Principal};
use tokio::sync::Notify;
use tokio::time::Instant;

/// The idle instances of all plugins. `T` is an instance with its store.
pub(crate) struct InstancePool<T> {
    /// The limit on concurrent calls to all plugins.
    capacity: u32,
    idle: Mutex<IdleInstances<T>>,
    /// The number of idle instances, for reading without the lock.
    count: AtomicU32,
    /// The number of times that all instances were dropped. Written under the lock.
    clearings: AtomicU64,
    /// Notified when an instance is added that expires before all others.
    earlier_expiry: Arc<Notify>,
}

struct IdleInstances<T> {
    /// In the order in which they became idle.
    instances: Vec<IdleInstance<T>>,
    /// The next run of the expiry task. `None` if there is no such task.
    next_expiry: Option<Instant>,
}

struct IdleInstance<T> {
    pool_id: u64,
    plugin: PluginId,
    principal: Principal,
    expires_at: Instant,
    instance: T,
}

/// The idle instances of one plugin with one configuration.
pub(crate) struct PluginPool<T> {
    id: u64,
    plugin: PluginId,
    /// Set when no more instances are accepted. Read and written under the lock.
    closed: AtomicBool,
    all: Arc<InstancePool<T>>,
}

/// The limits on an idle instance.
#[derive(Debug, Clone, Copy)]
pub(crate) struct IdlePolicy {
    pub(crate) expires_at: Instant,
    /// [`InstancePool::clearings`] when the instance was created. It isn't kept if there were more since then.
    pub(crate) clearings: u64,
    /// The maximum number of idle instances of the plugin.
    pub(crate) max_idle: u32,
}

/// True for principals that can be told apart. Without a token, the earlier request may come from anyone.
pub(crate) fn can_reuse(principal: &Principal) -> bool {
    match principal {
        Principal::Local
        | Principal::Named(_)
        | Principal::Subject(_)
        | Principal::Certificate(_)
        | Principal::User(_) => true,
        Principal::Anonymous | Principal::Operator => false,
    }
}

impl<T> fmt::Debug for InstancePool<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("InstancePool").field("count", &self.total()).finish_non_exhaustive()
    }
}

impl<T> InstancePool<T> {
    pub(crate) fn new(capacity: u32) -> Arc<Self> {
        let idle = Mutex::new(IdleInstances { instances: Vec::new(), next_expiry: None });
        let (count, clearings) = (AtomicU32::new(0), AtomicU64::new(0));
        Arc::new(Self { capacity, idle, count, clearings, earlier_expiry: Arc::default() })
    }

    /// The number of idle instances.
    pub(crate) fn total(&self) -> u32 {
        self.count.load(Ordering::SeqCst)
    }

    /// The number of idle instances by plugin. Plugins without any aren't included.
    pub(crate) fn counts(&self) -> BTreeMap<PluginId, u32> {
        let mut counts = BTreeMap::new();
        for idle in &self.lock().instances {
            *counts.entry(idle.plugin.clone()).or_default() += 1;
        }
        counts
    }

    /// Evicts instances until there is a slot for a call that is about to create one. `running` includes that call. It
    /// is read again after each eviction, because calls start and end meanwhile.
    pub(crate) fn make_room(&self, running: impl Fn() -> u32) {
        while self.total() > 0 && running().saturating_add(self.total()) > self.capacity {
            self.evict_oldest();
        }
    }

    /// Drops the instance that has been idle longest. False if there is none.
    pub(crate) fn evict_oldest(&self) -> bool {
        self.evict_first(|_| true)
    }

    /// Drops the instance of this principal that has been idle longest. False if there is none.
    pub(crate) fn evict_oldest_of(&self, principal: &Principal) -> bool {
        self.evict_first(|idle| idle.principal == *principal)
    }

    fn evict_first(&self, is_candidate: impl Fn(&IdleInstance<T>) -> bool) -> bool {
        if self.total() == 0 {
            return false;
        }
        let oldest = {
            let mut idle = self.lock();
            let index = idle.instances.iter().position(is_candidate);
            index.map(|index| self.remove(&mut idle, index))
        };
        oldest.is_some() // it is dropped after the lock is released, because that is slow
    }

    /// Drops all idle instances, and keeps none of the running ones.
    pub(crate) fn clear(&self) {
        let removed = {
            let mut idle = self.lock();
            self.clearings.fetch_add(1, Ordering::SeqCst);
            self.remove_if(&mut idle, |_| true)
        };
        drop(removed);
    }

    /// The number of times that all instances were dropped.
    pub(crate) fn clearings(&self) -> u64 {
        self.clearings.load(Ordering::SeqCst)
    }

    fn remove(&self, idle: &mut IdleInstances<T>, index: usize) -> T {
        let removed = idle.instances.remove(index);
        self.count.fetch_sub(1, Ordering::SeqCst);
        removed.instance
    }

    fn remove_if(&self, idle: &mut IdleInstances<T>, remove: impl Fn(&IdleInstance<T>) -> bool) -> Vec<T> {
        let mut removed = Vec::new();
        while let Some(index) = idle.instances.iter().position(&remove) {
            removed.push(self.remove(idle, index));
        }
        removed
    }

    fn lock(&self) -> MutexGuard<'_, IdleInstances<T>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T: Send + 'static> InstancePool<T> {
    /// A pool for one plugin with one configuration.
    pub(crate) fn for_plugin(self: &Arc<Self>, plugin: PluginId) -> PluginPool<T> {
        static NEXT_ID: AtomicU64 = AtomicU64::new(0);
        let id = NEXT_ID.fetch_add(1, Ordering::Relaxed);
        PluginPool { id, plugin, closed: AtomicBool::new(false), all: Arc::clone(self) }
    }

    /// Drops expired instances, until no idle ones remain.
    async fn expire(this: Weak<Self>) {
        loop {
            let (expired, next, earlier_expiry) = {
                let Some(this) = this.upgrade() else { return };
                let mut idle = this.lock();
                let now = Instant::now();
                let expired = this.remove_if(&mut idle, |idle| idle.expires_at <= now);
                idle.next_expiry = idle.instances.iter().map(|idle| idle.expires_at).min();
                let next = idle.next_expiry;
                drop(idle);
                (expired, next, Arc::clone(&this.earlier_expiry))
            };
            drop(expired);
            let Some(next) = next else { return };
            tokio::select! {
                () = tokio::time::sleep_until(next) => {}
                () = earlier_expiry.notified() => {}
            }
        }
    }
}

impl<T: Send + 'static> PluginPool<T> {
    /// Takes the instance that last served this principal, if one is idle.
    pub(crate) fn take(&self, principal: &Principal) -> Option<T> {
        if self.all.total() == 0 {
            return None;
        }
        let mut idle = self.all.lock();
        let matches = |idle: &IdleInstance<T>| idle.pool_id == self.id && idle.principal == *principal;
        let index = idle.instances.iter().rposition(matches)?;
        Some(self.all.remove(&mut idle, index))
    }

    /// Adds an idle instance, unless there is no room for it. `running` includes the call that it served.
    pub(crate) fn put(
        &self,
        principal: Principal,
        instance: T,
        policy: IdlePolicy,
        running: impl Fn() -> u32,
    ) {
        let IdlePolicy { expires_at, clearings, max_idle } = policy;
        let mut removed = Vec::new();
        {
            let mut idle = self.all.lock();
            let is_outdated = self.closed.load(Ordering::Relaxed) || clearings != self.all.clearings();
            if is_outdated || max_idle == 0 {
                removed.push(instance);
            } else {
                let plugin = self.plugin.clone();
                idle.instances.push(IdleInstance {
                    pool_id: self.id,
                    plugin,
                    principal,
                    expires_at,
                    instance,
                });
                self.all.count.fetch_add(1, Ordering::SeqCst);
            }
            let is_own = |idle: &IdleInstance<T>| idle.pool_id == self.id;
            let own_count =
                |idle: &IdleInstances<T>| idle.instances.iter().filter(|idle| is_own(idle)).count();
            while own_count(&idle) > max_idle as usize
                && let Some(index) = idle.instances.iter().position(is_own)
            {
                removed.push(self.all.remove(&mut idle, index));
            }
            // The instance takes over the slot of the call that it served.
            let others = || running().saturating_sub(1);
            while others().saturating_add(self.all.total()) > self.all.capacity && !idle.instances.is_empty()
            {
                removed.push(self.all.remove(&mut idle, 0));
            }
            if !idle.instances.is_empty() {
                self.schedule_expiry(&mut idle, expires_at);
            }
        }
        drop(removed); // this is slow, so it happens after the lock is released
    }

    /// Makes sure that the expiry task runs at this time at the latest.
    fn schedule_expiry(&self, idle: &mut IdleInstances<T>, expires_at: Instant) {
        match idle.next_expiry {
            Some(next) if next <= expires_at => {}
            Some(_) => {
                idle.next_expiry = Some(expires_at);
                self.all.earlier_expiry.notify_one();
            }
            None => {
                idle.next_expiry = Some(expires_at);
                tokio::spawn(InstancePool::expire(Arc::downgrade(&self.all)));
            }
        }
    }
}

impl<T> PluginPool<T> {
    /// Drops the plugin's idle instances and accepts no new ones.
    pub(crate) fn close(&self) {
        let removed = {
            let mut idle = self.all.lock();
            self.closed.store(true, Ordering::Relaxed);
            self.all.remove_if(&mut idle, |idle| idle.pool_id == self.id)
        };
        drop(removed);
    }
}

impl<T> Drop for PluginPool<T> {
    fn drop(&mut self) {
        self.close();
    }
}

#[cfg(test)]
mod tests;
