//! Writes log lines to stderr from threads of its own, so that logging never blocks.
//!
//! MCP hosts start a server with a pipe for its stderr and don't always read it. Once the pipe is full, a write blocks
//! for good. So only threads of their own write, and lines that don't fit in their queue are dropped and counted. The
//! gateway, its access log and the plugins have separate queues, and the gateway's lines are written first: it reports
//! many events only once, and a flood of calls or of plugins' lines must not displace or delay them.

use std::io::{self, Write};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Map, Value};
use tracing::{Level, Metadata};
use tracing_subscriber::fmt::MakeWriter;

use super::log_queue::{LogQueue, QueuedLines};
use super::{LogFormat, PLUGIN_TARGET, json_line};
use moongate_model::log_field::ACCESS_TARGET;

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
pub(super) struct LogWriter(LogWriterHandle);

/// Queues lines.
#[derive(Clone)]
pub(super) struct LogWriterHandle {
    gateway: Arc<LogQueue>,
    access: Arc<LogQueue>,
    plugins: Arc<LogQueue>,
}

impl LogWriter {
    /// Starts the threads, which write to `output`.
    ///
    /// # Errors
    /// A thread can't be started.
    pub(super) fn new(output: impl Write + Send + 'static, format: LogFormat) -> io::Result<Self> {
        let output = Arc::new(Mutex::new(output));
        let queue = |owner, first| Sink { owner, output: Arc::clone(&output), format, first }.start();
        let gateway = queue("gateway", None)?;
        let access = queue("access", Some(Arc::clone(&gateway)))?;
        let plugins = queue("plugin", Some(Arc::clone(&gateway)))?;
        Ok(Self(LogWriterHandle { gateway, access, plugins }))
    }

    pub(super) fn handle(&self) -> LogWriterHandle {
        self.0.clone()
    }
}

impl Drop for LogWriter {
    fn drop(&mut self) {
        let deadline = Instant::now() + FLUSH_TIMEOUT;
        let LogWriterHandle { gateway, access, plugins } = &self.0;
        for queue in [gateway, access, plugins] {
            queue.close();
        }
        for queue in [gateway, access, plugins] {
            queue.wait(deadline.saturating_duration_since(Instant::now()));
        }
    }
}

/// The end of a queue, on its thread.
struct Sink<W> {
    /// Describes the lines in reports of dropped ones.
    owner: &'static str,
    output: Arc<Mutex<W>>,
    format: LogFormat,
    /// Its lines are written before those of this queue.
    first: Option<Arc<LogQueue>>,
}

impl<W: Write + Send + 'static> Sink<W> {
    /// Starts the thread of a new queue.
    fn start(self) -> io::Result<Arc<LogQueue>> {
        let queue = Arc::<LogQueue>::default();
        let lines = Arc::clone(&queue);
        thread::Builder::new().name("log".to_owned()).spawn(move || self.write_all(&lines))?;
        Ok(queue)
    }

    /// Writes all lines until the queue is closed.
    fn write_all(&self, queue: &LogQueue) {
        let mut lines = QueuedLines::default();
        while queue.take(&mut lines) {
            for part in lines.parts(MAX_BATCH_BYTES) {
                self.write(part);
            }
            if lines.dropped > 0 {
                self.write(self.dropped_report(lines.dropped).as_bytes());
            }
            if self.first.is_some() && !queue.is_closed() {
                thread::sleep(BATCH_INTERVAL);
            }
        }
    }

    fn write(&self, lines: &[u8]) {
        if let Some(first) = &self.first {
            first.wait(PRIORITY_TIMEOUT);
        }
        let mut output = self.output.lock().unwrap_or_else(PoisonError::into_inner);
        // If stderr is closed, dropped lines can't be reported.
        let _ = output.write_all(lines);
        let _ = output.flush();
    }

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

/// A line that is being logged. It arrives in one write.
pub(super) struct LogLine<'a>(&'a LogQueue);

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
        self.0.push(line);
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
