//! Which folders the system reports of.
//!
//! Folders, never files: a file that is replaced takes its watch with it. For each name on the way to a file the folder
//! that the name stands in is watched, so also where the name isn't there yet, and the folders above it.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use super::look::{Found, Hop, Id};
use super::sink::{Interest, Names, Sink};
use super::system::{Failure, Reports, System};

/// How often it is tried to get reports again, where there can't be any.
const AGAIN: Duration = Duration::from_secs(60);

/// The folders to watch.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Wanted(BTreeMap<PathBuf, Folder>);

#[derive(Debug, Clone, PartialEq, Eq)]
struct Folder {
    id: Id,
    names: BTreeSet<std::ffi::OsString>,
    /// What is expected in it; a folder that only leads further may stay unwatched.
    holds: Found,
}

impl Wanted {
    /// The folders of all steps.
    pub(super) fn by<'a>(hops: impl Iterator<Item = &'a Hop>) -> Self {
        // The same folder may have two paths, where it is mounted twice; the system reports one of them.
        let mut paths: HashMap<Id, &Path> = HashMap::new();
        let mut folders: BTreeMap<PathBuf, Folder> = BTreeMap::new();
        for Hop { folder, id, name, found } in hops {
            let path = paths.entry(*id).or_insert(folder);
            let wanted = folders.entry((*path).to_owned()).or_insert_with(|| Folder {
                id: *id,
                names: BTreeSet::new(),
                holds: Found::Folder,
            });
            wanted.names.insert(name.clone());
            if *found == Found::Other {
                wanted.holds = Found::Other;
            }
        }
        Self(folders)
    }

    /// Whose names the sink is to let through.
    pub(super) fn interest(&self) -> Interest {
        let names = |folder: &Folder| Names { id: folder.id, names: folder.names.iter().cloned().collect() };
        Interest(self.0.iter().map(|(path, folder)| (path.clone(), names(folder))).collect())
    }
}

/// Which watches may be gone.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Lost {
    /// Those of these folders, and of all below them.
    pub(super) gone: BTreeSet<PathBuf>,
    /// All.
    pub(super) all: bool,
    /// All, and there won't be any more reports: why.
    pub(super) failed: Option<String>,
}

impl Lost {
    pub(super) fn is_empty(&self) -> bool {
        let Self { gone, all, failed } = self;
        gone.is_empty() && !all && failed.is_none()
    }
}

/// The folders that are watched. Every method may block for a moment.
#[derive(Debug)]
pub(super) struct Folders {
    system: Arc<dyn System>,
    sink: Sink,
    reports: Option<Box<dyn Reports>>,
    watched: BTreeMap<PathBuf, Id>,
    /// Why there are no reports, and from when on it may be tried again.
    failed: Option<(String, Instant)>,
}

/// What came of watching.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Fitted {
    /// A folder is watched that wasn't before: something may have happened in it meanwhile.
    pub(super) grown: bool,
    /// Why not everything is reported.
    pub(super) trouble: Option<String>,
}

impl Folders {
    pub(super) fn new(system: Arc<dyn System>, sink: Sink) -> Self {
        Self { system, sink, reports: None, watched: BTreeMap::new(), failed: None }
    }

    /// Has the system report of these folders, and of no others.
    pub(super) fn fit(&mut self, wanted: &Wanted, lost: Lost, now: Instant) -> Fitted {
        if let Some(reason) = lost.failed {
            self.fail(reason, now);
        }
        let Some(mut reports) = self.reports(now) else {
            return Fitted { grown: false, trouble: self.failed.as_ref().map(|(reason, _)| reason.clone()) };
        };
        self.watched.retain(|path, id| {
            let is_lost = lost.all || lost.gone.iter().any(|gone| path.starts_with(gone));
            let keep = !is_lost && wanted.0.get(path).is_some_and(|wanted| wanted.id == *id);
            if !keep {
                reports.unwatch(path);
            }
            keep
        });
        let mut fitted = Fitted::default();
        // Those that matter first: there may be too few watches for all.
        for holds in [Found::Other, Found::Folder] {
            for (path, folder) in wanted.0.iter().filter(|(_, folder)| folder.holds == holds) {
                if self.watched.contains_key(path) {
                    continue;
                }
                match reports.watch(path) {
                    Ok(()) => {
                        self.watched.insert(path.clone(), folder.id);
                        fitted.grown = true;
                    }
                    // The folder above it says so too.
                    Err(Failure::NotThere) => {}
                    Err(Failure::Folder(reason)) => {
                        if holds == Found::Other && fitted.trouble.is_none() {
                            fitted.trouble = Some(format!("`{}` can't be watched: {reason}", path.display()));
                        }
                    }
                    Err(Failure::Limit(reason)) => {
                        self.reports = Some(reports);
                        return Fitted { trouble: Some(reason), ..fitted };
                    }
                    Err(Failure::Ended(reason)) => {
                        self.fail(reason.clone(), now);
                        return Fitted { grown: false, trouble: Some(reason) };
                    }
                }
            }
        }
        self.reports = Some(reports);
        fitted
    }

    /// Has the system report nothing any more.
    pub(super) fn clear(&mut self) -> Fitted {
        self.reports = None;
        self.watched.clear();
        self.failed = None;
        Fitted::default()
    }

    /// How many are watched.
    #[cfg(test)]
    pub(super) fn count(&self) -> usize {
        self.watched.len()
    }

    fn fail(&mut self, reason: String, now: Instant) {
        self.clear();
        self.failed = Some((reason, now + AGAIN));
    }

    /// What reports; where there is nothing it is started, now and then.
    fn reports(&mut self, now: Instant) -> Option<Box<dyn Reports>> {
        if self.reports.is_none() && self.failed.as_ref().is_none_or(|(_, again)| *again <= now) {
            match self.system.start(self.sink.clone()) {
                Ok(reports) => {
                    self.clear();
                    self.reports = Some(reports);
                }
                Err(failure) => self.fail(failure.to_string(), now),
            }
        }
        self.reports.take()
    }
}

#[cfg(test)]
mod tests;
