//! Where the system's reports arrive, on a thread that must not wait.
//!
//! Most reports are about files that nobody asked for: a compiler writes thousands of them beside the one that counts.
//! So a report is compared with the names of interest and dropped at once, without looking at any file. What is left is
//! kept as sets that can't grow beyond those names.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

use super::look::{Id, Spot};

/// Takes what the system reports. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub struct Sink(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    /// Held for a look into two tables, never longer.
    state: Mutex<State>,
    wake: Notify,
}

#[derive(Debug, Default)]
struct State {
    interest: Interest,
    raised: Raised,
}

/// What a report says of a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    /// Something new is there, or in it.
    Content,
    /// Something else of it changed, such as its permissions; or somebody has ended writing.
    Other,
    /// It was removed or moved away.
    Gone,
}

/// Which names count, by the folder that they stand in.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Interest(pub(super) HashMap<PathBuf, Names>);

/// The names in one folder.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Names {
    pub(super) id: Id,
    pub(super) names: HashSet<OsString>,
}

/// What was reported since somebody asked last.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Raised {
    /// Something of interest happened.
    pub(super) stirred: bool,
    /// What may hold something new.
    pub(super) touched: BTreeSet<Spot>,
    /// Folders that were watched and aren't any more, with all below them.
    pub(super) gone: BTreeSet<PathBuf>,
    /// Reports were lost.
    pub(super) overflown: bool,
    /// There won't be any reports.
    pub(super) failed: Option<String>,
}

impl Raised {
    pub(super) fn is_empty(&self) -> bool {
        let Self { stirred, touched, gone, overflown, failed } = self;
        !stirred && touched.is_empty() && gone.is_empty() && !overflown && failed.is_none()
    }

    pub(super) fn add(&mut self, more: Self) {
        let Self { stirred, touched, gone, overflown, failed } = more;
        self.stirred |= stirred;
        self.touched.extend(touched);
        self.gone.extend(gone);
        self.overflown |= overflown;
        self.failed = self.failed.take().or(failed);
    }
}

impl Sink {
    /// Something happened to `path`.
    pub fn event(&self, path: &Path, change: Change) {
        let mut state = self.state();
        let State { interest, raised } = &mut *state;
        let spot = interest.spot(path);
        let watched_went = change == Change::Gone && interest.0.contains_key(path);
        let counts = spot.is_some() || interest.0.contains_key(path);
        if !counts {
            return;
        }
        raised.stirred = true;
        if watched_went {
            raised.gone.insert(path.to_owned());
        }
        if change != Change::Other {
            raised.touched.extend(spot.map(|(id, name)| (id, name.to_owned())));
        }
        drop(state);
        self.0.wake.notify_one();
    }

    /// Reports were lost: everything has to be looked at.
    pub fn overflown(&self) {
        self.state().raised.overflown = true;
        self.0.wake.notify_one();
    }

    /// There won't be any more reports, or they can't be relied on.
    pub fn failed(&self, reason: String) {
        self.state().raised.failed.get_or_insert(reason);
        self.0.wake.notify_one();
    }

    /// From now on these names count.
    pub(super) fn set_interest(&self, interest: Interest) {
        self.state().interest = interest;
    }

    /// What was reported since the last time.
    pub(super) fn take(&self) -> Raised {
        std::mem::take(&mut self.state().raised)
    }

    /// Waits until there is something to take. May be dropped at any time.
    pub(super) async fn raised(&self) {
        while self.state().raised.is_empty() {
            self.0.wake.notified().await;
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Interest {
    fn spot<'a>(&self, path: &'a Path) -> Option<(Id, &'a OsStr)> {
        let (folder, name) = (path.parent()?, path.file_name()?);
        let Names { id, names } = self.0.get(folder)?;
        names.contains(name).then_some((*id, name))
    }
}

#[cfg(test)]
mod tests;
