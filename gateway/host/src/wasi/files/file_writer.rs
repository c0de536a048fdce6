//! A stream that writes to a file and counts the bytes by which the file grows.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;
use std::sync::Arc;

use bytes::Bytes;
use tokio_util::task::AbortOnDropHandle;
use wasmtime_wasi::p2::{DynOutputStream, FsError, OutputStream, Pollable, StreamError, StreamResult};

use super::error::system_error;
use super::quota::{FileQuota, QuotaExceeded};

/// A stream for [`QuotaWriter`](super::streams::QuotaWriter), which only uses the writes that wait.
pub(super) struct FileWriter {
    /// WASI's own stream, which appends.
    inner: DynOutputStream,
    file: Arc<File>,
    /// The position of the next write. `None` appends.
    position: Option<u64>,
    quota: FileQuota,
}

impl FileWriter {
    /// `position` is the position of the first write. `None` appends.
    pub(super) fn new(
        inner: DynOutputStream,
        file: Arc<File>,
        position: Option<u64>,
        quota: FileQuota,
    ) -> Self {
        Self { inner, file, position, quota }
    }

    async fn append(&mut self, bytes: Bytes) -> StreamResult<()> {
        let _growing = self.quota.disk().growing().await;
        let charge = self.quota.add(bytes.len() as u64)?;
        let written = self.inner.blocking_write_and_flush(bytes).await;
        charge.keep();
        written
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

#[wasmtime_wasi::async_trait]
impl OutputStream for FileWriter {
    fn write(&mut self, _: Bytes) -> StreamResult<()> {
        Err(StreamError::trap("a file is written only by writes that wait"))
    }

    async fn blocking_write_and_flush(&mut self, bytes: Bytes) -> StreamResult<()> {
        let Some(position) = self.position else { return self.append(bytes).await };
        let end = position.saturating_add(bytes.len() as u64);
        let growing = self.quota.disk().growing().await;
        let file = Arc::clone(&self.file);
        let quota = self.quota.clone();
        let work = tokio::task::spawn_blocking(move || {
            let _growing = growing;
            grow(&file, end, &quota, || file.write_all_at(&bytes, position))
        });
        let done = AbortOnDropHandle::new(work).await;
        done.map_err(|error| StreamError::Trap(wasmtime::Error::new(error)))??;
        self.position = Some(end);
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
