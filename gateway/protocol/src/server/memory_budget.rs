//! The memory of all requests that run or wait, for a permit or for answers of their client.
//!
//! A request that asks its client something can wait for minutes without a permit, with all its parameters in memory.
//! They are kept as text, and no check needs a tree of values, so a request costs a small multiple of its text.

use std::sync::Arc;

use crate::caller::Caller;
use crate::caller_budget::{BudgetShare, CallerBudget};
use crate::jsonrpc::Request;
use crate::mcp::ProtocolError;

/// The largest request that isn't counted, in bytes. The number of calls and of questions is limited elsewhere.
const MAX_UNCOUNTED_BYTES: usize = 1024;

/// The number of copies of its text that a request can hold while it runs: the message and its parameters.
const COPIES: u64 = 2;

/// The error of a request that is refused.
pub const TOO_MANY_LARGE_REQUESTS: &str = "too many large requests in flight; try again later";

/// Limits the memory of requests in flight.
#[derive(Debug)]
pub(super) struct RequestMemoryBudget(Arc<CallerBudget>);

/// The memory of one request over HTTP, from the first byte of its body, or of a line. It counts towards the budget until it is
/// dropped, with the parameters that hold its share.
#[derive(Debug)]
pub struct RequestBodyMemory {
    budget: Arc<CallerBudget>,
    caller: Caller,
    share: Option<BudgetShare>,
}

/// The caller has used up its part of the budget.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TooManyLargeRequests;

impl RequestBodyMemory {
    /// The memory of a request that wasn't received yet.
    #[must_use]
    pub fn new(budget: &Arc<CallerBudget>, caller: &Caller) -> Self {
        Self { budget: Arc::clone(budget), caller: caller.clone(), share: None }
    }

    /// Reserves the memory of a request with a body of `length` bytes, instead of the length so far.
    ///
    /// # Errors
    /// The caller has used up its part of the budget.
    pub fn grow_to(&mut self, length: usize) -> Result<(), TooManyLargeRequests> {
        if length < MAX_UNCOUNTED_BYTES {
            return Ok(());
        }
        let amount = COPIES * length as u64;
        let Some(share) = &mut self.share else {
            self.share = Some(self.budget.try_reserve(&self.caller, amount).ok_or(TooManyLargeRequests)?);
            return Ok(());
        };
        // A share counts as half of the budget at most, as when it is reserved at once.
        let most = self.budget.total().div_ceil(2);
        let more = amount.min(most).saturating_sub(share.amount());
        if more == 0 || share.try_grow(more) { Ok(()) } else { Err(TooManyLargeRequests) }
    }

    /// Returns all memory, because the body was discarded.
    pub fn release(&mut self) {
        self.share = None;
    }

    /// Takes the memory for the request that was received. Later ones count anew.
    #[must_use]
    pub fn take(&mut self) -> Self {
        Self { budget: Arc::clone(&self.budget), caller: self.caller.clone(), share: self.share.take() }
    }

    /// The share, for the request's parameters. `None` means that the request is too small to count.
    #[must_use]
    pub fn into_share(self) -> Option<Arc<BudgetShare>> {
        self.share.map(Arc::new)
    }
}

impl RequestMemoryBudget {
    pub(super) fn new(bytes: u64) -> Self {
        Self(CallerBudget::new(bytes))
    }

    /// The bytes of all requests.
    #[cfg(test)]
    pub(super) fn used(&self) -> u64 {
        self.0.used()
    }

    /// The memory of a request over HTTP that wasn't received yet.
    pub(super) fn for_body(&self, caller: &Caller) -> RequestBodyMemory {
        RequestBodyMemory::new(&self.0, caller)
    }

    /// Reserves the memory of a request that wasn't counted while it was received, until the share is dropped. `None`
    /// means that the request is too small to count.
    ///
    /// # Errors
    /// The caller has used up its part of the budget (the error's status is 503).
    pub(super) fn reserve(
        &self,
        caller: &Caller,
        request: &Request<'_>,
    ) -> Result<Option<BudgetShare>, ProtocolError> {
        let size = request.params.map_or(0, |params| params.get().len()) + request.id.as_json().len();
        if size < MAX_UNCOUNTED_BYTES {
            return Ok(None);
        }
        let share = self.0.try_reserve(caller, COPIES * size as u64).ok_or_else(|| {
            let error = ProtocolError::internal(TOO_MANY_LARGE_REQUESTS);
            ProtocolError { status: 503, ..error }
        })?;
        Ok(Some(share))
    }
}

#[cfg(test)]
mod tests {
    //! The memory of requests over HTTP.

    use super::*;

    const CALLER: Caller = Caller::LOOPBACK;

    fn other() -> Caller {
        Caller::Named("other".into())
    }

    #[test]
    fn a_body_counts_twice_while_it_grows_and_with_its_parameters() {
        let budget = CallerBudget::new(64 << 10);
        let mut memory = RequestBodyMemory::new(&budget, &CALLER);
        for (length, used) in [(0, 0), (1_023, 0), (1_024, 2_048), (1_500, 3_000), (1_400, 3_000)] {
            assert_eq!(memory.grow_to(length), Ok(()), "{length}");
            assert_eq!(budget.used(), used, "{length}");
        }
        let share = memory.into_share().unwrap();
        let parameters = Arc::clone(&share);
        drop(share);
        assert_eq!(budget.used(), 3_000, "the parameters hold it");
        drop(parameters);
        assert_eq!(budget.used(), 0);
        let mut discarded = RequestBodyMemory::new(&budget, &CALLER);
        discarded.grow_to(2_000).unwrap();
        discarded.release();
        assert_eq!(budget.used(), 0);
    }

    #[test]
    fn bodies_of_one_caller_leave_memory_to_others() {
        for steps in [1, 4] {
            let budget = CallerBudget::new(64 << 10);
            let receive = |caller: &Caller| {
                let mut memory = RequestBodyMemory::new(&budget, caller);
                let mut lengths = (1..=steps).map(|step| step * (4 << 10) / steps);
                lengths.try_for_each(|length| memory.grow_to(length)).map(|()| memory)
            };
            let all = |caller: &Caller| {
                std::iter::repeat_with(|| receive(caller)).map_while(Result::ok).collect::<Vec<_>>()
            };
            let (first, second) = (all(&CALLER), all(&other()));
            assert_eq!((first.len(), second.len()), (7, 1), "{steps}");
            drop(first);
            assert_eq!(all(&CALLER).len(), 4, "half while the other one holds some");
        }
    }

    #[test]
    fn a_body_of_any_size_counts_as_half_at_most() {
        let budget = CallerBudget::new(64 << 10);
        let mut small = RequestBodyMemory::new(&budget, &other());
        small.grow_to(2_000).unwrap();
        let mut at_once = RequestBodyMemory::new(&budget, &CALLER);
        assert_eq!(at_once.grow_to(1 << 20), Ok(()));
        drop(at_once);
        let mut in_pieces = RequestBodyMemory::new(&budget, &CALLER);
        for length in [10 << 10, 30 << 10, 60 << 10, 1 << 20] {
            assert_eq!(in_pieces.grow_to(length), Ok(()), "{length}");
        }
        assert_eq!(budget.held_by(&CALLER), 32 << 10);
    }
}
