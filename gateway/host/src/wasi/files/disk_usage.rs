//! The disk space that a plugin has added to its writable directories, over all of its calls.
//!
//! Every change through the plugin is counted as it happens: bytes by which files grow, and a fixed charge for each
//! entry; truncated and removed files are subtracted. Files that were there before don't count, so a directory that is
//! already large stays writable. The sum never drops below zero, so removing them doesn't allow more than the limit.
//!
//! The sum can be too high: other programs remove files, and a file that is removed while it is open can still be
//! written to. So a plugin above half of its limit has its directories measured, in the background: it can't have added
//! more than they contain. They are never measured otherwise.

use std::collections::HashMap;
use std::fs;
use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use bytesize::ByteSize;
use moongate_config::{DirMode, PluginConfig};
use moongate_model::names::PluginId;
use tokio::sync::{OwnedRwLockReadGuard, OwnedRwLockWriteGuard, RwLock};

use super::NEW_ENTRY_BYTES;

/// The maximum number of entries that are measured.
const MAX_MEASURED_ENTRIES: usize = 1_000_000;
/// The maximum size of the paths of directories that wait to be measured, in bytes. A plugin chooses their lengths.
const MAX_WAITING_BYTES: usize = 4 << 20;
/// The minimum time between two measurements.
const MEASURING_PAUSE: Duration = Duration::from_secs(1);
/// The pause after a measurement, as a multiple of its duration.
const PAUSE_FACTOR: u32 = 50;

/// The disk usage of all plugins since the gateway started.
#[derive(Debug, Default)]
pub(crate) struct DiskUsages(Mutex<HashMap<PluginId, Arc<DiskUsage>>>);

impl DiskUsages {
    /// The disk quota of a plugin with this configuration. All its configurations share the usage.
    pub(crate) fn quota(&self, config: &PluginConfig) -> DiskQuota {
        let mut usages = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let usage = Arc::clone(usages.entry(config.id.clone()).or_default());
        let writable = config.allow.dirs.iter().filter(|dir| dir.mode == DirMode::ReadWrite);
        let directories = writable.map(|dir| dir.host_path.clone()).collect();
        let limit = config.limits.disk;
        DiskQuota { usage, changing: Arc::default(), measuring: Arc::default(), limit, directories }
    }
}

/// The disk usage of one plugin.
#[derive(Debug, Default)]
struct DiskUsage {
    /// Bytes that it has added and not removed.
    added: AtomicU64,
    /// The number of changes under an exclusive lock, which can hide files from a measurement, and of corrections.
    shrunk: AtomicU64,
}

/// The measurements of the directories of one configuration.
#[derive(Debug, Default)]
struct Measuring {
    is_running: AtomicBool,
    /// The time from which the next measurement is possible.
    measurable_at: Mutex<Option<Instant>>,
}

/// The limit on a plugin's disk usage. Displayed as the limit.
#[derive(Debug, Clone)]
pub(crate) struct DiskQuota {
    usage: Arc<DiskUsage>,
    /// Files grow under a shared lock, and shrink, disappear or move under an exclusive one: their sizes before a change
    /// would otherwise be those of another change. Each configuration has its own lock, because a change in a directory
    /// that doesn't respond never ends.
    changing: Arc<RwLock<()>>,
    /// Of each configuration too: a measurement of a directory that doesn't respond never ends either.
    measuring: Arc<Measuring>,
    limit: ByteSize,
    directories: Arc<[PathBuf]>,
}

/// The usage at the start of a measurement.
#[derive(Debug)]
struct UsageSnapshot {
    added: u64,
    shrunk: u64,
}

/// A change that makes files larger, or creates entries.
#[derive(Debug)]
pub(super) struct Growing(
    #[expect(dead_code, reason = "held until the change is done")] OwnedRwLockReadGuard<()>,
);

/// A change that makes files smaller, or removes or moves entries.
#[derive(Debug)]
pub(super) struct Shrinking(
    #[expect(dead_code, reason = "held until the change is done")] OwnedRwLockWriteGuard<()>,
);

/// Bytes that were counted as added. They are subtracted when this is dropped, unless [`Self::keep`] is called.
#[must_use]
#[derive(Debug)]
pub(super) struct DiskCharge<'q> {
    usage: &'q DiskUsage,
    bytes: u64,
}

impl DiskQuota {
    /// Waits until files can grow.
    pub(super) async fn growing(&self) -> Growing {
        Growing(Arc::clone(&self.changing).read_owned().await)
    }

    /// Waits until files can shrink, disappear or move.
    pub(super) async fn shrinking(&self) -> Shrinking {
        let guard = Arc::clone(&self.changing).write_owned().await;
        self.usage.shrunk.fetch_add(1, Ordering::SeqCst);
        Shrinking(guard)
    }

