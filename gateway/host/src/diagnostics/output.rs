//! The guest's standard streams. Each line that a guest prints is logged with the plugin's name; nothing reaches the
//! gateway's own stdout.
//!
//! Output over the limit is counted and dropped. The streams never report an error, because a guest's `println!` would
//! panic on it. The end of stderr is kept, because it usually contains the reason for a crash.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use moongate_model::names::PluginId;
use tokio::io::{AsyncRead, AsyncWrite};
use wasmtime_wasi::cli::{IsTerminal, StdinStream, StdoutStream};
use wasmtime_wasi::p2::{InputStream, OutputStream, Pollable, StreamError, StreamResult};

use super::crash_report::StderrTail;
use super::plugin_log::{MIN_LINE_COST, PluginLog};
use super::text;

/// The maximum length of a log line, in bytes. Longer lines are split.
const MAX_LINE_BYTES: usize = 4 << 10;
/// The maximum number of bytes that a guest can write at once.
const MAX_WRITE_BYTES: usize = 64 << 10;
/// The number of bytes kept from the end of stderr for a crash report.
const STDERR_TAIL_BYTES: usize = 8 << 10;

/// An output stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StdStream {
    Stdout,
    Stderr,
}

impl StdStream {
    fn as_str(self) -> &'static str {
        match self {
            Self::Stdout => "stdout",
            Self::Stderr => "stderr",
        }
    }
}

/// Both output streams of one call. A reused instance keeps them for its next call.
#[derive(Debug)]
pub(crate) struct CapturedOutput {
    plugin: PluginId,
    log: Arc<PluginLog>,
    buffers: Mutex<Buffers>,
    /// The number of standard streams that the guest holds open, including stdin.
    held_streams: AtomicUsize,
}

#[derive(Debug)]
struct Buffers {
    /// The number of bytes that can still be logged.
    bytes_left: u64,
    /// The number of lines that can still be logged.
    lines_left: u64,
    dropped_bytes: u64,
    stdout: Vec<u8>,
    stderr: Vec<u8>,
    /// The end of stderr, including dropped output; at most twice [`STDERR_TAIL_BYTES`].
    stderr_tail: Vec<u8>,
}

impl CapturedOutput {
    /// `limit` is the maximum number of logged bytes, for both streams together.
    pub(crate) fn new(plugin: PluginId, limit: u64, log: Arc<PluginLog>) -> Arc<Self> {
        let buffers = Mutex::new(Buffers::new(limit));
        Arc::new(Self { plugin, log, buffers, held_streams: AtomicUsize::new(0) })
    }

    /// Resets the limit for the next call. Call [`Self::finish`] first.
    pub(crate) fn reset(&self, limit: u64) {
        self.with(|buffers| *buffers = Buffers::new(limit));
    }

    /// The number of standard streams that the guest holds open, including stdin.
    pub(crate) fn held_streams(&self) -> usize {
        self.held_streams.load(Ordering::Relaxed)
    }

    /// Logs incomplete lines and the number of dropped bytes.
    pub(crate) fn finish(&self) {
        self.with(|buffers| {
            for stream in [StdStream::Stdout, StdStream::Stderr] {
                let line = std::mem::take(buffers.line(stream));
                if !line.is_empty() {
                    self.log_line(buffers, stream, &line);
                }
            }
            let dropped = std::mem::take(&mut buffers.dropped_bytes);
            if dropped > 0 && self.log.admits(0) {
                tracing::warn!(
                    target: "plugin",
                    plugin = %self.plugin,
                    "{dropped} bytes of output dropped: the call printed more than `limits.output`"
                );
            }
        });
    }

    /// The last lines of stderr, for a crash report. `None` if stderr is empty.
    pub(crate) fn stderr_tail(&self) -> Option<StderrTail> {
        self.with(|buffers| StderrTail::of(&String::from_utf8_lossy(&buffers.stderr_tail)))
    }

    fn write(&self, stream: StdStream, bytes: &[u8]) {
        self.with(|buffers| {
            if stream == StdStream::Stderr {
                buffers.keep_tail(bytes);
            }
            let shown = usize::try_from(buffers.bytes_left).unwrap_or(usize::MAX).min(bytes.len());
            buffers.bytes_left -= shown as u64;
            buffers.dropped_bytes += (bytes.len() - shown) as u64;
            for piece in bytes[..shown].split_inclusive(|&byte| byte == b'\n') {
                let content = piece.strip_suffix(b"\n");
                let mut rest = content.unwrap_or(piece);
                while !rest.is_empty() {
                    let line = buffers.line(stream);
                    let (now, later) = rest.split_at(rest.len().min(MAX_LINE_BYTES - line.len()));
                    line.extend_from_slice(now);
                    rest = later;
                    if line.len() == MAX_LINE_BYTES {
                        let line = std::mem::take(line);
                        self.log_line(buffers, stream, &line);
                    }
                }
                if content.is_some() {
                    let line = std::mem::take(buffers.line(stream));
                    self.log_line(buffers, stream, &line);
                }
            }
        });
    }

