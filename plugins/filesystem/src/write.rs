//! Changing files. Whole files are replaced by renaming, so readers see either the old or the new content.

use std::collections::hash_map::RandomState;
use std::fs::{self, File};
use std::hash::{BuildHasher as _, Hasher as _};
use std::io::{ErrorKind, Write as _};

use moongate_sdk::files;

use crate::fault::FsError;
use crate::path::{self, ResolvedPath};

/// Writes a new or existing file.
pub(crate) fn file(file: &ResolvedPath, content: &[u8]) -> Result<(), FsError> {
    let path = &file.path;
    match fs::symlink_metadata(path) {
        Ok(found) if found.is_dir() => {
            return Err(FsError::of_code(libc::EISDIR, "open", path));
        }
        // Renaming onto a pipe or device would replace it.
        Ok(found) if !found.is_file() => {
            return Err(FsError::Other(format!("Not a regular file: {path}")));
        }
        Ok(_) => {}
        Err(error) if error.kind() == ErrorKind::NotFound => {}
        Err(error) => return Err(FsError::system("open", path)(error)),
    }
    let beside = path::join(path::parent(path), &temporary_name());
    let written = write_new(&beside, path, content)
        .and_then(|()| fs::rename(&beside, path).map_err(FsError::system("rename", path)));
    if written.is_err() {
        // Remove the incomplete file; the first error is the one to report.
        let _ = fs::remove_file(&beside);
    }
    written
}

/// Writes a new file at `beside`. Messages show `path`.
fn write_new(beside: &str, path: &str, content: &[u8]) -> Result<(), FsError> {
    let mut file = File::create_new(beside).map_err(FsError::system("open", path))?;
    // Sync to disk before replacing the old file.
    let written = file.write_all(content).and_then(|()| file.sync_data());
    written.map_err(|error| FsError::system("write", "")(files::reason(&file, error)))
}

/// A name that no other call uses.
fn temporary_name() -> String {
    let [first, second] = [(); 2].map(|()| RandomState::new().build_hasher().finish());
    format!(".{first:016x}{second:016x}.tmp")
}

/// Creates a directory and missing parents.
pub(crate) fn directory(directory: &ResolvedPath) -> Result<(), FsError> {
    let path = &directory.path;
    let mut missing = Vec::new();
    let mut here = path.as_str();
    loop {
        match fs::metadata(here) {
            Ok(found) if found.is_dir() => break,
            Ok(_) => return Err(FsError::of_code(libc::EEXIST, "mkdir", path)),
            Err(error) if error.kind() == ErrorKind::NotFound && here != "/" => {
                missing.push(here);
                here = path::parent(here);
            }
            Err(error) => return Err(FsError::system("mkdir", path)(error)),
        }
    }
    for each in missing.into_iter().rev() {
        match fs::create_dir(each) {
            Ok(()) => {}
            // Another call created it first.
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            Err(error) => return Err(FsError::system("mkdir", path)(error)),
        }
    }
    Ok(())
}

/// Moves a file or directory, unless the destination exists.
pub(crate) fn moved(from: &ResolvedPath, to: &ResolvedPath) -> Result<(), FsError> {
    match fs::symlink_metadata(&to.path) {
        Ok(_) => Err(FsError::Other(format!("Destination already exists: {}", to.path))),
        Err(error) if error.kind() == ErrorKind::NotFound => {
            let both = format!("{}' -> '{}", from.path, to.path);
            if from.path == from.directory.path {
                // WASI's error isn't specific, and a directory can't be moved into itself.
                return Err(FsError::of_code(libc::EINVAL, "rename", &both));
            }
            fs::rename(&from.path, &to.path).map_err(FsError::system("rename", &both))
        }
        Err(error) => Err(FsError::system("lstat", &to.path)(error)),
    }
}

#[cfg(test)]
mod tests;
