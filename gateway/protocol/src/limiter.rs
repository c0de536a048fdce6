//! Limits on concurrent calls, per plugin and in total.
//!
//! A call first takes one of its plugin's permits and then one of the gateway's, so a call that waits for a slow plugin
//! holds nothing that another plugin needs. Both kinds are handed out in order of request. The limiter knows plugins by id
//! only: it outlives their versions, so a plugin that is replaced under load can't run twice as many calls. Dispatch
//! needs a [`CallPermit`] to call a plugin.

use std::collections::HashMap;
use std::fmt;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::CancellationToken;

use crate::call::{BusyReason, CallError};
use crate::names::PluginId;

/// The maximum number of waiting calls to all plugins, for each concurrent call. A waiting call keeps its request in
/// memory.
const WAITING_CALLS_PER_PERMIT: u32 = 16;

/// The minimum of that number: one plugin's default queue several times over.
const MIN_WAITING_CALLS: u32 = 1_024;

/// Hands out permits.
#[derive(Debug)]
pub struct ConcurrencyLimiter {
    total: u32,
    permits: Arc<Semaphore>,
    waiting: Arc<AtomicU32>,
    queues: Mutex<HashMap<PluginId, Arc<PluginQueue>>>,
    /// Notified whenever a call ends or stops waiting.
    call_ended: Arc<Notify>,
}

/// The right to run one call, returned on drop.
#[must_use = "the permit is released when it is dropped"]
pub struct CallPermit {
    plugin_queue: Arc<PluginQueue>,
    plugin_slot: Option<OwnedSemaphorePermit>,
    _all: OwnedSemaphorePermit,
}

/// The calls to one plugin, or to all.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CallLoad {
    /// Running calls.
    pub running: u32,
    /// Waiting calls.
    pub waiting: u32,
}

/// The permits of one plugin.
#[derive(Debug)]
struct PluginQueue {
    slots: Arc<Semaphore>,
    state: Mutex<PluginQueueState>,
    ended: Arc<Notify>,
}

#[derive(Debug, Default)]
struct PluginQueueState {
    /// The intended number of slots.
    target: u32,
    /// The actual number of slots. It is higher than `target` while calls hold slots that a configuration change
    /// removed.
    slots: u32,
    running: u32,
    /// Calls that wait for a slot.
    waiting_for_plugin: u32,
    /// Calls that hold a slot and wait for the gateway's permit.
    waiting_for_gateway: u32,
}

/// The permit that a waiting call needs next.
#[derive(Clone, Copy)]
enum WaitStage {
    Plugin,
    Gateway,
}

/// Counts one waiting call until it is dropped.
struct WaitingCall {
    plugin_queue: Arc<PluginQueue>,
    total_waiting: Arc<AtomicU32>,
    stage: WaitStage,
}

impl ConcurrencyLimiter {
    /// Allows `total` concurrent calls, at least one. Plugins that describe themselves need no permit: a pool of
    /// instances needs room for these in addition.
    #[must_use]
    pub fn new(total: u32) -> Self {
        let total = total.max(1);
        Self {
            total,
            permits: Arc::new(Semaphore::new(total as usize)),
            waiting: Arc::default(),
            queues: Mutex::default(),
            call_ended: Arc::default(),
        }
    }

    /// Waits until one more call of `plugin` may run.
    ///
    /// At most `concurrency` of its calls run at the same time and `queue` wait. A single plugin never gets the last of
    /// the gateway's permits (if there are at least two): however slow it is, another plugin can still run.
    ///
    /// # Errors
    /// [`CallError::Busy`]: too many calls are waiting. [`CallError::Cancelled`]: `cancel` was set first.
    pub async fn admit(
        &self,
        plugin: &PluginId,
        concurrency: u32,
        queue: u32,
        cancel: &CancellationToken,
    ) -> Result<CallPermit, CallError> {
        if cancel.is_cancelled() {
            return Err(CallError::Cancelled);
        }
        let plugin_queue = self.plugin_queue(plugin);
        plugin_queue.resize(concurrency.clamp(1, (self.total - 1).max(1)));
        let slot = Arc::clone(&plugin_queue.slots).try_acquire_owned().ok();
        if slot.is_some()
            && let Ok(all) = Arc::clone(&self.permits).try_acquire_owned()
        {
            return Ok(CallPermit::new(plugin_queue, slot, all));
        }
        let stage = if slot.is_some() { WaitStage::Gateway } else { WaitStage::Plugin };
        let mut waiting = self.enqueue(Arc::clone(&plugin_queue), stage, queue)?;
        let permits = async {
            let slot = match slot {
                Some(slot) => slot,
                None => acquire(&plugin_queue.slots).await,
            };
            waiting.holds_slot();
            (slot, acquire(&self.permits).await)
        };
        let (slot, all) = tokio::select! {
            biased;
            () = cancel.cancelled() => return Err(CallError::Cancelled),
            permits = permits => permits,
        };
        let permit = CallPermit::new(plugin_queue, Some(slot), all);
        drop(waiting); // now, so that the call is counted at every moment
        Ok(permit)
    }

    /// The calls to one plugin.
    #[must_use]
    pub fn load(&self, plugin: &PluginId) -> CallLoad {
        self.queues().get(plugin).map(|plugin_queue| plugin_queue.load()).unwrap_or_default()
    }

