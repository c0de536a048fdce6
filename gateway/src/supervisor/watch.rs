//! Watches files on a thread of its own and reports those that may have changed.
//!
//! [`WatchThread`] owns everything that can block. The reconciler holds a [`WatchClient`], names the files and receives
//! [`WatchEvent`]s. Watching never fails: if the system doesn't report changes, files are polled more often, and
//! [`WatchMode`] contains the reason.
//!
//! `file_watcher` contains the decisions. It runs on one thread and receives the time as an argument, so tests need
//! neither threads nor sleeps. `helper` runs calls that can block for ever. `event_sink` filters the system's
//! reports, and `mailbox` delivers everything to the thread.

use std::collections::BTreeSet;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use moongate_config::WatchConfig;
use moongate_system::background::reduce_thread_priority;
use tokio::sync::{mpsc, oneshot};
use tokio::time::timeout;

use super::status::WatchMode;

mod burst;
mod event_sink;
mod file_watcher;
mod directories;
mod helper;
mod mailbox;
mod probe;
mod system;
mod tracked_file;

pub(super) use system::{NativeSystem, System};
#[cfg(test)]
pub(super) use {
    event_sink::EventSink,
    system::{DirectoryWatcher, WatchError},
};

use file_watcher::FileWatcher;
use mailbox::Mailbox;

/// The time limit at shutdown for the thread, which may be waiting for the library to release a directory.
const STOP_TIMEOUT: Duration = Duration::from_secs(1);

/// The maximum number of events waiting for the reconciler. One is enough: until it is received, changes are collected.
const EVENT_QUEUE: usize = 1;

/// The files to watch, and the method.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct WatchTarget {
    pub(super) files: BTreeSet<PathBuf>,
    pub(super) config: WatchConfig,
}

/// An event from the watch thread.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum WatchEvent {
    /// These files may have new content, or may be gone.
    FilesChanged(BTreeSet<PathBuf>),
    /// The method of detecting changes is now a different one.
    ModeChanged(WatchMode),
}

/// The reconciler's end: it names files and receives events.
#[derive(Debug)]
pub(super) struct WatchClient {
    mailbox: Arc<Mailbox>,
    events: mpsc::Receiver<WatchEvent>,
}

/// The watch thread's end of a [`WatchClient`].
#[derive(Debug)]
pub(super) struct WatchServer {
    pub(super) mailbox: Arc<Mailbox>,
    pub(super) events: mpsc::Sender<WatchEvent>,
}

/// Creates both ends. Without a [`WatchThread`], nothing is watched.
pub(super) fn channel() -> (WatchClient, WatchServer) {
    let mailbox: Arc<Mailbox> = Arc::default();
    let (sender, events) = mpsc::channel(EVENT_QUEUE);
    (WatchClient { mailbox: Arc::clone(&mailbox), events }, WatchServer { mailbox, events: sender })
}

impl WatchClient {
    /// Replaces the files to watch, and the method. Returns at once.
    ///
    /// Later events cover every change after this call, and changes whose time is after the last event that the caller
    /// received. So name files before reading them.
    pub(super) fn set_target(&self, target: WatchTarget) {
        self.mailbox.set_target(target);
    }

    /// The next event; `None` once the thread has ended. Cancel-safe.
    ///
    /// A file is reported when its stamp differs from the last reported one, after a tenth of a second without changes,
    /// or half a second after the first change. It can be reported without a change, but not endlessly.
    pub(super) async fn next_event(&mut self) -> Option<WatchEvent> {
        self.events.recv().await
    }
}

/// The running thread. Dropping it requests the thread to end.
#[derive(Debug)]
pub(super) struct WatchThread {
    mailbox: Arc<Mailbox>,
    /// Closed once the thread has ended.
    ended: oneshot::Receiver<()>,
}

impl WatchThread {
    /// Starts watching. `since` is the time when the caller began to read the files that it names first.
    ///
    /// # Errors
    /// The system has no thread left.
    pub(super) fn spawn(server: WatchServer, system: Arc<dyn System>, since: SystemTime) -> io::Result<Self> {
        let mailbox = Arc::clone(&server.mailbox);
        let (end, ended) = oneshot::channel();
        let run = move || {
            run_thread(&server, system, since);
            drop(end);
        };
        thread::Builder::new().name("watch".to_owned()).spawn(run)?;
        Ok(Self { mailbox, ended })
    }

    /// Requests the thread to end and waits for it, up to [`STOP_TIMEOUT`].
    pub(super) async fn stop(mut self) {
        self.mailbox.stop();
        if timeout(STOP_TIMEOUT, &mut self.ended).await.is_err() {
            tracing::debug!("the watch thread is still busy at shutdown");
        }
    }
}

impl Drop for WatchThread {
    fn drop(&mut self) {
        self.mailbox.stop();
    }
}

/// Watches until it is stopped or the receiver of its events is dropped.
fn run_thread(server: &WatchServer, system: Arc<dyn System>, since: SystemTime) {
    reduce_thread_priority(); // a start with many plugins has more important work
    let WatchServer { mailbox, events } = server;
    let mut watcher = FileWatcher::new(Arc::clone(mailbox), system, since);
    let watch = || {
        while !mailbox.is_stopped() {
            watcher.wait(Instant::now());
            for event in watcher.tick(Instant::now()) {
                if events.blocking_send(event).is_err() {
                    return;
                }
            }
        }
    };
    if catch_unwind(AssertUnwindSafe(watch)).is_err() {
        tracing::error!("file watching stopped because of an internal error; restart the gateway");
        let _ = events.blocking_send(WatchEvent::ModeChanged(WatchMode::Off));
    }
}

#[cfg(test)]
mod tests;
