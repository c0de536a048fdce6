//! System errors as WASI error codes, and stream errors.
//!
//! WASI's own functions turn several errors that have a code, such as that of a read-only file system, into a general
//! I/O error. So this module's functions replace those that can fail in that way.

use std::io;
use std::sync::{Arc, Mutex, PoisonError};

use rustix::io::Errno;
use wasmtime_wasi::p2::bindings::filesystem::types::ErrorCode;
use wasmtime_wasi::p2::{FsError, StreamError};

use super::quota::QuotaExceeded;

/// The code of a system error.
pub(super) fn error_code(error: &io::Error) -> ErrorCode {
    match Errno::from_io_error(error) {
        Some(Errno::DEADLK) => ErrorCode::Deadlock,
        // WASI has no code for too many open files. The gateway's own limit of open files has the same code.
        Some(Errno::DQUOT | Errno::MFILE | Errno::NFILE) => ErrorCode::Quota,
        Some(Errno::NODEV) => ErrorCode::NoDevice,
        Some(Errno::NOLCK) => ErrorCode::NoLock,
        Some(Errno::NXIO) => ErrorCode::NoSuchDevice,
        Some(Errno::ROFS) => ErrorCode::ReadOnly,
        Some(Errno::STALE) => ErrorCode::NoEntry,
        Some(Errno::TXTBSY) => ErrorCode::TextFileBusy,
        Some(Errno::AGAIN) => ErrorCode::WouldBlock,
        Some(Errno::XDEV) => ErrorCode::CrossDevice,
        _ => ErrorCode::from(error),
    }
}

/// A system error as an error of a function.
#[expect(clippy::needless_pass_by_value, reason = "used with `map_err`")]
pub(super) fn system_error(error: io::Error) -> FsError {
    error_code(&error).into()
}

/// The code of a stream's error, if it has one.
pub(super) fn stream_error_code(error: &wasmtime::Error) -> Option<ErrorCode> {
    if error.is::<QuotaExceeded>() {
        return Some(ErrorCode::Quota);
    }
    error.downcast_ref().map(error_code)
}

/// The last error of a file's streams, until the guest syncs the file.
///
/// The C library that most guests contain reports every error of a stream as a general I/O error. As in POSIX, syncing
/// the file reports the error of an earlier write, so a guest can find out why it failed.
#[derive(Debug, Clone, Default)]
pub(super) struct LastStreamError(Arc<Mutex<Option<ErrorCode>>>);

impl LastStreamError {
    /// Notes the error of a stream.
    pub(super) fn note(&self, error: &StreamError) {
        if let StreamError::LastOperationFailed(error) = error {
            *self.0.lock().unwrap_or_else(PoisonError::into_inner) = stream_error_code(error);
        }
    }

    /// Removes and returns the error.
    pub(super) fn take(&self) -> Option<ErrorCode> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

#[cfg(test)]
mod tests;
