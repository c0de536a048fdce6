//! What watching asks of the system, as a trait, so that tests can have it fail.

use std::any::Any;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use notify::event::{AccessKind, AccessMode, EventKind, ModifyKind, RenameMode};
use notify::{Config, ErrorKind, Event, RecommendedWatcher, RecursiveMode, Watcher as _};

use super::look::{Look, look};
use super::sink::{Change, Sink};

/// What watching asks of the system.
pub trait System: fmt::Debug + Send + Sync + 'static {
    /// Begins to report what happens in folders. May block for a moment.
    ///
    /// # Errors
    /// The system has no more to give.
    fn start(&self, sink: Sink) -> Result<Box<dyn Reports>, Failure>;

    /// Looks at a file. May block, and on a dead mount for ever.
    fn look(&self, path: &Path) -> Look {
        look(path)
    }
}

/// Reports, until it is dropped. May block for a moment.
pub trait Reports: fmt::Debug + Send {
    /// Has it report what happens to a folder and to the names in it.
    ///
    /// # Errors
    /// It can't.
    fn watch(&mut self, folder: &Path) -> Result<(), Failure>;

    /// Has it report no more of a folder, which may be gone.
    fn unwatch(&mut self, folder: &Path);
}

/// Why the system doesn't report.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Failure {
    /// A limit of the system, for all folders.
    #[error("{0}")]
    Limit(String),
    /// This folder isn't there.
    #[error("it isn't there")]
    NotThere,
    /// This folder can't be watched.
    #[error("{0}")]
    Folder(String),
    /// None can be: what reported has ended.
    #[error("{0}")]
    Ended(String),
}

/// The system that the gateway runs on.
#[derive(Debug, Clone, Copy, Default)]
pub struct Native;

impl System for Native {
    fn start(&self, sink: Sink) -> Result<Box<dyn Reports>, Failure> {
        let take = move |event: notify::Result<Event>| match event {
            Ok(event) => pass_on(&sink, &event),
            Err(error) => sink.failed(said(&error)),
        };
        let config = Config::default().with_follow_symlinks(false);
        let watcher = caught(|| RecommendedWatcher::new(take, config))?;
        Ok(Box::new(Notify { watcher: Some(watcher) }))
    }
}

#[derive(Debug)]
struct Notify {
    /// Taken only when this is dropped.
    watcher: Option<RecommendedWatcher>,
}

impl Reports for Notify {
    fn watch(&mut self, folder: &Path) -> Result<(), Failure> {
        match &mut self.watcher {
            Some(watcher) => caught(|| watcher.watch(folder, RecursiveMode::NonRecursive)),
            None => Err(Failure::NotThere),
        }
    }

    fn unwatch(&mut self, folder: &Path) {
        if let Some(watcher) = &mut self.watcher {
            // It complains where the folder is gone, which is why it is to be forgotten.
            let _ = caught(|| watcher.unwatch(folder));
        }
    }
}

impl Drop for Notify {
    fn drop(&mut self) {
        let watcher = self.watcher.take();
        let _ = catch_unwind(AssertUnwindSafe(|| drop(watcher)));
    }
}

/// Calls the library, which panics where its thread has ended.
fn caught<T>(call: impl FnOnce() -> notify::Result<T>) -> Result<T, Failure> {
    match catch_unwind(AssertUnwindSafe(call)) {
        Ok(result) => result.map_err(|error| failure(&error)),
        Err(panic) => Err(Failure::Ended(why(panic.as_ref()))),
    }
}

fn why(panic: &(dyn Any + Send)) -> String {
    let said = panic.downcast_ref::<String>().map(String::as_str).or(panic.downcast_ref::<&str>().copied());
    format!("the thread that takes the system's reports has ended: {}", said.unwrap_or("it panicked"))
}

fn failure(error: &notify::Error) -> Failure {
    match &error.kind {
        ErrorKind::PathNotFound => Failure::NotThere,
        // What was there when it was named may have gone when it was to be watched.
        ErrorKind::Io(io) if io.kind() == std::io::ErrorKind::NotFound => Failure::NotThere,
        ErrorKind::MaxFilesWatch => Failure::Limit(said(error)),
        ErrorKind::Io(io) if is_exhaustion(io) => Failure::Limit(said(error)),
        ErrorKind::Io(_) | ErrorKind::Generic(_) | ErrorKind::WatchNotFound | ErrorKind::InvalidConfig(_) => {
            Failure::Folder(said(error))
        }
    }
}

fn said(error: &notify::Error) -> String {
    match &error.kind {
        ErrorKind::MaxFilesWatch => {
            "this user may watch no more folders (`fs.inotify.max_user_watches`)".to_owned()
        }
        ErrorKind::Io(io) if is_exhaustion(io) => {
            format!("{io}; each program that watches takes one of `fs.inotify.max_user_instances`")
        }
        ErrorKind::Io(io) => io.to_string(),
        ErrorKind::Generic(_)
        | ErrorKind::PathNotFound
        | ErrorKind::WatchNotFound
        | ErrorKind::InvalidConfig(_) => error.to_string(),
    }
}

/// No more descriptors, for this process or for all; or no more instances of inotify for this user.
fn is_exhaustion(error: &std::io::Error) -> bool {
    use rustix::io::Errno;
    [Errno::MFILE, Errno::NFILE, Errno::NOMEM, Errno::NOSPC]
        .into_iter()
        .any(|errno| error.raw_os_error() == Some(errno.raw_os_error()))
}

fn pass_on(sink: &Sink, event: &Event) {
    if event.need_rescan() {
        sink.overflown();
    }
    if let Some(change) = change(event.kind) {
        for path in &event.paths {
            sink.event(path, change);
        }
    }
}

/// What an event means; none: that somebody reads, the gateway perhaps.
fn change(kind: EventKind) -> Option<Change> {
    match kind {
        EventKind::Access(AccessKind::Close(AccessMode::Write)) => Some(Change::Other),
        EventKind::Access(_) => None,
        EventKind::Modify(ModifyKind::Metadata(_)) => Some(Change::Other),
        EventKind::Modify(ModifyKind::Name(RenameMode::From)) | EventKind::Remove(_) => Some(Change::Gone),
        EventKind::Create(_) | EventKind::Modify(_) | EventKind::Any | EventKind::Other => {
            Some(Change::Content)
        }
    }
}

#[cfg(test)]
mod tests;
