//! Identities of files: directories that are mounted in two places, and hard links.
//!
//! Paths reveal neither. Two paths to a mount have a directory in common. A hard link can only be found by searching
//! the granted directory, and only files with more than one name are searched for.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// The identity of a file, independent of its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FileIdentity {
    device: u64,
    inode: u64,
}

/// The identities of a file and of its parent directories.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PathIdentities {
    /// The identity of the file itself. `None` means that it doesn't exist.
    own: Option<FileIdentity>,
    /// The identities of its parent directories.
    parents: Vec<FileIdentity>,
}

/// The result of searching a directory for hard links.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum SearchResult {
    /// A hard link, and the index of the wanted file.
    Found(PathBuf, usize),
    Nothing,
    /// The directory has too many entries, or can't be read.
    Incomplete,
}

impl PathIdentities {
    /// The identities of a resolved path.
    pub(crate) fn of(end: &Path) -> Self {
        let parents = end.ancestors().skip(1).filter_map(identity).collect();
        Self { own: identity(end), parents }
    }

    /// Reports whether one contains the other, or they are the same.
    pub(crate) fn overlap(&self, other: &Self) -> bool {
        let within = |inner: &Self, outer: &Self| {
            outer.own.is_some_and(|own| inner.own == Some(own) || inner.parents.contains(&own))
        };
        within(self, other) || within(other, self)
    }
}

/// The identity of a regular file with more than one name.
pub(crate) fn linked_file(path: &Path) -> Option<FileIdentity> {
    fs::metadata(path)
        .ok()
        .filter(|found| found.is_file() && link_count(found) > 1)
        .and_then(|found| identity_of(&found))
}

/// The files of a directory that have more than one name.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct LinkedFiles {
    pub(crate) files: Vec<(FileIdentity, OsString)>,
    /// True if there can be more: the directory has too many entries, or can't be read.
    pub(crate) is_incomplete: bool,
}

/// Lists the regular files with more than one name among the first `max_entries` entries of a directory. The gateway
/// creates no subdirectories in the directories that this is used for.
pub(crate) fn linked_files_in(directory: &Path, max_entries: usize) -> LinkedFiles {
    let mut listed = LinkedFiles::default();
    let is_gone = |error: &io::Error| error.kind() == io::ErrorKind::NotFound;
    let entries = match fs::read_dir(directory) {
        Ok(entries) => entries,
        Err(error) => return LinkedFiles { is_incomplete: !is_gone(&error), ..listed },
    };
    for (at, entry) in entries.enumerate() {
        if at >= max_entries {
            listed.is_incomplete = true;
            break;
        }
        // The entry itself: nothing follows symlinks here.
        match entry.and_then(|entry| entry.metadata().map(|found| (entry.file_name(), found))) {
            Ok((name, found)) if found.is_file() && link_count(&found) > 1 => {
                listed.files.extend(identity_of(&found).map(|its| (its, name)));
            }
            Ok(_) => {}
            Err(error) => listed.is_incomplete |= !is_gone(&error),
        }
    }
    listed
}

fn identity(path: &Path) -> Option<FileIdentity> {
    fs::metadata(path).ok().and_then(|found| identity_of(&found))
}

/// Searches `dir` and its subdirectories for one of `wanted`, up to `max_entries` entries.
pub(crate) fn find_linked(dir: &Path, wanted: &[FileIdentity], max_entries: usize) -> SearchResult {
    let mut left = max_entries;
    let mut directories = vec![dir.to_owned()];
    while let Some(directory) = directories.pop() {
        let Ok(entries) = fs::read_dir(&directory) else { continue }; // a plugin can't read it either
        for entry in entries {
            left = match left.checked_sub(1) {
                Some(left) => left,
                None => return SearchResult::Incomplete,
            };
            let Ok(entry) = entry else { return SearchResult::Incomplete };
            match entry.file_type() {
                Ok(kind) if kind.is_dir() => directories.push(entry.path()),
                Ok(kind) if kind.is_file() && wanted.iter().any(|its| can_be(&entry, *its)) => {
                    let found = identity(&entry.path());
                    if let Some(at) = wanted.iter().position(|its| Some(*its) == found) {
                        return SearchResult::Found(entry.path(), at);
                    }
                }
                Ok(_) | Err(_) => {}
            }
        }
    }
    SearchResult::Nothing
}

#[cfg(unix)]
fn identity_of(found: &fs::Metadata) -> Option<FileIdentity> {
    use std::os::unix::fs::MetadataExt as _;
    // Some file systems have no inode numbers.
    (found.ino() != 0).then(|| FileIdentity { device: found.dev(), inode: found.ino() })
}

#[cfg(unix)]
fn link_count(found: &fs::Metadata) -> u64 {
    std::os::unix::fs::MetadataExt::nlink(found)
}

/// Reading the inode number from the directory entry costs nothing.
#[cfg(unix)]
fn can_be(entry: &fs::DirEntry, wanted: FileIdentity) -> bool {
    std::os::unix::fs::DirEntryExt::ino(entry) == wanted.inode
}

#[cfg(not(unix))]
fn identity_of(_: &fs::Metadata) -> Option<FileIdentity> {
    None
}

#[cfg(not(unix))]
fn link_count(_: &fs::Metadata) -> u64 {
    1
}

#[cfg(not(unix))]
fn can_be(_: &fs::DirEntry, _: FileIdentity) -> bool {
    true
}
