//! Streams of files with a quota, around WASI's own.
//!
//! WASI's streams start to read or write on a separate thread on every request, and a call can have a thousand of them.
//! These streams wait for their turn. A blocking call by the guest starts no thread, because the guest waits anyway.

use bytes::Bytes;
use tokio_util::task::AbortOnDropHandle;
use wasmtime_wasi::p2::{
    DynInputStream, DynOutputStream, InputStream, OutputStream, Pollable, StreamError, StreamResult,
};

use super::quota::{FileQuota, OpenFilePermit};

/// The amount that is read before the guest requests it, in bytes. Each stream of a call can buffer this much.
const READ_AHEAD_BYTES: usize = 16 << 10;

/// The amount that can be written without waiting, in bytes.
const MAX_WRITE_BYTES: usize = 64 << 10;

/// An input stream that counts the bytes read.
pub(super) struct QuotaReader {
    state: ReadState,
    quota: FileQuota,
    /// Dropped after the file.
    _permit: Option<OpenFilePermit>,
}

enum ReadState {
    Idle(DynInputStream),
    Waiting(AbortOnDropHandle<(DynInputStream, StreamResult<Bytes>)>),
    Read(DynInputStream, Bytes),
    Failed(StreamError),
    Closed,
}

impl QuotaReader {
    /// `permit` counts the file, which the stream keeps open.
    pub(super) fn new(inner: DynInputStream, quota: FileQuota, permit: Option<OpenFilePermit>) -> Self {
        Self { state: ReadState::Idle(inner), quota, _permit: permit }
    }

    /// Starts to read, unless a read is running or has ended.
    fn start(&mut self, size: usize) {
        self.state = match std::mem::replace(&mut self.state, ReadState::Closed) {
            ReadState::Idle(mut inner) => {
                let turns = self.quota.stream_turns();
                let size = readable(&self.quota, size);
                ReadState::Waiting(AbortOnDropHandle::new(tokio::spawn(async move {
                    let _turn = turns.acquire().await;
                    let read = inner.blocking_read(size).await;
                    (inner, read)
                })))
            }
            other => other,
        };
    }

    /// Waits for the operation that was started.
    async fn settle(&mut self) {
        if let ReadState::Waiting(task) = &mut self.state {
            let ended = task.await;
            self.state = match ended {
                Ok((inner, read)) => self.counted(inner, read),
                Err(error) => ReadState::Failed(StreamError::Trap(wasmtime::Error::new(error))),
            };
        }
    }

    fn counted(&self, inner: DynInputStream, read: StreamResult<Bytes>) -> ReadState {
        match read {
            Ok(bytes) => match self.quota.read(bytes.len() as u64) {
                Ok(()) if bytes.is_empty() => ReadState::Idle(inner),
                Ok(()) => ReadState::Read(inner, bytes),
                Err(exceeded) => ReadState::Failed(exceeded.into()),
            },
            Err(StreamError::Closed) => ReadState::Closed,
            Err(error) => ReadState::Failed(error),
        }
    }

    /// Returns bytes that were read.
    fn deliver(&mut self, size: usize) -> StreamResult<Bytes> {
        match std::mem::replace(&mut self.state, ReadState::Closed) {
            ReadState::Read(inner, mut bytes) => {
                let given = bytes.split_to(bytes.len().min(size));
                self.state =
                    if bytes.is_empty() { ReadState::Idle(inner) } else { ReadState::Read(inner, bytes) };
                Ok(given)
            }
            ReadState::Failed(error) => Err(error),
            ReadState::Closed => Err(StreamError::Closed),
            other @ (ReadState::Idle(_) | ReadState::Waiting(_)) => {
                self.state = other;
                Ok(Bytes::new())
            }
        }
    }
}

fn readable(quota: &FileQuota, size: usize) -> usize {
    usize::try_from(quota.readable(size as u64)).unwrap_or(size)
}

#[wasmtime_wasi::async_trait]
impl InputStream for QuotaReader {
    fn read(&mut self, size: usize) -> StreamResult<Bytes> {
        if size > 0 {
            self.start(size.min(READ_AHEAD_BYTES));
        }
        self.deliver(size)
    }

