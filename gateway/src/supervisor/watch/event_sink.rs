//! The system's reports of file changes, filtered by the watched names.
//!
//! Most reports are about files that aren't watched: a compiler writes thousands next to the one that matters. So each
//! report is compared with the watched names and dropped at once if none matches, without any file access. The rest is
//! kept as sets, which can't grow larger than the number of names.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Waker;

use super::probe::{DirectoryEntry, FileId};

/// Receives the system's reports, on threads that must not block. Cheap to clone.
#[derive(Debug, Clone)]
pub(in crate::supervisor) struct EventSink {
    buffer: Arc<ReportBuffer>,
    /// Wakes the thread that takes the reports. Never called while the buffer is locked.
    waker: Waker,
}

/// Pending reports, and the names that they are about.
#[derive(Debug, Default)]
pub(super) struct ReportBuffer {
    /// Locked only briefly, never during file access.
    state: Mutex<BufferState>,
}

#[derive(Debug, Default)]
struct BufferState {
    watched_names: WatchedNames,
    reports: SystemReports,
}

/// A change that the system reports for a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::supervisor) enum ChangeKind {
    /// The path, or its content, is new.
    Content,
    /// Something else changed, such as permissions; or a writer closed the file.
    Metadata,
    /// The path was removed or moved away.
    Removed,
}

/// The watched names, by directory.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct WatchedNames(pub(super) HashMap<PathBuf, NamesInDirectory>);

/// The watched names in one directory.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct NamesInDirectory {
    pub(super) directory: FileId,
    pub(super) names: HashSet<OsString>,
}

/// Reports from the system since they were last taken.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct SystemReports {
    /// Something happened to a watched name or directory.
    pub(super) any_change: bool,
    /// Names that may have new content.
    pub(super) changed_entries: BTreeSet<DirectoryEntry>,
    /// Watched directories that are gone, with everything below them.
    pub(super) removed_directories: BTreeSet<PathBuf>,
    /// Reports were lost.
    pub(super) overflowed: bool,
    /// There are no more reports, for this reason.
    pub(super) failed: Option<String>,
}

impl SystemReports {
    pub(super) fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    pub(super) fn merge(&mut self, more: Self) {
        let Self { any_change, changed_entries, removed_directories, overflowed, failed } = more;
        self.any_change |= any_change;
        self.changed_entries.extend(changed_entries);
        self.removed_directories.extend(removed_directories);
        self.overflowed |= overflowed;
        self.failed = self.failed.take().or(failed);
    }
}

impl EventSink {
    pub(super) fn new(buffer: Arc<ReportBuffer>, waker: Waker) -> Self {
        Self { buffer, waker }
    }

    /// Reports a change of `path`.
    pub(in crate::supervisor) fn report(&self, path: &Path, change: ChangeKind) {
        let mut state = self.buffer.lock();
        let BufferState { watched_names, reports } = &mut *state;
        let entry = watched_names.entry(path);
        let is_watched_directory = watched_names.0.contains_key(path);
        if entry.is_none() && !is_watched_directory {
            return;
        }
        let was_empty = reports.is_empty();
        reports.any_change = true;
        if change == ChangeKind::Removed && is_watched_directory {
            reports.removed_directories.insert(path.to_owned());
        }
        if change != ChangeKind::Metadata {
            reports.changed_entries.extend(entry.map(|(directory, name)| (directory, name.to_owned())));
        }
        drop(state);
        if was_empty {
            self.waker.wake_by_ref();
        }
    }

    /// Reports were lost, so everything has to be probed.
    pub(in crate::supervisor) fn overflowed(&self) {
        self.buffer.lock().reports.overflowed = true;
        self.waker.wake_by_ref();
    }

    /// There are no more reports, or they are unreliable.
    pub(in crate::supervisor) fn failed(&self, reason: String) {
        self.buffer.lock().reports.failed.get_or_insert(reason);
        self.waker.wake_by_ref();
    }
}

#[cfg(test)]
impl Default for EventSink {
    fn default() -> Self {
        Self::new(Arc::default(), Waker::noop().clone())
    }
}

impl ReportBuffer {
    pub(super) fn set_watched_names(&self, names: WatchedNames) {
        self.lock().watched_names = names;
    }

    /// Takes all reports.
    pub(super) fn take(&self) -> SystemReports {
        std::mem::take(&mut self.lock().reports)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.lock().reports.is_empty()
    }

    fn lock(&self) -> MutexGuard<'_, BufferState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl WatchedNames {
    fn entry<'a>(&self, path: &'a Path) -> Option<(FileId, &'a OsStr)> {
        let directory = path.parent()?;
        let name = path.file_name()?;
        let NamesInDirectory { directory, names } = self.0.get(directory)?;
        names.contains(name).then_some((*directory, name))
    }
}

#[cfg(test)]
mod tests;
