//! The index: the content of the next commit, and facts to recognise unchanged files (gitformat-index, versions 2 to 4).

use std::fs;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use bstr::{BStr, BString, ByteSlice as _};
use sha1::{Digest as _, Sha1};

use crate::fault::{GitError, GitResult};
use crate::files::{self, LockedFile};
use crate::object::{Mode, ObjectId};

/// The size of an entry without its path and optional flags.
const ENTRY_BYTES: usize = 62;

/// A time as seconds and nanoseconds.
pub(crate) type FileTime = (u32, u32);

/// Facts about a file when its content was last compared.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct FileFacts {
    pub(crate) modified: FileTime,
    pub(crate) size: u32,
    /// Facts that the sandbox doesn't have: the change time, device, inode, user and group.
    others: [u32; 6],
}

impl FileFacts {
    /// The facts that the sandbox has. Git compares the file again if it needs the others.
    pub(crate) fn of(found: &fs::Metadata) -> Self {
        let size = u32::try_from(found.len() & 0xffff_ffff).unwrap_or_default();
        Self { modified: modified(found), size, others: [0; 6] }
    }

    /// Returns `true` if the file has the same time and size.
    pub(crate) fn fits(&self, found: &fs::Metadata) -> bool {
        let now = Self::of(found);
        self.modified == now.modified && self.size == now.size
    }
}

/// The modification time of a file.
fn modified(found: &fs::Metadata) -> FileTime {
    let time =
        found.modified().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok()).unwrap_or_default();
    (u32::try_from(time.as_secs()).unwrap_or_default(), time.subsec_nanos())
}

/// An entry of the index.
#[derive(Debug, Clone)]
pub(crate) struct IndexEntry {
    pub(crate) path: BString,
    pub(crate) mode: Mode,
    pub(crate) id: ObjectId,
    /// 0, or in a conflict the version: 1 of the common ancestor, 2 of the current branch, 3 of the other one.
    pub(crate) stage: u8,
    pub(crate) facts: FileFacts,
    /// The user promises that the file is unchanged.
    pub(crate) assume_valid: bool,
    /// The file is to be added, but its content isn't.
    pub(crate) intent_to_add: bool,
    /// The file isn't in the working tree of a sparse checkout.
    pub(crate) skip_worktree: bool,
    /// This call has compared the content, so the facts hold although the file may be as new as the index.
    is_fresh: bool,
}

impl IndexEntry {
    pub(crate) fn new(path: BString, mode: Mode, id: ObjectId) -> Self {
        Self {
            path,
            mode,
            id,
            stage: 0,
            facts: FileFacts::default(),
            assume_valid: false,
            intent_to_add: false,
            skip_worktree: false,
            is_fresh: false,
        }
    }

    /// Records the facts about a file whose content this call has just compared or written.
    pub(crate) fn record(&mut self, found: &fs::Metadata) {
        self.facts = FileFacts::of(found);
        self.is_fresh = true;
    }
}

/// The index of a repository.
#[derive(Debug)]
pub(crate) struct Index {
    path: PathBuf,
    /// The modification time of the file.
    written: FileTime,
    /// Sorted by path and stage.
    entries: Vec<IndexEntry>,
}

impl Index {
    /// Reads the index. A missing file is an empty index.
    pub(crate) fn read(path: &Path) -> GitResult<Self> {
        let written = files::metadata(path)?.map(|found| modified(&found)).unwrap_or_default();
        let entries = match files::read(path)? {
            Some(bytes) => parse(&bytes)?,
            None => Vec::new(),
        };
        Ok(Self { path: path.to_owned(), written, entries })
    }

    pub(crate) fn entries(&self) -> &[IndexEntry] {
        &self.entries
    }

    /// The position of the entry with this path and stage, or where it would be.
    fn position(&self, path: &BStr, stage: u8) -> Result<usize, usize> {
        self.entries.binary_search_by(|entry| (entry.path.as_bstr(), entry.stage).cmp(&(path, stage)))
    }

