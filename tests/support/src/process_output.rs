//! The output of a process as it appears: what a terminal shows, or the lines of a log.

use std::io::Read;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::Instant;

use crate::WAIT_TIMEOUT;

/// The output of a process.
#[derive(Debug)]
pub struct ProcessOutput {
    parts: Receiver<Vec<u8>>,
    shown: String,
    /// The first bytes of a character whose others weren't read yet.
    rest: Vec<u8>,
}

impl ProcessOutput {
    /// Reads a stream in a thread, so that waiting for its parts has a time limit.
    #[must_use]
    pub fn read(mut stream: impl Read + Send + 'static) -> Self {
        let (send, parts) = channel();
        thread::spawn(move || {
            let mut part = [0; 4096];
            while let Ok(length @ 1..) = stream.read(&mut part) {
                if send.send(part[..length].to_vec()).is_err() {
                    break;
                }
            }
        });
        Self { parts, shown: String::new(), rest: Vec::new() }
    }

    /// Everything that was read and not taken.
    #[must_use]
    pub fn shown(&self) -> &str {
        &self.shown
    }

    /// Takes everything that was read.
    #[must_use]
    pub fn take(&mut self) -> String {
        std::mem::take(&mut self.shown)
    }

    /// Waits until the output contains `text`, and returns everything that was read and not taken.
    ///
    /// # Panics
    /// If the output ends, or doesn't appear in time.
    #[track_caller]
    pub fn wait_for(&mut self, text: &str) -> &str {
        let end = Instant::now() + WAIT_TIMEOUT;
        while !self.shown.contains(text) {
            match self.parts.recv_timeout(end.saturating_duration_since(Instant::now())) {
                Ok(part) => self.show(&part),
                Err(RecvTimeoutError::Disconnected) => panic!("no `{text}`: {}", self.shown),
                Err(RecvTimeoutError::Timeout) => {
                    panic!("no `{text}` within {WAIT_TIMEOUT:?}: {}", self.shown)
                }
            }
        }
        &self.shown
    }

    fn show(&mut self, part: &[u8]) {
        self.rest.extend_from_slice(part);
        let unfinished = match std::str::from_utf8(&self.rest) {
            Err(error) if error.error_len().is_none() => self.rest.split_off(error.valid_up_to()),
            Ok(_) | Err(_) => Vec::new(),
        };
        self.shown.push_str(&String::from_utf8_lossy(&self.rest));
        self.rest = unfinished;
    }

    /// Waits for a whole line, and takes it.
    ///
    /// # Panics
    /// As [`ProcessOutput::wait_for`].
    #[track_caller]
    pub fn next_line(&mut self) -> String {
        self.wait_for("\n");
        let end = self.shown.find('\n').unwrap_or_default();
        let rest = self.shown.split_off(end + 1);
        let mut line = std::mem::replace(&mut self.shown, rest);
        line.truncate(end);
        line
    }
}
