//! Opens a directory without following symlinks, wherever in its path they are.
//!
//! A user who can write to a parent directory can put a symlink into the path at any time, also between a check of the
//! path and opening it. Here the kernel refuses symlinks while it opens the path.

use std::fs::File;
use std::io;
use std::path::{Component, Path};

use rustix::fs::{CWD, Mode, OFlags, openat};
use rustix::io::Errno;

/// Opens the directory for lookups, not for reading: that needs the fewest permissions.
#[cfg(target_os = "linux")]
const DIRECTORY_FLAGS: OFlags = OFlags::DIRECTORY.union(OFlags::PATH).union(OFlags::CLOEXEC);
#[cfg(not(target_os = "linux"))]
const DIRECTORY_FLAGS: OFlags = OFlags::DIRECTORY.union(OFlags::CLOEXEC);

/// Opens a directory by its absolute path.
///
/// # Errors
/// The path contains a symlink, or the directory can't be opened.
pub(super) fn open_without_symlinks(path: &Path) -> io::Result<File> {
    #[cfg(target_os = "linux")]
    {
        use rustix::fs::{ResolveFlags, openat2};

        match openat2(CWD, path, DIRECTORY_FLAGS, Mode::empty(), ResolveFlags::NO_SYMLINKS) {
            // Kernels before 5.6 don't have the call, and some containers deny it.
            Err(Errno::NOSYS | Errno::PERM) => {}
            opened => return Ok(opened?.into()),
        }
    }
    open_step_by_step(path)
}

/// Opens each directory of the path in the one before.
fn open_step_by_step(path: &Path) -> io::Result<File> {
    let mut opened = openat(CWD, "/", DIRECTORY_FLAGS, Mode::empty())?;
    for component in path.components() {
        match component {
            Component::RootDir => {}
            Component::Normal(name) => {
                opened = openat(&opened, name, DIRECTORY_FLAGS | OFlags::NOFOLLOW, Mode::empty())?;
            }
            // A granted path is canonical.
            Component::Prefix(_) | Component::CurDir | Component::ParentDir => {
                return Err(Errno::INVAL.into());
            }
        }
    }
    Ok(opened.into())
}

#[cfg(test)]
mod tests;
