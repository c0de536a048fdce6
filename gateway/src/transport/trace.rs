//! The trace: a record of every message, for debugging.
//!
//! The trace has one JSON object per line, in a file that only the operator can read. Transports only copy the bytes; a
//! thread redacts secrets and writes the lines. Messages that it can't keep up with are dropped and counted.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, SystemTime};

use moongate_config::{Config, Diagnostic, LoadedConfig, Secret, protected_paths};
use tokio::sync::oneshot;
use tokio::time::timeout;

mod file;
mod line;
mod mask;
mod tap;
mod writer;

pub use tap::Tap;

use line::{MessageDirection, Payload, TracedPeer};
use mask::SecretMask;

/// The maximum size of messages waiting to be written: several times the largest message.
const MAX_QUEUED_BYTES: usize = 64 * 1024 * 1024;

/// The size added to each waiting message, in bytes.
const MESSAGE_OVERHEAD_BYTES: usize = 512;

/// The time limit at shutdown for the last lines.
const FLUSH_TIMEOUT: Duration = Duration::from_secs(5);

/// An error when opening the trace.
#[derive(Debug, thiserror::Error)]
pub enum TraceError {
    /// The file can't be opened.
    #[error("can't write the trace to `{}`: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// The path is a directory, a pipe or a device.
    #[error("can't write the trace to `{}`: not a regular file", .0.display())]
    NotRegularFile(PathBuf),
    /// The path is a symbolic link.
    #[error("can't write the trace to `{}`: it is a symlink", .0.display())]
    Symlink(PathBuf),
    /// The file has hard links.
    #[error("can't write the trace to `{}`: it has several hard links", .0.display())]
    HardLinked(PathBuf),
    /// The gateway reads the file itself.
    #[error("can't write the trace to `{}`: the gateway reads this file", .0.display())]
    GatewayFile(PathBuf),
    /// The file belongs to another user.
    #[error("can't write the trace to `{}`: it belongs to another user", .0.display())]
    OtherOwner(PathBuf),
    /// Other users can read or write the file.
    #[error("can't write the trace to `{}`: other users can access it (mode {mode:03o})", path.display())]
    OtherUsersHaveAccess {
        /// The file.
        path: PathBuf,
        /// Its permissions.
        mode: u32,
    },
    /// A plugin can access the file.
    #[error("can't write the trace where a plugin can access it")]
    PluginHasAccess(Box<Diagnostic>),
}

impl TraceError {
    /// The hint for the operator.
    #[must_use]
    pub fn hint(&self) -> String {
        match self {
            Self::Io { source, .. } if source.kind() == io::ErrorKind::NotFound => {
                "create the directory, or choose another file with `--trace`".to_owned()
            }
            Self::Io { .. } | Self::NotRegularFile(_) | Self::GatewayFile(_) => {
                "choose another file with `--trace`".to_owned()
            }
            Self::Symlink(_) => "use the path of the file itself with `--trace`".to_owned(),
            Self::HardLinked(_) | Self::OtherOwner(_) => {
                "remove it, or choose another file with `--trace`".to_owned()
            }
            Self::OtherUsersHaveAccess { path, .. } => {
                format!("run `chmod 600 {}`; a new file gets this mode by itself", path.display())
            }
            Self::PluginHasAccess(_) => {
                "choose a file outside of the directories that plugins can access".to_owned()
            }
        }
    }
}

/// The trace. Clones share it. [`Trace::flush`] writes it completely, as does dropping all clones.
#[derive(Clone)]
pub struct Trace {
    sender: Sender<TraceItem>,
    state: Arc<TraceState>,
}

impl fmt::Debug for Trace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Trace").field("path", &self.state.path).finish_non_exhaustive()
    }
}

/// The state that is shared with the thread.
#[derive(Debug)]
struct TraceState {
    path: PathBuf,
    /// The size of the waiting messages.
    waiting: AtomicUsize,
    /// The number of dropped messages that aren't reported yet.
    dropped: AtomicU64,
    mask: Mutex<Arc<SecretMask>>,
}

/// Work for the thread.
enum TraceItem {
    Entry(TraceEntry),
    /// Writes everything that was queued before.
    Flush(oneshot::Sender<()>),
}

