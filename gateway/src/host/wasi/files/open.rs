//! Opening that never waits, and that gives nothing but files and directories.
//!
//! Looking first isn't enough: what was a file when it was looked at may be a pipe when it is opened. So whatever is
//! there is opened without waiting, and looked at again when it is open. The look before spares pipes and devices what
//! an opening does to them: waking who waits at the other end, say.
//!
//! Paths are resolved as WASI's own functions do it, by the library whose code theirs is: each step below the directory.

use std::fs;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::SystemTime;

use cap_fs_ext::{OpenOptionsFollowExt as _, OpenOptionsSyncExt as _};
use cap_primitives::fs::{FollowSymlinks, OpenOptions, OpenOptionsExt as _};
use rustix::fs::OFlags;
use rustix::io::Errno;
use tokio_util::task::AbortOnDropHandle;
use wasmtime::component::Resource;
use wasmtime_wasi::filesystem::{Descriptor, Dir, File, OpenMode};
use wasmtime_wasi::p2::bindings::filesystem::types::{DescriptorFlags, ErrorCode, OpenFlags, PathFlags};
use wasmtime_wasi::p2::{FsError, FsResult};

use super::MADE;
use super::quota::Quota;
use crate::host::sandbox::store::State;

/// The directory behind a handle.
pub(super) fn directory(state: &State, dir: &Resource<Descriptor>) -> FsResult<Dir> {
    match state.table.get(dir)? {
        Descriptor::Dir(dir) => Ok(dir.clone()),
        Descriptor::File(_) => Err(ErrorCode::NotDirectory.into()),
    }
}

/// What is to be opened, and how: as the guest says it.
#[derive(Debug)]
pub(super) struct Wanted {
    pub(super) path: String,
    pub(super) links: PathFlags,
    pub(super) open: OpenFlags,
    pub(super) flags: DescriptorFlags,
}

impl Wanted {
    /// To be read, if it is there; a link at its end isn't followed.
    pub(super) fn read(path: &str) -> Self {
        let (links, open, flags) = (PathFlags::empty(), OpenFlags::empty(), DescriptorFlags::READ);
        Self { path: path.to_owned(), links, open, flags }
    }

    /// The mode as WASI understands the flags: whoever doesn't write reads, and whoever makes or empties writes.
    fn mode(&self) -> OpenMode {
        let mut mode = OpenMode::empty();
        let writes = self.flags.contains(DescriptorFlags::WRITE);
        mode.set(OpenMode::READ, self.flags.contains(DescriptorFlags::READ) || !writes);
        mode.set(OpenMode::WRITE, writes || self.open.intersects(OpenFlags::CREATE | OpenFlags::TRUNCATE));
        mode
    }

    /// # Errors
    /// The flags contradict each other, or ask for what there isn't.
    fn check(&self) -> Result<(), ErrorCode> {
        let synchronous = DescriptorFlags::FILE_INTEGRITY_SYNC
            | DescriptorFlags::DATA_INTEGRITY_SYNC
            | DescriptorFlags::REQUESTED_WRITE_SYNC;
        let of_files = OpenFlags::CREATE | OpenFlags::EXCLUSIVE | OpenFlags::TRUNCATE;
        if self.flags.intersects(synchronous) {
            return Err(ErrorCode::Unsupported);
        }
        if self.open.contains(OpenFlags::DIRECTORY) && self.open.intersects(of_files) {
            return Err(ErrorCode::Invalid);
        }
        Ok(())
    }

    fn options(&self) -> OpenOptions {
        let mode = self.mode();
        let mut options = options(follow(self.links));
        options
            .read(mode.contains(OpenMode::READ))
            .write(mode.contains(OpenMode::WRITE))
            .truncate(self.open.contains(OpenFlags::TRUNCATE));
        if self.open.contains(OpenFlags::CREATE) {
            options.create(true).create_new(self.open.contains(OpenFlags::EXCLUSIVE));
        }
        options
    }
}

