//! Reads large messages without blocking the threads that serve all others.
//!
//! Reading is proportional to the text: a millisecond for some hundred kilobytes. A caller's large messages take turns
//! with those of other callers, and no more are read at a time than there are processors.

use std::sync::Arc;
use std::thread::available_parallelism;

use tokio::runtime::{Handle, RuntimeFlavor};

use crate::caller::Caller;
use crate::caller_budget::{BudgetShare, CallerBudget};

/// The largest message that is read like any other task, in bytes.
const MAX_INLINE_BYTES: usize = 128 * 1024;

/// The turns of callers whose large messages are read.
#[derive(Debug)]
pub(super) struct LargeMessageTurns(Arc<CallerBudget>);

impl Default for LargeMessageTurns {
    fn default() -> Self {
        Self(CallerBudget::new(available_parallelism().map_or(1, |count| count.get() as u64)))
    }
}

impl LargeMessageTurns {
    /// Waits until a message of this length may be read. `None` means that it is small.
    pub(super) async fn wait(&self, caller: &Caller, length: usize) -> Option<BudgetShare> {
        if length <= MAX_INLINE_BYTES { None } else { Some(self.0.reserve(caller, 1).await) }
    }
}

/// Reads a message of this length. Another thread takes over the other tasks of this one while it reads a large message.
pub(super) fn read<T>(length: usize, read: impl FnOnce() -> T) -> T {
    let has_threads =
        || Handle::try_current().is_ok_and(|handle| handle.runtime_flavor() == RuntimeFlavor::MultiThread);
    if length > MAX_INLINE_BYTES && has_threads() { tokio::task::block_in_place(read) } else { read() }
}
