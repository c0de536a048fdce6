//! Cuts a stream of bytes into lines, with a limit. Used by `stdio` only.
//!
//! Text encoding is none of its business: the protocol says what isn't UTF-8.

use std::io;

use bytes::{Buf as _, BytesMut};
use tokio::io::{AsyncRead, AsyncReadExt as _};

/// How much is read at once, in bytes: what a pipe holds on Linux.
const CHUNK: usize = 64 * 1024;

/// How far to read ahead for the end of the input, in bytes: as much as a pipe may hold.
const AHEAD: usize = 1024 * 1024;

/// A buffer that grew beyond this for one long line isn't kept.
const KEEP: usize = 1024 * 1024;

/// What stood between two line ends.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Frame {
    /// A line that isn't blank, without its end.
    Line(BytesMut),
    /// A line over the limit. It was thrown away.
    TooLong,
}

/// A stream of bytes as lines.
#[derive(Debug)]
pub(super) struct Lines<R> {
    input: R,
    buffer: BytesMut,
    /// How much of the buffer is known to hold no line end.
    searched: usize,
    /// The longest line, in bytes.
    most: usize,
    state: State,
}

#[derive(Debug, PartialEq, Eq, Clone, Copy)]
enum State {
    Reading,
    /// The line was too long already; its rest is thrown away.
    Skipping,
    Ended,
}

impl<R: AsyncRead + Unpin> Lines<R> {
    pub(super) fn new(input: R, most: usize) -> Self {
        Self { input, buffer: BytesMut::new(), searched: 0, most, state: State::Reading }
    }

    /// The next line that has come in whole.
    pub(super) fn take(&mut self) -> Option<Frame> {
        loop {
            let end = memchr::memchr(b'\n', &self.buffer[self.searched..]);
            let Some(end) = end.map(|at| at + self.searched) else { return self.rest() };
            let mut line = self.buffer.split_to(end + 1);
            self.searched = 0;
            match self.state {
                State::Skipping => self.state = State::Reading,
                State::Reading | State::Ended => {
                    line.truncate(end);
                    if let Some(frame) = self.frame(line) {
                        return Some(frame);
                    }
                }
            }
        }
    }

    /// Reads on; `false`: there is nothing more to come, and the last line was taken.
    ///
    /// Dropping the future loses nothing.
    pub(super) async fn fill(&mut self) -> io::Result<bool> {
        if self.state == State::Ended {
            return Ok(false);
        }
        if self.buffer.is_empty() && self.buffer.capacity() > KEEP {
            self.buffer = BytesMut::new();
        }
        self.buffer.reserve(CHUNK);
        if self.input.read_buf(&mut self.buffer).await? == 0 {
            if self.state == State::Skipping {
                // Behind the rest of that line others may stand, if they weren't taken yet.
                let end = memchr::memchr(b'\n', &self.buffer).map_or(self.buffer.len(), |at| at + 1);
                self.buffer.advance(end);
                self.searched = 0;
            }
            self.state = State::Ended;
        }
        Ok(true)
    }

    /// Waits until the input has ended, though not all of it was taken. Reads no further ahead than what a peer that has
    /// closed its side can have left.
    ///
    /// Dropping the future loses nothing.
    pub(super) async fn ended(&mut self) {
        while self.state != State::Ended {
            if self.buffer.len() >= AHEAD {
                std::future::pending::<()>().await;
            }
            if let Err(error) = self.fill().await {
                tracing::warn!(%error, "reading stdin failed");
                return;
            }
        }
    }

    /// No line end in the buffer: is it too long already, or the last line?
    fn rest(&mut self) -> Option<Frame> {
        match self.state {
            State::Ended => {
                self.searched = 0;
                let line = self.buffer.split();
                self.frame(line)
            }
            State::Skipping => {
                self.buffer.clear();
                self.searched = 0;
                None
            }
            State::Reading if self.buffer.len() > self.most + 1 => {
                self.buffer.clear();
                self.searched = 0;
                self.state = State::Skipping;
                Some(Frame::TooLong)
            }
            State::Reading => {
                self.searched = self.buffer.len();
                None
            }
        }
    }

    fn frame(&self, mut line: BytesMut) -> Option<Frame> {
        if line.last() == Some(&b'\r') {
            line.truncate(line.len() - 1);
        }
        if line.len() > self.most {
            return Some(Frame::TooLong);
        }
        (!line.trim_ascii().is_empty()).then_some(Frame::Line(line))
    }
}

#[cfg(test)]
mod tests;
