//! A record of every message, for whoever looks for what client and gateway said to each other.
//!
//! One JSON object a line, in a file that is the operator's alone. Transports hand over bytes and go on: copying them is
//! all that it costs a request. A thread of its own makes lines of them, blots out secrets, and writes; what it can't
//! take in time is dropped and counted.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, SystemTime};

use moongate_core::config::{Config, Loaded, Problem, Secret, overlap};
use tokio::sync::oneshot;
use tokio::time::timeout;

mod file;
mod line;
mod mask;
mod tap;
mod writer;

pub use tap::Tap;

use line::{Direction, Peer, What};
use mask::Mask;

/// How much may wait to be written, in bytes of messages: more than the largest one, several times.
const WAITING: usize = 64 * 1024 * 1024;

/// What a message counts beside its bytes.
const OVERHEAD: usize = 512;

/// How long the end of the gateway waits for the last lines.
const PATIENCE: Duration = Duration::from_secs(5);

/// Why there is no trace.
#[derive(Debug, thiserror::Error)]
pub enum TraceError {
    /// It can't be opened.
    #[error("the trace can't be written to `{}`: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// It is a directory, a pipe or a device.
    #[error("the trace can't be written to `{}`: it is no regular file", .0.display())]
    NoFile(PathBuf),
    /// It is a symbolic link.
    #[error("the trace can't be written to `{}`: it is a symbolic link", .0.display())]
    Link(PathBuf),
    /// It has another name.
    #[error("the trace can't be written to `{}`: it has another name, a hard link", .0.display())]
    Linked(PathBuf),
    /// The gateway lives by it.
    #[error("the trace can't be written to `{}`: the gateway itself reads that file", .0.display())]
    Own(PathBuf),
    /// It belongs to another user.
    #[error("the trace can't be written to `{}`: it belongs to another user", .0.display())]
    Foreign(PathBuf),
    /// Others may read or write it.
    #[error("the trace can't be written to `{}`: others may use it (mode {mode:03o})", path.display())]
    Shared {
        /// The file.
        path: PathBuf,
        /// Its permissions.
        mode: u32,
    },
    /// A plugin could reach it.
    #[error("the trace can't be written where a plugin may reach it")]
    Granted(Box<Problem>),
}

impl TraceError {
    /// What to do about it.
    #[must_use]
    pub fn hint(&self) -> String {
        match self {
            Self::Io { source, .. } if source.kind() == io::ErrorKind::NotFound => {
                "make its directory first, or name another file with `--trace`".to_owned()
            }
            Self::Io { .. } | Self::NoFile(_) | Self::Own(_) => "name another file with `--trace`".to_owned(),
            Self::Link(_) => "name the file itself with `--trace`".to_owned(),
            Self::Linked(_) | Self::Foreign(_) => "remove it, or name another file with `--trace`".to_owned(),
            Self::Shared { path, .. } => {
                format!("`chmod 600 {}` makes it yours alone; a new file is", path.display())
            }
            Self::Granted(_) => "name a file apart from what plugins may reach".to_owned(),
        }
    }
}

/// The record. Clones are the same one; it is written to its end when all of them are gone, or by [`Trace::end`].
#[derive(Clone)]
pub struct Trace {
    to: Sender<Item>,
    shared: Arc<Shared>,
}

impl fmt::Debug for Trace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Trace").field("path", &self.shared.path).finish_non_exhaustive()
    }
}

/// What those who hand over share with the thread.
#[derive(Debug)]
struct Shared {
    path: PathBuf,
    /// How much waits to be written.
    waiting: AtomicUsize,
    /// How many messages were dropped, and are in no line yet.
    dropped: AtomicU64,
    mask: Mutex<Arc<Mask>>,
}

/// What the thread is handed.
enum Item {
    Entry(Entry),
    /// All that came before is to be written.
    End(oneshot::Sender<()>),
}

/// One message, or what is known of it.
#[derive(Debug)]
struct Entry {
    at: SystemTime,
    direction: Direction,
    peer: Arc<Peer>,
    /// The status of an HTTP answer that is one message.
    status: Option<u16>,
    what: What,
    /// What it counts while it waits.
    cost: usize,
}

