//! Writes the lock file.
//!
//! The file is read again, changed and replaced as a whole, while its directory is locked: two commands that change
//! different entries at once lose neither, and a reader never sees a part of it.

use std::io;
use std::path::Path;

use moongate_config::LockFile;
use moongate_system::file_edit::FileEdit;
use moongate_system::private_dir::io_hint;

use crate::error::SourceError;

/// Changes the lock file at this path, and creates it if it doesn't exist. Returns `false` if `change` changes nothing.
///
/// # Errors
/// The file can't be read or written, or isn't a lock file of this version. It is then unchanged.
pub fn update_lock(path: &Path, change: impl FnOnce(&mut LockFile)) -> Result<bool, SourceError> {
    let edit = FileEdit::start(path).map_err(|error| unwritable(path, &error))?;
    edit_lock(&edit, change)
}

/// Changes the lock file of an edit that has been started, like [`update_lock`].
///
/// # Errors
/// The file can't be read or written, or isn't a lock file of this version. It is then unchanged.
pub fn edit_lock(edit: &FileEdit, change: impl FnOnce(&mut LockFile)) -> Result<bool, SourceError> {
    let mut lock = LockFile::read(edit.target())
        .map_err(|error| SourceError::new(error.to_string()).with_hint(error.hint()))?;
    let before = lock.clone();
    change(&mut lock);
    if lock == before {
        return Ok(false);
    }
    edit.replace(&lock.text()).map_err(|error| unwritable(edit.target(), &error))?;
    Ok(true)
}

fn unwritable(path: &Path, error: &io::Error) -> SourceError {
    SourceError::new(format!("can't write `{}`: {error}", path.display())).with_hint(io_hint(error))
}

#[cfg(test)]
mod tests;
