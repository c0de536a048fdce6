//! The memory of all instances together: of calls that run, and of idle ones.
//!
//! A call starts with the memory that calls of its plugin usually need, for which it waits. What it needs in addition is
//! taken while it grows, and denied if there is none: waiting would block other calls that wait for it. Idle instances
//! are dropped first: all of them if too little memory is free, and only a caller's own if it has as much as it may.

use std::convert::Infallible;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};

use moongate_model::caller::Caller;
use moongate_model::caller_budget::{BudgetShare, CallerBudget, RESERVE_DIVISOR};
use tokio::time::Instant;

use super::instance_pool::InstancePool;

/// The memory of an instance apart from its memories and tables: its stack, its metadata and its store.
const INSTANCE_OVERHEAD: u64 = 1 << 20;

/// The size of a table element, in bytes.
const TABLE_ELEMENT_BYTES: u64 = 16;

/// The memory for all instances. `T` is an idle instance with its store.
#[derive(Debug)]
pub(crate) struct GuestMemory<T> {
    budget: Arc<CallerBudget>,
    idle: Arc<InstancePool<T>>,
}

/// The memory of one instance, returned on drop.
#[derive(Debug)]
pub(crate) struct InstanceMemory<T> {
    share: BudgetShare,
    used: u64,
    /// Not an owner: idle instances are in the pool.
    idle: Weak<InstancePool<T>>,
    typical: Arc<TypicalMemory>,
}

/// The memory that calls of a plugin usually need, in bytes: the most of its last calls.
#[derive(Debug, Default)]
pub(crate) struct TypicalMemory(AtomicU64);

impl TypicalMemory {
    /// Adds a call. Calls that needed more are forgotten over time.
    fn add(&self, used: u64) {
        let decay = |typical: u64| Some(used.max(typical - typical / 8));
        let _ = self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, decay);
    }

    fn bytes(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

impl<T> GuestMemory<T> {
    /// `bytes` for all instances.
    pub(crate) fn new(bytes: u64, idle: Arc<InstancePool<T>>) -> Self {
        Self { budget: CallerBudget::new(bytes), idle }
    }

    /// Waits until there is memory for a call. `None` if there is none until the deadline.
    pub(crate) async fn admit(
        &self,
        caller: &Caller,
        typical: &Arc<TypicalMemory>,
        deadline: Instant,
    ) -> Option<InstanceMemory<T>> {
        let amount = INSTANCE_OVERHEAD + typical.bytes();
        let share = loop {
            if let Some(share) = self.budget.try_reserve(caller, amount) {
                break share;
            }
            if !evict_for(&self.idle, caller, self.budget.may_reserve(caller, amount)) {
                // A caller that holds nothing doesn't wait for one that holds much, however much memory the plugin's
                // last calls needed: an eighth is left for it. Its call may still grow.
                let least = (self.budget.total() / RESERVE_DIVISOR).max(INSTANCE_OVERHEAD).min(amount);
                if self.budget.held_by(caller) == 0
                    && let Some(share) = self.budget.try_reserve(caller, least)
                {
                    break share;
                }
                break tokio::time::timeout_at(deadline, self.reserve(caller, amount)).await.ok()?;
            }
        };
        let idle = Arc::downgrade(&self.idle);
        Some(InstanceMemory { share, used: INSTANCE_OVERHEAD, idle, typical: Arc::clone(typical) })
    }

    /// Waits for memory, and evicts idle instances as soon as their memory is what is missing.
    async fn reserve(&self, caller: &Caller, amount: u64) -> BudgetShare {
        tokio::select! {
            biased; // once the call waits, no instance is kept whose memory it could have
            share = self.budget.reserve(caller, amount) => share,
            never = self.evict_at_shortages(caller) => match never {},
        }
    }

    async fn evict_at_shortages(&self, caller: &Caller) -> Infallible {
        loop {
            let shortage = self.budget.shortage();
            self.evict_for_waiting(caller);
            shortage.await;
        }
    }

    /// True if calls wait that could have the memory of an idle instance of this caller.
    pub(crate) fn is_awaited(&self, caller: &Caller) -> bool {
        self.budget.is_short() || self.budget.is_waiting(caller)
    }

    /// Evicts idle instances while calls wait that could have their memory: all if too little is free, otherwise those
    /// of this caller.
    pub(crate) fn evict_for_waiting(&self, caller: &Caller) {
        while self.is_awaited(caller) && evict_for(&self.idle, caller, self.budget.is_short()) {}
    }
}

impl<T> InstanceMemory<T> {
    /// Takes more memory. False if there is too little.
    pub(crate) fn grow(&mut self, bytes: u64) -> bool {
        let used = self.used.saturating_add(bytes);
        let more = used.saturating_sub(self.share.amount());
        while more > 0 && !self.share.try_grow(more) {
            let (caller, may_grow) = (self.share.caller(), self.share.may_grow(more));
            if !self.idle.upgrade().is_some_and(|idle| evict_for(&idle, caller, may_grow)) {
                return false;
            }
        }
        self.used = used;
        true
    }

    /// Returns memory. The call keeps it until its end, for what it needs next.
    pub(crate) fn shrink(&mut self, bytes: u64) {
        self.used = self.used.saturating_sub(bytes).max(INSTANCE_OVERHEAD);
    }

    /// Takes the memory of more table elements. False if there is too little.
    pub(crate) fn grow_tables(&mut self, elements: u64) -> bool {
        self.grow(elements.saturating_mul(TABLE_ELEMENT_BYTES))
    }

    /// The call has ended: its unused memory is returned.
    pub(crate) fn end_call(&mut self) {
        self.typical.add(self.used.saturating_sub(INSTANCE_OVERHEAD));
        self.share.shrink(self.share.amount().saturating_sub(self.used));
    }
}

/// Drops an idle instance to make room for a call of this caller. If the caller has as much memory as it may, that of
/// others is of no use. False if there is none.
fn evict_for<T>(idle: &InstancePool<T>, caller: &Caller, may_have_more: bool) -> bool {
    if may_have_more { idle.evict_oldest() } else { idle.evict_oldest_of(&caller.principal()) }
}

#[cfg(test)]
mod tests;
