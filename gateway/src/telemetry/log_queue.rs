//! A queue of log lines in one buffer, from which a thread takes all lines at once.
//!
//! Adding a line copies it and allocates nothing, and wakes the thread only if it is waiting for one.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// The maximum number of queued lines: some seconds' worth on a slow terminal.
const MAX_QUEUED_LINES: usize = 4096;

/// The maximum size of the queued lines, in bytes. A longer line is queued alone.
const MAX_QUEUED_BYTES: usize = 4 << 20;

/// A queue.
#[derive(Debug, Default)]
pub(super) struct LogQueue {
    state: Mutex<QueueState>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct QueueState {
    queued: QueuedLines,
    /// The queue's thread waits for a line.
    is_idle: bool,
    /// The lines that were taken last aren't written yet.
    is_writing: bool,
    is_closed: bool,
}

/// Lines that are written together.
#[derive(Debug, Default)]
pub(super) struct QueuedLines {
    bytes: Vec<u8>,
    /// The end of each line in `bytes`.
    ends: Vec<usize>,
    /// The number of later lines that didn't fit.
    pub(super) dropped: usize,
}

impl QueuedLines {
    fn is_empty(&self) -> bool {
        self.ends.is_empty() && self.dropped == 0
    }

    /// The lines in parts of at most `most` bytes, or a longer line.
    pub(super) fn parts(&self, most: usize) -> impl Iterator<Item = &[u8]> {
        let mut start = 0;
        let mut ends = self.ends.iter().copied().peekable();
        std::iter::from_fn(move || {
            let mut end = ends.next()?;
            while let Some(next) = ends.next_if(|next| next - start <= most) {
                end = next;
            }
            let part = &self.bytes[start..end];
            start = end;
            Some(part)
        })
    }

    /// Removes all lines, and keeps the buffers, unless a long line has made them large.
    fn clear(&mut self) {
        self.bytes.clear();
        self.bytes.shrink_to(MAX_QUEUED_BYTES);
        self.ends.clear();
        self.dropped = 0;
    }
}

impl LogQueue {
    fn state(&self) -> MutexGuard<'_, QueueState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a line, or counts it if it doesn't fit.
    pub(super) fn push(&self, line: &[u8]) {
        let mut state = self.state();
        let QueuedLines { bytes, ends, dropped } = &mut state.queued;
        let fits = ends.len() < MAX_QUEUED_LINES && bytes.len() + line.len() <= MAX_QUEUED_BYTES;
        if fits || ends.is_empty() {
            bytes.extend_from_slice(line);
            ends.push(bytes.len());
        } else {
            *dropped += 1;
        }
        let wakes = std::mem::take(&mut state.is_idle);
        drop(state);
        if wakes {
            self.changed.notify_all();
        }
    }

    /// Waits for lines, and replaces `written` by all of them. Returns false once the queue is closed and empty.
    pub(super) fn take(&self, written: &mut QueuedLines) -> bool {
        written.clear();
        let mut state = self.state();
        if std::mem::take(&mut state.is_writing) {
            self.changed.notify_all();
        }
        while state.queued.is_empty() && !state.is_closed {
            state.is_idle = true;
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        std::mem::swap(&mut state.queued, written);
        state.is_writing = !written.is_empty();
        state.is_writing
    }

    /// Waits until all lines are written. Returns false on timeout.
    pub(super) fn wait(&self, timeout: Duration) -> bool {
        let is_pending = |state: &mut QueueState| state.is_writing || !state.queued.is_empty();
        let waited = self.changed.wait_timeout_while(self.state(), timeout, is_pending);
        !waited.unwrap_or_else(PoisonError::into_inner).1.timed_out()
    }

    /// Ends the queue's thread once all lines are written.
    pub(super) fn close(&self) {
        self.state().is_closed = true;
        self.changed.notify_all();
    }

    pub(super) fn is_closed(&self) -> bool {
        self.state().is_closed
    }
}
