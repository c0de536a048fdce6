//! A limit on everything that a server sends before the end of a response's head.
//!
//! A server can send informational responses (`100 Continue`, `103 Early Hints`) endlessly, and hyper skips them
//! silently.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use wasmtime_wasi_http::Error;

/// The maximum number of bytes that are read until the head of a response is complete: the largest head, the start of
/// the body that can arrive with it, and the same amount again for informational responses.
pub(super) const MAX_BYTES_BEFORE_BODY: u32 = 256 << 10;

/// No response is awaited.
const UNLIMITED: u64 = u64::MAX;

/// The number of bytes that can still arrive on a connection.
#[derive(Debug)]
pub(super) struct HeadLimit {
    left: AtomicU64,
    exceeded: AtomicBool,
}

/// A connection with a [`HeadLimit`].
#[derive(Debug)]
pub(super) struct LimitedStream<S> {
    stream: S,
    limit: Arc<HeadLimit>,
}

impl HeadLimit {
    /// Starts the limit: a request is being sent, and its response is awaited.
    pub(super) fn start(&self) {
        self.left.store(MAX_BYTES_BEFORE_BODY.into(), Ordering::Release);
    }

    /// Ends the limit: the head of the response is complete. The body has its own limits.
    pub(super) fn end(&self) {
        self.left.store(UNLIMITED, Ordering::Release);
    }

    /// The error of a connection that exceeded this limit.
    pub(super) fn error(&self) -> Option<Error> {
        self.exceeded
            .load(Ordering::Acquire)
            .then_some(Error::HttpResponseHeaderSectionSize(Some(MAX_BYTES_BEFORE_BODY)))
    }

    fn take(&self, bytes: usize) -> bool {
        let less = |left: u64| if left == UNLIMITED { Some(left) } else { left.checked_sub(bytes as u64) };
        self.left.fetch_update(Ordering::AcqRel, Ordering::Acquire, less).is_ok()
    }
}

impl<S> LimitedStream<S> {
    pub(super) fn new(stream: S) -> (Self, Arc<HeadLimit>) {
        let limit = Arc::new(HeadLimit { left: AtomicU64::new(UNLIMITED), exceeded: AtomicBool::new(false) });
        (Self { stream, limit: Arc::clone(&limit) }, limit)
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for LimitedStream<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        ready!(Pin::new(&mut self.stream).poll_read(context, buffer))?;
        if self.limit.take(buffer.filled().len() - before) {
            return Poll::Ready(Ok(()));
        }
        self.limit.exceeded.store(true, Ordering::Release);
        Poll::Ready(Err(io::Error::other("the informational responses are too large")))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for LimitedStream<S> {
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