    fn log_line(&self, buffers: &mut Buffers, stream: StdStream, line: &[u8]) {
        let Some(lines) = buffers.lines_left.checked_sub(1) else {
            buffers.dropped_bytes += line.len() as u64 + 1;
            return;
        };
        buffers.lines_left = lines;
        if !tracing::enabled!(target: "plugin", tracing::Level::INFO) || !self.log.admits(line.len()) {
            return;
        }
        let line = text::clean_line(&String::from_utf8_lossy(line), MAX_LINE_BYTES);
        tracing::info!(target: "plugin", plugin = %self.plugin, stream = stream.as_str(), "{line}");
    }

    fn with<T>(&self, f: impl FnOnce(&mut Buffers) -> T) -> T {
        f(&mut self.buffers.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Buffers {
    fn new(limit: u64) -> Self {
        Self {
            bytes_left: limit,
            lines_left: limit.div_ceil(MIN_LINE_COST),
            dropped_bytes: 0,
            stdout: Vec::new(),
            stderr: Vec::new(),
            stderr_tail: Vec::new(),
        }
    }

    /// The incomplete line of a stream.
    fn line(&mut self, stream: StdStream) -> &mut Vec<u8> {
        match stream {
            StdStream::Stdout => &mut self.stdout,
            StdStream::Stderr => &mut self.stderr,
        }
    }

    fn keep_tail(&mut self, bytes: &[u8]) {
        self.stderr_tail.extend_from_slice(&bytes[bytes.len().saturating_sub(STDERR_TAIL_BYTES)..]);
        if self.stderr_tail.len() > 2 * STDERR_TAIL_BYTES {
            self.stderr_tail.drain(..self.stderr_tail.len() - STDERR_TAIL_BYTES);
        }
    }
}

/// The captured stdout or stderr, as passed to WASI.
#[derive(Debug)]
pub(crate) struct CapturedStream(pub(crate) Arc<CapturedOutput>, pub(crate) StdStream);

impl IsTerminal for CapturedStream {
    fn is_terminal(&self) -> bool {
        false
    }
}

impl StdoutStream for CapturedStream {
    fn async_stream(&self) -> Box<dyn AsyncWrite + Send + Sync> {
        Box::new(tokio::io::sink()) // used only by WASI 0.3, which isn't linked
    }

    fn p2_stream(&self) -> Box<dyn OutputStream> {
        Box::new(OpenOutputStream::new(Arc::clone(&self.0), self.1))
    }
}

/// An empty stdin, as passed to WASI.
#[derive(Debug)]
pub(crate) struct EmptyStdin(pub(crate) Arc<CapturedOutput>);

impl IsTerminal for EmptyStdin {
    fn is_terminal(&self) -> bool {
        false
    }
}

impl StdinStream for EmptyStdin {
    fn async_stream(&self) -> Box<dyn AsyncRead + Send + Sync> {
        Box::new(tokio::io::empty()) // used only by WASI 0.3, which isn't linked
    }

    fn p2_stream(&self) -> Box<dyn InputStream> {
        Box::new(HeldStdStream::new(Arc::clone(&self.0)))
    }
}

#[wasmtime_wasi::async_trait]
impl Pollable for HeldStdStream {
    async fn ready(&mut self) {}
}

impl InputStream for HeldStdStream {
    fn read(&mut self, _: usize) -> StreamResult<bytes::Bytes> {
        Err(StreamError::Closed)
    }
}

/// Counts a standard stream as held open until it is dropped.
#[derive(Debug)]
struct HeldStdStream(Arc<CapturedOutput>);

impl HeldStdStream {
    fn new(output: Arc<CapturedOutput>) -> Self {
        output.held_streams.fetch_add(1, Ordering::Relaxed);
        Self(output)
    }
}

impl Drop for HeldStdStream {
    fn drop(&mut self) {
        self.0.held_streams.fetch_sub(1, Ordering::Relaxed);
    }
}

/// An open stdout or stderr of the guest.
#[derive(Debug)]
struct OpenOutputStream(HeldStdStream, StdStream);

impl OpenOutputStream {
    fn new(output: Arc<CapturedOutput>, stream: StdStream) -> Self {
        Self(HeldStdStream::new(output), stream)
    }
}

#[wasmtime_wasi::async_trait]
impl Pollable for OpenOutputStream {
    async fn ready(&mut self) {}
}

impl OutputStream for OpenOutputStream {
    fn write(&mut self, bytes: bytes::Bytes) -> StreamResult<()> {
        self.0.0.write(self.1, &bytes);
        Ok(())
    }

    fn flush(&mut self) -> StreamResult<()> {
        Ok(())
    }

    fn check_write(&mut self) -> StreamResult<usize> {
        Ok(MAX_WRITE_BYTES)
    }
}

#[cfg(test)]
mod tests;
