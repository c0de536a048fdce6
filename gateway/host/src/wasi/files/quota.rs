//! Quotas of a call for reading files, writing them, and having them open, and the plugin's disk quota.

use std::sync::Arc;

use moongate_config::Limits;
use tokio::sync::Semaphore;
use wasmtime_wasi::p2::bindings::filesystem::types::ErrorCode;
use wasmtime_wasi::p2::{FsError, StreamError};

use super::disk_usage::{DiskCharge, DiskQuota};
use crate::sandbox::quota::{ByteQuota, CountPermit, CountQuota};
use crate::wasi::grant_audit::GrantAudit;

/// The maximum number of a call's streams that read or write at once, in addition to the function that the call waits
/// for. All plugins share the threads for such work.
const MAX_CONCURRENT_STREAMS: usize = 4;

/// The quota of one call, shared by all its streams.
#[derive(Debug, Clone)]
pub(super) struct FileQuota(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    read: ByteQuota,
    written: ByteQuota,
    disk: DiskQuota,
    open: Arc<CountQuota>,
    stream_turns: Arc<Semaphore>,
    audit: GrantAudit,
}

/// Counts a file, a directory or a listing as open until all its copies are dropped: a stream keeps its file open, even
/// if the guest has dropped the descriptor. It is stored next to the open file, because the file's type belongs to the
/// library.
#[derive(Debug, Clone)]
pub(super) struct OpenFilePermit {
    _permit: Arc<CountPermit>,
}

/// The call exceeded its quota for reading, writing or opening files, or the plugin's disk quota.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(super) enum QuotaExceeded {
    #[error("the call read more than its limit")]
    Read,
    #[error("the call wrote more than its limit")]
    Written,
    #[error("the plugin added more to its directories than its limit")]
    Disk,
    #[error("the call opened more files than its limit")]
    Open,
}

impl FileQuota {
    /// `max_open` is the maximum number of files that the call can have open, in addition to the granted directories.
    pub(super) fn new(limits: &Limits, max_open: u32, disk: DiskQuota, audit: GrantAudit) -> Self {
        Self(Arc::new(Shared {
            read: ByteQuota::new(limits.read),
            written: ByteQuota::new(limits.written),
            disk,
            open: Arc::new(CountQuota::new(max_open)),
            stream_turns: Arc::new(Semaphore::new(MAX_CONCURRENT_STREAMS)),
            audit,
        }))
    }

    /// Counts a file, directory or listing that is about to be opened.
    pub(super) fn open(&self) -> Result<OpenFilePermit, QuotaExceeded> {
        let Shared { open, audit, .. } = &*self.0;
        if let Some(permit) = open.acquire() {
            return Ok(OpenFilePermit { _permit: Arc::new(permit) });
        }
        audit.report_derived_limit(
            "open files",
            &format!(
                "tried to open more than {open} files and directories at once, in addition to the granted ones"
            ),
            "the limit is the call's share of the gateway's open-file limit",
        );
        Err(QuotaExceeded::Open)
    }

    /// The number of bytes to read at once: at least one more than the remaining quota, because only reading shows if
    /// there is one more.
    pub(super) fn readable(&self, bytes: u64) -> u64 {
        bytes.min(self.0.read.left().saturating_add(1))
    }

    /// Counts bytes that were read.
    pub(super) fn read(&self, bytes: u64) -> Result<(), QuotaExceeded> {
        let Shared { read, audit, .. } = &*self.0;
        if read.take(bytes) {
            return Ok(());
        }
        audit.report_limit("read", &format!("read more than {read} from files in one call"));
        Err(QuotaExceeded::Read)
    }

    /// Counts bytes that are about to be written.
    pub(super) fn write(&self, bytes: u64) -> Result<(), QuotaExceeded> {
        let Shared { written, audit, .. } = &*self.0;
        if written.take(bytes) {
            return Ok(());
        }
        audit.report_limit("written", &format!("wrote more than {written} to files in one call"));
        Err(QuotaExceeded::Written)
    }

    /// Counts bytes that are about to be added to the plugin's directories.
    pub(super) fn add(&self, bytes: u64) -> Result<DiskCharge<'_>, QuotaExceeded> {
        let Shared { disk, audit, .. } = &*self.0;
        if let Some(charge) = disk.add(bytes) {
            return Ok(charge);
        }
        audit.report_limit("disk", &format!("added more than {disk} to its writable directories"));
        Err(QuotaExceeded::Disk)
    }

    pub(super) fn disk(&self) -> &DiskQuota {
        &self.0.disk
    }

    /// A permit to read or write, which a stream acquires for its turn.
    pub(super) fn stream_turns(&self) -> Arc<Semaphore> {
        Arc::clone(&self.0.stream_turns)
    }
}

impl From<QuotaExceeded> for StreamError {
    fn from(error: QuotaExceeded) -> Self {
        Self::LastOperationFailed(wasmtime::Error::new(error))
    }
}

impl From<QuotaExceeded> for FsError {
    fn from(_: QuotaExceeded) -> Self {
        ErrorCode::Quota.into()
    }
}
