//! Private directories: for compiled code, which the gateway runs, and for plugins' state, which no other user may read
//! or change.

use std::fs::{self, DirBuilder, Metadata};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};

/// The reason why a directory isn't used.
#[derive(Debug, thiserror::Error)]
pub enum PrivateDirError {
    /// The directory can't be created or inspected.
    #[error("can't use `{}`: {reason}", dir.display())]
    Io {
        /// The directory.
        dir: PathBuf,
        /// The system's error.
        reason: io::Error,
    },
    /// The path is a symlink or a file.
    #[error("`{}` isn't a directory, or is a symlink", .0.display())]
    NotADirectory(PathBuf),
    /// The directory belongs to another user.
    #[error("`{}` belongs to another user", .0.display())]
    OtherOwner(PathBuf),
    /// Other users can write to the directory.
    #[error("`{}` is writable by others (mode {mode:03o}; it should be 700)", dir.display())]
    WritableByOthers {
        /// The directory.
        dir: PathBuf,
        /// The permissions of the directory.
        mode: u32,
    },
}

impl PrivateDirError {
    /// The fix.
    #[must_use]
    pub fn hint(&self) -> String {
        match self {
            Self::Io { reason, .. } => io_hint(reason).to_owned(),
            Self::NotADirectory(_) => {
                "set the path of the directory itself, or move the file away".to_owned()
            }
            Self::OtherOwner(_) => {
                "run the gateway as that user, or `chown` the directory to the gateway's user".to_owned()
            }
            Self::WritableByOthers { dir, .. } => format!("`chmod 700 {}`", dir.display()),
        }
    }
}

/// The fix for an I/O error of a file or a directory.
pub fn io_hint(reason: &io::Error) -> &'static str {
    match reason.kind() {
        io::ErrorKind::PermissionDenied => {
            "let the gateway's user read and write there, or set another directory"
        }
        io::ErrorKind::ReadOnlyFilesystem => "set a directory on a writable file system",
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            "free disk space, or set another directory"
        }
        io::ErrorKind::NotADirectory | io::ErrorKind::AlreadyExists => {
            "a part of the path isn't a directory: move it away, or set another directory"
        }
        _ => "check the file system, or set another directory",
    }
}

/// Creates a directory if it is missing, and checks that it is private.
///
/// # Errors
/// The directory can't be created or inspected, is a symlink or a file, or is writable by others.
pub fn create(dir: &Path) -> Result<(), PrivateDirError> {
    let io = |reason| PrivateDirError::Io { dir: dir.to_owned(), reason };
    DirBuilder::new().recursive(true).mode(0o700).create(dir).map_err(io)?;
    check(dir, &fs::symlink_metadata(dir).map_err(io)?)
}

/// Checks that [`create`] would succeed and that the directory is writable, without creating anything.
///
/// # Errors
/// [`create`] would fail, as far as this can be checked.
pub fn check_creatable(dir: &Path) -> Result<(), PrivateDirError> {
    let io = |reason| PrivateDirError::Io { dir: dir.to_owned(), reason };
    match fs::symlink_metadata(dir) {
        Ok(meta) => {
            check(dir, &meta)?;
            check_writable(dir).map_err(io)
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            // It would be created in its nearest existing parent.
            let parent = dir.ancestors().skip(1).find(|parent| fs::symlink_metadata(parent).is_ok());
            let parent = parent.filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
            if !fs::metadata(parent).map_err(io)?.is_dir() {
                return Err(io(io::ErrorKind::NotADirectory.into()));
            }
            check_writable(parent).map_err(io)
        }
        Err(error) => Err(io(error)),
    }
}

fn check_writable(dir: &Path) -> io::Result<()> {
    use rustix::fs::{Access, AtFlags, CWD, accessat};
    Ok(accessat(CWD, dir, Access::WRITE_OK | Access::EXEC_OK, AtFlags::EACCESS)?)
}

fn check(dir: &Path, meta: &Metadata) -> Result<(), PrivateDirError> {
    if !meta.is_dir() {
        return Err(PrivateDirError::NotADirectory(dir.to_owned()));
    }
    Ownership::OwnerWrites.check(meta).map_err(|stranger| match stranger {
        OwnershipError::Owner => PrivateDirError::OtherOwner(dir.to_owned()),
        OwnershipError::Permissions { mode } => {
            PrivateDirError::WritableByOthers { dir: dir.to_owned(), mode }
        }
    })
}

/// The permitted owners and permissions of a file or a directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ownership {
    /// Owned by this user; others can neither read nor write.
    OwnerOnly,
    /// Owned by this user; others can't write.
    OwnerWrites,
    /// Owned by this user or root; writable by the owner and the group only. Source trees are often like this.
    SourceTree,
}

/// A violation of [`Ownership`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OwnershipError {
    /// The owner is another user.
    Owner,
    /// The permissions give others access.
    Permissions {
        /// All permissions.
        mode: u32,
    },
}

impl Ownership {
    /// Checks the owner and the permissions of a file or a directory.
    ///
    /// # Errors
    /// Another user owns it or has access to it.
    pub fn check(self, meta: &Metadata) -> Result<(), OwnershipError> {
        self.check_mode(meta.uid(), meta.mode() & 0o777)
    }

    fn check_mode(self, owner: u32, mode: u32) -> Result<(), OwnershipError> {
        let is_own = owner == rustix::process::geteuid().as_raw();
        let (is_permitted_owner, forbidden) = match self {
            Self::OwnerOnly => (false, 0o077),
            Self::OwnerWrites => (false, 0o022),
            Self::SourceTree => (owner == 0, 0o002),
        };
        if !is_own && !is_permitted_owner {
            return Err(OwnershipError::Owner);
        }
        if mode & forbidden == 0 { Ok(()) } else { Err(OwnershipError::Permissions { mode }) }
    }
}

#[cfg(test)]
mod tests;