impl Trace {
    /// Begins to write to `path`, behind what stands there. A new file is its user's alone.
    ///
    /// # Errors
    /// The file can't be opened, is no regular one or not the user's alone, is one that `config` was read from or names,
    /// or a plugin could reach it.
    pub fn open(path: &Path, config: &Config) -> Result<Self, TraceError> {
        let path =
            std::path::absolute(path).map_err(|source| TraceError::Io { path: path.to_owned(), source })?;
        if let Some(problem) = overlap::of_trace(&path, &config.plugins) {
            return Err(TraceError::Granted(Box::new(problem)));
        }
        if file::is_one_of(&path, config) {
            return Err(TraceError::Own(path));
        }
        let (file, torn) = file::open(&path)?;
        let trace =
            Self::start(path.clone(), file, torn).map_err(|source| TraceError::Io { path, source })?;
        trace.hide(&config.secrets);
        Ok(trace)
    }

    /// Begins to write to `to`. `torn`: what stands there ends within a line.
    fn start(path: PathBuf, to: impl io::Write + Send + 'static, torn: bool) -> io::Result<Self> {
        let (sender, items) = channel();
        let (waiting, dropped) = (AtomicUsize::new(0), AtomicU64::new(0));
        let shared = Arc::new(Shared { path, waiting, dropped, mask: Mutex::default() });
        let theirs = Arc::clone(&shared);
        let name = thread::Builder::new().name("trace".to_owned());
        name.spawn(move || writer::run(&items, to, torn, &theirs))?;
        Ok(Self { to: sender, shared })
    }

    /// Where it is written.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.shared.path
    }

    /// From now on these are shown in no line, as are those of before.
    fn hide(&self, secrets: &[Secret]) {
        let mut mask = self.shared.mask.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(wider) = mask.and(secrets) {
            *mask = Arc::new(wider);
        }
    }

    /// Looks at a configuration before it is used: learns what is to be hidden, and refuses one that would let a plugin
    /// reach the trace.
    #[must_use]
    pub fn look_at(&self, loaded: Loaded) -> Loaded {
        let Loaded { source, config, mut problems, of_http, files } = loaded;
        let problem = config.as_ref().and_then(|config| {
            self.hide(&config.secrets);
            overlap::of_trace(self.path(), &config.plugins)
        });
        let config = config.filter(|_| problem.is_none());
        problems.extend(problem);
        Loaded { source, config, problems, of_http, files }
    }

    /// Waits until everything so far is written, but not for ever.
    pub async fn end(&self) {
        let (done, written) = oneshot::channel();
        let waits = self.to.send(Item::End(done)).is_ok();
        if waits && timeout(PATIENCE, written).await.is_err() {
            tracing::warn!(file = %self.path().display(), "the end of the trace couldn't be written in time");
        }
    }

    /// Hands over a message, or drops it where too much waits.
    fn hand_over(&self, direction: Direction, peer: &Arc<Peer>, status: Option<u16>, message: &[u8]) {
        let copied = message.len().min(line::COPIED);
        self.hand(direction, peer, status, copied, || What::Message {
            bytes: message[..copied].to_vec(),
            length: message.len(),
        });
    }

    fn hand(
        &self,
        direction: Direction,
        peer: &Arc<Peer>,
        status: Option<u16>,
        size: usize,
        what: impl FnOnce() -> What,
    ) {
        let (cost, shared) = (size + OVERHEAD, &self.shared);
        if shared.waiting.fetch_add(cost, Ordering::Relaxed) + cost > WAITING {
            shared.waiting.fetch_sub(cost, Ordering::Relaxed);
            shared.dropped.fetch_add(1, Ordering::Relaxed);
            return;
        }
        let (at, peer) = (SystemTime::now(), Arc::clone(peer));
        // Fails only when the thread has panicked, and the log says so.
        let _ = self.to.send(Item::Entry(Entry { at, direction, peer, status, what: what(), cost }));
    }
}

#[cfg(test)]
mod tests;
