//! Other ways to the same file: a directory that is mounted in two places, and hard links.
//!
//! Neither shows in a path. A mount is found because the directories on two ways are one and the same; a hard link only
//! by looking through the granted directory, which is done where the file says that it has more than one name.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// What a file is, whatever it is called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::config) struct Identity {
    device: u64,
    inode: u64,
}

/// The identities on the way to a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::config) struct Identities {
    /// Its own; none where nothing is there.
    own: Option<Identity>,
    /// Those of the directories that it is in.
    above: Vec<Identity>,
}

/// What looking through a directory came to.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::config) enum Search {
    /// Here is another name, and this is which of the files that were looked for has it.
    Found(PathBuf, usize),
    Nothing,
    /// There is too much to look through, or it can't be read.
    InPart,
}

impl Identities {
    /// Of what a path without links comes to.
    pub(in crate::config) fn of(end: &Path) -> Self {
        let above = end.ancestors().skip(1).filter_map(identity).collect();
        Self { own: identity(end), above }
    }

    /// Does one hold the other, or are they the same?
    pub(in crate::config) fn overlap(&self, other: &Self) -> bool {
        let within = |inner: &Self, outer: &Self| {
            outer.own.is_some_and(|own| inner.own == Some(own) || inner.above.contains(&own))
        };
        within(self, other) || within(other, self)
    }
}

/// The file's identity, if it is a regular one that has more names than one.
pub(in crate::config) fn of_several_names(path: &Path) -> Option<Identity> {
    fs::metadata(path).ok().filter(|found| found.is_file() && names(found) > 1).and_then(|found| of(&found))
}

/// What has more names than one in a folder.
#[derive(Debug, Default, PartialEq, Eq)]
pub(in crate::config) struct Listed {
    /// Its regular files that do.
    pub(in crate::config) files: Vec<(Identity, OsString)>,
    /// Whether it may hold more of them: there are too many entries, or it can't be read.
    pub(in crate::config) in_part: bool,
}

/// Lists the files of several names in a folder, of its first `most` entries. A database and compiled code lie side by
/// side with what belongs to them: the gateway makes no folders there.
pub(in crate::config) fn files_of_several_names(folder: &Path, most: usize) -> Listed {
    let mut listed = Listed::default();
    let is_gone = |error: &io::Error| error.kind() == io::ErrorKind::NotFound;
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) => return Listed { in_part: !is_gone(&error), ..listed },
    };
    for (at, entry) in entries.enumerate() {
        if at >= most {
            listed.in_part = true;
            break;
        }
        // The entry itself: a link is followed by nobody here.
        match entry.and_then(|entry| entry.metadata().map(|found| (entry.file_name(), found))) {
            Ok((name, found)) if found.is_file() && names(&found) > 1 => {
                listed.files.extend(of(&found).map(|its| (its, name)));
            }
            Ok(_) => {}
            Err(error) => listed.in_part |= !is_gone(&error),
        }
    }
    listed
}

fn identity(path: &Path) -> Option<Identity> {
    fs::metadata(path).ok().and_then(|found| of(&found))
}

/// Looks through `dir` for one of `wanted`, past no more than `most` entries.
pub(in crate::config) fn search(dir: &Path, wanted: &[Identity], most: usize) -> Search {
    let mut left = most;
    let mut folders = vec![dir.to_owned()];
    while let Some(folder) = folders.pop() {
        let Ok(entries) = fs::read_dir(&folder) else { continue }; // nor can a plugin
        for entry in entries {
            left = match left.checked_sub(1) {
                Some(left) => left,
                None => return Search::InPart,
            };
            let Ok(entry) = entry else { return Search::InPart };
            match entry.file_type() {
                Ok(kind) if kind.is_dir() => folders.push(entry.path()),
                Ok(kind) if kind.is_file() && wanted.iter().any(|its| may_be(&entry, *its)) => {
                    let found = identity(&entry.path());
                    if let Some(at) = wanted.iter().position(|its| Some(*its) == found) {
                        return Search::Found(entry.path(), at);
                    }
                }
                Ok(_) | Err(_) => {}
            }
        }
    }
    Search::Nothing
}

#[cfg(unix)]
fn of(found: &fs::Metadata) -> Option<Identity> {
    use std::os::unix::fs::MetadataExt as _;
    // Some file systems don't number their files.
    (found.ino() != 0).then(|| Identity { device: found.dev(), inode: found.ino() })
}

#[cfg(unix)]
fn names(found: &fs::Metadata) -> u64 {
    std::os::unix::fs::MetadataExt::nlink(found)
}

/// What the directory itself says costs nothing.
#[cfg(unix)]
fn may_be(entry: &fs::DirEntry, wanted: Identity) -> bool {
    std::os::unix::fs::DirEntryExt::ino(entry) == wanted.inode
}

#[cfg(not(unix))]
fn of(_: &fs::Metadata) -> Option<Identity> {
    None
}

#[cfg(not(unix))]
fn names(_: &fs::Metadata) -> u64 {
    1
}

#[cfg(not(unix))]
fn may_be(_: &fs::DirEntry, _: Identity) -> bool {
    true
}
