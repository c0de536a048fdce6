//! Turns for reading large messages.
//!
//! Reading is proportional to the text: a millisecond for some hundred kilobytes. So transports handle large messages on
//! the background pool. A caller's large messages take turns with those of other callers, and no more are read at a time
//! than there are processors.

use std::sync::Arc;
use std::thread::available_parallelism;

use crate::caller::Caller;
use crate::caller_budget::{BudgetShare, CallerBudget};

/// The largest message, in bytes, that is read and written by the threads that serve all clients: a few hundred
/// microseconds' work. Transports handle larger ones on the background pool.
pub const MAX_INLINE_BYTES: usize = 256 * 1024;

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
