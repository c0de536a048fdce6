//! The memory of responses that clients haven't read yet.
//!
//! A response counts from its rendering until it is sent, wherever it waits: its share of the budget travels with its
//! text. Once a caller has used up its part, no request of it runs until it has read some responses. The size of a
//! response is known only when it exists, so calls that were already running can exceed the part, but not what one caller may
//! hold of the whole budget: results above that are discarded.

use std::sync::Arc;

use moongate_model::caller_budget::{BudgetShare, CallerBudget};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use crate::call::{BusyReason, CallError};
use crate::caller::Caller;

mod message;
mod result_text;

pub use message::CountedMessage;
pub(crate) use message::MIN_COUNTED_BYTES;
pub use result_text::ResultText;
pub(crate) use result_text::ResultWriter;

/// The number of parts of the budget. One caller can use one of them.
const PARTS: u64 = 8;

/// Counts the bytes of responses until they are written, per caller and in total.
#[derive(Debug)]
pub struct UnreadResponses {
    budget: Arc<CallerBudget>,
    /// Notified whenever a response was written.
    sent: Notify,
}

/// The share of a response that isn't written yet. Drop it once it is.
#[derive(Debug)]
#[must_use = "the response counts as written when this is dropped"]
pub struct UnreadResponse {
    responses: Arc<UnreadResponses>,
    /// `None` only while it is dropped.
    share: Option<BudgetShare>,
}

/// The caller would hold too much of the budget with this response.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "the response doesn't fit in the memory for unread responses (`[gateway] memory`); read other responses first, or request less"
)]
pub(crate) struct ResponseTooLarge;

impl UnreadResponses {
    /// A budget of `total` bytes, of which one caller can use an eighth.
    #[must_use]
    pub fn new(total: u64) -> Arc<Self> {
        Arc::new(Self { budget: CallerBudget::new(total), sent: Notify::new() })
    }

    /// A budget without a limit.
    #[must_use]
    pub(crate) fn unlimited() -> Arc<Self> {
        Self::new(u64::MAX)
    }

    /// Counts a response of this many bytes, even if it exceeds the budget.
    pub fn charge(self: &Arc<Self>, caller: &Caller, bytes: usize) -> UnreadResponse {
        UnreadResponse { responses: Arc::clone(self), share: Some(self.budget.charge(caller, bytes as u64)) }
    }

    /// Counts a response of this many bytes.
    ///
    /// # Errors
    /// The caller would hold too much of the budget.
    pub(crate) fn reserve(
        self: &Arc<Self>,
        caller: &Caller,
        bytes: usize,
    ) -> Result<UnreadResponse, ResponseTooLarge> {
        let share = self.budget.try_reserve_exact(caller, bytes as u64).ok_or(ResponseTooLarge)?;
        Ok(UnreadResponse { responses: Arc::clone(self), share: Some(share) })
    }

    /// True if the caller has to read responses before its next request can run. While the total is used up, this is only
    /// so for callers that use more than an eighth of their part: those that read aren't refused for others that don't.
    #[must_use]
    pub fn is_exceeded(&self, caller: &Caller) -> bool {
        // Nearly always so little is unread that no caller can have its part.
        if self.budget.used() < self.part() {
            return false;
        }
        let held = self.budget.held_by(caller);
        held >= self.part() || (held > self.part() / PARTS && self.budget.used() >= self.budget.total())
    }

    /// The bytes of all unread responses.
    #[must_use]
    pub fn used(&self) -> u64 {
        self.budget.used()
    }

    /// Waits until more messages of the caller can be read: until it has less than twice its part. Messages are read for
    /// longer than calls run, because they can cancel a call or answer its question. Cancel-safe.
    pub async fn wait_to_read(&self, caller: &Caller) {
        self.wait_until(|| self.budget.held_by(caller) < self.part().saturating_mul(2)).await;
    }

    /// One caller's part of the budget.
    fn part(&self) -> u64 {
        self.budget.total() / PARTS
    }

    async fn wait_until(&self, condition: impl Fn() -> bool) {
        loop {
            let mut sent = std::pin::pin!(self.sent.notified());
            sent.as_mut().enable(); // before the check, so that a response that is written meanwhile isn't missed
            if condition() {
                return;
            }
            sent.await;
        }
    }

    /// Lets a call run, or refuses it. A call over stdio waits: its host started the gateway for itself alone, and a
    /// host that reads slowly needs no error. The time limit of the call is the caller's to watch. Cancel-safe.
    ///
    /// # Errors
    /// [`CallError::Busy`]: the caller has to read responses first. [`CallError::Cancelled`]: `cancel` was set first.
    pub(crate) async fn admit(&self, caller: &Caller, cancel: &CancellationToken) -> Result<(), CallError> {
        match caller {
            Caller::Local => {
                let wait = self.wait_until(|| !self.is_exceeded(caller));
                cancel.run_until_cancelled(wait).await.ok_or(CallError::Cancelled)
            }
            Caller::Named(_)
            | Caller::Subject(_)
            | Caller::Certificate(_)
            | Caller::User(_)
            | Caller::Operator(_)
            | Caller::Address(_) => {
                let is_exceeded = self.is_exceeded(caller);
                if is_exceeded { Err(CallError::Busy(BusyReason::UnreadResponses)) } else { Ok(()) }
            }
        }
    }
}

impl UnreadResponse {
    /// Counts this many more bytes.
    fn grow(&mut self, more: usize) -> Result<(), ResponseTooLarge> {
        let is_taken = self.share.as_mut().is_some_and(|share| share.try_grow(more as u64));
        if is_taken { Ok(()) } else { Err(ResponseTooLarge) }
    }

    /// Counts only this many bytes.
    fn shrink_to(&mut self, bytes: usize) {
        if let Some(share) = &mut self.share {
            share.shrink(share.amount().saturating_sub(bytes as u64));
        }
    }
}

impl Drop for UnreadResponse {
    fn drop(&mut self) {
        self.share = None;
        self.responses.sent.notify_waiters();
    }
}

#[cfg(test)]
mod tests;
