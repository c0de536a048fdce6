//! Private directories: for compiled code, which the gateway runs, and for plugins' state, which no other user may read
//! or change.
//!
//! A [`PrivateDir`] keeps its directory open, and everything below it is reached through the descriptor. A user
//! who can write to the parent can rename the directory, but can't put another one in its place.
//!
//! A volume often belongs to root and is writable for a group, such as a Kubernetes volume with `fsGroup`. The gateway
//! then uses a subdirectory of its own. Kubernetes also adds the group's permissions to everything on the volume each
//! time it mounts it; they are removed again before the directory is used.

use std::fs::{self, DirBuilder, File, Metadata};
use std::io;
use std::os::fd::AsFd;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use rustix::fs::{AtFlags, CWD, Dir, FileType, FlockOperation, Mode, OFlags};

/// The bit that makes new files inherit the directory's group.
const SET_GROUP_ID: u32 = 0o2000;

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
                "run the gateway as that user, `chown` the directory to the gateway's user, or set another directory"
                    .to_owned()
            }
            Self::WritableByOthers { dir, .. } => {
                format!("`chmod 700 {}`, or set a new directory, which the gateway creates", dir.display())
            }
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

/// The files that a private directory is for.
#[derive(Debug, Clone, Copy)]
pub struct PrivateFiles {
    /// The name of the subdirectory in a directory that belongs to another user.
    pub subdirectory: &'static str,
    /// True for the names of these files. The permissions of a directory with other files are never changed.
    pub is_own_name: fn(&str) -> bool,
    /// The treatment of files to which a group had access.
    pub exposed: ExposedFiles,
}

/// The treatment of files to which a group had access while the gateway wasn't running.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExposedFiles {
    /// They are deleted, except for directories.
    Delete,
    /// They are kept, and only their owner can access them from then on.
    Keep,
}

/// An open private directory.
#[derive(Debug)]
pub struct PrivateDir {
    path: PathBuf,
    dir: File,
}

/// The access of other users to a directory that the gateway can use.
enum SharedAccess {
    /// Nobody else can write to it.
    None,
    /// It belongs to this user, and a group was given access.
    Group {
        /// The permissions of the directory.
        mode: u32,
    },
    /// It belongs to another user, and this user is one of those who can write to it.
    Everybody,
}

impl PrivateDir {
    /// Creates a directory if it is missing, and opens it. If it belongs to another user, but this user can write to
    /// it, this is a subdirectory.
    ///
    /// # Errors
    /// The directory can't be created or inspected, is a symlink or a file, or is writable by others.
    pub fn create(path: &Path, files: PrivateFiles) -> Result<Self, PrivateDirError> {
        DirBuilder::new().recursive(true).mode(0o700).create(path).map_err(io_error(path))?;
        let found = Self::open_at(CWD, path, path.to_owned())?;
        match found.shared_access()? {
            SharedAccess::Everybody => {
                match rustix::fs::mkdirat(&found.dir, files.subdirectory, Mode::RWXU) {
                    Ok(()) | Err(rustix::io::Errno::EXIST) => {}
                    Err(error) => return Err(found.error(error)),
                }
                let own =
                    Self::open_at(&found.dir, files.subdirectory.as_ref(), path.join(files.subdirectory))?;
                let access = own.shared_access()?;
                own.made_private(&access, files)
            }
            access @ (SharedAccess::None | SharedAccess::Group { .. }) => found.made_private(&access, files),
        }
    }

    /// Creates a directory if it is missing, and opens it. Unlike [`Self::create`], nothing is changed about a directory
    /// that exists, and no subdirectory is used: the caller needs this path.
    ///
    /// # Errors
    /// The directory can't be created or inspected, is a symlink or a file, belongs to another user, or is writable by
    /// others.
    pub fn create_own(path: &Path) -> Result<Self, PrivateDirError> {
        DirBuilder::new().recursive(true).mode(0o700).create(path).map_err(io_error(path))?;
        let found = Self::open_at(CWD, path, path.to_owned())?;
        match Ownership::OwnerWrites.check(&found.metadata()?) {
            Ok(()) => Ok(found),
            Err(OwnershipError::Owner) => Err(PrivateDirError::OtherOwner(found.path)),
            Err(OwnershipError::Permissions { mode }) => found.refuse(mode),
        }
    }

    /// Checks that [`Self::create`] would succeed and that the directory is writable, without creating or changing
    /// anything. Returns the path of the directory.
    ///
    /// # Errors
    /// [`Self::create`] would fail, as far as this can be checked.
    pub fn find(path: &Path, files: PrivateFiles) -> Result<PathBuf, PrivateDirError> {
        match fs::symlink_metadata(path) {
            Ok(_) => {
                let found = Self::open_at(CWD, path, path.to_owned())?;
                let access = found.shared_access()?;
                if let SharedAccess::Everybody = access {
                    let path = path.join(files.subdirectory);
                    return match fs::symlink_metadata(&path) {
                        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(path),
                        _ => {
                            let own = Self::open_at(&found.dir, files.subdirectory.as_ref(), path)?;
                            let access = own.shared_access()?;
                            own.usable(&access, files)
                        }
                    };
                }
                found.usable(&access, files)
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                // It would be created in its nearest existing parent.
                let parent = path.ancestors().skip(1).find(|parent| fs::symlink_metadata(parent).is_ok());
                let parent = parent.filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
                if !fs::metadata(parent).map_err(io_error(path))?.is_dir() {
                    return Err(io_error(path)(io::ErrorKind::NotADirectory.into()));
                }
                check_writable(CWD, parent).map_err(io_error(path))?;
                Ok(path.to_owned())
            }
            Err(error) => Err(io_error(path)(error)),
        }
    }

