//! The system calls for watching, as a trait, so that tests can make them fail. The only module of the supervisor that uses
//! `notify`.

use std::any::Any;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use notify::event::{AccessKind, AccessMode, EventKind, ModifyKind, RenameMode};
use notify::{Config, ErrorKind, Event, RecommendedWatcher, RecursiveMode, Watcher as _};

use super::event_sink::{ChangeKind, EventSink};
use super::probe::{FileProbe, probe};

/// The system calls for watching.
pub(in crate::supervisor) trait System: fmt::Debug + Send + Sync + 'static {
    /// Starts reporting changes in directories. Can block for a moment.
    ///
    /// # Errors
    /// A limit of the system is reached.
    fn start(&self, sink: EventSink) -> Result<Box<dyn DirectoryWatcher>, WatchError>;

    /// Probes a file. Can block, for ever on a dead mount.
    fn probe(&self, path: &Path) -> FileProbe {
        probe(path)
    }
}

/// Reports changes until it is dropped. Can block for a moment.
pub(in crate::supervisor) trait DirectoryWatcher: fmt::Debug + Send {
    /// Starts reporting changes to a directory and to the names in it.
    ///
    /// # Errors
    /// The directory can't be watched.
    fn watch(&mut self, directory: &Path) -> Result<(), WatchError>;

    /// Stops reporting changes to a directory, which may be gone.
    fn unwatch(&mut self, directory: &Path);
}

/// The reason that the system doesn't report changes.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(in crate::supervisor) enum WatchError {
    /// A limit of the system, for all directories.
    #[error("{0}")]
    Limit(String),
    /// The directory doesn't exist.
    #[error("no such directory")]
    NotFound,
    /// The directory can't be watched.
    #[error("{0}")]
    Directory(String),
    /// No directory can be watched any more.
    #[error("{0}")]
    Ended(String),
}

/// The system that the gateway runs on.
#[derive(Debug, Clone, Copy, Default)]
pub(in crate::supervisor) struct NativeSystem;

impl System for NativeSystem {
    fn start(&self, sink: EventSink) -> Result<Box<dyn DirectoryWatcher>, WatchError> {
        let take = move |event: notify::Result<Event>| match event {
            Ok(event) => forward(&sink, &event),
            Err(error) => sink.failed(describe(&error)),
        };
        let config = Config::default().with_follow_symlinks(false);
        let watcher = catch_panic(|| RecommendedWatcher::new(take, config))?;
        Ok(Box::new(NotifyWatcher { watcher: Some(watcher) }))
    }
}

#[derive(Debug)]
struct NotifyWatcher {
    /// `None` only while this is dropped.
    watcher: Option<RecommendedWatcher>,
}

impl DirectoryWatcher for NotifyWatcher {
    fn watch(&mut self, directory: &Path) -> Result<(), WatchError> {
        match &mut self.watcher {
            Some(watcher) => catch_panic(|| watcher.watch(directory, RecursiveMode::NonRecursive)),
            None => Err(WatchError::NotFound),
        }
    }

    fn unwatch(&mut self, directory: &Path) {
        if let Some(watcher) = &mut self.watcher {
            // Fails if the directory is gone, which is the usual reason to stop watching it.
            let _ = catch_panic(|| watcher.unwatch(directory));
        }
    }
}

impl Drop for NotifyWatcher {
    fn drop(&mut self) {
        let watcher = self.watcher.take();
        let _ = catch_unwind(AssertUnwindSafe(|| drop(watcher)));
    }
}

/// Calls the library, which panics if its thread has ended.
fn catch_panic<T>(call: impl FnOnce() -> notify::Result<T>) -> Result<T, WatchError> {
    match catch_unwind(AssertUnwindSafe(call)) {
        Ok(result) => result.map_err(|error| watch_error(&error)),
        Err(panic) => Err(WatchError::Ended(describe_panic(panic.as_ref()))),
    }
}

fn describe_panic(panic: &(dyn Any + Send)) -> String {
    let message =
        panic.downcast_ref::<String>().map(String::as_str).or(panic.downcast_ref::<&str>().copied());
    format!("the thread that receives file events has ended: {}", message.unwrap_or("panic"))
}

fn watch_error(error: &notify::Error) -> WatchError {
    match &error.kind {
        ErrorKind::PathNotFound => WatchError::NotFound,
        // The directory was removed between probing and watching it.
        ErrorKind::Io(io) if io.kind() == std::io::ErrorKind::NotFound => WatchError::NotFound,
        ErrorKind::MaxFilesWatch => WatchError::Limit(describe(error)),
        ErrorKind::Io(io) if is_exhaustion(io) => WatchError::Limit(describe(error)),
        ErrorKind::Io(_) | ErrorKind::Generic(_) | ErrorKind::WatchNotFound | ErrorKind::InvalidConfig(_) => {
            WatchError::Directory(describe(error))
        }
    }
}

fn describe(error: &notify::Error) -> String {
    match &error.kind {
        ErrorKind::MaxFilesWatch => {
            "the user's limit on watched directories is reached (`fs.inotify.max_user_watches`)".to_owned()
        }
        ErrorKind::Io(io) if is_exhaustion(io) => {
            format!("{io}; each program that watches files uses one of `fs.inotify.max_user_instances`")
        }
        ErrorKind::Io(io) => io.to_string(),
        ErrorKind::Generic(_)
        | ErrorKind::PathNotFound
        | ErrorKind::WatchNotFound
        | ErrorKind::InvalidConfig(_) => error.to_string(),
    }
}

/// True if the process or the system has no descriptors left, or the user has no inotify instances left.
fn is_exhaustion(error: &std::io::Error) -> bool {
    use rustix::io::Errno;
    [Errno::MFILE, Errno::NFILE, Errno::NOMEM, Errno::NOSPC]
        .into_iter()
        .any(|errno| error.raw_os_error() == Some(errno.raw_os_error()))
}

fn forward(sink: &EventSink, event: &Event) {
    if event.need_rescan() {
        sink.overflowed();
    }
    if let Some(change) = change_kind(event.kind) {
        for path in &event.paths {
            sink.report(path, change);
        }
    }
}

/// The kind of change. `None` for reads, such as the gateway's own.
fn change_kind(kind: EventKind) -> Option<ChangeKind> {
    match kind {
        EventKind::Access(AccessKind::Close(AccessMode::Write)) => Some(ChangeKind::Metadata),
        EventKind::Access(_) => None,
        EventKind::Modify(ModifyKind::Metadata(_)) => Some(ChangeKind::Metadata),
        EventKind::Modify(ModifyKind::Name(RenameMode::From)) | EventKind::Remove(_) => {
            Some(ChangeKind::Removed)
        }
        EventKind::Create(_) | EventKind::Modify(_) | EventKind::Any | EventKind::Other => {
            Some(ChangeKind::Content)
        }
    }
}

#[cfg(test)]
mod tests;
