//! Probing a file: its stamp, which changes whenever its content may have changed, and the path that led to it.
//!
//! The path matters because a file can change without any operation on it: a symlink gets another target, or a directory
//! is renamed and another takes its place. So a probe follows the path step by step, like the system does, and records
//! each name and the directory that contains it.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs::{self, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Component, Path, PathBuf};
use std::time::{Duration, SystemTime};

/// The number of symlinks that Linux follows in one path.
const MAX_SYMLINKS: usize = 40;

/// The result of probing a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::supervisor) struct FileProbe {
    pub(super) stamp: FileStamp,
    /// In the order of the path. The last one is the file itself, or the first name that doesn't exist.
    pub(super) steps: Vec<PathStep>,
    /// The last change to the file, or to a symlink on the path, by the file system's clock.
    pub(super) changed_at: Option<SystemTime>,
}

/// Distinguishes contents of a file, as far as possible without reading it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FileStamp {
    File {
        id: FileId,
        size: u64,
        modified: FileTime,
        changed: FileTime,
    },
    /// A directory, a pipe or a device.
    NotAFile,
    Missing,
    /// The system gives no information.
    Unreachable(io::ErrorKind),
}

/// Seconds and nanoseconds since 1970.
pub(super) type FileTime = (i64, i64);

/// Identifies a file or directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct FileId {
    pub(super) device: u64,
    pub(super) inode: u64,
}

/// A name in a directory, which is the unit of the system's reports.
pub(super) type FolderEntry = (FileId, OsString);

/// A step on the path to a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PathStep {
    /// The directory, by a path without symlinks.
    pub(super) folder: PathBuf,
    pub(super) id: FileId,
    /// The name that was looked up in the directory.
    pub(super) name: OsString,
    pub(super) kind: StepKind,
}

/// The kind of a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StepKind {
    /// A directory, which is rarely replaced.
    Folder,
    /// A symlink, the file, or a missing name: changes are expected.
    Leaf,
}

impl FileProbe {
    /// True if any of these is the file or on the path to it.
    pub(super) fn passes_through(&self, entries: &BTreeSet<FolderEntry>) -> bool {
        // There are few, and usually none.
        entries.iter().any(|(id, name)| self.steps.iter().any(|step| step.id == *id && step.name == *name))
    }

    /// True if the file may have changed since then, judging by its times.
    pub(super) fn may_be_newer_than(&self, then: SystemTime) -> bool {
        self.changed_at.is_some_and(|changed| {
            changed.checked_add(self.stamp.granularity()).is_none_or(|latest| latest >= then)
        })
    }

    /// The device of the directory that contains the file, or the last part of its path that exists.
    pub(super) fn device(&self) -> Option<u64> {
        self.steps.last().map(|step| step.id.device)
    }
}

impl FileStamp {
    fn of(path: &Path) -> Self {
        match fs::metadata(path) {
            Ok(metadata) if metadata.is_file() => Self::File {
                id: FileId::of(&metadata),
                size: metadata.len(),
                modified: (metadata.mtime(), metadata.mtime_nsec()),
                changed: (metadata.ctime(), metadata.ctime_nsec()),
            },
            Ok(_) => Self::NotAFile,
            Err(error) if is_absence(&error) => Self::Missing,
            Err(error) => Self::Unreachable(error.kind()),
        }
    }

    /// The interval within which two changes can have the same time.
    pub(super) fn granularity(&self) -> Duration {
        match self {
            // FAT has a resolution of two seconds, other old file systems of one second.
            Self::File { modified: (_, 0), changed: (_, 0), .. } => Duration::from_secs(2),
            // The kernel's clock for files ticks a hundred times a second or faster.
            Self::File { .. } | Self::NotAFile | Self::Missing | Self::Unreachable(_) => {
                Duration::from_millis(10)
            }
        }
    }
}

impl FileId {
    fn of(metadata: &Metadata) -> Self {
        Self { device: metadata.dev(), inode: metadata.ino() }
    }
}

/// Probes a file. Blocks, possibly for ever if the file system's server is gone.
pub(super) fn probe(path: &Path) -> FileProbe {
    let mut walk = PathWalk::default();
    // An error on the path also shows in the stamp.
    let _ = walk.follow(path);
    let stamp = FileStamp::of(path);
    if let FileStamp::File { changed, .. } = stamp {
        walk.record_change(changed);
    }
    let PathWalk { steps, changed_at } = walk;
    FileProbe { stamp, steps, changed_at }
}

#[derive(Debug, Default)]
struct PathWalk {
    steps: Vec<PathStep>,
    changed_at: Option<SystemTime>,
}

/// A component of a path that remains to be followed.
#[derive(Debug)]
enum NextComponent {
    Root,
    Parent,
    Name(OsString),
}

impl PathWalk {
    /// Follows the path as far as it exists.
    fn follow(&mut self, path: &Path) -> io::Result<()> {
        let mut ahead = Vec::new();
        push(&mut ahead, &std::path::absolute(path)?);
        let root = PathBuf::from("/");
        // The current directory, and those above it.
        let mut folders = vec![(root.clone(), FileId::of(&fs::symlink_metadata(root)?))];
        let mut symlinks = 0;
        while let Some(component) = ahead.pop() {
            let name = match component {
                NextComponent::Root => {
                    folders.truncate(1);
                    continue;
                }
                NextComponent::Parent => {
                    folders.truncate(folders.len().saturating_sub(1).max(1));
                    continue;
                }
                NextComponent::Name(name) => name,
            };
            let (folder, id) = folders.last().expect("the root is never left").clone();
            let target = folder.join(&name);
            self.steps.push(PathStep { folder, id, name, kind: StepKind::Leaf });
            let metadata = fs::symlink_metadata(&target)?;
            if metadata.is_symlink() {
                symlinks += 1;
                if symlinks > MAX_SYMLINKS {
                    return Ok(());
                }
                self.record_change((metadata.ctime(), metadata.ctime_nsec()));
                push(&mut ahead, &fs::read_link(&target)?);
            } else if metadata.is_dir() {
                self.steps.last_mut().expect("the step was just pushed").kind = StepKind::Folder;
                folders.push((target, FileId::of(&metadata)));
            } else {
                // The file, or a file where a directory is expected.
                return Ok(());
            }
        }
        Ok(())
    }

    fn record_change(&mut self, (seconds, nanoseconds): FileTime) {
        let since = u64::try_from(seconds).map_or(Duration::ZERO, Duration::from_secs);
        let nanoseconds = u64::try_from(nanoseconds).map_or(Duration::ZERO, Duration::from_nanos);
        let changed = SystemTime::UNIX_EPOCH.checked_add(since.saturating_add(nanoseconds));
        self.changed_at = self.changed_at.max(changed);
    }
}

/// Puts a path's components before all others.
fn push(ahead: &mut Vec<NextComponent>, path: &Path) {
    let at = ahead.len();
    ahead.extend(path.components().filter_map(|component| match component {
        Component::RootDir => Some(NextComponent::Root),
        Component::ParentDir => Some(NextComponent::Parent),
        Component::Normal(name) => Some(NextComponent::Name(name.to_owned())),
        Component::CurDir | Component::Prefix(_) => None,
    }));
    ahead[at..].reverse();
}

fn is_absence(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

#[cfg(test)]
mod tests;
