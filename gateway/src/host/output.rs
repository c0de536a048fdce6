//! What a guest prints: line by line into the log, with the plugin's name, never to the gateway's own stdout.
//!
//! Beyond the limit it is counted and dropped, and the stream never reports an error, because a guest's `println!`
//! would panic on one. The last lines of stderr are remembered: they say why a guest panicked.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use moongate_core::names::PluginId;
use tokio::io::AsyncWrite;
use wasmtime_wasi::cli::{IsTerminal, StdoutStream};
use wasmtime_wasi::p2::{OutputStream, Pollable, StreamResult};

use super::text;

/// The longest line that is kept together, in bytes.
const LINE: usize = 4 << 10;
/// What a guest may write at once, in bytes.
const CHUNK: usize = 64 << 10;
/// How many lines are remembered for the reason of a panic.
const REMEMBERED: usize = 8;

/// Which stream it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stream {
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

/// Both streams of one call.
#[derive(Debug)]
pub(super) struct Output {
    plugin: PluginId,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    /// Bytes that may still be shown.
    left: u64,
    dropped: u64,
    stdout: Vec<u8>,
    stderr: Vec<u8>,
    last: VecDeque<String>,
}

impl Output {
    pub(super) fn new(plugin: PluginId, limit: u64) -> Arc<Self> {
        let state =
            State { left: limit, dropped: 0, stdout: Vec::new(), stderr: Vec::new(), last: VecDeque::new() };
        Arc::new(Self { plugin, state: Mutex::new(state) })
    }

    /// Shows what stands in an unfinished line, and says how much was dropped.
    pub(super) fn finish(&self) {
        self.with(|state| {
            for stream in [Stream::Stdout, Stream::Stderr] {
                let line = std::mem::take(state.buffer(stream));
                if !line.is_empty() {
                    self.show(state, stream, &line);
                }
            }
            if state.dropped > 0 {
                let dropped = state.dropped;
                tracing::warn!(target: "plugin", plugin = %self.plugin, "{dropped} bytes of output dropped: it printed more than `limits.output`");
                state.dropped = 0;
            }
        });
    }

    /// Why the guest panicked, as far as it said so on stderr.
    pub(super) fn panic_message(&self) -> Option<String> {
        self.with(|state| {
            let at = state.last.iter().rposition(|line| line.contains("panicked at"))?;
            let place = state.last[at]
                .split_once("panicked at ")
                .map_or("", |(_, place)| place)
                .trim_end_matches(':');
            let message = state.last.get(at + 1)?;
            Some(format!("panicked at {place}: {message}"))
        })
    }

    fn write(&self, stream: Stream, bytes: &[u8]) {
        self.with(|state| {
            for piece in bytes.split_inclusive(|&byte| byte == b'\n') {
                let (content, ends) = match piece.strip_suffix(b"\n") {
                    Some(content) => (content, true),
                    None => (piece, false),
                };
                let mut content = content;
                while !content.is_empty() {
                    let buffer = state.buffer(stream);
                    let (now, later) = content.split_at(content.len().min(LINE - buffer.len()));
                    buffer.extend_from_slice(now);
                    if buffer.len() == LINE {
                        let line = std::mem::take(buffer);
                        self.show(state, stream, &line);
                    }
                    content = later;
                }
                if ends {
                    let line = std::mem::take(state.buffer(stream));
                    self.show(state, stream, &line);
                }
            }
        });
    }

    fn show(&self, state: &mut State, stream: Stream, line: &[u8]) {
        let length = line.len() as u64 + 1;
        let within = state.left >= length;
        if !within && stream == Stream::Stdout {
            state.dropped += length;
            return;
        }
        let line = text::line(&String::from_utf8_lossy(line), LINE);
        if within {
            state.left -= length;
            tracing::info!(target: "plugin", plugin = %self.plugin, stream = stream.as_str(), "{line}");
        } else {
            state.dropped += length;
        }
        if stream == Stream::Stderr {
            if state.last.len() == REMEMBERED {
                state.last.pop_front();
            }
            state.last.push_back(line);
        }
    }

    fn with<T>(&self, f: impl FnOnce(&mut State) -> T) -> T {
        f(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl State {
    fn buffer(&mut self, stream: Stream) -> &mut Vec<u8> {
        match stream {
            Stream::Stdout => &mut self.stdout,
            Stream::Stderr => &mut self.stderr,
        }
    }
}

/// One of the two streams, as the guest sees it.
#[derive(Debug, Clone)]
pub(super) struct Captured(pub(super) Arc<Output>, pub(super) Stream);

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
        Box::new(self.clone())
    }
}

#[wasmtime_wasi::async_trait]
impl Pollable for Captured {
    async fn ready(&mut self) {}
}

impl OutputStream for Captured {
    fn write(&mut self, bytes: bytes::Bytes) -> StreamResult<()> {
        self.0.write(self.1, &bytes);
        Ok(())
    }

    fn flush(&mut self) -> StreamResult<()> {
        Ok(())
    }

    fn check_write(&mut self) -> StreamResult<usize> {
        Ok(CHUNK)
    }
}
