//! Syncs the file that lines are appended to while it grows.
//!
//! A full file is synced before it is renamed. Otherwise, after a power failure, its end could be missing while the
//! next file has lines. A sync of a whole file takes seconds on a slow disk, and no record can be written meanwhile. So
//! most of a file is synced earlier, on a thread that nothing waits for.

use std::fs::File;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;

use crate::chain::ChainHead;

/// Writes the content of a file to the disk. Tests use their own.
pub(crate) type SyncFile = fn(&File) -> io::Result<()>;

/// The part of a file that a sync covers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SyncedPart {
    /// The file.
    pub(crate) identity: (u64, u64),
    /// Its size when the sync began.
    pub(crate) bytes: u64,
    /// Its last line at that time.
    pub(crate) head: ChainHead,
}

/// The sync that runs, and the last one.
#[derive(Debug)]
pub(crate) struct BackgroundSync {
    sync: SyncFile,
    state: Arc<Mutex<SyncState>>,
}

#[derive(Debug, Default)]
struct SyncState {
    is_running: bool,
    /// True if the last sync failed.
    has_failed: bool,
    synced: Option<SyncedPart>,
    failure: Option<io::Error>,
}

impl BackgroundSync {
    pub(crate) fn new(sync: SyncFile) -> Self {
        Self { sync, state: Arc::default() }
    }

    /// The last part that is on the disk.
    pub(crate) fn synced(&self) -> Option<SyncedPart> {
        self.state().synced
    }

    /// Reports whether a sync is running.
    pub(crate) fn is_running(&self) -> bool {
        self.state().is_running
    }

    /// Reports whether the last sync failed.
    pub(crate) fn has_failed(&self) -> bool {
        self.state().has_failed
    }

    /// The error of an earlier sync. The system reports it only once.
    pub(crate) fn take_failure(&self) -> Option<io::Error> {
        self.state().failure.take()
    }

    /// Starts a sync of a file, unless one is running.
    pub(crate) fn begin(&self, file: &File, part: SyncedPart) {
        if self.is_running() {
            return;
        }
        // Without descriptors or threads, the file is synced when it is renamed.
        let Ok(file) = file.try_clone() else { return };
        let (sync, state) = (self.sync, Arc::clone(&self.state));
        {
            let mut state = self.state();
            (state.is_running, state.has_failed) = (true, false);
        }
        let spawned = thread::Builder::new().name("audit sync".to_owned()).spawn(move || {
            let result = sync(&file);
            let mut state = lock(&state);
            state.is_running = false;
            match result {
                Ok(()) => state.synced = Some(part),
                Err(error) => {
                    tracing::warn!(%error, "can't sync the audit log");
                    (state.has_failed, state.failure) = (true, Some(error));
                }
            }
        });
        if spawned.is_err() {
            self.state().is_running = false;
        }
    }

    fn state(&self) -> MutexGuard<'_, SyncState> {
        lock(&self.state)
    }
}

fn lock(state: &Mutex<SyncState>) -> MutexGuard<'_, SyncState> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}
