//! What a server says before its answer, counted: it may announce one (`100 Continue`, `103 Early Hints`) as often as it
//! likes, and each time it does nobody but this knows.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use wasmtime_wasi_http::Error;

/// The most that is read until the head of an answer is there, in bytes: the largest head, with what may come along
/// with it, and room for as much that comes before.
pub(super) const MOST: u32 = 256 << 10;

/// Nobody waits for the head of an answer.
const UNCOUNTED: u64 = u64::MAX;

/// How much more may come on a connection.
#[derive(Debug)]
pub(super) struct Preface {
    left: AtomicU64,
    is_over: AtomicBool,
}

/// A connection whose bytes are counted as they come.
#[derive(Debug)]
pub(super) struct Counted<S> {
    stream: S,
    preface: Arc<Preface>,
}

impl Preface {
    /// A request goes out, and its answer is waited for.
    pub(super) fn begin(&self) {
        self.left.store(MOST.into(), Ordering::Release);
    }

    /// The head of the answer is there. What follows has limits of its own.
    pub(super) fn end(&self) {
        self.left.store(UNCOUNTED, Ordering::Release);
    }

    /// What to tell of a connection that this has ended.
    pub(super) fn error(&self) -> Option<Error> {
        self.is_over.load(Ordering::Acquire).then_some(Error::HttpResponseHeaderSectionSize(Some(MOST)))
    }

    fn takes(&self, bytes: usize) -> bool {
        let less = |left: u64| if left == UNCOUNTED { Some(left) } else { left.checked_sub(bytes as u64) };
        self.left.fetch_update(Ordering::AcqRel, Ordering::Acquire, less).is_ok()
    }
}

impl<S> Counted<S> {
    pub(super) fn new(stream: S) -> (Self, Arc<Preface>) {
        let preface = Arc::new(Preface { left: AtomicU64::new(UNCOUNTED), is_over: AtomicBool::new(false) });
        (Self { stream, preface: Arc::clone(&preface) }, preface)
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Counted<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        ready!(Pin::new(&mut self.stream).poll_read(context, buffer))?;
        if self.preface.takes(buffer.filled().len() - before) {
            return Poll::Ready(Ok(()));
        }
        self.preface.is_over.store(true, Ordering::Release);
        Poll::Ready(Err(io::Error::other("too much comes before the answer")))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Counted<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        pieces: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(context, pieces)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
