//! The thread that writes lines. Used by `trace` only.

use std::io::{self, Write};
use std::sync::atomic::Ordering;
use std::sync::mpsc::Receiver;
use std::sync::{Arc, PoisonError};

use super::{TraceEntry, TraceItem, TraceState, line};

/// The size from which collected lines are written, in bytes.
const WRITE_BYTES: usize = 256 * 1024;

/// A buffer that has grown larger isn't kept.
const MAX_KEPT_BUFFER_BYTES: usize = 4 * 1024 * 1024;

/// Writes until all senders are dropped. Messages that are queued at the same time are written together.
pub(super) fn run(items: &Receiver<TraceItem>, output: impl Write, is_torn: bool, state: &TraceState) {
    let mut writer = TraceWriter {
        output,
        lines: Vec::new(),
        dropped_lines: Vec::new(),
        is_torn,
        failure_logged: false,
        state,
    };
    while let Ok(first) = items.recv() {
        let mut next = Some(first);
        while let Some(item) = next {
            match item {
                TraceItem::Entry(entry) => writer.add(&entry),
                TraceItem::Flush(done) => {
                    writer.report_dropped();
                    writer.write();
                    let _ = done.send(());
                }
            }
            next = items.try_recv().ok();
        }
        writer.write();
    }
}

/// The state of the thread.
struct TraceWriter<'a, W> {
    output: W,
    /// Complete lines.
    lines: Vec<u8>,
    /// For each line that reports dropped messages, its end and their number.
    dropped_lines: Vec<(usize, u64)>,
    /// The file ends within a line.
    is_torn: bool,
    /// The failure was already logged.
    failure_logged: bool,
    state: &'a TraceState,
}

impl<W: Write> TraceWriter<'_, W> {
    fn add(&mut self, entry: &TraceEntry) {
        self.report_dropped();
        let mask = Arc::clone(&self.state.mask.lock().unwrap_or_else(PoisonError::into_inner));
        line::write_entry(&mut self.lines, entry, &mask);
        self.state.waiting.fetch_sub(entry.cost, Ordering::Relaxed);
        if self.lines.len() >= WRITE_BYTES {
            self.write();
        }
    }

    /// Adds a line for dropped messages, if there are any.
    fn report_dropped(&mut self) {
        let dropped = self.state.dropped.swap(0, Ordering::Relaxed);
        if dropped > 0 {
            line::write_dropped(&mut self.lines, dropped);
            self.dropped_lines.push((self.lines.len(), dropped));
        }
    }

    /// Writes the collected lines. Lines that can't be written are dropped.
    fn write(&mut self) {
        if self.lines.is_empty() {
            return;
        }
        let (written, result) = self.write_lines();
        if let Err(error) = result {
            self.count_lost(written);
            if !std::mem::replace(&mut self.failure_logged, true) {
                let file = self.state.path.display();
                tracing::warn!(%file, %error, "can't write the trace; messages will be missing");
            }
        }
        self.lines.clear();
        self.dropped_lines.clear();
        if self.lines.capacity() > MAX_KEPT_BUFFER_BYTES {
            self.lines = Vec::new();
        }
    }

    /// Returns the number of written bytes.
    fn write_lines(&mut self) -> (usize, io::Result<()>) {
        if self.is_torn {
            match self.output.write_all(b"\n") {
                Ok(()) => self.is_torn = false,
                Err(error) => return (0, Err(error)),
            }
        }
        let mut written = 0;
        while written < self.lines.len() {
            match self.output.write(&self.lines[written..]) {
                Ok(0) => return (written, Err(io::ErrorKind::WriteZero.into())),
                Ok(count) => written += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return (written, Err(error)),
            }
        }
        (written, self.output.flush())
    }

    /// Counts the lines after the first `written` bytes as dropped.
    fn count_lost(&mut self, written: usize) {
        let (done, rest) = self.lines.split_at(written);
        self.is_torn |= done.last().is_some_and(|byte| *byte != b'\n');
        let lines = rest.split_inclusive(|byte| *byte == b'\n').count() as u64;
        let gaps: Vec<u64> = self
            .dropped_lines
            .iter()
            .filter(|(end, _)| *end > written)
            .map(|(_, dropped)| *dropped)
            .collect();
        let lost = lines - gaps.len() as u64 + gaps.iter().sum::<u64>();
        self.state.dropped.fetch_add(lost, Ordering::Relaxed);
    }
}
