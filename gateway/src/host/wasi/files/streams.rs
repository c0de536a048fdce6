//! Streams of files that count, around WASI's own.
//!
//! Theirs start to read or write on a thread of their own whenever they are asked, and a call may hold a thousand of
//! them: these wait for their turn. Where the guest waits for the answer anyway nothing is started.

use bytes::Bytes;
use tokio_util::task::AbortOnDropHandle;
use wasmtime_wasi::p2::{
    DynInputStream, DynOutputStream, InputStream, OutputStream, Pollable, StreamError, StreamResult,
};

use super::quota::{Open, Quota};

/// How much is read before anybody waits for it, in bytes: each stream of a call may hold so much.
const AHEAD: usize = 16 << 10;

/// How much may be written without waiting, in bytes.
const PERMIT: usize = 64 << 10;

/// Reads and counts.
pub(super) struct Reader {
    state: Reading,
    quota: Quota,
    /// Goes after the file has.
    _open: Option<Open>,
}

enum Reading {
    Idle(DynInputStream),
    Waiting(AbortOnDropHandle<(DynInputStream, StreamResult<Bytes>)>),
    Read(DynInputStream, Bytes),
    Failed(StreamError),
    Closed,
}

impl Reader {
    /// `open`: counts the file, which the stream keeps open.
    pub(super) fn new(inner: DynInputStream, quota: Quota, open: Option<Open>) -> Self {
        Self { state: Reading::Idle(inner), quota, _open: open }
    }

    /// Starts to read, unless that goes on or is over already.
    fn start(&mut self, size: usize) {
        self.state = match std::mem::replace(&mut self.state, Reading::Closed) {
            Reading::Idle(mut inner) => {
                let (turns, size) = (self.quota.turns(), readable(&self.quota, size));
                Reading::Waiting(AbortOnDropHandle::new(tokio::spawn(async move {
                    let _turn = turns.acquire().await;
                    let read = inner.blocking_read(size).await;
                    (inner, read)
                })))
            }
            other => other,
        };
    }

    /// Waits for what was started.
    async fn settle(&mut self) {
        if let Reading::Waiting(task) = &mut self.state {
            let ended = task.await;
            self.state = match ended {
                Ok((inner, read)) => self.counted(inner, read),
                Err(error) => Reading::Failed(StreamError::Trap(wasmtime::Error::new(error))),
            };
        }
    }

    fn counted(&self, inner: DynInputStream, read: StreamResult<Bytes>) -> Reading {
        match read {
            Ok(bytes) => match self.quota.read(bytes.len() as u64) {
                Ok(()) if bytes.is_empty() => Reading::Idle(inner),
                Ok(()) => Reading::Read(inner, bytes),
                Err(exceeded) => Reading::Failed(exceeded.into()),
            },
            Err(StreamError::Closed) => Reading::Closed,
            Err(error) => Reading::Failed(error),
        }
    }

    /// Hands over what was read.
    fn deliver(&mut self, size: usize) -> StreamResult<Bytes> {
        match std::mem::replace(&mut self.state, Reading::Closed) {
            Reading::Read(inner, mut bytes) => {
                let given = bytes.split_to(bytes.len().min(size));
                self.state =
                    if bytes.is_empty() { Reading::Idle(inner) } else { Reading::Read(inner, bytes) };
                Ok(given)
            }
            Reading::Failed(error) => Err(error),
            Reading::Closed => Err(StreamError::Closed),
            other @ (Reading::Idle(_) | Reading::Waiting(_)) => {
                self.state = other;
                Ok(Bytes::new())
            }
        }
    }
}

fn readable(quota: &Quota, size: usize) -> usize {
    usize::try_from(quota.readable(size as u64)).unwrap_or(size)
}

#[wasmtime_wasi::async_trait]
impl InputStream for Reader {
    fn read(&mut self, size: usize) -> StreamResult<Bytes> {
        if size > 0 {
            self.start(size.min(AHEAD));
        }
        self.deliver(size)
    }

