//! The standard streams. What a guest prints goes line by line into the log, with the plugin's name, never to the gateway's
//! own stdout.
//!
//! Beyond the limit it is counted and dropped, and the stream never reports an error, because a guest's `println!`
//! would panic on one. The last lines of stderr are remembered: they say why a guest crashed.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use moongate_core::names::PluginId;
use tokio::io::{AsyncRead, AsyncWrite};
use wasmtime_wasi::cli::{IsTerminal, StdinStream, StdoutStream};
use wasmtime_wasi::p2::{InputStream, OutputStream, Pollable, StreamError, StreamResult};

use super::crash_report::LastWords;
use super::text;

/// The longest line that is kept together, in bytes.
const LINE: usize = 4 << 10;
/// What a line costs at least, in bytes: the log adds time, name and place to each, however short it is.
const LINE_AT_LEAST: u64 = 64;
/// What a guest may write at once, in bytes.
const CHUNK: usize = 64 << 10;
/// How much of the end of stderr is remembered for the reason of a crash, in bytes: a stack of JavaScript stands behind it.
const TAIL: usize = 16 << 10;

/// Which stream it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::host) enum Stream {
    Stdout,
    Stderr,
}

impl Stream {
    fn as_str(self) -> &'static str {
        match self {
            Self::Stdout => "stdout",
            Self::Stderr => "stderr",
        }
    }
}

/// Both streams of one call, and then of the next one if that comes to the same instance.
#[derive(Debug)]
pub(in crate::host) struct Output {
    plugin: PluginId,
    state: Mutex<State>,
    /// How many standard streams the guest holds, input included.
    held: AtomicUsize,
}

#[derive(Debug)]
struct State {
    /// Bytes that may still be shown.
    left: u64,
    /// Lines that may still be shown.
    lines: u64,
    dropped: u64,
    stdout: Vec<u8>,
    stderr: Vec<u8>,
    /// The end of stderr, dropped or not; at most twice [`TAIL`].
    tail: Vec<u8>,
}

impl Output {
    /// `limit`: how many bytes of both streams together are shown.
    pub(in crate::host) fn new(plugin: PluginId, limit: u64) -> Arc<Self> {
        let state = Mutex::new(State::new(limit));
        Arc::new(Self { plugin, state, held: AtomicUsize::new(0) })
    }

    /// Begins anew for another call. To be called after [`Self::finish`].
    pub(in crate::host) fn renew(&self, limit: u64) {
        self.with(|state| *state = State::new(limit));
    }

    /// How many standard streams the guest holds, input included.
    pub(in crate::host) fn held(&self) -> usize {
        self.held.load(Ordering::Relaxed)
    }

    /// Shows what stands in an unfinished line, and says how much was dropped.
    pub(in crate::host) fn finish(&self) {
        self.with(|state| {
            for stream in [Stream::Stdout, Stream::Stderr] {
                let line = std::mem::take(state.buffer(stream));
                if !line.is_empty() {
                    self.show(state, stream, &line);
                }
            }
            let dropped = std::mem::take(&mut state.dropped);
            if dropped > 0 {
                tracing::warn!(
                    target: "plugin",
                    plugin = %self.plugin,
                    "{dropped} bytes of output dropped: it printed more than `limits.output`"
                );
            }
        });
    }

    /// Why the guest ended itself, as far as it said so on stderr.
    pub(in crate::host) fn last_words(&self) -> Option<LastWords> {
        self.with(|state| LastWords::in_output(&String::from_utf8_lossy(&state.tail)))
    }

    fn write(&self, stream: Stream, bytes: &[u8]) {
        self.with(|state| {
            if stream == Stream::Stderr {
                state.remember(bytes);
            }
            let shown = usize::try_from(state.left).unwrap_or(usize::MAX).min(bytes.len());
            state.left -= shown as u64;
            state.dropped += (bytes.len() - shown) as u64;
            for piece in bytes[..shown].split_inclusive(|&byte| byte == b'\n') {
                let content = piece.strip_suffix(b"\n");
                let mut rest = content.unwrap_or(piece);
                while !rest.is_empty() {
                    let buffer = state.buffer(stream);
                    let (now, later) = rest.split_at(rest.len().min(LINE - buffer.len()));
                    buffer.extend_from_slice(now);
                    rest = later;
                    if buffer.len() == LINE {
                        let line = std::mem::take(buffer);
                        self.show(state, stream, &line);
                    }
                }
                if content.is_some() {
                    let line = std::mem::take(state.buffer(stream));
                    self.show(state, stream, &line);
                }
            }
        });
    }