    /// Counts bytes that are about to be added. `None` if they exceed the limit.
    pub(super) fn add(&self, bytes: u64) -> Option<DiskCharge<'_>> {
        let limit = self.limit.as_u64();
        let add = |added: u64| added.checked_add(bytes).filter(|added| *added <= limit);
        let before = self.usage.added.fetch_update(Ordering::SeqCst, Ordering::SeqCst, add);
        if before.is_err() || before.is_ok_and(|before| before + bytes > limit / 2) {
            self.measure_in_background();
        }
        before.ok().map(|_| DiskCharge { usage: &self.usage, bytes })
    }

    /// Counts bytes that were removed.
    pub(super) fn remove(&self, bytes: u64) {
        self.usage.subtract(bytes);
    }

    fn measure_in_background(&self) {
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        if !self.measuring.start() {
            return;
        }
        let quota = self.clone();
        runtime.spawn(async move {
            let start = quota.snapshot().await;
            let measured = tokio::task::spawn_blocking(move || {
                let began = Instant::now();
                quota.measure(&start);
                quota.measuring.end(began.elapsed());
            });
            let _ = measured.await; // it can't panic
        });
    }

    async fn snapshot(&self) -> UsageSnapshot {
        // While nothing shrinks, disappears or moves.
        let _growing = self.growing().await;
        UsageSnapshot {
            added: self.usage.added.load(Ordering::SeqCst),
            shrunk: self.usage.shrunk.load(Ordering::SeqCst),
        }
    }

    /// Corrects the usage by the contents of the directories. What was added after the snapshot stays counted.
    fn measure(&self, before: &UsageSnapshot) {
        let Ok(content) = content_size(&self.directories, before.added, MAX_MEASURED_ENTRIES) else { return };
        // A correction by another configuration must not be repeated.
        let (current, next) = (before.shrunk, before.shrunk + 1);
        if self.usage.shrunk.compare_exchange(current, next, Ordering::SeqCst, Ordering::SeqCst).is_ok() {
            self.usage.subtract(before.added.saturating_sub(content));
        }
    }
}

impl std::fmt::Display for DiskQuota {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.limit.display().iec().fmt(f)
    }
}

impl DiskUsage {
    fn subtract(&self, bytes: u64) {
        let subtract = |added: u64| Some(added.saturating_sub(bytes));
        let _ = self.added.fetch_update(Ordering::SeqCst, Ordering::SeqCst, subtract);
    }
}

impl Measuring {
    /// False if a measurement is running, or it is too early for the next one.
    fn start(&self) -> bool {
        let measurable_at = *self.measurable_at.lock().unwrap_or_else(PoisonError::into_inner);
        measurable_at.is_none_or(|time| Instant::now() >= time)
            && !self.is_running.swap(true, Ordering::SeqCst)
    }

    fn end(&self, took: Duration) {
        let pause = MEASURING_PAUSE.max(took.saturating_mul(PAUSE_FACTOR));
        *self.measurable_at.lock().unwrap_or_else(PoisonError::into_inner) =
            Instant::now().checked_add(pause);
        self.is_running.store(false, Ordering::SeqCst);
    }
}

impl DiskCharge<'_> {
    /// Keeps all of the bytes.
    pub(super) fn keep(mut self) {
        self.bytes = 0;
    }

    /// Keeps this many of the bytes.
    pub(super) fn keep_part(mut self, bytes: u64) {
        self.bytes = self.bytes.saturating_sub(bytes);
    }
}

impl Drop for DiskCharge<'_> {
    fn drop(&mut self) {
        self.usage.subtract(self.bytes);
    }
}

/// The size of an entry that a change removes, with its charge. A file with other names remains.
pub(super) fn entry_size(metadata: &cap_primitives::fs::Metadata) -> u64 {
    use cap_primitives::fs::MetadataExt as _;

    let content = if metadata.is_file() && metadata.nlink() == 1 { metadata.len() } else { 0 };
    NEW_ENTRY_BYTES.saturating_add(content)
}

/// The size of everything in the directories, or at least `enough`, if that is less.
///
/// # Errors
/// A directory can't be read, or there are too many entries, or too many directories.
fn content_size(directories: &[PathBuf], enough: u64, max_entries: usize) -> io::Result<u64> {
    let mut size: u64 = 0;
    let mut entries = 0;
    let mut waiting: Vec<PathBuf> = directories.to_vec();
    let mut waiting_bytes = 0;
    while let Some(directory) = waiting.pop() {
        waiting_bytes = usize::saturating_sub(waiting_bytes, directory.as_os_str().len());
        let Some(listing) = if_present(fs::read_dir(&directory))? else { continue };
        for entry in listing {
            entries += 1;
            if entries > max_entries {
                return Err(io::Error::other("too many entries"));
            }
            let path = entry?.path();
            let Some(found) = if_present(fs::symlink_metadata(&path))? else { continue };
            size = size.saturating_add(NEW_ENTRY_BYTES);
            if found.is_file() {
                size = size.saturating_add(found.len());
            } else if found.is_dir() {
                waiting_bytes += path.as_os_str().len();
                if waiting_bytes > MAX_WAITING_BYTES {
                    return Err(io::Error::other("too many directories"));
                }
                waiting.push(path);
            }
            if size >= enough {
                return Ok(size);
            }
        }
    }
    Ok(size)
}

/// `None` if it was removed in the meantime.
fn if_present<T>(result: io::Result<T>) -> io::Result<Option<T>> {
    match result {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        result => result.map(Some),
    }
}

#[cfg(test)]
impl DiskQuota {
    /// The quota of a plugin with this limit and directory.
    pub(super) fn of_directory(limit: u64, directory: &std::path::Path) -> Self {
        let directories = [directory.to_owned()].into();
        let limit = ByteSize::b(limit);
        let (usage, changing, measuring) = Default::default();
        Self { usage, changing, measuring, limit, directories }
    }

    pub(super) fn added(&self) -> u64 {
        self.usage.added.load(Ordering::SeqCst)
    }
}

#[cfg(test)]
mod tests;
