//! The digests of files that were read before, so that a start needn't read and hash unchanged components.
//!
//! A file counts as unchanged if its device, inode, length and times are those of the earlier read, and it had settled
//! by then. Programs can change a file without changing its length and modification time, but not without changing
//! its change time: the system sets that, and setting the system's clock takes root. The list is in the directory of the
//! code cache, which only the gateway's user can write to, and whose code the gateway runs; it is not a weaker link than
//! that. Only the cached description of a component is looked up by it; the file itself is read before it is compiled.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::fs;
use std::hash::{BuildHasher as _, RandomState};
use std::io::{self, Read as _, Write as _};
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use moongate_model::names::Digest;

use super::cache::{self, CodeCache, UNFINISHED_EXTENSION};
use super::file::FileStamp;

/// The name of the list.
pub(super) const LIST_NAME: &str = "files.digests";
/// The maximum number of files in the list.
const MAX_FILES: usize = 10_000;
/// The largest list that is read, in bytes.
const MAX_LIST_BYTES: u64 = 4 << 20;

/// The list of known files, in the directory of the code cache.
#[derive(Debug)]
pub(crate) struct KnownFiles {
    cache: Arc<CodeCache>,
    known: Mutex<FileDigests>,
}

/// The latest known version of each file.
#[derive(Debug, Default)]
struct FileDigests {
    /// By device and inode.
    by_inode: HashMap<(u64, u64), (FileStamp, Digest)>,
    /// True if it differs from the list in the directory.
    is_changed: bool,
}

impl KnownFiles {
    /// Reads the list. A damaged one counts as empty.
    pub(crate) fn open(cache: &Arc<CodeCache>) -> Self {
        let by_inode = read_list(cache);
        Self { cache: Arc::clone(cache), known: Mutex::new(FileDigests { by_inode, is_changed: false }) }
    }

    /// The digest of the file at this path and its length, if it hasn't changed since it was read.
    pub(crate) fn find(&self, path: &Path) -> Option<(Digest, u64)> {
        let meta = fs::metadata(path).ok().filter(fs::Metadata::is_file)?;
        let stamp = FileStamp::of(&meta);
        let known = self.lock();
        let (known_stamp, digest) = known.by_inode.get(&stamp.inode())?;
        (*known_stamp == stamp).then_some((*digest, meta.len()))
    }

    /// Adds a file that was read and had settled.
    pub(crate) fn add(&self, stamp: FileStamp, digest: Digest) {
        let mut known = self.lock();
        let before = known.by_inode.insert(stamp.inode(), (stamp, digest));
        known.is_changed |= before != Some((stamp, digest));
    }

    /// Writes the list if it has changed. Without it, files are read again at the next start.
    pub(crate) fn save(&self) {
        let mut known = self.lock();
        if !std::mem::take(&mut known.is_changed) {
            return;
        }
        // Another gateway may have added files.
        for (inode, file) in read_list(&self.cache) {
            if known.by_inode.len() < MAX_FILES {
                known.by_inode.entry(inode).or_insert(file);
            }
        }
        let text = list_text(known.by_inode.values());
        drop(known);
        if let Err(error) = self.write(&text) {
            tracing::debug!(%error, "can't store the digests of files");
        }
    }

    fn write(&self, text: &str) -> io::Result<()> {
        let dir = self.cache.dir();
        let unfinished =
            format!("{LIST_NAME}.{:016x}{UNFINISHED_EXTENSION}", RandomState::new().hash_one(text));
        let mut file = dir.create_file(&unfinished)?;
        // Not synced: a torn list doesn't match its checksum.
        let written = writeln!(file, "{}", Digest::of(text.as_bytes()));
        let written = written.and_then(|()| file.write_all(text.as_bytes()));
        written
            .and_then(|()| dir.rename(&unfinished, LIST_NAME))
            .inspect_err(|_| drop(dir.remove(&unfinished)))
    }

    fn lock(&self) -> MutexGuard<'_, FileDigests> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn list_text<'a>(files: impl Iterator<Item = &'a (FileStamp, Digest)>) -> String {
    let mut text = String::new();
    for (stamp, digest) in files.take(MAX_FILES) {
        let _ = writeln!(text, "{digest} {stamp}");
    }
    text
}

fn read_list(cache: &CodeCache) -> HashMap<(u64, u64), (FileStamp, Digest)> {
    let read = || {
        let (file, _) = cache::open_entry(&cache.dir(), LIST_NAME).ok()?;
        let mut content = String::new();
        file.take(MAX_LIST_BYTES).read_to_string(&mut content).ok()?;
        let (checksum, text) = content.split_once('\n')?;
        if checksum.parse() != Ok(Digest::of(text.as_bytes())) {
            return None;
        }
        let files = text.lines().filter_map(|line| {
            let (digest, stamp) = line.split_once(' ')?;
            let stamp: FileStamp = stamp.parse().ok()?;
            Some((stamp.inode(), (stamp, digest.parse().ok()?)))
        });
        Some(files.collect())
    };
    read().unwrap_or_default()
}

#[cfg(test)]
mod tests;
