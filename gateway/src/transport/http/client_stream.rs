//! A client's connection: what it reads counts as a request head until the head is complete, and a client that reads a
//! response too slowly is disconnected.
//!
//! A minimum rate is needed in addition to a limit on the time without progress: a client that reads a byte now and then
//! would otherwise keep its response in memory for ever. As in Kestrel and Apache, the rate is an average, and only the
//! time for which bytes wait for the client counts. A stream with rare or small events therefore stays open.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use moongate_system::background::{self, WorkOwner};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep, sleep_until};

use crate::transport::http::connections::ConnectionHandle;

/// The time for which bytes can wait for a client, in addition to the time that the minimum rate allows for them.
const MAX_WAIT: Duration = Duration::from_secs(30);

/// The minimum rate at which a client must read, in bytes per second. It is that of a slow mobile connection, and lets
/// a client read the largest result in nine minutes. Web servers use a few hundred bytes per second, which would take
/// ten hours.
const MIN_BYTES_PER_SECOND: u32 = 16 * 1024;

/// The maximum number of bytes to read at once: hyper doubles its buffer whenever one read fills it, and an idle
/// connection keeps up to 128 KiB. With this, it keeps at most 32 KiB.
const MAX_READ_BYTES: usize = 8 * 1024;

/// The number of bytes after which others get their turn: they can be hundreds of small requests, or thousands of frames of
/// HTTP/2.
const MAX_READ_TURN_BYTES: usize = 32 * 1024;

/// The size above which a message is written in parts.
const MAX_WRITE_BYTES: usize = 128 * 1024;

/// The size of a part. The system copies the bytes within the call, and most systems don't interrupt it: a thread of
/// normal priority waits as long for the processor.
const MAX_PART_BYTES: usize = 32 * 1024;

/// A connection with time limits on writes.
pub(in crate::transport) struct ClientStream<S> {
    stream: S,
    handle: ConnectionHandle,
    unread: UnreadTime,
    /// Set while a write waits for the client.
    timeout: Option<Pin<Box<Sleep>>>,
    read_turn: ReadTurn,
    turns: WriteTurns,
}

/// The time for which bytes waited for the client, minus the time that the minimum rate allows for what it read since.
/// It decreases again while nothing waits.
#[derive(Debug)]
pub(super) struct UnreadTime {
    waited: Duration,
    measured_at: Instant,
    is_waiting: bool,
}

impl UnreadTime {
    pub(super) fn new() -> Self {
        Self { waited: Duration::ZERO, measured_at: Instant::now(), is_waiting: false }
    }

    /// Records that bytes wait, and returns when they have waited for too long.
    pub(super) fn wait(&mut self, now: Instant) -> Instant {
        self.measure(now);
        self.is_waiting = true;
        now + MAX_WAIT.saturating_sub(self.waited)
    }

    /// Records that the client has made room for this many bytes.
    pub(super) fn progress(&mut self, now: Instant, bytes: usize) {
        self.measure(now);
        self.is_waiting = false;
        let bytes = u32::try_from(bytes).unwrap_or(u32::MAX);
        self.waited = self.waited.saturating_sub(Duration::from_secs(bytes.into()) / MIN_BYTES_PER_SECOND);
    }

    fn measure(&mut self, now: Instant) {
        let passed = now - self.measured_at;
        self.measured_at = now;
        self.waited = if self.is_waiting { self.waited + passed } else { self.waited.saturating_sub(passed) };
    }
}

impl<S> ClientStream<S> {
    pub(in crate::transport) fn new(stream: S, handle: ConnectionHandle) -> Self {
        Self {
            stream,
            handle,
            unread: UnreadTime::new(),
            timeout: None,
            read_turn: ReadTurn::default(),
            turns: WriteTurns::default(),
        }
    }

    /// Limits the time for which writes return `Pending`.
    fn limit(
        &mut self,
        context: &mut Context<'_>,
        written: Poll<io::Result<usize>>,
    ) -> Poll<io::Result<usize>> {
        self.turns.record(&written);
        if let Poll::Ready(result) = written {
            self.timeout = None;
            self.unread.progress(Instant::now(), *result.as_ref().unwrap_or(&0));
            self.handle.wrote();
            return Poll::Ready(result);
        }
        let unread = &mut self.unread;
        let timeout = self.timeout.get_or_insert_with(|| Box::pin(sleep_until(unread.wait(Instant::now()))));
        ready!(timeout.as_mut().poll(context));
        Poll::Ready(Err(io::Error::new(io::ErrorKind::TimedOut, "the client reads the response too slowly")))
    }
}

/// Writes large messages in parts and with low priority: the connection moves to the background pool with the first part,
/// and returns with the last one.
#[derive(Debug, Default)]
struct WriteTurns {
    /// True while a large message is written.
    is_large: bool,
    /// True if a part of it was written last: others come before the next one.
    yields: bool,
    has_moved: bool,
}

