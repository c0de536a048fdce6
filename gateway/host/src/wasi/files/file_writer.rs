//! A stream that writes to a file and counts the bytes by which the file grows.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;
use std::sync::Arc;

use bytes::Bytes;
use tokio_util::task::AbortOnDropHandle;
use wasmtime_wasi::p2::{FsError, OutputStream, Pollable, StreamError, StreamResult};

use super::error::system_error;
use super::quota::{FileQuota, QuotaExceeded};

/// A stream for [`QuotaWriter`](super::streams::QuotaWriter), which only uses the writes that wait.
///
/// A write can't be stopped, so it holds what it counts and its lock itself, even if the call ends meanwhile.
pub(super) struct FileWriter {
    file: Arc<File>,
    /// The position of the next write. `None` appends.
    position: Option<u64>,
    quota: FileQuota,
}

impl FileWriter {
    /// `position` is the position of the first write. `None` appends.
    pub(super) fn new(file: Arc<File>, position: Option<u64>, quota: FileQuota) -> Self {
        Self { file, position, quota }
    }
}

/// The reason that a file can't grow.
pub(super) enum GrowError {
    Quota(QuotaExceeded),
    System(io::Error),
}

impl From<GrowError> for StreamError {
    fn from(error: GrowError) -> Self {
        match error {
            GrowError::Quota(exceeded) => exceeded.into(),
            GrowError::System(error) => Self::LastOperationFailed(error.into()),
        }
    }
}

impl From<GrowError> for FsError {
    fn from(error: GrowError) -> Self {
        match error {
            GrowError::Quota(exceeded) => exceeded.into(),
            GrowError::System(error) => system_error(error),
        }
    }
}

/// Makes a change that leaves the file at least this long, and counts its growth.
pub(super) fn grow<T>(
    file: &File,
    new_size: u64,
    quota: &FileQuota,
    change: impl FnOnce() -> io::Result<T>,
) -> Result<T, GrowError> {
    let size_before = file.metadata().map_err(GrowError::System)?.len();
    let charge = quota.add(new_size.saturating_sub(size_before)).map_err(GrowError::Quota)?;
    match change() {
        Ok(done) => {
            charge.keep();
            Ok(done)
        }
        Err(error) => {
            let size = file.metadata().map_or(new_size, |now| now.len());
            charge.keep_part(size.saturating_sub(size_before));
            Err(GrowError::System(error))
        }
    }
}

/// Appends, and counts the bytes that were written.
fn append(file: &File, bytes: &[u8], quota: &FileQuota) -> Result<(), GrowError> {
    let charge = quota.add(bytes.len() as u64).map_err(GrowError::Quota)?;
    let mut rest = bytes;
    while !rest.is_empty() {
        match append_some(file, rest) {
            Ok(count) if count > 0 => rest = rest.get(count..).unwrap_or_default(),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            failed => {
                charge.keep_part((bytes.len() - rest.len()) as u64);
                return Err(GrowError::System(failed.err().unwrap_or(io::ErrorKind::WriteZero.into())));
            }
        }
    }
    charge.keep();
    Ok(())
}

/// Appends some of the bytes. On Linux, they never overwrite what another process appends meanwhile.
fn append_some(file: &File, bytes: &[u8]) -> io::Result<usize> {
    #[cfg(target_os = "linux")]
    {
        use rustix::io::{Errno, ReadWriteFlags, pwritev2};

        match pwritev2(file, &[io::IoSlice::new(bytes)], 0, ReadWriteFlags::APPEND) {
            Err(Errno::NOSYS | Errno::NOTSUP) => {} // older than Linux 4.16, or a file system without it
            written => return Ok(written?),
        }
    }
    file.write_at(bytes, file.metadata()?.len())
}

#[wasmtime_wasi::async_trait]
impl OutputStream for FileWriter {
    fn write(&mut self, _: Bytes) -> StreamResult<()> {
        Err(StreamError::trap("a file is written only by writes that wait"))
    }

    async fn blocking_write_and_flush(&mut self, bytes: Bytes) -> StreamResult<()> {
        let position = self.position;
        let end = position.map(|position| position.saturating_add(bytes.len() as u64));
        let growing = self.quota.disk().growing().await;
        let file = Arc::clone(&self.file);
        let quota = self.quota.clone();
        let work = tokio::task::spawn_blocking(move || {
            let _growing = growing;
            match position.zip(end) {
                Some((position, end)) => grow(&file, end, &quota, || file.write_all_at(&bytes, position)),
                None => append(&file, &bytes, &quota),
            }
        });
        let done = AbortOnDropHandle::new(work).await;
        done.map_err(|error| StreamError::Trap(wasmtime::Error::new(error)))??;
        self.position = end;
        Ok(())
    }

    fn flush(&mut self) -> StreamResult<()> {
        Ok(())
    }

    fn check_write(&mut self) -> StreamResult<usize> {
        Ok(0)
    }
}

#[wasmtime_wasi::async_trait]
impl Pollable for FileWriter {
    async fn ready(&mut self) {}
}

#[cfg(test)]
mod tests;
