//! Opening files without blocking, limited to regular files and directories.
//!
//! A check before opening isn't enough, because a file can become a pipe in between. So everything is opened in
//! non-blocking mode and checked again once it is open. The earlier check spares pipes and devices the side effects of
//! being opened, such as waking the process at the other end.
//!
//! The library that WASI's own functions use resolves the paths: each step stays below the directory.

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
use wasmtime::component::{Resource, ResourceTable};
use wasmtime_wasi::filesystem::{Descriptor, Dir, File, OpenMode};
use wasmtime_wasi::p2::bindings::filesystem::types::{DescriptorFlags, ErrorCode, OpenFlags, PathFlags};
use wasmtime_wasi::p2::{FsError, FsResult};

use super::NEW_ENTRY_BYTES;
use super::error::system_error;
use super::quota::FileQuota;

/// The directory behind a handle.
pub(super) fn directory(table: &ResourceTable, dir: &Resource<Descriptor>) -> FsResult<Dir> {
    match table.get(dir)? {
        Descriptor::Dir(dir) => Ok(dir.clone()),
        Descriptor::File(_) => Err(ErrorCode::NotDirectory.into()),
    }
}

/// The arguments of `open-at`.
#[derive(Debug)]
pub(super) struct OpenRequest {
    pub(super) path: String,
    pub(super) path_flags: PathFlags,
    pub(super) open_flags: OpenFlags,
    pub(super) flags: DescriptorFlags,
}

impl OpenRequest {
    /// Opens an existing file to read it. A symlink at the end of the path isn't followed.
    pub(super) fn read(path: &str) -> Self {
        Self {
            path: path.to_owned(),
            path_flags: PathFlags::empty(),
            open_flags: OpenFlags::empty(),
            flags: DescriptorFlags::READ,
        }
    }

    /// The mode as WASI defines it: without the write flag, a file is opened for reading, and creating or truncating it
    /// counts as writing.
    fn mode(&self) -> OpenMode {
        let mut mode = OpenMode::empty();
        let writes = self.flags.contains(DescriptorFlags::WRITE);
        mode.set(OpenMode::READ, self.flags.contains(DescriptorFlags::READ) || !writes);
        mode.set(
            OpenMode::WRITE,
            writes || self.open_flags.intersects(OpenFlags::CREATE | OpenFlags::TRUNCATE),
        );
        mode
    }

    /// # Errors
    /// The flags contradict each other, or aren't supported.
    fn validate_flags(&self) -> Result<(), ErrorCode> {
        let synchronous = DescriptorFlags::FILE_INTEGRITY_SYNC
            | DescriptorFlags::DATA_INTEGRITY_SYNC
            | DescriptorFlags::REQUESTED_WRITE_SYNC;
        let for_files = OpenFlags::CREATE | OpenFlags::EXCLUSIVE | OpenFlags::TRUNCATE;
        if self.flags.intersects(synchronous) {
            return Err(ErrorCode::Unsupported);
        }
        if self.open_flags.contains(OpenFlags::DIRECTORY) && self.open_flags.intersects(for_files) {
            return Err(ErrorCode::Invalid);
        }
        Ok(())
    }

    fn options(&self) -> OpenOptions {
        let mode = self.mode();
        let mut options = options(follow(self.path_flags));
        // A file is truncated once it is open, because its size is subtracted from the disk usage.
        options.read(mode.contains(OpenMode::READ)).write(mode.contains(OpenMode::WRITE));
        if self.open_flags.contains(OpenFlags::CREATE) {
            options.create(true).create_new(self.open_flags.contains(OpenFlags::EXCLUSIVE));
        }
        options
    }
}

/// Opens a file or directory. A new file counts as written.
pub(super) async fn open(dir: &Dir, request: OpenRequest, quota: FileQuota) -> FsResult<Descriptor> {
    request.validate_flags()?;
    let perms = dir.perms;
    let mode = request.mode();
    if mode.contains(OpenMode::WRITE) {
        check_write_granted(dir)?;
    }
    let start = Arc::clone(&dir.dir);
    let must_be_directory = request.open_flags.contains(OpenFlags::DIRECTORY);
    let truncates = request.open_flags.contains(OpenFlags::TRUNCATE);
    let creates = request.open_flags.contains(OpenFlags::CREATE);
    let shrinking = if truncates { Some(quota.disk().shrinking().await) } else { None };
    let growing = if creates && !truncates { Some(quota.disk().growing().await) } else { None };
    let (opened, is_dir) = run_blocking(move || {
        let path = Path::new(&request.path);
        let mut charge = None;
        match check_file_type(&start, path, follow(request.path_flags)) {
            Ok(openable) => openable?,
            // A missing file may be created. If the check fails for any other reason, opening fails too.
            Err(_) if creates => {
                quota.write(NEW_ENTRY_BYTES)?;
                charge = Some(quota.add(NEW_ENTRY_BYTES)?);
            }
            Err(_) => {}
        }
        let (opened, is_dir) = open_unchecked(&start, path, &request.options())?;
        if let Some(charge) = charge {
            charge.keep();
        }
        if truncates && !is_dir {
            let size = opened.metadata().map_err(system_error)?.len();
            opened.set_len(0).map_err(system_error)?;
            quota.disk().remove(size);
        }
        drop(growing);
        drop(shrinking);
        Ok((opened, is_dir))
    })
    .await?;
    if is_dir {
        return Ok(Descriptor::Dir(Dir::new(opened, perms, mode, false)));
    }
    if must_be_directory {
        return Err(ErrorCode::NotDirectory.into());
    }
    Ok(Descriptor::File(File::new(opened, perms, mode, false)))
}