/// A message to record.
#[derive(Debug)]
struct TraceEntry {
    at: SystemTime,
    direction: MessageDirection,
    peer: Arc<TracedPeer>,
    /// The status of an HTTP response with a single message.
    status: Option<u16>,
    payload: Payload,
    /// The size that counts while the message waits.
    cost: usize,
}

impl Trace {
    /// Appends to `path`. A new file is private to its user.
    ///
    /// # Errors
    /// The file can't be opened, isn't a regular file, isn't private to its user, is read by the gateway itself, or a
    /// plugin can access it.
    pub fn open(path: &Path, config: &Config) -> Result<Self, TraceError> {
        let path =
            std::path::absolute(path).map_err(|source| TraceError::Io { path: path.to_owned(), source })?;
        if let Some(problem) = protected_paths::check_trace(&path, &config.plugins) {
            return Err(TraceError::PluginHasAccess(Box::new(problem)));
        }
        if file::is_one_of(&path, config) {
            return Err(TraceError::GatewayFile(path));
        }
        let (file, is_torn) = file::open(&path)?;
        let trace =
            Self::start(path.clone(), file, is_torn).map_err(|source| TraceError::Io { path, source })?;
        trace.add_secrets(&config.secrets);
        Ok(trace)
    }

    /// Appends to `output`. `is_torn` is true if the existing content ends within a line.
    fn start(path: PathBuf, output: impl io::Write + Send + 'static, is_torn: bool) -> io::Result<Self> {
        let (sender, items) = channel();
        let state = Arc::new(TraceState {
            path,
            waiting: AtomicUsize::new(0),
            dropped: AtomicU64::new(0),
            mask: Mutex::default(),
        });
        let thread_state = Arc::clone(&state);
        let name = thread::Builder::new().name("trace".to_owned());
        name.spawn(move || writer::run(&items, output, is_torn, &thread_state))?;
        Ok(Self { sender, state })
    }

    /// The path of the file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.state.path
    }

    /// Adds secrets to redact.
    fn add_secrets(&self, secrets: &[Secret]) {
        let mut mask = self.state.mask.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(extended) = mask.with_secrets(secrets) {
            *mask = Arc::new(extended);
        }
    }

    /// Checks a configuration before it is used: adds its secrets, and rejects it if it lets a plugin access the trace.
    #[must_use]
    pub fn check_config(&self, loaded: LoadedConfig) -> LoadedConfig {
        let problem = loaded.config.as_ref().and_then(|config| {
            self.add_secrets(&config.secrets);
            protected_paths::check_trace(self.path(), &config.plugins)
        });
        loaded.with_problem(problem)
    }

    /// Waits until everything so far is written, with a time limit.
    pub async fn flush(&self) {
        let (done, written) = oneshot::channel();
        let is_queued = self.sender.send(TraceItem::Flush(done)).is_ok();
        if is_queued && timeout(FLUSH_TIMEOUT, written).await.is_err() {
            tracing::warn!(file = %self.path().display(), "timed out while writing the end of the trace");
        }
    }

    /// Queues a message, or drops it if too much is waiting.
    fn queue_message(
        &self,
        direction: MessageDirection,
        peer: &Arc<TracedPeer>,
        status: Option<u16>,
        message: &[u8],
    ) {
        let copied = message.len().min(line::MAX_COPIED_BYTES);
        self.queue(direction, peer, status, copied, || Payload::Message {
            bytes: message[..copied].to_vec(),
            length: message.len(),
        });
    }

    fn queue(
        &self,
        direction: MessageDirection,
        peer: &Arc<TracedPeer>,
        status: Option<u16>,
        size: usize,
        payload: impl FnOnce() -> Payload,
    ) {
        let cost = size + MESSAGE_OVERHEAD_BYTES;
        let state = &self.state;
        if state.waiting.fetch_add(cost, Ordering::Relaxed) + cost > MAX_QUEUED_BYTES {
            state.waiting.fetch_sub(cost, Ordering::Relaxed);
            state.dropped.fetch_add(1, Ordering::Relaxed);
            return;
        }
        let at = SystemTime::now();
        let peer = Arc::clone(peer);
        // Fails only if the thread panicked, which is logged.
        let _ = self.sender.send(TraceItem::Entry(TraceEntry {
            at,
            direction,
            peer,
            status,
            payload: payload(),
            cost,
        }));
    }
}

#[cfg(test)]
mod tests;
