//! The mailbox of the watch thread: the system's reports, the files to watch, results of helpers, and the stop request.
//!
//! Most reports are about files that aren't watched: a compiler writes thousands next to the one that matters. So each
//! report is compared with the watched names and dropped at once if none matches, without any file access. The rest is
//! kept as sets, which can't grow larger than the number of names.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::WatchTarget;
use super::helper::{JobId, JobResult};
use super::probe::{FileId, FolderEntry};

/// Receives the system's reports, on threads that must not block. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub(in crate::supervisor) struct EventSink(pub(super) Arc<Mailbox>);

/// State that is exchanged with the watch thread.
#[derive(Debug, Default)]
pub(in crate::supervisor) struct Mailbox {
    /// Locked only briefly, never during file access.
    state: Mutex<MailboxState>,
    wake: Condvar,
}

#[derive(Debug, Default)]
struct MailboxState {
    watched_names: WatchedNames,
    reports: SystemReports,
    /// The target that the thread hasn't received yet.
    new_target: Option<WatchTarget>,
    /// The last target, even after the thread has received it.
    target: WatchTarget,
    results: Vec<(JobId, JobResult)>,
    is_stopped: bool,
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
pub(super) struct WatchedNames(pub(super) HashMap<PathBuf, NamesInFolder>);

/// The watched names in one directory.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct NamesInFolder {
    pub(super) folder: FileId,
    pub(super) names: HashSet<OsString>,
}

/// Reports from the system since they were last taken.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct SystemReports {
    /// Something happened to a watched name or directory.
    pub(super) any_change: bool,
    /// Names that may have new content.
    pub(super) changed_entries: BTreeSet<FolderEntry>,
    /// Watched directories that are gone, with everything below them.
    pub(super) removed_folders: BTreeSet<PathBuf>,
    /// Reports were lost.
    pub(super) overflowed: bool,
    /// There are no more reports, for this reason.
    pub(super) failed: Option<String>,
}

/// Mail for the watch thread.
#[derive(Debug, Default)]
pub(super) struct Mail {
    pub(super) reports: SystemReports,
    pub(super) target: Option<WatchTarget>,
    /// Results that arrived too late for the caller.
    pub(super) late_results: Vec<JobResult>,
}

/// The urgency of reports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ReportWakeUp {
    AtOnce,
    /// The thread collects them at its deadline.
    AtDeadline,
}

impl SystemReports {
    pub(super) fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    pub(super) fn merge(&mut self, more: Self) {
        let Self { any_change, changed_entries, removed_folders, overflowed, failed } = more;
        self.any_change |= any_change;
        self.changed_entries.extend(changed_entries);
        self.removed_folders.extend(removed_folders);
        self.overflowed |= overflowed;
        self.failed = self.failed.take().or(failed);
    }
}

impl EventSink {
    /// Reports a change of `path`.
    pub(in crate::supervisor) fn report(&self, path: &Path, change: ChangeKind) {
        let mut state = self.0.lock();
        let MailboxState { watched_names, reports, .. } = &mut *state;
        let entry = watched_names.entry(path);
        let is_watched_folder = watched_names.0.contains_key(path);
        if entry.is_none() && !is_watched_folder {
            return;
        }
        let was_empty = reports.is_empty();
        reports.any_change = true;
        if change == ChangeKind::Removed && is_watched_folder {
            reports.removed_folders.insert(path.to_owned());
        }
        if change != ChangeKind::Metadata {
            reports.changed_entries.extend(entry.map(|(folder, name)| (folder, name.to_owned())));
        }
        drop(state);
        if was_empty {
            self.0.wake.notify_all();
        }
    }

    /// Reports were lost, so everything has to be probed.
    pub(in crate::supervisor) fn overflowed(&self) {
        self.0.lock().reports.overflowed = true;
        self.0.wake.notify_all();
    }

    /// There are no more reports, or they are unreliable.
    pub(in crate::supervisor) fn failed(&self, reason: String) {
        self.0.lock().reports.failed.get_or_insert(reason);
        self.0.wake.notify_all();
    }
}

impl Mailbox {
    pub(super) fn set_target(&self, target: WatchTarget) {
        let mut state = self.lock();
        if state.target == target {
            return;
        }
        state.target = target.clone();
        state.new_target = Some(target);
        drop(state);
        self.wake.notify_all();
    }

    /// The last target that was set.
    #[cfg(test)]
    pub(in crate::supervisor) fn target(&self) -> WatchTarget {
        self.lock().target.clone()
    }

    pub(super) fn set_watched_names(&self, names: WatchedNames) {
        self.lock().watched_names = names;
    }

    pub(super) fn put_result(&self, id: JobId, result: JobResult) {
        self.lock().results.push((id, result));
        self.wake.notify_all();
    }

    /// Requests the thread to end.
    pub(super) fn stop(&self) {
        self.lock().is_stopped = true;
        self.wake.notify_all();
    }

    pub(super) fn is_stopped(&self) -> bool {
        self.lock().is_stopped
    }

    /// Takes all mail.
    pub(super) fn take(&self) -> Mail {
        let mut state = self.lock();
        let results = std::mem::take(&mut state.results);
        Mail {
            reports: std::mem::take(&mut state.reports),
            target: state.new_target.take(),
            late_results: results.into_iter().map(|(_, result)| result).collect(),
        }
    }

    /// Takes only the system's reports.
    pub(super) fn take_reports(&self) -> SystemReports {
        std::mem::take(&mut self.lock().reports)
    }

    /// Waits until there is mail, until the deadline, or until the thread must end.
    pub(super) fn wait(&self, now: Instant, deadline: Option<Instant>, reports: ReportWakeUp) {
        let has_mail = |state: &MailboxState| {
            state.is_stopped
                || state.new_target.is_some()
                || !state.results.is_empty()
                || (reports == ReportWakeUp::AtOnce && !state.reports.is_empty())
        };
        drop(self.wait_until(deadline.map(|deadline| deadline.saturating_duration_since(now)), has_mail));
    }

    /// Waits for the result of a job, no longer than `limit` and not after [`Self::stop`].
    pub(super) fn wait_for_result(&self, id: JobId, limit: Duration) -> Option<JobResult> {
        let is_done =
            |state: &MailboxState| state.is_stopped || state.results.iter().any(|(result, _)| *result == id);
        let mut state = self.wait_until(Some(limit), is_done);
        let at = state.results.iter().position(|(result, _)| *result == id)?;
        Some(state.results.swap_remove(at).1)
    }

    fn wait_until(
        &self,
        limit: Option<Duration>,
        is_done: impl Fn(&MailboxState) -> bool,
    ) -> MutexGuard<'_, MailboxState> {
        let state = self.lock();
        match limit {
            Some(limit) => {
                let waited = self.wake.wait_timeout_while(state, limit, |state| !is_done(state));
                waited.unwrap_or_else(PoisonError::into_inner).0
            }
            None => {
                let waited = self.wake.wait_while(state, |state| !is_done(state));
                waited.unwrap_or_else(PoisonError::into_inner)
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, MailboxState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl WatchedNames {
    fn entry<'a>(&self, path: &'a Path) -> Option<(FileId, &'a OsStr)> {
        let folder = path.parent()?;
        let name = path.file_name()?;
        let NamesInFolder { folder, names } = self.0.get(folder)?;
        names.contains(name).then_some((*folder, name))
    }
}

#[cfg(test)]
mod tests;
