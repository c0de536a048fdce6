//! Writes log lines to stderr from threads of its own, so that logging never blocks.
//!
//! MCP hosts start a server with a pipe for its stderr and don't always read it. Once the pipe is full, a write blocks
//! for good. So only the threads of [`NonBlocking`] write, and lines that don't fit in their queue are dropped and
//! counted. The gateway, its access log and the plugins have separate queues, and the gateway's lines are written
//! first: it reports many events only once, and a flood of calls or of plugins' lines must not displace or delay them.

use std::io::{self, Write};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Map, Value};
use tracing::{Level, Metadata};
use tracing_appender::non_blocking::{ErrorCounter, NonBlocking, NonBlockingBuilder, WorkerGuard};
use tracing_subscriber::fmt::MakeWriter;

use super::{LogFormat, PLUGIN_TARGET, json_line};
use moongate_model::log_field::ACCESS_TARGET;

/// The number of lines in each of the queues: some seconds' worth on a slow terminal.
const MAX_QUEUED_LINES: usize = 4096;

/// The maximum time that another line waits for the gateway's lines. On a stuck stderr, both wait anyway.
const PRIORITY_TIMEOUT: Duration = Duration::from_secs(1);

/// The size of the lines that are written at once, in bytes, if none of them is longer. A pipe receives as many in one piece,
/// even if other processes write to it.
pub(super) const MAX_BATCH_BYTES: usize = 4096;

/// The time in which lines about calls and of plugins are collected, so that a busy gateway doesn't wake the log's reader
/// for each of them.
const BATCH_INTERVAL: Duration = Duration::from_millis(5);

/// The time limit at exit for the last lines.
const FLUSH_TIMEOUT: Duration = Duration::from_millis(500);

/// Writes the lines of the gateway and of plugins. Dropping it writes the queued lines.
pub(super) struct LogWriter {
    handle: LogWriterHandle,
    gateway: QueueGuard,
    access: QueueGuard,
    plugins: QueueGuard,
}

/// Queues lines.
#[derive(Clone)]
pub(super) struct LogWriterHandle {
    gateway: Queue,
    access: Queue,
    plugins: Queue,
}

impl LogWriter {
    /// Starts the threads, which write to `output`.
    pub(super) fn new(output: impl Write + Send + 'static, format: LogFormat) -> Self {
        let output = Arc::new(Mutex::new(output));
        let (gateway, gateway_guard) = Queue::new("gateway", Arc::clone(&output), format, None);
        let first = || Some(Arc::clone(&gateway.progress));
        let (access, access_guard) = Queue::new("access", Arc::clone(&output), format, first());
        let (plugins, plugins_guard) = Queue::new("plugin", output, format, first());
        Self {
            handle: LogWriterHandle { gateway, access, plugins },
            gateway: gateway_guard,
            access: access_guard,
            plugins: plugins_guard,
        }
    }

    pub(super) fn handle(&self) -> LogWriterHandle {
        self.handle.clone()
    }
}

impl Drop for LogWriter {
    fn drop(&mut self) {
        let deadline = Instant::now() + FLUSH_TIMEOUT;
        let LogWriterHandle { gateway, access, plugins } = &self.handle;
        for (queue, guard) in
            [(gateway, &mut self.gateway), (access, &mut self.access), (plugins, &mut self.plugins)]
        {
            let is_flushed = queue.progress.wait(deadline.saturating_duration_since(Instant::now()));
            let Some(guard) = guard.0.take() else { continue };
            if !is_flushed {
                // Dropping the guard of a full queue waits for more than a second and then prints to stdout, which
                // belongs to the protocol.
                std::mem::forget(guard);
            }
        }
    }
}

/// Ends the thread of a queue when dropped.
struct QueueGuard(Option<WorkerGuard>);

/// One of the queues.
#[derive(Clone)]
struct Queue {
    lines: NonBlocking,
    progress: Arc<Progress>,
}

