//! Splits a byte stream into lines, with a length limit. Used by `stdio` only.
//!
//! The encoding is checked by the server. Of a line that is discarded, such as one above the limit, only the ids are kept,
//! and it is reported at its end: many clients write the id last.

use std::io;

use bytes::BytesMut;
use moongate_protocol::jsonrpc::{MessageOutline, MessageScanner};
use moongate_protocol::server::DiscardReason;
use tokio::io::{AsyncRead, AsyncReadExt as _};

/// The size of a read, in bytes: the capacity of a pipe on Linux.
const READ_BYTES: usize = 64 * 1024;

/// The read-ahead for a host, which is alone, in bytes: the maximum capacity of a pipe.
pub(super) const HOST_READ_AHEAD_BYTES: usize = 1024 * 1024;

/// The read-ahead for each of many clients, in bytes.
pub(super) const CLIENT_READ_AHEAD_BYTES: usize = READ_BYTES;

/// A line, or a placeholder for a discarded one.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum LineFrame {
    /// A line that isn't blank, without its line ending.
    Line(BytesMut),
    /// A blank line.
    Blank,
    /// A line that was discarded except for its outline.
    Discarded(MessageOutline, DiscardReason),
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
    /// The read-ahead when looking for the end of the input, in bytes. A buffer that grew larger for one long line isn't
    /// kept.
    read_ahead: usize,
    /// Scans the current line, which is discarded.
    discarding: Option<(MessageScanner, DiscardReason)>,
    has_ended: bool,
}

impl<R: AsyncRead + Unpin> LineReader<R> {
    pub(super) fn new(input: R, max: usize, read_ahead: usize) -> Self {
        Self {
            input,
            buffer: BytesMut::new(),
            searched: 0,
            max,
            read_ahead,
            discarding: None,
            has_ended: false,
        }
    }

    /// The next complete line.
    pub(super) fn take(&mut self) -> Option<LineFrame> {
        let end = memchr::memchr(b'\n', &self.buffer[self.searched..]);
        let Some(end) = end.map(|at| at + self.searched) else { return self.rest() };
        let mut line = self.buffer.split_to(end + 1);
        self.searched = 0;
        line.truncate(end);
        if line.len() > self.read_ahead {
            self.buffer = BytesMut::from(&self.buffer[..]); // else it keeps the memory of the line
        }
        Some(self.frame(line))
    }

    /// Reads more. `false` means that the input has ended and the last line was returned.
    ///
    /// Cancel-safe.
    pub(super) async fn fill(&mut self) -> io::Result<bool> {
        if self.has_ended {
            return Ok(false);
        }
        self.buffer.reserve(READ_BYTES);
        if self.input.read_buf(&mut self.buffer).await? == 0 {
            self.has_ended = true;
        }
        Ok(true)
    }

    /// Waits until the input has ended, although lines may still be in the buffer. For a host, reads ahead as far as one
    /// that has closed its side can have written.
    ///
    /// Cancel-safe.
    pub(super) async fn ended(&mut self) {
        while !self.has_ended {
            if self.buffer.len() >= self.read_ahead {
                std::future::pending::<()>().await;
            }
            if self.fill().await.is_err() {
                return; // the next read reports it
            }
        }
    }

    /// Handles a buffer without a line ending: the line is too long, or the last one, or incomplete.
    fn rest(&mut self) -> Option<LineFrame> {
        if self.has_ended {
            self.searched = 0;
            let line = self.buffer.split();
            let is_line = !line.is_empty() || self.discarding.is_some();
            return is_line.then(|| self.frame(line));
        }
        if self.discarding.is_some() || self.buffer.len() > self.max + 1 {
            self.discard(DiscardReason::TooLong { limit: self.max });
        }
        self.searched = self.buffer.len();
        None
    }

    /// The length of the buffered part of an incomplete line, after [`LineReader::take`] has returned `None`.
    pub(super) fn incomplete_bytes(&self) -> usize {
        self.buffer.len()
    }

    /// Discards the current line, of which only a part has arrived.
    pub(super) fn discard(&mut self, reason: DiscardReason) {
        let (scanner, _) = self.discarding.get_or_insert_with(|| (MessageScanner::default(), reason));
        scanner.read(&self.buffer);
        if self.buffer.capacity() > self.read_ahead {
            self.buffer = BytesMut::new();
        } else {
            self.buffer.clear();
        }
        self.searched = 0;
    }

    /// Handles a whole line, or the rest of one that is discarded.
    fn frame(&mut self, mut line: BytesMut) -> LineFrame {
        if line.last() == Some(&b'\r') {
            line.truncate(line.len() - 1);
        }
        let discarding = self.discarding.take();
        if discarding.is_some() || line.len() > self.max {
            let too_long = DiscardReason::TooLong { limit: self.max };
            let (mut scanner, reason) = discarding.unwrap_or_else(|| (MessageScanner::default(), too_long));
            scanner.read(&line);
            return LineFrame::Discarded(scanner.finish(), reason);
        }
        if line.trim_ascii().is_empty() { LineFrame::Blank } else { LineFrame::Line(line) }
    }
}

#[cfg(test)]
mod tests;
