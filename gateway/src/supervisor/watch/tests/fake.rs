//! A system that a test controls, and that records its requests.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::time::SystemTime;

use super::super::mailbox::{ChangeKind, EventSink};
use super::super::probe::{FileId, FileProbe, FileStamp, PathStep, StepKind};
use super::super::{FolderWatcher, System, WatchError};

/// A system with files in `/d`, and others in `/e`, which is another mount.
#[derive(Debug, Default)]
pub(in super::super) struct FakeSystem(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

impl Shared {
    /// The state, once this path is no longer stalled.
    fn when_responding(&self, path: &Path) -> MutexGuard<'_, State> {
        let state = self.state.lock().unwrap();
        self.changed.wait_while(state, |state| state.stalled.contains(path)).unwrap()
    }
}

#[derive(Debug, Default)]
struct State {
    sinks: Vec<EventSink>,
    starts: usize,
    start_error: Option<WatchError>,
    watch_errors: BTreeMap<PathBuf, WatchError>,
    requests: Vec<String>,
    stamps: BTreeMap<PathBuf, FileStamp>,
    changed_at: Option<SystemTime>,
    stalled: BTreeSet<PathBuf>,
    probes: usize,
}

impl Drop for FakeSystem {
    fn drop(&mut self) {
        self.state().stalled.clear();
        self.0.changed.notify_all();
    }
}

impl FakeSystem {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap()
    }

    /// The requests to watch or unwatch since the last call.
    pub(in super::super) fn take_requests(&self) -> Vec<String> {
        std::mem::take(&mut self.state().requests)
    }

    pub(in super::super) fn refuse(&self, folder: &str, error: WatchError) {
        self.state().watch_errors.insert(folder.into(), error);
    }

    pub(in super::super) fn allow(&self, folder: &str) {
        self.state().watch_errors.remove(Path::new(folder));
    }

    pub(in super::super) fn set_start_error(&self, error: Option<WatchError>) {
        self.state().start_error = error;
    }

    pub(in super::super) fn starts(&self) -> usize {
        self.state().starts
    }

    /// The number of probes since the last call.
    pub(in super::super) fn take_probes(&self) -> usize {
        std::mem::take(&mut self.state().probes)
    }

    /// Waits until a probe has begun.
    pub(in super::super) fn wait_for_probe(&self) {
        let state = self.state();
        drop(self.0.changed.wait_while(state, |state| state.probes == 0).unwrap());
    }

    /// Changes a file, on a file system with exact times.
    pub(in super::super) fn change(&self, file: &Path, version: i64) {
        self.set_stamp(file, (version, 7));
    }

    /// Changes a file, on a file system with a resolution of one second.
    pub(in super::super) fn change_coarsely(&self, file: &Path, version: i64) {
        self.set_stamp(file, (version, 0));
    }

    fn set_stamp(&self, file: &Path, time: (i64, i64)) {
        let id = FileId { device: 1, inode: 100 };
        let stamp = FileStamp::File { id, size: 1, modified: time, changed: time };
        self.state().stamps.insert(file.to_owned(), stamp);
    }

    /// Sets the time of the last change to all files.
    pub(in super::super) fn set_changed_at(&self, time: SystemTime) {
        self.state().changed_at = Some(time);
    }

    /// Reports a change to a path.
    pub(in super::super) fn report(&self, path: &Path, change: ChangeKind) {
        self.sink().report(path, change);
    }

    pub(in super::super) fn sink(&self) -> EventSink {
        self.state().sinks.last().expect("nothing was started").clone()
    }

    /// Blocks probes of this file, and attempts to watch this directory.
    pub(in super::super) fn stall(&self, path: &Path) {
        self.state().stalled.insert(path.to_owned());
    }

    pub(in super::super) fn resume(&self, path: &Path) {
        self.state().stalled.remove(path);
        self.0.changed.notify_all();
    }
}

impl System for FakeSystem {
    fn start(&self, sink: EventSink) -> Result<Box<dyn FolderWatcher>, WatchError> {
        let mut state = self.state();
        state.starts += 1;
        if let Some(error) = state.start_error.clone() {
            return Err(error);
        }
        state.sinks.push(sink);
        Ok(Box::new(FakeFolderWatcher(Arc::clone(&self.0))))
    }

    fn probe(&self, path: &Path) -> FileProbe {
        self.state().probes += 1;
        self.0.changed.notify_all();
        let state = self.0.when_responding(path);
        let stamp = state.stamps.get(path).copied().unwrap_or(FileStamp::Missing);
        let folder = path.parent().unwrap();
        let device = if folder == Path::new("/d") { 1 } else { 2 };
        let step = PathStep {
            folder: folder.to_owned(),
            id: FileId { device, inode: 1 },
            name: path.file_name().unwrap().to_owned(),
            kind: StepKind::Leaf,
        };
        FileProbe { stamp, steps: vec![step], changed_at: state.changed_at }
    }
}

#[derive(Debug)]
struct FakeFolderWatcher(Arc<Shared>);

impl FolderWatcher for FakeFolderWatcher {
    fn watch(&mut self, folder: &Path) -> Result<(), WatchError> {
        let mut state = self.0.when_responding(folder);
        if let Some(error) = state.watch_errors.get(folder) {
            return Err(error.clone());
        }
        state.requests.push(format!("watch {}", folder.display()));
        Ok(())
    }

    fn unwatch(&mut self, folder: &Path) {
        self.0.state.lock().unwrap().requests.push(format!("unwatch {}", folder.display()));
    }
}