    /// The entry with this path and stage.
    pub(crate) fn get(&self, path: &BStr, stage: u8) -> Option<&IndexEntry> {
        self.position(path, stage).ok().map(|at| &self.entries[at])
    }

    /// All stages of a path.
    pub(crate) fn stages(&self, path: &BStr) -> &[IndexEntry] {
        let start = self.position(path, 0).unwrap_or_else(|at| at);
        let count = self.entries[start..].iter().take_while(|entry| entry.path == path).count();
        &self.entries[start..start + count]
    }

    /// Returns `true` if there are entries below this directory.
    pub(crate) fn has_below(&self, directory: &BStr) -> bool {
        let prefix = [directory.as_bytes(), b"/"].concat();
        let at = self.entries.partition_point(|entry| entry.path.as_slice() < prefix.as_slice());
        self.entries.get(at).is_some_and(|entry| entry.path.starts_with(&prefix))
    }

    /// Returns `true` if the file may have changed after its facts were recorded, within the resolution of its time.
    pub(crate) fn is_racy(&self, entry: &IndexEntry) -> bool {
        entry.facts.modified >= self.written
    }

    /// Replaces the entries of a path. Entries that can't exist at the same time, such as `a` for `a/b`, are removed.
    pub(crate) fn insert(&mut self, entry: IndexEntry) {
        self.remove(entry.path.as_bstr());
        let below = [entry.path.as_bytes(), b"/"].concat();
        let is_above = |other: &BString| {
            entry.path.strip_prefix(other.as_slice()).is_some_and(|rest| rest.starts_with(b"/"))
        };
        self.entries.retain(|other| !other.path.starts_with(&below) && !is_above(&other.path));
        let at = self.position(entry.path.as_bstr(), entry.stage).unwrap_or_else(|at| at);
        self.entries.insert(at, entry);
    }

    /// Removes all stages of a path. Returns whether there were any.
    pub(crate) fn remove(&mut self, path: &BStr) -> bool {
        let count = self.stages(path).len();
        let start = self.position(path, 0).unwrap_or_else(|at| at);
        self.entries.drain(start..start + count);
        count > 0
    }

    /// Replaces all entries.
    pub(crate) fn set(&mut self, mut entries: Vec<IndexEntry>) {
        entries.sort_by(|left, right| (&left.path, left.stage).cmp(&(&right.path, right.stage)));
        self.entries = entries;
    }

    /// Locks the index file until the value is dropped.
    pub(crate) fn lock(&self) -> GitResult<LockedFile> {
        LockedFile::lock(&self.path)
    }

    /// Writes the index. Cached trees and other optional extensions are left out; Git creates them again.
    pub(crate) fn write(&self, lock: LockedFile) -> GitResult<()> {
        let extended = |entry: &IndexEntry| entry.intent_to_add || entry.skip_worktree;
        let version: u32 = if self.entries.iter().any(extended) { 3 } else { 2 };
        let mut bytes = b"DIRC".to_vec();
        bytes.extend(version.to_be_bytes());
        bytes.extend(u32::try_from(self.entries.len()).unwrap_or(u32::MAX).to_be_bytes());
        for entry in &self.entries {
            let start = bytes.len();
            let [changed, changed_nanos, device, inode, user, group] = entry.facts.others;
            // In the new file, the race would be forgotten; a size of 0 makes Git compare the content.
            let size = if self.is_racy(entry) && !entry.is_fresh { 0 } else { entry.facts.size };
            let (seconds, nanos) = entry.facts.modified;
            for number in
                [changed, changed_nanos, seconds, nanos, device, inode, entry.mode.0, user, group, size]
            {
                bytes.extend(number.to_be_bytes());
            }
            bytes.extend(entry.id.0);
            let length = u16::try_from(entry.path.len()).unwrap_or(u16::MAX).min(0xfff);
            let flags = length
                | u16::from(entry.stage) << 12
                | u16::from(extended(entry)) << 14
                | u16::from(entry.assume_valid) << 15;
            bytes.extend(flags.to_be_bytes());
            if extended(entry) {
                let flags = u16::from(entry.intent_to_add) << 13 | u16::from(entry.skip_worktree) << 14;
                bytes.extend(flags.to_be_bytes());
            }
            bytes.extend_from_slice(&entry.path);
            let padding = 8 - (bytes.len() - start) % 8;
            bytes.resize(bytes.len() + padding, 0);
        }
        let digest = Sha1::digest(&bytes);
        bytes.extend_from_slice(&digest);
        lock.replace(&bytes)
    }
}

