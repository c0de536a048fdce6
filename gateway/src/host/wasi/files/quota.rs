//! How much a call reads from files and writes to them, and how many it has open.

use std::sync::Arc;

use moongate_core::config::Limits;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use wasmtime_wasi::p2::bindings::filesystem::types::ErrorCode;
use wasmtime_wasi::p2::{FsError, StreamError};

use crate::host::sandbox::byte_quota::Allowance;
use crate::host::wasi::grant_audit::Uses;

/// How many of a call's streams read or write at once, beside the function that the call waits for. Threads for such
/// work are shared by everybody.
const AT_ONCE: usize = 4;

/// What a call has left. All its streams share it.
#[derive(Debug, Clone)]
pub(in crate::host) struct Quota(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    read: Allowance,
    written: Allowance,
    turns: Arc<Semaphore>,
    /// How many files it may have open, beside the granted directories.
    most_open: u32,
    /// How many more it may open.
    open: Arc<Semaphore>,
    uses: Uses,
}

/// A file, a directory or a listing is open, as long as this or a copy of it lives: a stream keeps its file open, however
/// long the guest has given that back. Held beside what is open, because that is the library's.
#[derive(Debug, Clone)]
pub(super) struct Open {
    _permit: Arc<OwnedSemaphorePermit>,
}

/// The call has read, written or opened more than it may.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the call {} more than it may", match .0 { Way::Read => "read", Way::Written => "wrote", Way::Open => "opened" })]
pub(super) struct Exceeded(Way);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    Read,
    Written,
    Open,
}

impl Quota {
    /// `most_open`: how many files the call may have open, beside the granted directories.
    pub(in crate::host) fn new(limits: &Limits, most_open: u32, uses: Uses) -> Self {
        Self(Arc::new(Shared {
            read: Allowance::new(limits.read),
            written: Allowance::new(limits.written),
            turns: Arc::new(Semaphore::new(AT_ONCE)),
            most_open,
            open: Arc::new(Semaphore::new(most_open as usize)),
            uses,
        }))
    }

    /// As much again, for whoever comes next.
    pub(in crate::host) fn again(&self, limits: &Limits, uses: Uses) -> Self {
        Self::new(limits, self.0.most_open, uses)
    }

    /// Counts what is about to be opened.
    pub(super) fn open(&self) -> Result<Open, Exceeded> {
        let Shared { most_open, open, uses, .. } = &*self.0;
        if let Ok(permit) = Arc::clone(open).try_acquire_owned() {
            return Ok(Open { _permit: Arc::new(permit) });
        }
        uses.exceeded_share(
            "open files",
            &format!("wanted more than {most_open} files and directories open at once, beside those that are granted"),
            "that is its share of the files that the system lets the gateway open",
        );
        Err(Exceeded(Way::Open))
    }

    /// How many of so many bytes may be read at once: one more than is left at least, because whether there is one
    /// more is only known when it is read.
    pub(super) fn readable(&self, bytes: u64) -> u64 {
        bytes.min(self.0.read.left().saturating_add(1))
    }

    /// Counts what was read.
    pub(super) fn read(&self, bytes: u64) -> Result<(), Exceeded> {
        let Shared { read, uses, .. } = &*self.0;
        count(read, bytes, uses, "read", "read more from files").ok_or(Exceeded(Way::Read))
    }

    /// Counts what is about to be written.
    pub(super) fn write(&self, bytes: u64) -> Result<(), Exceeded> {
        let Shared { written, uses, .. } = &*self.0;
        count(written, bytes, uses, "written", "wrote more to files").ok_or(Exceeded(Way::Written))
    }

    /// Each permit is one stream's turn to read or write.
    pub(super) fn turns(&self) -> Arc<Semaphore> {
        Arc::clone(&self.0.turns)
    }
}

/// Takes so many bytes; if there aren't so many, the operator hears of it.
fn count(of: &Allowance, bytes: u64, uses: &Uses, key: &'static str, did: &str) -> Option<()> {
    if of.take(bytes) {
        return Some(());
    }
    uses.exceeded(key, &format!("{did} than the {of} that a call may"));
    None
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