/// Sets the times of a path's target, following a symlink at its end. The target must be opened for that.
pub(super) async fn set_times(
    dir: &Dir,
    path: String,
    accessed: Option<SystemTime>,
    modified: Option<SystemTime>,
) -> FsResult<()> {
    check_write_granted(dir)?;
    let start = Arc::clone(&dir.dir);
    let times = file_times(accessed, modified);
    run_blocking(move || {
        let path = Path::new(&path);
        check_file_type(&start, path, FollowSymlinks::Yes).map_err(system_error)??;
        let writable = open_unchecked(&start, path, options(FollowSymlinks::Yes).write(true));
        let (opened, _) = match writable {
            Ok(opened) => opened,
            // A directory or a read-only file: its owner is allowed to set its times nevertheless.
            Err(_) => open_unchecked(&start, path, options(FollowSymlinks::Yes).read(true))?,
        };
        opened.set_times(times).map_err(system_error)
    })
    .await
}

/// `None` leaves the time unchanged.
pub(super) fn file_times(accessed: Option<SystemTime>, modified: Option<SystemTime>) -> fs::FileTimes {
    let mut times = fs::FileTimes::new();
    times = accessed.map_or(times, |time| times.set_accessed(time));
    modified.map_or(times, |time| times.set_modified(time))
}

/// Runs blocking work on a thread for such work.
pub(super) async fn run_blocking<T: Send + 'static>(
    work: impl FnOnce() -> FsResult<T> + Send + 'static,
) -> FsResult<T> {
    let done = AbortOnDropHandle::new(tokio::task::spawn_blocking(work)).await;
    done.map_err(|error| FsError::trap(wasmtime::Error::new(error)))?
}

fn follow(path_flags: PathFlags) -> FollowSymlinks {
    if path_flags.contains(PathFlags::SYMLINK_FOLLOW) { FollowSymlinks::Yes } else { FollowSymlinks::No }
}

/// Options that don't block and don't make a terminal the gateway's controlling terminal.
fn options(follow: FollowSymlinks) -> OpenOptions {
    let mut options = OpenOptions::new();
    options.follow(follow).nonblock(true).custom_flags(OFlags::NOCTTY.bits().cast_signed());
    options
}

/// # Errors
/// The directory is granted read-only.
pub(super) fn check_write_granted(dir: &Dir) -> Result<(), ErrorCode> {
    if dir.perms.write_not_permitted() { Err(ErrorCode::NotPermitted) } else { Ok(()) }
}

/// Checks, without opening it, that the path leads to something that can be opened.
fn check_file_type(
    start: &fs::File,
    path: &Path,
    follow: FollowSymlinks,
) -> io::Result<Result<(), ErrorCode>> {
    let found = cap_primitives::fs::stat(start, path, follow)?.file_type();
    let may_open = found.is_file() || found.is_dir() || found.is_symlink();
    Ok(if may_open { Ok(()) } else { Err(ErrorCode::NotPermitted) })
}

/// Opens the path, whatever it currently leads to. Returns the file and `true` if it is a directory.
///
/// # Errors
/// The system can't open it, or it is neither a regular file nor a directory.
fn open_unchecked(start: &fs::File, path: &Path, options: &OpenOptions) -> FsResult<(fs::File, bool)> {
    let opened = match cap_primitives::fs::open(start, path, options) {
        // The error for a pipe without a reader, a missing device, or a socket.
        Err(error) if Errno::from_io_error(&error) == Some(Errno::NXIO) => {
            return Err(ErrorCode::NotPermitted.into());
        }
        opened => opened.map_err(system_error)?,
    };
    let found = opened.metadata().map_err(system_error)?.file_type();
    if found.is_file() || found.is_dir() {
        return Ok((opened, found.is_dir()));
    }
    Err(ErrorCode::NotPermitted.into())
}

#[cfg(test)]
mod tests;