fn parse(bytes: &[u8]) -> GitResult<Vec<IndexEntry>> {
    read_entries(bytes).unwrap_or_else(|| Err(GitError::new("the index is corrupt")))
}

/// Reads all entries. `None` if the file ends early.
fn read_entries(bytes: &[u8]) -> Option<GitResult<Vec<IndexEntry>>> {
    let number = |at: usize| Some(u32::from_be_bytes(bytes.get(at..at + 4)?.try_into().ok()?));
    let short = |at: usize| Some(u16::from_be_bytes(bytes.get(at..at + 2)?.try_into().ok()?));
    let version = number(4)?;
    if bytes.get(..4)? != b"DIRC" || !(2..=4).contains(&version) {
        return Some(Err(GitError::new(format_args!("the index has the unsupported version {version}"))));
    }
    let count = number(8)?;
    let mut entries: Vec<IndexEntry> = Vec::new();
    let mut at = 12;
    for _ in 0..count {
        let start = at;
        let mut numbers = [0; 10];
        for (index, value) in numbers.iter_mut().enumerate() {
            *value = number(start + index * 4)?;
        }
        let [changed, changed_nanos, seconds, nanos, device, inode, mode, user, group, size] = numbers;
        let id = ObjectId::read(bytes.get(start + 40..)?)?;
        let flags = short(start + 60)?;
        at = start + ENTRY_BYTES;
        let mut more = 0;
        if flags & 0x4000 != 0 {
            more = short(at)?;
            at += 2;
        }
        let path = if version == 4 {
            let mut strip = 0_usize;
            loop {
                let byte = *bytes.get(at)?;
                at += 1;
                strip = strip.checked_mul(128)? | usize::from(byte & 0x7f);
                if byte & 0x80 == 0 {
                    break;
                }
                strip += 1;
            }
            let end = at + bytes.get(at..)?.find_byte(0)?;
            let previous = entries.last().map(|entry| entry.path.as_slice()).unwrap_or_default();
            let kept = previous.get(..previous.len().checked_sub(strip)?)?;
            let path = [kept, &bytes[at..end]].concat();
            at = end + 1;
            path
        } else {
            let end = at + bytes.get(at..)?.find_byte(0)?;
            let path = bytes[at..end].to_vec();
            at = end + (8 - (end - start) % 8);
            path
        };
        entries.push(IndexEntry {
            path: path.into(),
            mode: Mode(mode),
            id,
            stage: u8::try_from(flags >> 12 & 3).ok()?,
            facts: FileFacts {
                modified: (seconds, nanos),
                size,
                others: [changed, changed_nanos, device, inode, user, group],
            },
            assume_valid: flags & 0x8000 != 0,
            intent_to_add: more & 0x2000 != 0,
            skip_worktree: more & 0x4000 != 0,
            is_fresh: false,
        });
    }
    while let Some(name) = bytes.get(at..at + 4).filter(|_| at + 20 < bytes.len()) {
        // Without the extensions in small letters, the entries can't be understood.
        if name[0].is_ascii_lowercase() {
            let name = name.as_bstr();
            return Some(Err(GitError::new(format_args!(
                "the index has the unsupported extension `{name}`"
            ))));
        }
        at = at.checked_add(8)?.checked_add(number(at + 4)? as usize)?;
    }
    Some(Ok(entries))
}

#[cfg(test)]
mod tests;