    fn show(&self, state: &mut State, stream: Stream, line: &[u8]) {
        let Some(lines) = state.lines.checked_sub(1) else {
            state.dropped += line.len() as u64 + 1;
            return;
        };
        state.lines = lines;
        let line = text::line(&String::from_utf8_lossy(line), LINE);
        tracing::info!(target: "plugin", plugin = %self.plugin, stream = stream.as_str(), "{line}");
    }

    fn with<T>(&self, f: impl FnOnce(&mut State) -> T) -> T {
        f(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl State {
    fn new(limit: u64) -> Self {
        Self {
            left: limit,
            lines: limit.div_ceil(LINE_AT_LEAST),
            dropped: 0,
            stdout: Vec::new(),
            stderr: Vec::new(),
            tail: Vec::new(),
        }
    }

    fn buffer(&mut self, stream: Stream) -> &mut Vec<u8> {
        match stream {
            Stream::Stdout => &mut self.stdout,
            Stream::Stderr => &mut self.stderr,
        }
    }

    fn remember(&mut self, bytes: &[u8]) {
        self.tail.extend_from_slice(&bytes[bytes.len().saturating_sub(TAIL)..]);
        if self.tail.len() > 2 * TAIL {
            self.tail.drain(..self.tail.len() - TAIL);
        }
    }
}

/// One of the two streams, for the guest to get.
#[derive(Debug)]
pub(in crate::host) struct Captured(pub(in crate::host) Arc<Output>, pub(in crate::host) Stream);

impl IsTerminal for Captured {
    fn is_terminal(&self) -> bool {
        false
    }
}

impl StdoutStream for Captured {
    fn async_stream(&self) -> Box<dyn AsyncWrite + Send + Sync> {
        Box::new(tokio::io::sink()) // only asked for by WASI 0.3, which isn't linked
    }

    fn p2_stream(&self) -> Box<dyn OutputStream> {
        Box::new(Held::new(Arc::clone(&self.0), self.1))
    }
}

/// Standard input, for the guest to get: there is nothing in it.
#[derive(Debug)]
pub(in crate::host) struct Nothing(pub(in crate::host) Arc<Output>);

impl IsTerminal for Nothing {
    fn is_terminal(&self) -> bool {
        false
    }
}

impl StdinStream for Nothing {
    fn async_stream(&self) -> Box<dyn AsyncRead + Send + Sync> {
        Box::new(tokio::io::empty()) // only asked for by WASI 0.3, which isn't linked
    }

    fn p2_stream(&self) -> Box<dyn InputStream> {
        Box::new(Hold::new(Arc::clone(&self.0)))
    }
}

#[wasmtime_wasi::async_trait]
impl Pollable for Hold {
    async fn ready(&mut self) {}
}

impl InputStream for Hold {
    fn read(&mut self, _: usize) -> StreamResult<bytes::Bytes> {
        Err(StreamError::Closed)
    }
}

/// A stream that the guest holds, as long as this lives.
#[derive(Debug)]
struct Hold(Arc<Output>);

impl Hold {
    fn new(output: Arc<Output>) -> Self {
        output.held.fetch_add(1, Ordering::Relaxed);
        Self(output)
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        self.0.held.fetch_sub(1, Ordering::Relaxed);
    }
}

/// One of the two streams, as the guest holds it.
#[derive(Debug)]
struct Held(Hold, Stream);

impl Held {
    fn new(output: Arc<Output>, stream: Stream) -> Self {
        Self(Hold::new(output), stream)
    }
}

#[wasmtime_wasi::async_trait]
impl Pollable for Held {
    async fn ready(&mut self) {}
}

impl OutputStream for Held {
    fn write(&mut self, bytes: bytes::Bytes) -> StreamResult<()> {
        self.0.0.write(self.1, &bytes);
        Ok(())
    }

    fn flush(&mut self) -> StreamResult<()> {
        Ok(())
    }

    fn check_write(&mut self) -> StreamResult<usize> {
        Ok(CHUNK)
    }
}

#[cfg(test)]
mod tests;
