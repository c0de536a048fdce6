//! Where log lines leave: a thread of its own that writes them. Used by `telemetry` only.
//!
//! Hosts start a server with a pipe for its stderr and don't always read it. Once such a pipe is full, writing to it
//! blocks for good; so nobody but this thread ever does, and lines that find no room are dropped and counted.

use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, channel, sync_channel};
use std::thread;
use std::time::Duration;

use tracing_subscriber::fmt::MakeWriter;

/// How many lines may wait to be written: some seconds' worth on a slow terminal.
const WAITING: usize = 4096;

/// How long the end of the process may wait for the last lines.
const PATIENCE: Duration = Duration::from_millis(500);

/// The thread, for as long as this lives.
pub(super) struct Outlet {
    lines: Option<Sender>,
    ended: Receiver<()>,
}

/// Gives lines to the thread.
#[derive(Clone)]
pub(super) struct Sender {
    to: SyncSender<Message>,
    dropped: Arc<AtomicU64>,
}

enum Message {
    Line(Vec<u8>),
    End,
}

impl Outlet {
    /// Starts the thread, which writes to `to`.
    pub(super) fn new(to: impl Write + Send + 'static) -> io::Result<Self> {
        let (sender, receiver) = sync_channel(WAITING);
        let (end, ended) = channel();
        let dropped = Arc::new(AtomicU64::new(0));
        let counter = Arc::clone(&dropped);
        thread::Builder::new().name("log".to_owned()).spawn(move || {
            write(&receiver, to, &counter);
            let _ = end.send(());
        })?;
        Ok(Self { lines: Some(Sender { to: sender, dropped }), ended })
    }

    pub(super) fn writer(&self) -> Sender {
        self.lines.clone().expect("it is taken only when this is dropped")
    }
}

impl Drop for Outlet {
    fn drop(&mut self) {
        let Some(lines) = self.lines.take() else { return };
        // Without room for this message the thread is stuck, and waiting would be in vain.
        if lines.to.try_send(Message::End).is_ok() {
            match self.ended.recv_timeout(PATIENCE) {
                Ok(()) | Err(RecvTimeoutError::Disconnected | RecvTimeoutError::Timeout) => {}
            }
        }
    }
}

fn write(lines: &Receiver<Message>, mut to: impl Write, dropped: &AtomicU64) {
    while let Ok(Message::Line(line)) = lines.recv() {
        // Nobody is left to tell when stderr is closed.
        let _ = to.write_all(&line);
        let count = dropped.swap(0, Ordering::Relaxed);
        if count > 0 {
            let _ = writeln!(to, "{count} log lines found no room here and were dropped");
        }
    }
    let _ = to.flush();
}

/// One line while it is being written.
pub(super) struct Line<'a> {
    sender: &'a Sender,
    text: Vec<u8>,
}

impl<'a> MakeWriter<'a> for Sender {
    type Writer = Line<'a>;

    fn make_writer(&'a self) -> Line<'a> {
        Line { sender: self, text: Vec::new() }
    }
}

impl Write for Line<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.text.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Drop for Line<'_> {
    fn drop(&mut self) {
        let line = std::mem::take(&mut self.text);
        if !line.is_empty() && self.sender.to.try_send(Message::Line(line)).is_err() {
            self.sender.dropped.fetch_add(1, Ordering::Relaxed);
        }
    }
}