    async fn blocking_read(&mut self, size: usize) -> StreamResult<Bytes> {
        self.settle().await;
        if size > 0
            && let Reading::Idle(inner) = &mut self.state
        {
            let read = inner.blocking_read(readable(&self.quota, size)).await;
            if let Reading::Idle(inner) = std::mem::replace(&mut self.state, Reading::Closed) {
                self.state = self.counted(inner, read);
            }
        }
        self.deliver(size)
    }

    async fn cancel(&mut self) {
        self.settle().await;
        self.state = Reading::Closed;
    }
}

#[wasmtime_wasi::async_trait]
impl Pollable for Reader {
    async fn ready(&mut self) {
        self.start(AHEAD);
        self.settle().await;
    }
}

/// Counts and writes.
pub(super) struct Writer {
    state: Writing,
    quota: Quota,
    /// Goes after the file has.
    _open: Option<Open>,
}

enum Writing {
    Idle(DynOutputStream),
    Waiting(AbortOnDropHandle<(DynOutputStream, StreamResult<()>)>),
    Failed(StreamError),
    Closed,
}

impl Writer {
    /// `open`: counts the file, which the stream keeps open.
    pub(super) fn new(inner: DynOutputStream, quota: Quota, open: Option<Open>) -> Self {
        Self { state: Writing::Idle(inner), quota, _open: open }
    }

    /// Waits for what was started.
    async fn settle(&mut self) {
        if let Writing::Waiting(task) = &mut self.state {
            let ended = task.await;
            self.state = match ended {
                Ok((inner, written)) => after(inner, written),
                Err(error) => Writing::Failed(StreamError::Trap(wasmtime::Error::new(error))),
            };
        }
    }

    /// An error is told once; then the stream is closed.
    fn standing(&mut self) -> StreamResult<()> {
        match std::mem::replace(&mut self.state, Writing::Closed) {
            Writing::Failed(error) => Err(error),
            Writing::Closed => Err(StreamError::Closed),
            other @ (Writing::Idle(_) | Writing::Waiting(_)) => {
                self.state = other;
                Ok(())
            }
        }
    }
}

fn after(inner: DynOutputStream, written: StreamResult<()>) -> Writing {
    match written {
        Ok(()) => Writing::Idle(inner),
        Err(StreamError::Closed) => Writing::Closed,
        Err(error) => Writing::Failed(error),
    }
}

#[wasmtime_wasi::async_trait]
impl OutputStream for Writer {
    fn write(&mut self, bytes: Bytes) -> StreamResult<()> {
        self.standing()?;
        match std::mem::replace(&mut self.state, Writing::Closed) {
            Writing::Idle(mut inner) => {
                self.quota.write(bytes.len() as u64)?;
                let turns = self.quota.turns();
                self.state = Writing::Waiting(AbortOnDropHandle::new(tokio::spawn(async move {
                    let _turn = turns.acquire().await;
                    let written = inner.blocking_write_and_flush(bytes).await;
                    (inner, written)
                })));
                Ok(())
            }
            Writing::Waiting(_) | Writing::Failed(_) | Writing::Closed => {
                Err(StreamError::trap("a write that `check-write` didn't allow"))
            }
        }
    }

    async fn blocking_write_and_flush(&mut self, bytes: Bytes) -> StreamResult<()> {
        self.settle().await;
        self.standing()?;
        if let Writing::Idle(inner) = &mut self.state {
            let written = match self.quota.write(bytes.len() as u64) {
                Ok(()) => inner.blocking_write_and_flush(bytes).await,
                Err(exceeded) => Err(exceeded.into()),
            };
            if let Writing::Idle(inner) = std::mem::replace(&mut self.state, Writing::Closed) {
                self.state = after(inner, written);
            }
        }
        self.standing()
    }

    fn flush(&mut self) -> StreamResult<()> {
        self.standing() // what is written lies nowhere in between
    }

    fn check_write(&mut self) -> StreamResult<usize> {
        self.standing()?;
        Ok(if matches!(self.state, Writing::Idle(_)) { PERMIT } else { 0 })
    }

    async fn cancel(&mut self) {
        self.settle().await;
        self.state = Writing::Closed;
    }
}

#[wasmtime_wasi::async_trait]
impl Pollable for Writer {
    async fn ready(&mut self) {
        self.settle().await;
    }
}
