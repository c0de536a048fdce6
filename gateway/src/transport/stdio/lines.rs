//! Splits a byte stream into lines, with a length limit. Used by `stdio` only.
//!
//! The encoding is checked by the server. Of a line above the limit, only the ids are kept, and it is reported at its
//! end: many clients write the id last.

use std::io;

use bytes::BytesMut;
use moongate_protocol::jsonrpc::{MessageOutline, MessageScanner};
use tokio::io::{AsyncRead, AsyncReadExt as _};

/// The size of a read, in bytes: the capacity of a pipe on Linux.
const READ_BYTES: usize = 64 * 1024;

/// The read-ahead when looking for the end of the input, in bytes: the maximum capacity of a pipe.
const MAX_READ_AHEAD_BYTES: usize = 1024 * 1024;

/// A buffer that grew larger for one long line isn't kept.
const MAX_KEPT_BUFFER_BYTES: usize = 1024 * 1024;

/// A line, or a placeholder for an oversized one.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum LineFrame {
    /// A line that isn't blank, without its line ending.
    Line(BytesMut),
    /// A line over the limit, which was discarded except for its outline.
    TooLong(MessageOutline),
}

/// A byte stream as lines.
#[derive(Debug)]
pub(super) struct LineReader<R> {
    input: R,
    buffer: BytesMut,
    /// The length of the buffer's prefix that contains no line ending.
    searched: usize,
    /// The maximum length of a line, in bytes.
    max: usize,
    /// Scans the current line, which is too long and is discarded.
    skipping: Option<MessageScanner>,
    has_ended: bool,
}

impl<R: AsyncRead + Unpin> LineReader<R> {
    pub(super) fn new(input: R, max: usize) -> Self {
        Self { input, buffer: BytesMut::new(), searched: 0, max, skipping: None, has_ended: false }
    }

    /// The next complete line.
    pub(super) fn take(&mut self) -> Option<LineFrame> {
        loop {
            let end = memchr::memchr(b'\n', &self.buffer[self.searched..]);
            let Some(end) = end.map(|at| at + self.searched) else { return self.rest() };
            let mut line = self.buffer.split_to(end + 1);
            self.searched = 0;
            line.truncate(end);
            if let Some(frame) = self.frame(line) {
                return Some(frame);
            }
        }
    }

    /// Reads more. `false` means that the input has ended and the last line was returned.
    ///
    /// Cancel-safe.
    pub(super) async fn fill(&mut self) -> io::Result<bool> {
        if self.has_ended {
            return Ok(false);
        }
        if self.buffer.is_empty() && self.buffer.capacity() > MAX_KEPT_BUFFER_BYTES {
            self.buffer = BytesMut::new();
        }
        self.buffer.reserve(READ_BYTES);
        if self.input.read_buf(&mut self.buffer).await? == 0 {
            self.has_ended = true;
        }
        Ok(true)
    }

    /// Waits until the input has ended, although lines may still be in the buffer. Reads ahead only as far as a peer
    /// that has closed its side can have written.
    ///
    /// Cancel-safe.
    pub(super) async fn ended(&mut self) {
        while !self.has_ended {
            if self.buffer.len() >= MAX_READ_AHEAD_BYTES {
                std::future::pending::<()>().await;
            }
            if let Err(error) = self.fill().await {
                tracing::warn!(%error, "can't read stdin");
                return;
            }
        }
    }

    /// Handles a buffer without a line ending: the line is too long, or the last one, or incomplete.
    fn rest(&mut self) -> Option<LineFrame> {
        if self.has_ended {
            self.searched = 0;
            let line = self.buffer.split();
            return self.frame(line);
        }
        if self.skipping.is_some() || self.buffer.len() > self.max + 1 {
            self.skipping.get_or_insert_default().read(&self.buffer);
            self.buffer.clear();
        }
        self.searched = self.buffer.len();
        None
    }

    /// Handles a whole line, or the rest of one that is too long.
    fn frame(&mut self, mut line: BytesMut) -> Option<LineFrame> {
        if line.last() == Some(&b'\r') {
            line.truncate(line.len() - 1);
        }
        let skipping = self.skipping.take();
        if skipping.is_some() || line.len() > self.max {
            let mut scanner = skipping.unwrap_or_default();
            scanner.read(&line);
            return Some(LineFrame::TooLong(scanner.finish()));
        }
        (!line.trim_ascii().is_empty()).then_some(LineFrame::Line(line))
    }
}

#[cfg(test)]
mod tests;
