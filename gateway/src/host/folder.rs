//! Folders that belong to the gateway alone: the compiled code, which it runs, and the state of plugins, which nobody
//! else may read or change.

use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};

/// Why a folder isn't used.
#[derive(Debug, thiserror::Error)]
pub enum FolderError {
    /// It can't be made or looked at.
    #[error("`{}` can't be used: {reason}", dir.display())]
    Io {
        /// The folder.
        dir: PathBuf,
        /// What the system said.
        reason: io::Error,
    },
    /// It is a link or a file.
    #[error("`{}` is no folder, or a symbolic link", .0.display())]
    NoFolder(PathBuf),
    /// It belongs to another user.
    #[error("`{}` belongs to another user", .0.display())]
    Foreign(PathBuf),
    /// Others may change it.
    #[error("`{}` may be written by others (mode {mode:03o}; it should be 700)", dir.display())]
    Writable {
        /// The folder.
        dir: PathBuf,
        /// Its permissions.
        mode: u32,
    },
}

/// Makes a folder if it isn't there, and checks that it is ours alone.
///
/// # Errors
/// It can't be made or looked at, is a link or no folder, or others may write to it.
pub(super) fn private(dir: &Path) -> Result<(), FolderError> {
    let io = |reason| FolderError::Io { dir: dir.to_owned(), reason };
    DirBuilder::new().recursive(true).mode(0o700).create(dir).map_err(io)?;
    let meta = fs::symlink_metadata(dir).map_err(io)?;
    if !meta.is_dir() {
        return Err(FolderError::NoFolder(dir.to_owned()));
    }
    if !is_ours(meta.uid()) {
        return Err(FolderError::Foreign(dir.to_owned()));
    }
    if others_may_write(meta.mode()) {
        return Err(FolderError::Writable { dir: dir.to_owned(), mode: meta.mode() & 0o777 });
    }
    Ok(())
}

/// Is this the user that the gateway runs as?
pub(super) fn is_ours(owner: u32) -> bool {
    owner == rustix::process::geteuid().as_raw()
}

/// May somebody else change what has this mode?
pub(super) fn others_may_write(mode: u32) -> bool {
    mode & 0o022 != 0
}