/// Opens a file or directory. What has to be made counts as written.
pub(super) async fn open(dir: &Dir, wanted: Wanted, quota: Quota) -> FsResult<Descriptor> {
    wanted.check()?;
    let (perms, mode) = (dir.perms, wanted.mode());
    if perms.write_not_permitted() && mode.contains(OpenMode::WRITE) {
        return Err(ErrorCode::NotPermitted.into());
    }
    let start = Arc::clone(&dir.dir);
    let directory = wanted.open.contains(OpenFlags::DIRECTORY);
    let (opened, is_dir) = without_holding_up(move || {
        let path = Path::new(&wanted.path);
        match look(&start, path, follow(wanted.links)) {
            Ok(found) => found?,
            // What isn't there may be made; any other reason not to look at it is also one not to open it.
            Err(_) if wanted.open.contains(OpenFlags::CREATE) => quota.write(MADE)?,
            Err(_) => {}
        }
        unseen(&start, path, &wanted.options())
    })
    .await?;
    if is_dir {
        return Ok(Descriptor::Dir(Dir::new(opened, perms, mode, false)));
    }
    if directory {
        return Err(ErrorCode::NotDirectory.into());
    }
    Ok(Descriptor::File(File::new(opened, perms, mode, false)))
}

/// Sets the times of what a path leads to, also by a link at its end: that has to be opened.
pub(super) async fn set_times(
    dir: &Dir,
    path: String,
    accessed: Option<SystemTime>,
    modified: Option<SystemTime>,
) -> FsResult<()> {
    if dir.perms.write_not_permitted() {
        return Err(ErrorCode::NotPermitted.into());
    }
    let start = Arc::clone(&dir.dir);
    let mut times = fs::FileTimes::new();
    times = accessed.map_or(times, |time| times.set_accessed(time));
    times = modified.map_or(times, |time| times.set_modified(time));
    without_holding_up(move || {
        let path = Path::new(&path);
        look(&start, path, FollowSymlinks::Yes)??;
        let writing = unseen(&start, path, options(FollowSymlinks::Yes).write(true));
        let (opened, _) = match writing {
            Ok(opened) => opened,
            // A directory, or a file that can't be changed: its owner may say when that was all the same.
            Err(_) => unseen(&start, path, options(FollowSymlinks::Yes).read(true))?,
        };
        Ok(opened.set_times(times)?)
    })
    .await
}

/// Work that may take its time, on a thread for such work.
pub(super) async fn without_holding_up<T: Send + 'static>(
    work: impl FnOnce() -> FsResult<T> + Send + 'static,
) -> FsResult<T> {
    let done = AbortOnDropHandle::new(tokio::task::spawn_blocking(work)).await;
    done.map_err(|error| FsError::trap(wasmtime::Error::new(error)))?
}

fn follow(links: PathFlags) -> FollowSymlinks {
    if links.contains(PathFlags::SYMLINK_FOLLOW) { FollowSymlinks::Yes } else { FollowSymlinks::No }
}

/// Neither waits for what is opened, nor makes a terminal the gateway's own.
fn options(follow: FollowSymlinks) -> OpenOptions {
    let mut options = OpenOptions::new();
    options.follow(follow).nonblock(true).custom_flags(OFlags::NOCTTY.bits().cast_signed());
    options
}

/// Looks at what is there without opening it: is it something to be opened?
fn look(start: &fs::File, path: &Path, follow: FollowSymlinks) -> io::Result<Result<(), ErrorCode>> {
    let found = cap_primitives::fs::stat(start, path, follow)?.file_type();
    let can = found.is_file() || found.is_dir() || found.is_symlink();
    Ok(if can { Ok(()) } else { Err(ErrorCode::NotPermitted) })
}

/// Opens what is there, whatever was there before, and tells whether it is a directory.
///
/// # Errors
/// Besides what the system says: it is neither a file nor a directory.
fn unseen(start: &fs::File, path: &Path, options: &OpenOptions) -> FsResult<(fs::File, bool)> {
    let opened = match cap_primitives::fs::open(start, path, options) {
        // So the system says that nobody reads a pipe, that a device isn't there, or that it is a socket.
        Err(error) if Errno::from_io_error(&error) == Some(Errno::NXIO) => {
            return Err(ErrorCode::NotPermitted.into());
        }
        opened => opened?,
    };
    let found = opened.metadata()?.file_type();
    if found.is_file() || found.is_dir() {
        return Ok((opened, found.is_dir()));
    }
    Err(ErrorCode::NotPermitted.into())
}

#[cfg(test)]
mod tests;
