//! Edits of files that other programs read and change: completely or not at all, and without losing a change.
//!
//! The file's directory is locked during an edit, so that edits in other processes wait. Another program can still write
//! the file; this is noticed if it happens after [`FileEdit::read`]. Owner, group and permissions are kept. A file that
//! another user shares through its group is therefore overwritten in place, which isn't atomic.

use std::fs::{self, File, Metadata, TryLockError};
use std::hash::{BuildHasher as _, RandomState};
use std::io::{self, Read as _, Seek as _, Write as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _, fchown};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use rustix::fs::{Access, OFlags};

/// The largest file that is edited, in bytes.
const MAX_BYTES: u64 = 64 * 1024 * 1024;

/// The maximum number of symlinks that lead to a file, as in Linux.
const MAX_LINKS: usize = 40;

/// The maximum time for which another edit in the directory is waited for: a stopped command can hold the lock.
const LOCK_TIMEOUT: Duration = Duration::from_secs(10);

/// The time between two attempts.
const LOCK_INTERVAL: Duration = Duration::from_millis(20);

/// An edit of a file. Its directory is locked until this is dropped.
#[derive(Debug)]
pub struct FileEdit {
    target: PathBuf,
    guard: Arc<File>,
    /// The content when it was read. `None` if it wasn't read.
    before: Option<Option<String>>,
}

impl FileEdit {
    /// Starts an edit of a file, which doesn't have to exist. If the path is a symlink, its target is edited. Creates the
    /// directory if it is missing, and waits while other edits in the directory take place.
    ///
    /// # Errors
    /// The directory can't be created or opened, or another edit takes longer than 10 seconds.
    pub fn start(path: &Path) -> io::Result<Self> {
        let target = resolved(path)?;
        let guard = File::open(directory_of(&target))?;
        wait_for_lock(&guard, &target)?;
        Ok(Self { target, guard: Arc::new(guard), before: None })
    }

    /// Starts an edit of another file. If it is in the same directory, both share the lock.
    ///
    /// # Errors
    /// The directory can't be created or opened.
    pub fn also(&self, path: &Path) -> io::Result<Self> {
        let target = resolved(path)?;
        if directory_of(&target) != directory_of(&self.target) {
            return Self::start(path);
        }
        Ok(Self { target, guard: Arc::clone(&self.guard), before: None })
    }

    /// The path of the file, without symlinks.
    #[must_use]
    pub fn target(&self) -> &Path {
        &self.target
    }

    /// Reads the file. `None` if it doesn't exist.
    ///
    /// # Errors
    /// The file can't be read, isn't a regular file, or isn't UTF-8.
    pub fn read(&mut self) -> io::Result<Option<String>> {
        let text = read_text(&self.target)?;
        self.before = Some(text.clone());
        Ok(text)
    }

    /// Replaces the file's content.
    ///
    /// # Errors
    /// The file can't be written, or it was changed since it was read. It then has its previous content.
    pub fn replace(&self, text: &str) -> io::Result<()> {
        let found = match fs::metadata(&self.target) {
            Ok(found) => {
                check_regular(&found)?;
                rustix::fs::access(&self.target, Access::WRITE_OK)?;
                Some(found)
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(error),
        };
        let name = self.target.file_name().unwrap_or_default().to_string_lossy();
        let random = RandomState::new().hash_one(text);
        let unfinished = directory_of(&self.target).join(format!(".{name}.{random:016x}.tmp"));
        let write = || match (write_new(&unfinished, text.as_bytes(), found.as_ref()), &found) {
            (Ok(()), _) => {
                self.check_unchanged()?;
                fs::rename(&unfinished, &self.target)
            }
            (Err(error), Some(_)) if is_forbidden(&error) => {
                self.check_unchanged()?;
                overwrite(&self.target, text.as_bytes())
            }
            (Err(error), _) => Err(error),
        };
        write().inspect_err(|_| drop(fs::remove_file(&unfinished)))
    }

    /// Reports a change by another program since the file was read.
    fn check_unchanged(&self) -> io::Result<()> {
        match &self.before {
            Some(before) if read_text(&self.target)? != *before => {
                Err(io::Error::other("another program has changed it at the same time"))
            }
            Some(_) | None => Ok(()),
        }
    }
}

/// Reports whether no file with the same owner can be written in the directory: the owner is another user, or isn't known
/// in this user namespace, or the directory is read-only.
fn is_forbidden(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::PermissionDenied | io::ErrorKind::InvalidInput)
}

