//! The memory of all requests that run or wait, for a permit or for answers of their client.
//!
//! A request that asks its client something can wait for minutes without a permit, with all its parameters in memory.
//! They are kept as text, and no check needs a tree of values, so a request costs a small multiple of its text.

use std::sync::Arc;

use bytesize::ByteSize;

use crate::caller::Caller;
use crate::caller_budget::{BudgetShare, CallerBudget};
use crate::jsonrpc::Request;
use crate::mcp::ProtocolError;

/// The largest request that isn't counted, in bytes. The number of calls and of questions is limited elsewhere.
const MAX_UNCOUNTED_BYTES: usize = 1024;

/// The number of copies of its text that a request can hold while it runs: the message and its parameters.
const COPIES: u64 = 2;

/// Limits the memory of requests in flight.
#[derive(Debug)]
pub(super) struct RequestMemoryBudget(Arc<CallerBudget>);

impl RequestMemoryBudget {
    pub(super) fn new(size: ByteSize) -> Self {
        Self(CallerBudget::new(size.as_u64()))
    }

    /// Reserves the memory of a request until the share is dropped. `None` means that the request is too small to
    /// count.
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
            let error = ProtocolError::internal("too many large requests in flight; try again later");
            ProtocolError { status: 503, ..error }
        })?;
        Ok(Some(share))
    }
}