impl WriteTurns {
    /// Waits until the next write of this many bytes can begin. Returns how many can be written.
    fn poll_next(&mut self, context: &mut Context<'_>, bytes: usize) -> Poll<usize> {
        self.is_large = bytes > if self.is_large { MAX_PART_BYTES } else { MAX_WRITE_BYTES };
        if self.is_large && !self.has_moved && background::request_move(context, WorkOwner::default()) {
            self.has_moved = true;
            return Poll::Pending;
        }
        if !self.is_large && std::mem::take(&mut self.has_moved) {
            background::request_return();
        }
        if std::mem::take(&mut self.yields) {
            context.waker().wake_by_ref();
            return Poll::Pending;
        }
        Poll::Ready(if self.is_large { MAX_PART_BYTES } else { bytes })
    }

    fn record(&mut self, written: &Poll<io::Result<usize>>) {
        self.yields = self.is_large && matches!(written, Poll::Ready(Ok(_)));
    }
}

fn total_bytes(parts: &[io::IoSlice<'_>]) -> usize {
    parts.iter().map(|part| part.len()).sum()
}

/// The number of the first parts that have at most `max` bytes together.
fn parts_within(max: usize, parts: &[io::IoSlice<'_>]) -> usize {
    let mut total = 0;
    let fits = |part: &&io::IoSlice<'_>| {
        total += part.len();
        total <= max
    };
    parts.iter().take_while(fits).count()
}

/// Writes at most `max` bytes of parts.
fn write_parts<S: AsyncWrite>(
    stream: Pin<&mut S>,
    context: &mut Context<'_>,
    parts: &[io::IoSlice<'_>],
    max: usize,
) -> Poll<io::Result<usize>> {
    match parts {
        [first, ..] if first.len() > max => stream.poll_write(context, &first[..max]),
        _ => stream.poll_write_vectored(context, &parts[..parts_within(max, parts)]),
    }
}

/// The bytes that were read since others had their turn.
#[derive(Debug, Default)]
struct ReadTurn(usize);

impl ReadTurn {
    fn poll_read<S: AsyncRead + Unpin>(
        &mut self,
        stream: &mut S,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<usize>> {
        if self.0 >= MAX_READ_TURN_BYTES {
            self.0 = 0;
            context.waker().wake_by_ref();
            return Poll::Pending;
        }
        let received = poll_read_part(stream, context, buffer);
        match received {
            Poll::Ready(Ok(bytes)) => self.0 += bytes,
            Poll::Ready(Err(_)) | Poll::Pending => self.0 = 0,
        }
        received
    }
}

/// Reads at most [`MAX_READ_BYTES`], and returns their number.
fn poll_read_part<S: AsyncRead + Unpin>(
    stream: &mut S,
    context: &mut Context<'_>,
    buffer: &mut ReadBuf<'_>,
) -> Poll<io::Result<usize>> {
    if buffer.remaining() > MAX_READ_BYTES {
        let mut part = ReadBuf::new(buffer.initialize_unfilled_to(MAX_READ_BYTES));
        ready!(Pin::new(stream).poll_read(context, &mut part))?;
        let received = part.filled().len();
        buffer.advance(received);
        Poll::Ready(Ok(received))
    } else {
        let before = buffer.filled().len();
        ready!(Pin::new(stream).poll_read(context, buffer))?;
        Poll::Ready(Ok(buffer.filled().len() - before))
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for ClientStream<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let Self { stream, read_turn, handle, .. } = &mut *self;
        let received = ready!(read_turn.poll_read(stream, context, buffer))?;
        handle.received(received);
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for ClientStream<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let max = ready!(self.turns.poll_next(context, bytes.len()));
        let written = Pin::new(&mut self.stream).poll_write(context, &bytes[..max]);
        self.limit(context, written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        parts: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let max = ready!(self.turns.poll_next(context, total_bytes(parts)));
        let stream = Pin::new(&mut self.stream);
        let written = write_parts(stream, context, parts, max);
        self.limit(context, written)
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

/// A decrypted stream, which is read in small parts and encrypts large messages with low priority, like a [`ClientStream`].
/// The encrypted stream below it has the time limits.
pub(super) struct DecryptedStream<S> {
    stream: S,
    read_turn: ReadTurn,
    turns: WriteTurns,
}

impl<S> DecryptedStream<S> {
    pub(super) fn new(stream: S) -> Self {
        Self { stream, read_turn: ReadTurn::default(), turns: WriteTurns::default() }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for DecryptedStream<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let Self { stream, read_turn, .. } = &mut *self;
        read_turn.poll_read(stream, context, buffer).map_ok(|_| ())
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for DecryptedStream<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let max = ready!(self.turns.poll_next(context, bytes.len()));
        let written = Pin::new(&mut self.stream).poll_write(context, &bytes[..max]);
        self.turns.record(&written);
        written
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        parts: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let max = ready!(self.turns.poll_next(context, total_bytes(parts)));
        let stream = Pin::new(&mut self.stream);
        let written = write_parts(stream, context, parts, max);
        self.turns.record(&written);
        written
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

#[cfg(test)]
mod tests;
