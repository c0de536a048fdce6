//! The thread that writes lines. Used by `trace` only.

use std::io::{self, Write};
use std::sync::atomic::Ordering;
use std::sync::mpsc::Receiver;
use std::sync::{Arc, PoisonError};

use super::{Entry, Item, Shared, line};

/// From this many bytes on, what was collected is written before more is.
const FULL: usize = 256 * 1024;

/// A buffer that grew beyond this isn't kept.
const KEEP: usize = 4 * 1024 * 1024;

/// Writes until nobody can hand over anything any more. What is handed over together leaves in one write; nothing waits
/// for more.
pub(super) fn run(items: &Receiver<Item>, to: impl Write, torn: bool, shared: &Shared) {
    let mut writer = Writer { to, lines: Vec::new(), gaps: Vec::new(), torn, told: false, shared };
    while let Ok(first) = items.recv() {
        let mut next = Some(first);
        while let Some(item) = next {
            match item {
                Item::Entry(entry) => writer.add(&entry),
                Item::End(done) => {
                    writer.count_gap();
                    writer.write();
                    let _ = done.send(());
                }
            }
            next = items.try_recv().ok();
        }
        writer.write();
    }
}

/// What is written, and what of it was already.
struct Writer<'a, W> {
    to: W,
    /// Whole lines.
    lines: Vec<u8>,
    /// Those of them that say how many are missing: where they end, and how many.
    gaps: Vec<(usize, u64)>,
    /// The file ends within a line.
    torn: bool,
    /// The operator knows that the trace can't be written.
    told: bool,
    shared: &'a Shared,
}

impl<W: Write> Writer<'_, W> {
    fn add(&mut self, entry: &Entry) {
        self.count_gap();
        let mask = Arc::clone(&self.shared.mask.lock().unwrap_or_else(PoisonError::into_inner));
        line::write_entry(&mut self.lines, entry, &mask);
        self.shared.waiting.fetch_sub(entry.cost, Ordering::Relaxed);
        if self.lines.len() >= FULL {
            self.write();
        }
    }

    /// Says how many messages were dropped, if some were.
    fn count_gap(&mut self) {
        let dropped = self.shared.dropped.swap(0, Ordering::Relaxed);
        if dropped > 0 {
            line::write_gap(&mut self.lines, dropped);
            self.gaps.push((self.lines.len(), dropped));
        }
    }

    /// Writes what was collected. What can't be written is dropped.
    fn write(&mut self) {
        if self.lines.is_empty() {
            return;
        }
        let (written, result) = self.write_lines();
        if let Err(error) = result {
            self.count_lost(written);
            if !std::mem::replace(&mut self.told, true) {
                let file = self.shared.path.display();
                tracing::warn!(%file, %error, "the trace can't be written; messages will be missing from it");
            }
        }
        self.lines.clear();
        self.gaps.clear();
        if self.lines.capacity() > KEEP {
            self.lines = Vec::new();
        }
    }

    /// Gives how many bytes of the lines were written.
    fn write_lines(&mut self) -> (usize, io::Result<()>) {
        if self.torn {
            match self.to.write_all(b"\n") {
                Ok(()) => self.torn = false,
                Err(error) => return (0, Err(error)),
            }
        }
        let mut written = 0;
        while written < self.lines.len() {
            match self.to.write(&self.lines[written..]) {
                Ok(0) => return (written, Err(io::ErrorKind::WriteZero.into())),
                Ok(count) => written += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return (written, Err(error)),
            }
        }
        (written, self.to.flush())
    }

    /// Counts the lines behind the first `written` bytes as dropped.
    fn count_lost(&mut self, written: usize) {
        let (done, rest) = self.lines.split_at(written);
        self.torn |= done.last().is_some_and(|byte| *byte != b'\n');
        let lines = rest.split_inclusive(|byte| *byte == b'\n').count() as u64;
        let gaps: Vec<u64> =
            self.gaps.iter().filter(|(end, _)| *end > written).map(|(_, dropped)| *dropped).collect();
        let lost = lines - gaps.len() as u64 + gaps.iter().sum::<u64>();
        self.shared.dropped.fetch_add(lost, Ordering::Relaxed);
    }
}
