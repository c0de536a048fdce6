//! The directories whose changes the system reports.
//!
//! Only directories are watched, because a file that is replaced takes its watch with it. For each name on the path to a
//! file, the directory that contains the name is watched, even if the name doesn't exist yet.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::event_sink::{EventSink, NamesInDirectory, WatchedNames};
use super::probe::{FileId, PathStep, StepKind};
use super::system::{DirectoryWatcher, System, WatchError};

/// The interval for requesting reports again from a system that can't provide any.
const RESTART_INTERVAL: Duration = Duration::from_secs(60);

/// The directories to watch.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct WantedDirectories(BTreeMap<PathBuf, WantedDirectory>);

#[derive(Debug, Clone, PartialEq, Eq)]
struct WantedDirectory {
    id: FileId,
    names: BTreeSet<OsString>,
    /// A directory in which only directories are expected can stay unwatched.
    contains: StepKind,
}

impl WantedDirectories {
    /// The directories of all steps.
    pub(super) fn from_steps<'a>(steps: impl Iterator<Item = &'a PathStep>) -> Self {
        // A directory that is mounted twice has two paths; the system reports one of them.
        let mut paths: HashMap<FileId, &Path> = HashMap::new();
        let mut directories: BTreeMap<PathBuf, WantedDirectory> = BTreeMap::new();
        for PathStep { directory, id, name, kind } in steps {
            let path = paths.entry(*id).or_insert(directory);
            let wanted = directories.entry((*path).to_owned()).or_insert_with(|| WantedDirectory {
                id: *id,
                names: BTreeSet::new(),
                contains: StepKind::Directory,
            });
            wanted.names.insert(name.clone());
            if *kind == StepKind::Leaf {
                wanted.contains = StepKind::Leaf;
            }
        }
        Self(directories)
    }

    /// The names for which reports are relevant.
    pub(super) fn names(&self) -> WatchedNames {
        let names = |directory: &WantedDirectory| NamesInDirectory {
            directory: directory.id,
            names: directory.names.iter().cloned().collect(),
        };
        WatchedNames(self.0.iter().map(|(path, directory)| (path.clone(), names(directory))).collect())
    }
}

/// Watches that may be gone.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct LostWatches {
    /// The watches of these directories, and of all directories below them.
    pub(super) removed: BTreeSet<PathBuf>,
    pub(super) all: bool,
    /// All watches, for this reason. There are no more reports.
    pub(super) failed: Option<String>,
}

impl LostWatches {
    pub(super) fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// The watched directories. Every method can block.
#[derive(Debug)]
pub(super) struct DirectoryWatches {
    system: Arc<dyn System>,
    sink: EventSink,
    watcher: Option<Box<dyn DirectoryWatcher>>,
    watched: BTreeMap<PathBuf, FileId>,
    failure: Option<WatcherFailure>,
}

/// The reason that the system reports nothing, and the time of the next attempt.
#[derive(Debug)]
struct WatcherFailure {
    reason: String,
    retry_at: Instant,
}

/// The result of changing the watched directories.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct WatchUpdate {
    /// A directory is newly watched, so a change in it may have been missed.
    pub(super) grown: bool,
    /// The reason that not everything is reported.
    pub(super) trouble: Option<String>,
}

impl DirectoryWatches {
    pub(super) fn new(system: Arc<dyn System>, sink: EventSink) -> Self {
        Self { system, sink, watcher: None, watched: BTreeMap::new(), failure: None }
    }

    /// Watches these directories and no others.
    pub(super) fn watch_only(
        &mut self,
        wanted: &WantedDirectories,
        lost: LostWatches,
        now: Instant,
    ) -> WatchUpdate {
        if let Some(reason) = lost.failed {
            self.fail(reason, now);
        }
        let Some(mut watcher) = self.take_watcher(now) else {
            let trouble = self.failure.as_ref().map(|failure| failure.reason.clone());
            return WatchUpdate { grown: false, trouble };
        };
        self.watched.retain(|path, id| {
            let is_lost = lost.all || lost.removed.iter().any(|removed| path.starts_with(removed));
            let keep = !is_lost && wanted.0.get(path).is_some_and(|wanted| wanted.id == *id);
            if !keep {
                watcher.unwatch(path);
            }
            keep
        });
        let mut outcome = WatchUpdate::default();
        // The important ones first, because there can be too few watches for all.
        for contains in [StepKind::Leaf, StepKind::Directory] {
            for (path, directory) in wanted.0.iter().filter(|(_, directory)| directory.contains == contains) {
                if self.watched.contains_key(path) {
                    continue;
                }
                match watcher.watch(path) {
                    Ok(()) => {
                        self.watched.insert(path.clone(), directory.id);
                        outcome.grown = true;
                    }
                    // The directory above also reports that.
                    Err(WatchError::NotFound) => {}
                    Err(WatchError::Directory(reason)) => {
                        if contains == StepKind::Leaf && outcome.trouble.is_none() {
                            outcome.trouble = Some(format!("can't watch `{}`: {reason}", path.display()));
                        }
                    }
                    Err(WatchError::Limit(reason)) => {
                        self.watcher = Some(watcher);
                        return WatchUpdate { trouble: Some(reason), ..outcome };
                    }
                    Err(WatchError::Ended(reason)) => {
                        self.fail(reason.clone(), now);
                        return WatchUpdate { grown: false, trouble: Some(reason) };
                    }
                }
            }
        }
        self.watcher = Some(watcher);
        outcome
    }

    /// Watches nothing.
    pub(super) fn clear(&mut self) {
        self.watcher = None;
        self.watched.clear();
        self.failure = None;
    }

    #[cfg(test)]
    pub(super) fn count(&self) -> usize {
        self.watched.len()
    }

    fn fail(&mut self, reason: String, now: Instant) {
        self.clear();
        self.failure = Some(WatcherFailure { reason, retry_at: now + RESTART_INTERVAL });
    }

    /// The system's watcher. If there is none, one is started, but not too often.
    fn take_watcher(&mut self, now: Instant) -> Option<Box<dyn DirectoryWatcher>> {
        let may_start = self.failure.as_ref().is_none_or(|failure| failure.retry_at <= now);
        if self.watcher.is_none() && may_start {
            match self.system.start(self.sink.clone()) {
                Ok(watcher) => {
                    self.clear();
                    self.watcher = Some(watcher);
                }
                Err(error) => self.fail(error.to_string(), now),
            }
        }
        self.watcher.take()
    }
}

#[cfg(test)]
mod tests;