    /// The calls to each plugin that was called since it was last removed, in no particular order.
    #[must_use]
    pub fn loads(&self) -> Vec<(PluginId, CallLoad)> {
        self.queues().iter().map(|(id, plugin_queue)| (id.clone(), plugin_queue.load())).collect()
    }

    /// Waits until no call to any plugin runs or waits.
    pub async fn idle(&self) {
        loop {
            let mut ended = std::pin::pin!(self.call_ended.notified());
            ended.as_mut().enable(); // before the check, so that a call that ends meanwhile isn't missed
            if self.loads().iter().all(|(_, load)| *load == CallLoad::default()) {
                return;
            }
            ended.await;
        }
    }

    /// Removes plugins without calls that `keep` rejects.
    pub fn retain(&self, keep: impl Fn(&PluginId) -> bool) {
        self.queues().retain(|id, plugin_queue| keep(id) || Arc::strong_count(plugin_queue) > 1);
    }

    fn queues(&self) -> MutexGuard<'_, HashMap<PluginId, Arc<PluginQueue>>> {
        self.queues.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn plugin_queue(&self, plugin: &PluginId) -> Arc<PluginQueue> {
        let mut queues = self.queues();
        match queues.get(plugin) {
            Some(plugin_queue) => Arc::clone(plugin_queue),
            None => Arc::clone(
                queues
                    .entry(plugin.clone())
                    .or_insert_with(|| Arc::new(PluginQueue::new(Arc::clone(&self.call_ended)))),
            ),
        }
    }

    /// Counts a call that has to wait, unless the queue is full.
    fn enqueue(
        &self,
        plugin_queue: Arc<PluginQueue>,
        stage: WaitStage,
        queue: u32,
    ) -> Result<WaitingCall, CallError> {
        let most = self.total.saturating_mul(WAITING_CALLS_PER_PERMIT).max(MIN_WAITING_CALLS);
        {
            let mut state = plugin_queue.state();
            match stage {
                WaitStage::Plugin if state.waiting_for_plugin >= queue => {
                    let busy = BusyReason::Plugin {
                        running: state.running + state.waiting_for_gateway,
                        waiting: state.waiting_for_plugin,
                    };
                    return Err(CallError::Busy(busy));
                }
                WaitStage::Plugin => state.waiting_for_plugin += 1,
                WaitStage::Gateway => state.waiting_for_gateway += 1,
            }
        }
        let before = self.waiting.fetch_add(1, Ordering::Relaxed);
        let waiting = WaitingCall { plugin_queue, total_waiting: Arc::clone(&self.waiting), stage };
        if before >= most { Err(CallError::Busy(BusyReason::Gateway)) } else { Ok(waiting) }
    }
}

async fn acquire(semaphore: &Arc<Semaphore>) -> OwnedSemaphorePermit {
    Arc::clone(semaphore).acquire_owned().await.expect("the semaphores are never closed")
}

impl CallPermit {
    fn new(
        plugin_queue: Arc<PluginQueue>,
        slot: Option<OwnedSemaphorePermit>,
        all: OwnedSemaphorePermit,
    ) -> Self {
        plugin_queue.state().running += 1;
        Self { plugin_queue, plugin_slot: slot, _all: all }
    }
}

impl Drop for CallPermit {
    fn drop(&mut self) {
        let mut state = self.plugin_queue.state();
        state.running -= 1;
        // If the configuration has lowered `concurrency` in the meantime, the slot is removed.
        if state.slots > state.target
            && let Some(slot) = self.plugin_slot.take()
        {
            slot.forget();
            state.slots -= 1;
        }
        drop(state);
        self.plugin_queue.ended.notify_waiters();
    }
}

impl fmt::Debug for CallPermit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CallPermit").field("load", &self.plugin_queue.load()).finish()
    }
}

impl PluginQueue {
    fn new(ended: Arc<Notify>) -> Self {
        Self { slots: Arc::new(Semaphore::new(0)), state: Mutex::default(), ended }
    }

    fn state(&self) -> MutexGuard<'_, PluginQueueState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds or removes slots. Slots in use are removed when they are returned.
    fn resize(&self, target: u32) {
        let mut state = self.state();
        if target > state.slots {
            self.slots.add_permits((target - state.slots) as usize);
            state.slots = target;
        } else if target < state.slots {
            let gone = self.slots.forget_permits((state.slots - target) as usize);
            state.slots -= u32::try_from(gone).expect("no more are forgotten than asked for");
        }
        state.target = target;
    }

    fn load(&self) -> CallLoad {
        let state = self.state();
        CallLoad { running: state.running, waiting: state.waiting_for_plugin + state.waiting_for_gateway }
    }
}

impl WaitingCall {
    /// Notes that the call has its plugin's permit and waits for the gateway's.
    fn holds_slot(&mut self) {
        if matches!(self.stage, WaitStage::Plugin) {
            let mut state = self.plugin_queue.state();
            state.waiting_for_plugin -= 1;
            state.waiting_for_gateway += 1;
            self.stage = WaitStage::Gateway;
        }
    }
}

impl Drop for WaitingCall {
    fn drop(&mut self) {
        let mut state = self.plugin_queue.state();
        match self.stage {
            WaitStage::Plugin => state.waiting_for_plugin -= 1,
            WaitStage::Gateway => state.waiting_for_gateway -= 1,
        }
        drop(state);
        self.total_waiting.fetch_sub(1, Ordering::Relaxed);
        self.plugin_queue.ended.notify_waiters();
    }
}

#[cfg(test)]
mod tests;
