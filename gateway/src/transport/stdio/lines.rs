//! Splits a byte stream into lines, with a length limit. Used by `stdio` only.
//!
//! The encoding is checked by the server.

use std::io;

use bytes::{Buf as _, BytesMut};
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
    /// A line over the limit, which was discarded.
    TooLong,
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
    state: ReadState,
}

#[derive(Debug, PartialEq, Eq, Clone, Copy)]
enum ReadState {
    Reading,
    /// The current line is too long, and its rest is discarded.
    Skipping,
    Ended,
}

impl<R: AsyncRead + Unpin> LineReader<R> {
    pub(super) fn new(input: R, max: usize) -> Self {
        Self { input, buffer: BytesMut::new(), searched: 0, max, state: ReadState::Reading }
    }

    /// The next complete line.
    pub(super) fn take(&mut self) -> Option<LineFrame> {
        loop {
            let end = memchr::memchr(b'\n', &self.buffer[self.searched..]);
            let Some(end) = end.map(|at| at + self.searched) else { return self.rest() };
            let mut line = self.buffer.split_to(end + 1);
            self.searched = 0;
            match self.state {
                ReadState::Skipping => self.state = ReadState::Reading,
                ReadState::Reading | ReadState::Ended => {
                    line.truncate(end);
                    if let Some(frame) = self.frame(line) {
                        return Some(frame);
                    }
                }
            }
        }
    }

    /// Reads more. `false` means that the input has ended and the last line was returned.
    ///
    /// Cancel-safe.
    pub(super) async fn fill(&mut self) -> io::Result<bool> {
        if self.state == ReadState::Ended {
            return Ok(false);
        }
        if self.buffer.is_empty() && self.buffer.capacity() > MAX_KEPT_BUFFER_BYTES {
            self.buffer = BytesMut::new();
        }
        self.buffer.reserve(READ_BYTES);
        if self.input.read_buf(&mut self.buffer).await? == 0 {
            if self.state == ReadState::Skipping {
                // Other lines may follow the rest of that line.
                let end = memchr::memchr(b'\n', &self.buffer).map_or(self.buffer.len(), |at| at + 1);
                self.buffer.advance(end);
                self.searched = 0;
            }
            self.state = ReadState::Ended;
        }
        Ok(true)
    }

    /// Waits until the input has ended, although lines may still be in the buffer. Reads ahead only as far as a peer
    /// that has closed its side can have written.
    ///
    /// Cancel-safe.
    pub(super) async fn ended(&mut self) {
        while self.state != ReadState::Ended {
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
        match self.state {
            ReadState::Ended => {
                self.searched = 0;
                let line = self.buffer.split();
                self.frame(line)
            }
            ReadState::Skipping => {
                self.buffer.clear();
                self.searched = 0;
                None
            }
            ReadState::Reading if self.buffer.len() > self.max + 1 => {
                self.buffer.clear();
                self.searched = 0;
                self.state = ReadState::Skipping;
                Some(LineFrame::TooLong)
            }
            ReadState::Reading => {
                self.searched = self.buffer.len();
                None
            }
        }
    }

    fn frame(&self, mut line: BytesMut) -> Option<LineFrame> {
        if line.last() == Some(&b'\r') {
            line.truncate(line.len() - 1);
        }
        if line.len() > self.max {
            return Some(LineFrame::TooLong);
        }
        (!line.trim_ascii().is_empty()).then_some(LineFrame::Line(line))
    }
}

#[cfg(test)]
mod tests;
