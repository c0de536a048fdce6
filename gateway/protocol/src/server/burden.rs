//! How much room the requests take together that run, or wait: for a permit, or for answers of their client.
//!
//! A request that asks its client something waits for minutes without a permit, and with all that came with it. What
//! is counted is the text; read, it takes several times as much.

use std::sync::Arc;

use tokio::sync::Semaphore;

use crate::jsonrpc::Request;
use crate::mcp::{Params, ProtocolError};

/// Up to how many bytes a request is small: small ones have room of their own, which large ones don't take.
const SMALL: usize = 64 * 1024;

/// How much room there is for small ones, and as much again for large ones, in units.
const ROOM: usize = 128 * 1024;

/// In what room is counted, in bytes. Requests that are smaller aren't counted: there is another limit on their
/// number.
const UNIT: usize = 1024;

/// The room that is left.
#[derive(Debug)]
pub(super) struct Burden {
    small: Arc<Semaphore>,
    large: Arc<Semaphore>,
}

impl Default for Burden {
    fn default() -> Self {
        let room = || Arc::new(Semaphore::new(ROOM));
        Self { small: room(), large: room() }
    }
}

impl Burden {
    /// Reads a request's parameters, which take their room until they are dropped.
    ///
    /// # Errors
    /// The parameters are wrong (the error's status is 400), or there is no room (503).
    pub(super) fn read(&self, request: &Request<'_>) -> Result<Params, ProtocolError> {
        let size = request.params.map_or(0, |params| params.get().len()) + request.id.as_json().len();
        let units = (size / UNIT).min(ROOM);
        if units == 0 {
            return Params::read(request.params);
        }
        let room = if size <= SMALL { &self.small } else { &self.large };
        let units = u32::try_from(units).expect("no more than there is room for");
        let held = Arc::clone(room).try_acquire_many_owned(units).map_err(|_| {
            let error = ProtocolError::internal("too many large requests wait or run; try again later");
            ProtocolError { status: 503, ..error }
        })?;
        Ok(Params::read(request.params)?.holding(held))
    }
}
