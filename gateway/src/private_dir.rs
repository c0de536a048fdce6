//! Folders that belong to the gateway alone: the compiled code, which it runs, and the state of plugins, which nobody
//! else may read or change.

use std::fs::{self, DirBuilder, Metadata};
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

impl FolderError {
    /// What to do about it.
    #[must_use]
    pub fn hint(&self) -> String {
        match self {
            Self::Io { reason, .. } => io_hint(reason).to_owned(),
            Self::NoFolder(_) => "name the directory itself, or move away what stands there".to_owned(),
            Self::Foreign(_) => {
                "run the gateway as that user, or let `chown` give it to the gateway's".to_owned()
            }
            Self::Writable { dir, .. } => format!("`chmod 700 {}`", dir.display()),
        }
    }
}

/// What to do where the system refuses a file or a directory.
pub(crate) fn io_hint(reason: &io::Error) -> &'static str {
    match reason.kind() {
        io::ErrorKind::PermissionDenied => {
            "let the gateway's user read and write there, or name another directory"
        }
        io::ErrorKind::ReadOnlyFilesystem => "name a directory that can be written to",
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            "make room there, or name another directory"
        }
        io::ErrorKind::NotADirectory | io::ErrorKind::AlreadyExists => {
            "something else than a directory stands on the way to it: move that away, or name another directory"
        }
        _ => "see what is wrong there, or name another directory",
    }
}

/// Makes a folder if it isn't there, and checks that it is ours alone.
///
/// # Errors
/// It can't be made or looked at, is a link or no folder, or others may write to it.
pub(crate) fn private(dir: &Path) -> Result<(), FolderError> {
    let io = |reason| FolderError::Io { dir: dir.to_owned(), reason };
    DirBuilder::new().recursive(true).mode(0o700).create(dir).map_err(io)?;
    check(dir, &fs::symlink_metadata(dir).map_err(io)?)
}

/// Could [`private`] be used here, and something be written? Nothing is made to find out.
///
/// # Errors
/// It couldn't, as far as can be seen.
pub(crate) fn would_be_private(dir: &Path) -> Result<(), FolderError> {
    let io = |reason| FolderError::Io { dir: dir.to_owned(), reason };
    match fs::symlink_metadata(dir) {
        Ok(meta) => {
            check(dir, &meta)?;
            may_write(dir).map_err(io)
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            // It would be made in the nearest directory above it that is there.
            let above = dir.ancestors().skip(1).find(|above| fs::symlink_metadata(above).is_ok());
            let above = above.filter(|above| !above.as_os_str().is_empty()).unwrap_or(Path::new("."));
            if !fs::metadata(above).map_err(io)?.is_dir() {
                return Err(io(io::ErrorKind::NotADirectory.into()));
            }
            may_write(above).map_err(io)
        }
        Err(error) => Err(io(error)),
    }
}

fn may_write(dir: &Path) -> io::Result<()> {
    use rustix::fs::{Access, AtFlags, CWD, accessat};
    Ok(accessat(CWD, dir, Access::WRITE_OK | Access::EXEC_OK, AtFlags::EACCESS)?)
}

fn check(dir: &Path, meta: &Metadata) -> Result<(), FolderError> {
    if !meta.is_dir() {
        return Err(FolderError::NoFolder(dir.to_owned()));
    }
    Hands::Own.check(meta).map_err(|stranger| match stranger {
        Stranger::Owner => FolderError::Foreign(dir.to_owned()),
        Stranger::Others { mode } => FolderError::Writable { dir: dir.to_owned(), mode },
    })
}

/// Who may have a hand in a file or a directory, beside the user that the gateway runs as.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hands {
    /// Nobody, not even to read.
    Secret,
    /// Others may read.
    Own,
    /// The system may own it, and the owner's group may write: so people keep their sources.
    Sources,
}

/// Who else has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stranger {
    /// It belongs to another user.
    Owner,
    /// Its permissions let others in.
    Others {
        /// All of them.
        mode: u32,
    },
}

impl Hands {
    /// Looks at whom a thing belongs to, and whom its permissions let in.
    ///
    /// # Errors
    /// Somebody else has a hand in it.
    pub fn check(self, meta: &Metadata) -> Result<(), Stranger> {
        self.judge(meta.uid(), meta.mode() & 0o777)
    }

    fn judge(self, owner: u32, mode: u32) -> Result<(), Stranger> {
        let is_ours = owner == rustix::process::geteuid().as_raw();
        let (is_theirs, others) = match self {
            Self::Secret => (false, 0o077),
            Self::Own => (false, 0o022),
            Self::Sources => (owner == 0, 0o002),
        };
        if !is_ours && !is_theirs {
            return Err(Stranger::Owner);
        }
        if mode & others == 0 { Ok(()) } else { Err(Stranger::Others { mode }) }
    }
}

#[cfg(test)]
mod tests;
