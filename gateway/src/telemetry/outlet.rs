//! Where log lines leave: a thread of its own that writes them. Used by `telemetry` only.
//!
//! Hosts start a server with a pipe for its stderr and don't always read it. Once such a pipe is full, writing to it
//! blocks for good; so nobody but this thread ever does, and lines that find no room are dropped and counted. The
//! gateway's own lines have room of their own, and go first where plugins' lines crowd: much of what they say is said
//! once, and what plugins say can be a flood that is to hide it.

use std::collections::VecDeque;
use std::io::{self, Write};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use tracing::Metadata;
use tracing_subscriber::fmt::MakeWriter;

use super::PLUGIN;

/// How many lines of the gateway, and how many of plugins, may wait to be written: some seconds' worth on a slow terminal.
const WAITING: usize = 4096;

/// So many waiting lines of plugins are a crowd. Up to here lines are written as they come.
const CROWD: usize = 256;

/// How long the end of the process may wait for the last lines.
const PATIENCE: Duration = Duration::from_millis(500);

/// The thread, for as long as this lives.
pub(super) struct Outlet {
    lines: Sender,
    ended: Receiver<()>,
}

/// Gives lines to the thread.
#[derive(Clone)]
pub(super) struct Sender(Arc<Shared>);

#[derive(Default)]
struct Shared {
    waiting: Mutex<Waiting>,
    /// Something has come for the thread to do.
    news: Condvar,
}

/// What is to be written.
#[derive(Default)]
struct Waiting {
    own: Queue,
    plugins: Queue,
    /// How many lines have found room so far.
    came: u64,
    is_over: bool,
}

#[derive(Default)]
struct Queue {
    /// With their place among all lines.
    lines: VecDeque<(u64, Vec<u8>)>,
    dropped: u64,
}

/// Whose line it is.
#[derive(Clone, Copy)]
enum Whose {
    Own,
    Plugins,
}

impl Outlet {
    /// Starts the thread, which writes to `to`.
    pub(super) fn new(to: impl Write + Send + 'static) -> io::Result<Self> {
        let shared: Arc<Shared> = Arc::default();
        let (end, ended) = channel();
        let waiting = Arc::clone(&shared);
        thread::Builder::new().name("log".to_owned()).spawn(move || {
            write(&waiting, to);
            let _ = end.send(());
        })?;
        Ok(Self { lines: Sender(shared), ended })
    }

    pub(super) fn writer(&self) -> Sender {
        self.lines.clone()
    }
}

impl Drop for Outlet {
    fn drop(&mut self) {
        self.lines.0.lock().is_over = true;
        self.lines.0.news.notify_one();
        match self.ended.recv_timeout(PATIENCE) {
            Ok(()) | Err(RecvTimeoutError::Disconnected | RecvTimeoutError::Timeout) => {}
        }
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for something to write; none: there will be nothing more. Nothing is locked while it is written.
    fn next(&self) -> Option<Vec<u8>> {
        let mut waiting = self.lock();
        loop {
            if let Some(text) = waiting.next() {
                return Some(text);
            }
            if waiting.is_over {
                return None;
            }
            waiting = self.news.wait(waiting).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn push(&self, whose: Whose, line: Vec<u8>) {
        let mut waiting = self.lock();
        let at = waiting.came;
        let queue = match whose {
            Whose::Own => &mut waiting.own,
            Whose::Plugins => &mut waiting.plugins,
        };
        if queue.lines.len() < WAITING {
            queue.lines.push_back((at, line));
            waiting.came += 1;
            drop(waiting);
            self.news.notify_one();
        } else {
            queue.dropped += 1;
        }
    }
}

impl Waiting {
    /// The next line, with a word on those that were dropped; none: nothing waits.
    fn next(&mut self) -> Option<Vec<u8>> {
        let queue = match (self.own.lines.front(), self.plugins.lines.front()) {
            (Some((own, _)), Some((plugins, _))) => {
                let own_first = own < plugins || self.plugins.lines.len() > CROWD;
                if own_first { &mut self.own } else { &mut self.plugins }
            }
            (Some(_), None) => &mut self.own,
            (None, _) => &mut self.plugins,
        };
        let (_, mut text) = queue.lines.pop_front()?;
        for (whose, queue) in [("the gateway", &mut self.own), ("plugins", &mut self.plugins)] {
            let dropped = std::mem::take(&mut queue.dropped);
            if dropped > 0 {
                let said = format!("{dropped} log lines of {whose} found no room here and were dropped\n");
                text.extend_from_slice(said.as_bytes());
            }
        }
        Some(text)
    }
}

fn write(lines: &Shared, mut to: impl Write) {
    while let Some(text) = lines.next() {
        // Nobody is left to tell when stderr is closed.
        let _ = to.write_all(&text);
    }
    let _ = to.flush();
}

/// One line while it is being written.
pub(super) struct Line<'a> {
    sender: &'a Sender,
    whose: Whose,
    text: Vec<u8>,
}

impl<'a> MakeWriter<'a> for Sender {
    type Writer = Line<'a>;

    fn make_writer(&'a self) -> Line<'a> {
        Line { sender: self, whose: Whose::Own, text: Vec::new() }
    }

    fn make_writer_for(&'a self, line: &Metadata<'_>) -> Line<'a> {
        let whose = if line.target() == PLUGIN { Whose::Plugins } else { Whose::Own };
        Line { sender: self, whose, text: Vec::new() }
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
        if !line.is_empty() {
            self.sender.0.push(self.whose, line);
        }
    }
}