    /// The path, which may name another directory by now.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The names of the files, with replacement characters for what isn't UTF-8.
    ///
    /// # Errors
    /// The directory can't be read.
    pub fn names(&self) -> io::Result<Vec<String>> {
        let mut names = Vec::new();
        for entry in Dir::read_from(&self.dir)? {
            let name = entry?.file_name().to_string_lossy().into_owned();
            if name != "." && name != ".." {
                names.push(name);
            }
        }
        Ok(names)
    }

    /// True if there is a file with this name, of any kind.
    #[must_use]
    pub fn contains(&self, name: &str) -> bool {
        rustix::fs::statat(&self.dir, name, AtFlags::SYMLINK_NOFOLLOW).is_ok()
    }

    /// The size in bytes and the modification time of a file, which isn't opened.
    ///
    /// # Errors
    /// The file is missing, or its time can't be represented.
    pub fn size_and_time(&self, name: &str) -> io::Result<(u64, SystemTime)> {
        let stat = rustix::fs::statat(&self.dir, name, AtFlags::SYMLINK_NOFOLLOW)?;
        let seconds = u64::try_from(stat.st_mtime).map_err(io::Error::other)?;
        let nanoseconds = u32::try_from(stat.st_mtime_nsec).map_err(io::Error::other)?;
        let size = u64::try_from(stat.st_size).map_err(io::Error::other)?;
        Ok((size, SystemTime::UNIX_EPOCH + Duration::new(seconds, nanoseconds)))
    }

    /// Opens a file for reading. It may be of any kind except a symlink, and belong to anyone.
    ///
    /// # Errors
    /// The file is missing or a symlink, or can't be opened.
    pub fn open(&self, name: &str) -> io::Result<File> {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        Ok(rustix::fs::openat(&self.dir, name, flags, Mode::empty())?.into())
    }

    /// Creates a file that only its owner can access, and opens it for writing.
    ///
    /// # Errors
    /// The file exists or can't be created.
    pub fn create_file(&self, name: &str) -> io::Result<File> {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        Ok(rustix::fs::openat(&self.dir, name, flags, Mode::RUSR | Mode::WUSR)?.into())
    }

    /// Opens a file that only its owner can access, and locks it until it is closed. Creates it if it is missing. Returns
    /// `None` if another process has locked it.
    ///
    /// # Errors
    /// The file can't be created or opened, or the file system has no locks.
    pub fn try_lock(&self, name: &str) -> io::Result<Option<File>> {
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = rustix::fs::openat(&self.dir, name, flags, Mode::RUSR | Mode::WUSR)?;
        match rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => Ok(Some(file.into())),
            Err(rustix::io::Errno::WOULDBLOCK) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Locks the directory itself until the returned file is closed. Returns `None` if another process has locked it.
    ///
    /// # Errors
    /// The file system has no locks.
    pub fn try_lock_directory(&self) -> io::Result<Option<File>> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let own = rustix::fs::openat(&self.dir, ".", flags, Mode::empty())?;
        match rustix::fs::flock(&own, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => Ok(Some(own.into())),
            Err(rustix::io::Errno::WOULDBLOCK) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Renames a file within the directory.
    ///
    /// # Errors
    /// The file can't be renamed.
    pub fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        Ok(rustix::fs::renameat(&self.dir, from, &self.dir, to)?)
    }

    /// Removes a file.
    ///
    /// # Errors
    /// The file can't be removed.
    pub fn remove(&self, name: &str) -> io::Result<()> {
        Ok(rustix::fs::unlinkat(&self.dir, name, AtFlags::empty())?)
    }

    /// True if the file with this name is the one at a path. Neither is opened.
    #[must_use]
    pub fn is_file_at(&self, name: &str, path: &Path) -> bool {
        let here = rustix::fs::statat(&self.dir, name, AtFlags::SYMLINK_NOFOLLOW);
        let there = rustix::fs::lstat(path);
        matches!((here, there), (Ok(here), Ok(there)) if (here.st_dev, here.st_ino) == (there.st_dev, there.st_ino))
    }

    fn open_at(start: impl AsFd, name: &Path, path: PathBuf) -> Result<Self, PrivateDirError> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        match rustix::fs::openat(start, name, flags, Mode::empty()) {
            Ok(dir) => Ok(Self { path, dir: dir.into() }),
            Err(rustix::io::Errno::NOTDIR | rustix::io::Errno::LOOP) => {
                Err(PrivateDirError::NotADirectory(path))
            }
            Err(error) => Err(io_error(&path)(error.into())),
        }
    }