    async fn blocking_read(&mut self, size: usize) -> StreamResult<Bytes> {
        self.settle().await;
        if size > 0
            && let ReadState::Idle(inner) = &mut self.state
        {
            let read = inner.blocking_read(readable(&self.quota, size)).await;
            if let ReadState::Idle(inner) = std::mem::replace(&mut self.state, ReadState::Closed) {
                self.state = self.counted(inner, read);
            }
        }
        self.deliver(size)
    }

    async fn cancel(&mut self) {
        self.settle().await;
        self.state = ReadState::Closed;
    }
}

#[wasmtime_wasi::async_trait]
impl Pollable for QuotaReader {
    async fn ready(&mut self) {
        self.start(READ_AHEAD_BYTES);
        self.settle().await;
    }
}

/// An output stream that counts the bytes written.
pub(super) struct QuotaWriter {
    state: WriteState,
    quota: FileQuota,
    /// Dropped after the file.
    _permit: Option<OpenFilePermit>,
}

enum WriteState {
    Idle(DynOutputStream),
    Waiting(AbortOnDropHandle<(DynOutputStream, StreamResult<()>)>),
    Failed(StreamError),
    Closed,
}

impl QuotaWriter {
    /// `permit` counts the file, which the stream keeps open.
    pub(super) fn new(inner: DynOutputStream, quota: FileQuota, permit: Option<OpenFilePermit>) -> Self {
        Self { state: WriteState::Idle(inner), quota, _permit: permit }
    }

    /// Waits for the operation that was started.
    async fn settle(&mut self) {
        if let WriteState::Waiting(task) = &mut self.state {
            let ended = task.await;
            self.state = match ended {
                Ok((inner, written)) => state_after(inner, written),
                Err(error) => WriteState::Failed(StreamError::Trap(wasmtime::Error::new(error))),
            };
        }
    }

    /// Returns an error once; after that, the stream is closed.
    fn check_open(&mut self) -> StreamResult<()> {
        match std::mem::replace(&mut self.state, WriteState::Closed) {
            WriteState::Failed(error) => Err(error),
            WriteState::Closed => Err(StreamError::Closed),
            other @ (WriteState::Idle(_) | WriteState::Waiting(_)) => {
                self.state = other;
                Ok(())
            }
        }
    }
}

fn state_after(inner: DynOutputStream, written: StreamResult<()>) -> WriteState {
    match written {
        Ok(()) => WriteState::Idle(inner),
        Err(StreamError::Closed) => WriteState::Closed,
        Err(error) => WriteState::Failed(error),
    }
}

#[wasmtime_wasi::async_trait]
impl OutputStream for QuotaWriter {
    fn write(&mut self, bytes: Bytes) -> StreamResult<()> {
        self.check_open()?;
        match std::mem::replace(&mut self.state, WriteState::Closed) {
            WriteState::Idle(mut inner) => {
                self.quota.write(bytes.len() as u64)?;
                let turns = self.quota.stream_turns();
                self.state = WriteState::Waiting(AbortOnDropHandle::new(tokio::spawn(async move {
                    let _turn = turns.acquire().await;
                    let written = inner.blocking_write_and_flush(bytes).await;
                    (inner, written)
                })));
                Ok(())
            }
            WriteState::Waiting(_) | WriteState::Failed(_) | WriteState::Closed => {
                Err(StreamError::trap("a write that `check-write` didn't permit"))
            }
        }
    }

    async fn blocking_write_and_flush(&mut self, bytes: Bytes) -> StreamResult<()> {
        self.settle().await;
        self.check_open()?;
        if let WriteState::Idle(inner) = &mut self.state {
            let written = match self.quota.write(bytes.len() as u64) {
                Ok(()) => inner.blocking_write_and_flush(bytes).await,
                Err(exceeded) => Err(exceeded.into()),
            };
            if let WriteState::Idle(inner) = std::mem::replace(&mut self.state, WriteState::Closed) {
                self.state = state_after(inner, written);
            }
        }
        self.check_open()
    }

    fn flush(&mut self) -> StreamResult<()> {
        self.check_open() // nothing is buffered here
    }

    fn check_write(&mut self) -> StreamResult<usize> {
        self.check_open()?;
        Ok(if matches!(self.state, WriteState::Idle(_)) { MAX_WRITE_BYTES } else { 0 })
    }

    async fn cancel(&mut self) {
        self.settle().await;
        self.state = WriteState::Closed;
    }
}

#[wasmtime_wasi::async_trait]
impl Pollable for QuotaWriter {
    async fn ready(&mut self) {
        self.settle().await;
    }
}
