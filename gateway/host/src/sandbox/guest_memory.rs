//! The memory of all instances together: of calls that run, and of idle ones.
//!
//! A call starts with the memory that calls of its plugin usually need, for which it waits. What it needs in addition is
//! taken while it grows, and denied if there is none: waiting would block other calls that wait for it. Idle instances
//! are dropped first.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};

use moongate_model::caller::Caller;
use moongate_model::caller_budget::{BudgetShare, CallerBudget};
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
            // A small call doesn't overtake a large one that waits.
            if !self.is_short()
                && let Some(share) = self.budget.try_reserve(caller, amount)
            {
                break share;
            }
            if !self.idle.evict_oldest() {
                break tokio::time::timeout_at(deadline, self.budget.reserve(caller, amount)).await.ok()?;
            }
        };
        let idle = Arc::downgrade(&self.idle);
        Some(InstanceMemory { share, used: INSTANCE_OVERHEAD, idle, typical: Arc::clone(typical) })
    }

    /// True if calls wait for memory.
    pub(crate) fn is_short(&self) -> bool {
        self.budget.has_waiting()
    }
}

impl<T> InstanceMemory<T> {
    /// Takes more memory. False if there is too little.
    pub(crate) fn grow(&mut self, bytes: u64) -> bool {
        let used = self.used.saturating_add(bytes);
        let more = used.saturating_sub(self.share.amount());
        while more > 0 && !self.share.try_grow(more) {
            if !self.idle.upgrade().is_some_and(|idle| idle.evict_oldest()) {
                return false;
            }
        }
        self.used = used;
        true
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

#[cfg(test)]
mod tests;
