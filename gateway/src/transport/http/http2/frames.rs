//! Counts the small frames of an HTTP/2 connection that carry no request (RFC 9113, 4.1). h2 answers them by itself, and
//! limits only some kinds.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_util::sync::CancellationToken;

use crate::transport::frame_budget::{FrameBudget, MAX_SMALL_BYTES};

/// The length of the client's preface (RFC 9113, 3.4).
const PREFACE_BYTES: usize = 24;

/// The length of a frame's header.
const HEADER_BYTES: usize = 9;

/// The types of frames that carry requests.
const DATA: u8 = 0x0;
const HEADERS: u8 = 0x1;
const CONTINUATION: u8 = 0x9;

/// The flag of the last frame of a request.
const END_STREAM: u8 = 0x1;

/// The frames for which a request is a reason: it can have a priority, and be reset.
const FRAMES_PER_REQUEST: f64 = 2.0;

/// The bytes of a response for which a client may send a frame that enlarges a flow-control window. The answer to a ping
/// has 17 bytes, so pings are no reason for more pings.
const BYTES_PER_UPDATE: f64 = 32.0;

/// The bytes of a body that are a reason for one small frame: a proxy can forward a body in small pieces.
const BODY_BYTES_PER_FRAME: u32 = 32;

/// A connection whose small frames are counted.
#[derive(Debug)]
pub(super) struct CountedFrames<S> {
    stream: S,
    frames: FrameScanner,
    budget: FrameBudget,
    /// Cancelled when there were too many. Nothing is read any more.
    exceeded: CancellationToken,
}

/// Finds the headers of frames in a byte stream.
#[derive(Debug)]
struct FrameScanner {
    /// The bytes until the next header.
    skip: usize,
    header: [u8; HEADER_BYTES],
    /// The number of bytes of the header that have arrived.
    header_bytes: usize,
}

/// The frames in a part of a byte stream.
#[derive(Debug, Default, PartialEq, Eq)]
struct FrameCounts {
    requests: u32,
    small: u32,
    /// The bytes of bodies in small frames.
    body_bytes: u32,
}

impl FrameScanner {
    fn new() -> Self {
        Self { skip: PREFACE_BYTES, header: [0; HEADER_BYTES], header_bytes: 0 }
    }

    fn scan(&mut self, mut bytes: &[u8]) -> FrameCounts {
        let mut counts = FrameCounts::default();
        loop {
            let skipped = self.skip.min(bytes.len());
            self.skip -= skipped;
            bytes = &bytes[skipped..];
            if bytes.is_empty() {
                return counts;
            }
            let taken = (HEADER_BYTES - self.header_bytes).min(bytes.len());
            self.header[self.header_bytes..][..taken].copy_from_slice(&bytes[..taken]);
            self.header_bytes += taken;
            bytes = &bytes[taken..];
            if self.header_bytes < HEADER_BYTES {
                return counts;
            }
            self.header_bytes = 0;
            let [high, middle, low, kind, flags, ..] = self.header;
            let length = u32::from_be_bytes([0, high, middle, low]);
            self.skip = length as usize;
            match kind {
                HEADERS => counts.requests += 1,
                DATA if flags & END_STREAM != 0 => {}
                DATA | CONTINUATION if u64::from(length) > MAX_SMALL_BYTES => {}
                _ => {
                    counts.small += 1;
                    counts.body_bytes += if kind == DATA { length } else { 0 };
                }
            }
        }
    }
}

impl<S> CountedFrames<S> {
    pub(super) fn new(stream: S, exceeded: CancellationToken) -> Self {
        Self { stream, frames: FrameScanner::new(), budget: FrameBudget::default(), exceeded }
    }

    fn wrote(&mut self, written: &Poll<io::Result<usize>>) {
        if let Poll::Ready(Ok(bytes)) = written {
            self.budget.earn(u32::try_from(*bytes).map_or(f64::MAX, f64::from) / BYTES_PER_UPDATE);
        }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for CountedFrames<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = &mut *self;
        if this.exceeded.is_cancelled() {
            return Poll::Pending;
        }
        let before = buffer.filled().len();
        ready!(Pin::new(&mut this.stream).poll_read(context, buffer))?;
        let FrameCounts { requests, small, body_bytes } = this.frames.scan(&buffer.filled()[before..]);
        this.budget.earn(f64::from(requests) * FRAMES_PER_REQUEST);
        if !this.budget.spend(small.saturating_sub(body_bytes / BODY_BYTES_PER_FRAME)) {
            this.exceeded.cancel();
        }
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for CountedFrames<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.wrote(&written);
        written
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        parts: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(context, parts);
        self.wrote(&written);
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
mod tests {
    use tokio::io::AsyncReadExt as _;

    use super::*;

    #[test]
    fn finds_small_frames_however_they_arrive() {
        let frame = |length: u8, kind: u8, flags: u8| {
            [&[0, 0, length, kind, flags, 0, 0, 0, 1][..], &vec![0xff; usize::from(length)][..]].concat()
        };
        let bytes = [
            vec![0; PREFACE_BYTES],
            frame(0, 0x4, 0),            // SETTINGS
            frame(30, HEADERS, 0x4),     // a request
            frame(200, DATA, 0),         // its body
            frame(0, DATA, END_STREAM),  // the end of it
            frame(0, DATA, 0),           // nothing
            frame(200, CONTINUATION, 0), // a large head
            frame(1, CONTINUATION, 0),   // a part of a head
            frame(8, 0x6, 0),            // PING
            frame(200, 0xfa, 0),         // an unknown type
        ]
        .concat();
        for size in [1, 2, 9, 50, bytes.len()] {
            let mut scanner = FrameScanner::new();
            let parts = bytes.chunks(size).map(|part| scanner.scan(part));
            let all = parts.fold(FrameCounts::default(), |all, counts| FrameCounts {
                requests: all.requests + counts.requests,
                small: all.small + counts.small,
                body_bytes: all.body_bytes + counts.body_bytes,
            });
            assert_eq!(all, FrameCounts { requests: 1, small: 5, body_bytes: 0 }, "parts of {size}");
        }
    }

    #[tokio::test]
    async fn a_body_can_arrive_in_small_pieces() {
        for (length, is_ended) in [(40, false), (1, true)] {
            let piece = [&[0, 0, length, DATA, 0, 0, 0, 0, 1][..], &vec![0; usize::from(length)]].concat();
            let bytes = [vec![0; PREFACE_BYTES], piece.repeat(1_000)].concat();
            let exceeded = CancellationToken::new();
            let stream = tokio::io::join(&bytes[..], tokio::io::sink());
            let mut frames = CountedFrames::new(stream, exceeded.clone());
            let mut received = Vec::new();
            tokio::select! {
                read = frames.read_to_end(&mut received) => drop(read.unwrap()),
                () = exceeded.cancelled() => {}
            }
            assert_eq!(exceeded.is_cancelled(), is_ended, "{length}");
        }
    }
}
