//! How much a call reads from files and writes to them.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bytesize::ByteSize;
use moongate_core::config::Limits;
use tokio::sync::Semaphore;
use wasmtime_wasi::p2::bindings::filesystem::types::ErrorCode;
use wasmtime_wasi::p2::{FsError, StreamError};

use crate::host::uses::Uses;

/// How many of a call's streams read or write at once, beside the function that the call waits for. Threads for such
/// work are shared by everybody.
const AT_ONCE: usize = 4;

/// What a call has left. All its streams share it.
#[derive(Debug, Clone)]
pub(in crate::host) struct Quota(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    read: Left,
    written: Left,
    turns: Arc<Semaphore>,
    uses: Uses,
}

#[derive(Debug)]
struct Left {
    most: u64,
    left: AtomicU64,
}

/// The call has read or written more than it may.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the call {} more than it may", match .0 { Way::Read => "read", Way::Written => "wrote" })]
pub(super) struct Exceeded(Way);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    Read,
    Written,
}

impl Left {
    fn new(most: ByteSize) -> Self {
        Self { most: most.as_u64(), left: AtomicU64::new(most.as_u64()) }
    }

    /// Takes it if there is so much.
    fn take(&self, bytes: u64) -> bool {
        let take = |left: u64| left.checked_sub(bytes);
        self.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, take).is_ok()
    }
}

impl Quota {
    pub(in crate::host) fn new(limits: &Limits, uses: Uses) -> Self {
        Self(Arc::new(Shared {
            read: Left::new(limits.read),
            written: Left::new(limits.written),
            turns: Arc::new(Semaphore::new(AT_ONCE)),
            uses,
        }))
    }

    /// How many of so many bytes may be read at once: one more than is left at least, because whether there is one
    /// more is only known when it is read.
    pub(super) fn readable(&self, bytes: u64) -> u64 {
        bytes.min(self.0.read.left.load(Ordering::Relaxed).saturating_add(1))
    }

    /// Counts what was read.
    pub(super) fn read(&self, bytes: u64) -> Result<(), Exceeded> {
        self.count(Way::Read, bytes)
    }

    /// Counts what is about to be written.
    pub(super) fn write(&self, bytes: u64) -> Result<(), Exceeded> {
        self.count(Way::Written, bytes)
    }

    /// Each permit is one stream's turn to read or write.
    pub(super) fn turns(&self) -> Arc<Semaphore> {
        Arc::clone(&self.0.turns)
    }

    fn count(&self, way: Way, bytes: u64) -> Result<(), Exceeded> {
        let Shared { read, written, turns: _, uses } = &*self.0;
        let (left, key, done) = match way {
            Way::Read => (read, "read", "read more from files"),
            Way::Written => (written, "written", "wrote more to files"),
        };
        if left.take(bytes) {
            return Ok(());
        }
        let most = ByteSize::b(left.most).display().iec();
        uses.exceeded(key, &format!("{done} than the {most} that a call may"));
        Err(Exceeded(way))
    }
}

impl From<Exceeded> for StreamError {
    fn from(error: Exceeded) -> Self {
        Self::LastOperationFailed(wasmtime::Error::new(error))
    }
}

impl From<Exceeded> for FsError {
    fn from(_: Exceeded) -> Self {
        ErrorCode::Quota.into()
    }
}
