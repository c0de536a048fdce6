//! A system that does what a test says, and remembers what it was asked.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::time::{Duration, SystemTime};

use super::super::look::{Found, Hop, Id, Look, Stamp};
use super::super::{Change, Failure, Reports, Sink, System};

/// A system of files that all lie in `/d`.
#[derive(Debug, Default)]
pub(in super::super) struct Fake(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    state: Mutex<State>,
    freed: Condvar,
}

impl Shared {
    /// The state, as soon as this path answers.
    fn answered(&self, path: &Path) -> MutexGuard<'_, State> {
        let mut state = self.state.lock().unwrap();
        while state.stuck.contains(path) {
            // An upper bound, so that the runtime of a test that fails can end.
            let (again, waited) = self.freed.wait_timeout(state, Duration::from_secs(20)).unwrap();
            state = again;
            if waited.timed_out() {
                break;
            }
        }
        state
    }
}

#[derive(Debug, Default)]
struct State {
    sinks: Vec<Sink>,
    starts: usize,
    no_start: Option<Failure>,
    refused: BTreeMap<PathBuf, Failure>,
    asked: Vec<String>,
    stamps: BTreeMap<PathBuf, Stamp>,
    changed_at: Option<SystemTime>,
    stuck: BTreeSet<PathBuf>,
    looks: usize,
}

impl Fake {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap()
    }

    /// What was asked since the last time.
    pub(in super::super) fn asked(&self) -> Vec<String> {
        std::mem::take(&mut self.state().asked)
    }

    pub(in super::super) fn refuse(&self, folder: &str, failure: Failure) {
        self.state().refused.insert(folder.into(), failure);
    }

    pub(in super::super) fn allow(&self, folder: &str) {
        self.state().refused.remove(Path::new(folder));
    }

    pub(in super::super) fn refuse_to_start(&self, failure: Option<Failure>) {
        self.state().no_start = failure;
    }

    pub(in super::super) fn starts(&self) -> usize {
        self.state().starts
    }

    /// How many looks there were since the last time.
    pub(in super::super) fn looks(&self) -> usize {
        std::mem::take(&mut self.state().looks)
    }

    /// The file holds another version now, and the times of its file system are exact.
    pub(in super::super) fn change(&self, file: &Path, version: i64) {
        self.stamp(file, (version, 7));
    }

    /// The file holds another version now, on a file system that counts in seconds.
    pub(in super::super) fn change_coarsely(&self, file: &Path, version: i64) {
        self.stamp(file, (version, 0));
    }

    fn stamp(&self, file: &Path, time: (i64, i64)) {
        let id = Id { device: 1, inode: 100 };
        let stamp = Stamp::File { id, size: 1, modified: time, changed: time };
        self.state().stamps.insert(file.to_owned(), stamp);
    }

    /// When all files were changed last.
    pub(in super::super) fn changed_at(&self, time: SystemTime) {
        self.state().changed_at = Some(time);
    }

    /// Reports what happened to a path.
    pub(in super::super) fn event(&self, path: &Path, change: Change) {
        self.sink().event(path, change);
    }

    pub(in super::super) fn sink(&self) -> Sink {
        self.state().sinks.last().expect("reports were asked for").clone()
    }

    /// Looks at this file don't end any more, nor does it end to watch this folder.
    pub(in super::super) fn stop_answering(&self, file: &Path) {
        self.state().stuck.insert(file.to_owned());
    }

    /// They end.
    pub(in super::super) fn answer(&self, file: &Path) {
        self.state().stuck.remove(file);
        self.0.freed.notify_all();
    }
}

impl System for Fake {
    fn start(&self, sink: Sink) -> Result<Box<dyn Reports>, Failure> {
        let mut state = self.state();
        state.starts += 1;
        if let Some(failure) = state.no_start.clone() {
            return Err(failure);
        }
        state.sinks.push(sink);
        Ok(Box::new(Watched(Arc::clone(&self.0))))
    }

    fn look(&self, path: &Path) -> Look {
        self.state().looks += 1;
        let state = self.0.answered(path);
        let stamp = state.stamps.get(path).copied().unwrap_or(Stamp::NotThere);
        let name = path.file_name().unwrap().to_owned();
        let hop = Hop { folder: "/d".into(), id: Id { device: 1, inode: 1 }, name, found: Found::Other };
        Look { stamp, hops: vec![hop], changed_at: state.changed_at }
    }
}

#[derive(Debug)]
struct Watched(Arc<Shared>);

impl Reports for Watched {
    fn watch(&mut self, folder: &Path) -> Result<(), Failure> {
        let mut state = self.0.answered(folder);
        if let Some(failure) = state.refused.get(folder) {
            return Err(failure.clone());
        }
        state.asked.push(format!("watch {}", folder.display()));
        Ok(())
    }

    fn unwatch(&mut self, folder: &Path) {
        self.0.state.lock().unwrap().asked.push(format!("unwatch {}", folder.display()));
    }
}
