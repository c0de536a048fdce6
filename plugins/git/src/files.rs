//! File operations: optional files, replacement under Git's lock files, and symlinks.

use std::fs::{self, File};
use std::io::{ErrorKind, Write as _};
use std::path::{Path, PathBuf};

use bstr::{BStr, ByteSlice as _};

use crate::fault::{GitError, GitResult};

/// Reads a file. `None` if it doesn't exist.
pub(crate) fn read(path: &Path) -> GitResult<Option<Vec<u8>>> {
    match fs::read(path) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if is_absent(&error) => Ok(None),
        Err(error) => Err(GitError::file("read", path)(error)),
    }
}

/// The metadata of a file, without following a link. `None` if it doesn't exist.
pub(crate) fn metadata(path: &Path) -> GitResult<Option<fs::Metadata>> {
    match fs::symlink_metadata(path) {
        Ok(found) => Ok(Some(found)),
        Err(error) if is_absent(&error) => Ok(None),
        Err(error) => Err(GitError::file("read", path)(error)),
    }
}

fn is_absent(error: &std::io::Error) -> bool {
    matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory)
}

/// The path of a name in Git's data below a directory.
pub(crate) fn join(directory: &Path, name: &BStr) -> GitResult<PathBuf> {
    match name.to_str() {
        Ok(name) => Ok(directory.join(name)),
        Err(_) => {
            Err(GitError::new(format_args!("the name `{name}` isn't UTF-8, which the sandbox can't open")))
        }
    }
}

/// A file that is being replaced. As in Git, a file `<name>.lock` keeps other programs from replacing it, too.
#[derive(Debug)]
pub(crate) struct LockedFile {
    path: PathBuf,
    lock: PathBuf,
    file: Option<File>,
}

impl LockedFile {
    /// Locks a file, whose directory is created if necessary.
    pub(crate) fn lock(path: &Path) -> GitResult<Self> {
        let mut lock = path.as_os_str().to_owned();
        lock.push(".lock");
        let lock = PathBuf::from(lock);
        if let Some(parent) = lock.parent() {
            fs::create_dir_all(parent).map_err(GitError::file("create", parent))?;
        }
        match File::create_new(&lock) {
            Ok(file) => Ok(Self { path: path.to_owned(), lock, file: Some(file) }),
            Err(error) if error.kind() == ErrorKind::AlreadyExists => Err(GitError::new(format_args!(
                "Unable to create '{}': File exists. Another git process seems to be running in this repository; if none \
                 is, remove the file.",
                lock.display()
            ))),
            Err(error) => Err(GitError::file("create", &lock)(error)),
        }
    }

    /// Replaces the file.
    pub(crate) fn replace(mut self, content: &[u8]) -> GitResult<()> {
        let lock = self.lock.clone();
        if let Some(mut file) = self.file.take() {
            let written = file.write_all(content).and_then(|()| file.sync_data());
            let written = written.map_err(|error| moongate_sdk::files::reason(&file, error));
            drop(file);
            let replaced = written.and_then(|()| fs::rename(&lock, &self.path));
            if replaced.is_err() {
                let _ = fs::remove_file(&lock);
            }
            replaced.map_err(GitError::file("write", &self.path))?;
        }
        Ok(())
    }
}

impl Drop for LockedFile {
    /// Removes the lock of a file that wasn't replaced.
    fn drop(&mut self) {
        if self.file.take().is_some() {
            let _ = fs::remove_file(&self.lock);
        }
    }
}

/// The target of a symlink.
pub(crate) fn link_target(path: &Path) -> GitResult<Vec<u8>> {
    let target = fs::read_link(path).map_err(GitError::file("read the link", path))?;
    Ok(target.into_os_string().into_encoded_bytes())
}

/// Creates a symlink.
#[cfg(target_family = "wasm")]
pub(crate) fn link(target: &[u8], path: &Path) -> GitResult<()> {
    use wasip2::filesystem::preopens;

    let failed = |reason: &dyn std::fmt::Display| {
        GitError::new(format_args!("can't create the link `{}`: {reason}", path.display()))
    };
    let target = target.to_str().map_err(|error| failed(&error))?;
    let opened = preopens::get_directories();
    let below = |granted: &str| path.strip_prefix(granted).ok().and_then(Path::to_str);
    let found = opened
        .iter()
        .filter_map(|(descriptor, granted)| Some((descriptor, granted.len(), below(granted)?)))
        .max_by_key(|(_, length, _)| *length);
    let Some((directory, _, below)) = found else { return Err(failed(&"no directory is granted")) };
    directory.symlink_at(target, below).map_err(|error| failed(&error.message()))
}

/// Creates a symlink.
#[cfg(not(target_family = "wasm"))]
pub(crate) fn link(target: &[u8], path: &Path) -> GitResult<()> {
    let target = target.to_str().map_err(GitError::new)?;
    std::os::unix::fs::symlink(target, path).map_err(GitError::file("create", path))
}