impl Queue {
    /// `owner` describes the lines in reports of dropped ones. Lines of `first` are written before those of this queue.
    fn new<W: Write + Send + 'static>(
        owner: &'static str,
        output: Arc<Mutex<W>>,
        format: LogFormat,
        first: Option<Arc<Progress>>,
    ) -> (Self, QueueGuard) {
        let progress = Arc::<Progress>::default();
        let sink = Sink {
            owner,
            output,
            format,
            first,
            progress: Arc::clone(&progress),
            reported: 0,
            batch: Vec::new(),
            batch_lines: 0,
        };
        let (lines, guard) = NonBlockingBuilder::default()
            .lossy(true)
            .buffered_lines_limit(MAX_QUEUED_LINES)
            .thread_name("log")
            .finish(sink);
        let _ = progress.dropped.set(lines.error_counter()); // unset until here
        (Self { lines, progress }, QueueGuard(Some(guard)))
    }
}

/// The lines of a queue: how many were logged, dropped and written.
#[derive(Default)]
struct Progress {
    logged: AtomicUsize,
    dropped: OnceLock<ErrorCounter>,
    written: Mutex<usize>,
    changed: Condvar,
}

impl Progress {
    fn dropped(&self) -> usize {
        self.dropped.get().map_or(0, ErrorCounter::dropped_lines)
    }

    fn written(&self) -> MutexGuard<'_, usize> {
        self.written.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until every queued line is written. Returns false on timeout.
    fn wait(&self, timeout: Duration) -> bool {
        let is_pending =
            |written: &mut usize| *written + self.dropped() < self.logged.load(Ordering::Relaxed);
        let waited = self.changed.wait_timeout_while(self.written(), timeout, is_pending);
        !waited.unwrap_or_else(PoisonError::into_inner).1.timed_out()
    }
}

/// The end of a queue, on its thread.
struct Sink<W> {
    owner: &'static str,
    output: Arc<Mutex<W>>,
    format: LogFormat,
    first: Option<Arc<Progress>>,
    progress: Arc<Progress>,
    /// The number of dropped lines that were already reported.
    reported: usize,
    /// Lines that are written together.
    batch: Vec<u8>,
    batch_lines: usize,
}

impl<W: Write> Sink<W> {
    fn write_batch(&mut self) {
        if let Some(first) = &self.first {
            first.wait(PRIORITY_TIMEOUT);
        }
        let dropped = self.progress.dropped();
        let unreported = dropped - self.reported;
        if unreported > 0 {
            self.reported = dropped;
            self.batch.extend_from_slice(self.dropped_report(unreported).as_bytes());
        }
        let mut output = self.output.lock().unwrap_or_else(PoisonError::into_inner);
        // If stderr is closed, dropped lines can't be reported.
        let _ = output.write_all(&self.batch);
        let _ = output.flush();
        drop(output);
        self.batch.clear();
        *self.progress.written() += std::mem::take(&mut self.batch_lines);
        self.progress.changed.notify_all();
    }
}

impl<W> Sink<W> {
    fn dropped_report(&self, dropped: usize) -> String {
        let owner = self.owner;
        let message = format!("dropped {dropped} {owner} log lines: stderr is not being read fast enough");
        match self.format {
            LogFormat::Text => format!("{message}\n"),
            LogFormat::Json => {
                let members = Map::from_iter([("dropped".to_owned(), Value::from(dropped))]);
                json_line(Level::WARN, module_path!(), &message, members)
            }
        }
    }
}

impl<W: Write> Write for Sink<W> {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        if self.batch.len() + line.len() > MAX_BATCH_BYTES && !self.batch.is_empty() {
            self.write_batch();
        }
        self.batch.extend_from_slice(line);
        self.batch_lines += 1;
        Ok(line.len())
    }

    /// Called whenever no more lines are queued.
    fn flush(&mut self) -> io::Result<()> {
        if !self.batch.is_empty() {
            self.write_batch();
            if self.first.is_some() {
                thread::sleep(BATCH_INTERVAL);
            }
        }
        Ok(())
    }
}

/// A line that is being logged. It arrives in one write.
pub(super) struct LogLine<'a>(&'a Queue);

impl<'a> MakeWriter<'a> for LogWriterHandle {
    type Writer = LogLine<'a>;

    fn make_writer(&'a self) -> LogLine<'a> {
        LogLine(&self.gateway)
    }

    fn make_writer_for(&'a self, metadata: &Metadata<'_>) -> LogLine<'a> {
        LogLine(match metadata.target() {
            PLUGIN_TARGET => &self.plugins,
            ACCESS_TARGET => &self.access,
            _ => &self.gateway,
        })
    }
}

impl Write for LogLine<'_> {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        self.0.progress.logged.fetch_add(1, Ordering::Relaxed);
        self.0.lines.clone().write(line)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