/// Overwrites an existing file. If that fails, its previous content is restored.
fn overwrite(path: &Path, content: &[u8]) -> io::Result<()> {
    // The path had no symlinks, but others can write to the directory.
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
    let mut file =
        File::options().read(true).write(true).custom_flags(flags.bits().cast_signed()).open(path)?;
    check_regular(&file.metadata()?)?;
    let mut before = Vec::new();
    io::Read::take(&mut file, MAX_BYTES).read_to_end(&mut before)?;
    let mut write = |content: &[u8]| {
        file.rewind()?;
        file.write_all(content)?;
        file.set_len(content.len() as u64)?;
        file.sync_all()
    };
    write(content).inspect_err(|_| drop(write(&before)))
}

/// Writes a new file, and creates its directory.
///
/// # Errors
/// The file exists, or it can't be written.
pub fn create_file(path: &Path, text: &str) -> io::Result<()> {
    if fs::symlink_metadata(path).is_ok() {
        return Err(io::ErrorKind::AlreadyExists.into());
    }
    FileEdit::start(path)?.replace(text)
}

/// Copies a file with its owner, group and permissions to a path that doesn't exist.
///
/// # Errors
/// The file can't be read, or the copy exists or can't be written.
pub fn copy_file(path: &Path, copy: &Path) -> io::Result<()> {
    write_new(copy, &fs::read(path)?, Some(&fs::metadata(path)?))
}

/// Reads a file. `None` if it doesn't exist.
///
/// # Errors
/// The file can't be read, isn't a regular file, is larger than 64 MiB, or isn't UTF-8.
pub fn read_text(path: &Path) -> io::Result<Option<String>> {
    let found = match fs::metadata(path) {
        Ok(found) => found,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    check_regular(&found)?;
    let mut text = String::new();
    File::open(path)?.take(MAX_BYTES + 1).read_to_string(&mut text)?;
    if text.len() as u64 > MAX_BYTES {
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, "larger than 64 MiB"));
    }
    Ok(Some(text))
}

/// Refuses pipes and devices, which could be read forever, and directories.
fn check_regular(found: &Metadata) -> io::Result<()> {
    if found.is_file() {
        return Ok(());
    }
    Err(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file"))
}

/// Writes a new file with the owner, group and permissions of another one.
fn write_new(path: &Path, content: &[u8], like: Option<&Metadata>) -> io::Result<()> {
    let mut options = File::options();
    options.write(true).create_new(true);
    if like.is_some() {
        options.mode(0o600); // until it has the right owner
    }
    let mut file = options.open(path)?;
    let write = |file: &mut File| {
        if let Some(like) = like {
            keep_owner(file, like)?;
            file.set_permissions(like.permissions())?;
        }
        file.write_all(content)?;
        file.sync_all()
    };
    write(&mut file).inspect_err(|_| drop(fs::remove_file(path)))
}

/// Gives a file the owner and group of another one, so that its readers can still read it.
fn keep_owner(file: &File, like: &Metadata) -> io::Result<()> {
    let own = file.metadata()?;
    let user = (own.uid() != like.uid()).then_some(like.uid());
    let group = (own.gid() != like.gid()).then_some(like.gid());
    if user.is_none() && group.is_none() {
        return Ok(());
    }
    fchown(file, user, group)
        .map_err(|error| io::Error::new(error.kind(), format!("can't keep its owner and group: {error}")))
}

/// Waits for the other edits in the directory. File systems without locks have none.
fn wait_for_lock(guard: &File, target: &Path) -> io::Result<()> {
    let deadline = Instant::now() + LOCK_TIMEOUT;
    while let Err(TryLockError::WouldBlock) = guard.try_lock() {
        if Instant::now() >= deadline {
            let directory = directory_of(target).display();
            let message = format!("another command has been editing a file in `{directory}` for too long");
            return Err(io::Error::new(io::ErrorKind::WouldBlock, message));
        }
        thread::sleep(LOCK_INTERVAL);
    }
    Ok(())
}

/// The path without symlinks. The file doesn't have to exist; its directory is created.
fn resolved(path: &Path) -> io::Result<PathBuf> {
    let mut path = path.to_owned();
    for _ in 0..MAX_LINKS {
        let Ok(link) = fs::read_link(&path) else {
            let name = path.file_name().ok_or(io::ErrorKind::InvalidInput)?;
            let directory = directory_of(&path);
            fs::create_dir_all(directory)?;
            return Ok(fs::canonicalize(directory)?.join(name));
        };
        path = directory_of(&path).join(link);
    }
    Err(io::Error::other("too many symlinks"))
}

/// The directory of a file.
fn directory_of(path: &Path) -> &Path {
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    parent.unwrap_or_else(|| Path::new("."))
}

#[cfg(test)]
mod tests;
