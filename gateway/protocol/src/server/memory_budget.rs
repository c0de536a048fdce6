//! The memory of all requests that run or wait, for a permit or for answers of their client.
//!
//! A request that asks its client something can wait for minutes without a permit, with all its parameters in memory.
//! The budget counts the JSON text; parsed parameters take several times as much.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::jsonrpc::Request;
use crate::mcp::ProtocolError;

/// The largest small request, in bytes. Small requests have a budget of their own, which large ones can't use up.
const SMALL_REQUEST_BYTES: usize = 64 * 1024;

/// The size of each of the two budgets, in units.
const BUDGET_UNITS: usize = 128 * 1024;

/// The size of a unit, in bytes. Smaller requests aren't counted, because their number is limited elsewhere.
const UNIT_BYTES: usize = 1024;

/// Limits the memory of requests in flight.
#[derive(Debug)]
pub(super) struct RequestMemoryBudget {
    small: Arc<Semaphore>,
    large: Arc<Semaphore>,
}

impl Default for RequestMemoryBudget {
    fn default() -> Self {
        let budget = || Arc::new(Semaphore::new(BUDGET_UNITS));
        Self { small: budget(), large: budget() }
    }
}

impl RequestMemoryBudget {
    /// Reserves the memory of a request until the permit is dropped. `None` means that the request is too small to
    /// count.
    ///
    /// # Errors
    /// The budget is used up (the error's status is 503).
    pub(super) fn reserve(
        &self,
        request: &Request<'_>,
    ) -> Result<Option<OwnedSemaphorePermit>, ProtocolError> {
        let size = request.params.map_or(0, |params| params.get().len()) + request.id.as_json().len();
        let units = (size / UNIT_BYTES).min(BUDGET_UNITS);
        if units == 0 {
            return Ok(None);
        }
        let budget = if size <= SMALL_REQUEST_BYTES { &self.small } else { &self.large };
        let units = u32::try_from(units).expect("at most BUDGET_UNITS");
        let permit = Arc::clone(budget).try_acquire_many_owned(units).map_err(|_| {
            let error = ProtocolError::internal("too many large requests in flight; try again later");
            ProtocolError { status: 503, ..error }
        })?;
        Ok(Some(permit))
    }
}
