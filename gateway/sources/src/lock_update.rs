//! Writes the lock file.
//!
//! The file is read again, changed and replaced as a whole, while its directory is locked: two commands that change
//! different entries at once lose neither, and a reader never sees a part of it.

use std::fs::{self, File, OpenOptions};
use std::hash::{BuildHasher as _, RandomState};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use moongate_config::LockFile;
use moongate_system::private_dir::io_hint;

use crate::error::SourceError;

/// Changes the lock file at this path, and creates it if it doesn't exist. Returns `false` if `change` changes nothing.
///
/// # Errors
/// The file can't be read or written, or isn't a lock file of this version. It is then unchanged.
pub fn update_lock(path: &Path, change: impl FnOnce(&mut LockFile)) -> Result<bool, SourceError> {
    let unwritable = |error: &io::Error| {
        SourceError::new(format!("can't write `{}`: {error}", path.display())).with_hint(io_hint(error))
    };
    // A symlink stays one.
    let target = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let directory =
        target.parent().filter(|directory| !directory.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let guard = File::open(directory).map_err(|error| unwritable(&error))?;
    let _ = guard.lock(); // some file systems have no locks
    let mut lock = LockFile::read(&target)
        .map_err(|error| SourceError::new(error.to_string()).with_hint(error.hint()))?;
    let before = lock.clone();
    change(&mut lock);
    if lock == before {
        return Ok(false);
    }
    replace(&target, directory, &lock.text()).map_err(|error| unwritable(&error))?;
    Ok(true)
}

fn replace(target: &Path, directory: &Path, text: &str) -> io::Result<()> {
    let name = target.file_name().unwrap_or_default().to_string_lossy();
    let unfinished: PathBuf =
        directory.join(format!(".{name}.{:016x}.tmp", RandomState::new().hash_one(text)));
    let write = || {
        let mut file = OpenOptions::new().write(true).create_new(true).open(&unfinished)?;
        file.write_all(text.as_bytes())?;
        if let Ok(found) = fs::metadata(target) {
            file.set_permissions(found.permissions())?;
        }
        file.sync_all()?;
        fs::rename(&unfinished, target)
    };
    write().inspect_err(|_| drop(fs::remove_file(&unfinished)))
}

#[cfg(test)]
mod tests;