    fn metadata(&self) -> Result<Metadata, PrivateDirError> {
        self.dir.metadata().map_err(io_error(&self.path))
    }

    /// The access of other users.
    ///
    /// # Errors
    /// The directory can't be used because of its owner or its permissions.
    fn shared_access(&self) -> Result<SharedAccess, PrivateDirError> {
        let meta = self.metadata()?;
        let is_for_group = meta.mode() & (SET_GROUP_ID | 0o022) == SET_GROUP_ID | 0o020;
        // The permissions count, because root can write to every directory.
        let is_for_everybody = || meta.mode() & 0o022 != 0 && check_writable(&self.dir, ".".as_ref()).is_ok();
        match Ownership::OwnerWrites.check(&meta) {
            Ok(()) => Ok(SharedAccess::None),
            Err(OwnershipError::Permissions { mode }) if is_for_group => Ok(SharedAccess::Group { mode }),
            Err(OwnershipError::Permissions { mode }) => self.refuse(mode),
            Err(OwnershipError::Owner) if is_for_everybody() => Ok(SharedAccess::Everybody),
            Err(OwnershipError::Owner) => Err(PrivateDirError::OtherOwner(self.path.clone())),
        }
    }

    /// True if a group's access must be removed first.
    fn must_be_restricted(
        &self,
        access: &SharedAccess,
        files: PrivateFiles,
    ) -> Result<bool, PrivateDirError> {
        match access {
            SharedAccess::None => Ok(false),
            SharedAccess::Group { .. } if self.has_only(files)? => Ok(true),
            SharedAccess::Group { mode } => self.refuse(*mode),
            SharedAccess::Everybody => Err(PrivateDirError::OtherOwner(self.path.clone())),
        }
    }

    /// The path, if the directory is private or can be made private, and is writable.
    fn usable(self, access: &SharedAccess, files: PrivateFiles) -> Result<PathBuf, PrivateDirError> {
        self.must_be_restricted(access, files)?;
        check_writable(&self.dir, ".".as_ref()).map_err(io_error(&self.path))?;
        Ok(self.path)
    }

    /// The directory, after a group's access is removed.
    fn made_private(self, access: &SharedAccess, files: PrivateFiles) -> Result<Self, PrivateDirError> {
        if !self.must_be_restricted(access, files)? {
            return Ok(self);
        }
        rustix::fs::fchmod(&self.dir, Mode::RWXU).map_err(|error| self.error(error))?;
        // Some file systems ignore changes of permissions.
        if let Err(OwnershipError::Permissions { mode }) = Ownership::OwnerWrites.check(&self.metadata()?) {
            return self.refuse(mode);
        }
        // From here on, nobody else can add, replace or remove a file.
        for name in self.names().map_err(io_error(&self.path))? {
            match self.treat_exposed(&name, files.exposed) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    return Err(io_error(&self.path)(error));
                }
                _ => {} // another gateway may have removed it
            }
        }
        Ok(self)
    }

    fn treat_exposed(&self, name: &str, exposed: ExposedFiles) -> io::Result<()> {
        let meta = rustix::fs::statat(&self.dir, name, AtFlags::SYMLINK_NOFOLLOW)?;
        let kind = FileType::from_raw_mode(meta.st_mode);
        match exposed {
            ExposedFiles::Delete if kind == FileType::Directory => Ok(()), // it is never read
            ExposedFiles::Delete => self.remove(name),
            ExposedFiles::Keep => {
                let is_own = meta.st_uid == rustix::process::geteuid().as_raw();
                if !is_own || kind != FileType::RegularFile {
                    let why = format!("another user put `{name}` there while a group had access; remove it");
                    return Err(io::Error::new(io::ErrorKind::PermissionDenied, why));
                }
                // The file isn't opened, because closing it would release its locks.
                Ok(rustix::fs::chmodat(&self.dir, name, Mode::RUSR | Mode::WUSR, AtFlags::empty())?)
            }
        }
    }

    /// True if the directory contains no other files.
    fn has_only(&self, files: PrivateFiles) -> Result<bool, PrivateDirError> {
        let names = self.names().map_err(io_error(&self.path))?;
        Ok(names.iter().all(|name| (files.is_own_name)(name)))
    }

    fn refuse<T>(&self, mode: u32) -> Result<T, PrivateDirError> {
        Err(PrivateDirError::WritableByOthers { dir: self.path.clone(), mode })
    }

    fn error(&self, error: rustix::io::Errno) -> PrivateDirError {
        io_error(&self.path)(error.into())
    }
}

fn io_error(dir: &Path) -> impl Fn(io::Error) -> PrivateDirError {
    move |reason| PrivateDirError::Io { dir: dir.to_owned(), reason }
}

fn check_writable(start: impl AsFd, dir: &Path) -> io::Result<()> {
    use rustix::fs::{Access, accessat};
    Ok(accessat(start, dir, Access::WRITE_OK | Access::EXEC_OK, AtFlags::EACCESS)?)
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
