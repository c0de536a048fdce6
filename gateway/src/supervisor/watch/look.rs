//! One look at a file: what a change of it would change, and the way that led to it.
//!
//! The way matters because a file can change without anything happening to it: a link in its path is pointed elsewhere,
//! a folder is renamed and another one takes its place. So a look follows the path step by step, as the system does, and
//! notes each name that it went through and the folder that the name stands in.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs::{self, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Component, Path, PathBuf};
use std::time::{Duration, SystemTime};

/// As many links as Linux follows in one path.
const LINKS: usize = 40;

/// What came of looking at a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Look {
    pub(super) stamp: Stamp,
    /// In the order of the path; the last one is the file itself, or the first name that isn't there.
    pub(super) hops: Vec<Hop>,
    /// When the file, or a link on the way to it, was changed last, by the file system's clock.
    pub(super) changed_at: Option<SystemTime>,
}

/// What tells one content of a file from another, as far as the system says without reading it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stamp {
    /// A file.
    File { id: Id, size: u64, modified: Time, changed: Time },
    /// A folder, a pipe, a device: whatever happens in it, it is no file.
    NoFile,
    /// Nothing.
    NotThere,
    /// The system doesn't say.
    Unreachable(io::ErrorKind),
}

/// Seconds and nanoseconds since 1970.
pub(super) type Time = (i64, i64);

/// What the system tells files and folders apart by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Id {
    pub(super) device: u64,
    pub(super) inode: u64,
}

/// A name in a folder: what an event tells of.
pub(super) type Spot = (Id, OsString);

/// A step on the way to a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Hop {
    /// A folder without links in its path.
    pub(super) folder: PathBuf,
    pub(super) id: Id,
    /// The name that was looked for in it.
    pub(super) name: OsString,
    pub(super) found: Found,
}

/// What a name stood for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Found {
    /// A folder, which others rarely replace.
    Folder,
    /// A link, the file, or nothing yet: where changes are expected.
    Other,
}

impl Look {
    /// Is any of these on the way, or the file itself?
    pub(super) fn leads_through(&self, spots: &BTreeSet<Spot>) -> bool {
        // There are few, and mostly none.
        spots.iter().any(|(id, name)| self.hops.iter().any(|hop| hop.id == *id && hop.name == *name))
    }

    /// May the file have been changed since then, as far as its times tell?
    pub(super) fn may_be_newer_than(&self, then: SystemTime) -> bool {
        self.changed_at.is_some_and(|changed| {
            changed.checked_add(self.stamp.granularity()).is_none_or(|latest| latest >= then)
        })
    }
}

impl Stamp {
    fn of(path: &Path) -> Self {
        match fs::metadata(path) {
            Ok(metadata) if metadata.is_file() => Self::File {
                id: Id::of(&metadata),
                size: metadata.len(),
                modified: (metadata.mtime(), metadata.mtime_nsec()),
                changed: (metadata.ctime(), metadata.ctime_nsec()),
            },
            Ok(_) => Self::NoFile,
            Err(error) if is_absence(&error) => Self::NotThere,
            Err(error) => Self::Unreachable(error.kind()),
        }
    }

    /// How far apart two changes may be and yet have the same time.
    pub(super) fn granularity(&self) -> Duration {
        match self {
            // FAT counts in steps of two seconds, other old systems in seconds.
            Self::File { modified: (_, 0), changed: (_, 0), .. } => Duration::from_secs(2),
            // The kernel's clock for files ticks a hundred times a second, or faster.
            Self::File { .. } | Self::NoFile | Self::NotThere | Self::Unreachable(_) => {
                Duration::from_millis(10)
            }
        }
    }
}

impl Id {
    fn of(metadata: &Metadata) -> Self {
        Self { device: metadata.dev(), inode: metadata.ino() }
    }
}

/// Looks at a file. This blocks, and on a file system whose server is gone it may do so for ever.
pub(super) fn look(path: &Path) -> Look {
    let mut walk = Walk::default();
    // What went wrong on the way the stamp tells too.
    let _ = walk.along(path);
    let stamp = Stamp::of(path);
    if let Stamp::File { changed, .. } = stamp {
        walk.changed(changed);
    }
    let Walk { hops, changed_at } = walk;
    Look { stamp, hops, changed_at }
}

#[derive(Debug, Default)]
struct Walk {
    hops: Vec<Hop>,
    changed_at: Option<SystemTime>,
}

/// A part of a path.
#[derive(Debug)]
enum Step {
    Root,
    Up,
    Down(OsString),
}

impl Walk {
    /// Follows the path as far as it leads.
    fn along(&mut self, path: &Path) -> io::Result<()> {
        let mut ahead = Vec::new();
        push(&mut ahead, &std::path::absolute(path)?);
        let root = PathBuf::from("/");
        // The folder that the walk is in, and those above it.
        let mut folders = vec![(root.clone(), Id::of(&fs::symlink_metadata(root)?))];
        let mut links = 0;
        while let Some(step) = ahead.pop() {
            let name = match step {
                Step::Root => {
                    folders.truncate(1);
                    continue;
                }
                Step::Up => {
                    folders.truncate(folders.len().saturating_sub(1).max(1));
                    continue;
                }
                Step::Down(name) => name,
            };
            let (folder, id) = folders.last().expect("the root is never left").clone();
            let place = folder.join(&name);
            self.hops.push(Hop { folder, id, name, found: Found::Other });
            let metadata = fs::symlink_metadata(&place)?;
            if metadata.is_symlink() {
                links += 1;
                if links > LINKS {
                    return Ok(());
                }
                self.changed((metadata.ctime(), metadata.ctime_nsec()));
                push(&mut ahead, &fs::read_link(&place)?);
            } else if metadata.is_dir() {
                self.hops.last_mut().expect("it was pushed").found = Found::Folder;
                folders.push((place, Id::of(&metadata)));
            } else {
                // The file; or one where there should be a folder.
                return Ok(());
            }
        }
        Ok(())
    }

    fn changed(&mut self, (seconds, nanoseconds): Time) {
        let since = u64::try_from(seconds).map_or(Duration::ZERO, Duration::from_secs);
        let nanoseconds = u64::try_from(nanoseconds).map_or(Duration::ZERO, Duration::from_nanos);
        let changed = SystemTime::UNIX_EPOCH.checked_add(since.saturating_add(nanoseconds));
        self.changed_at = self.changed_at.max(changed);
    }
}

/// Puts a path's steps before all others.
fn push(ahead: &mut Vec<Step>, path: &Path) {
    let at = ahead.len();
    ahead.extend(path.components().filter_map(|component| match component {
        Component::RootDir => Some(Step::Root),
        Component::ParentDir => Some(Step::Up),
        Component::Normal(name) => Some(Step::Down(name.to_owned())),
        Component::CurDir | Component::Prefix(_) => None,
    }));
    ahead[at..].reverse();
}

fn is_absence(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

#[cfg(test)]
mod tests;
