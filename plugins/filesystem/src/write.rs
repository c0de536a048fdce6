//! Changing files: whole files are put in place by renaming, so whoever reads sees the old content or the new.

use std::collections::hash_map::RandomState;
use std::fs::{self, File};
use std::hash::{BuildHasher as _, Hasher as _};
use std::io::{ErrorKind, Write as _};

use crate::fault::Fault;
use crate::path::{self, Located};

/// Writes a file, new or not.
pub(crate) fn file(file: &Located, content: &[u8]) -> Result<(), Fault> {
    let path = &file.path;
    match fs::symlink_metadata(path) {
        Ok(found) if found.is_dir() => {
            return Err(Fault::of_kind(ErrorKind::IsADirectory, "open", path));
        }
        // Renaming onto a pipe or a device would take it away.
        Ok(found) if !found.is_file() => {
            return Err(Fault::Other(format!("Not a regular file: {path}")));
        }
        Ok(_) => {}
        Err(error) if error.kind() == ErrorKind::NotFound => {}
        Err(error) => return Err(Fault::system("open", path)(error)),
    }
    let beside = path::join(path::parent(path), &temporary_name());
    let written = write_new(&beside, content).and_then(|()| fs::rename(&beside, path));
    written.map_err(|error| {
        // What is half written is of no use to anybody, and the first reason is the one to tell.
        let _ = fs::remove_file(&beside);
        Fault::system("open", path)(error)
    })
}

fn write_new(path: &str, content: &[u8]) -> std::io::Result<()> {
    let mut file = File::create_new(path)?;
    file.write_all(content)?;
    // On the disk before it takes the old file's place.
    file.sync_data()
}

/// A name that no other call takes.
fn temporary_name() -> String {
    let [first, second] = [(); 2].map(|()| RandomState::new().build_hasher().finish());
    format!(".{first:016x}{second:016x}.tmp")
}

/// Makes a directory and those above it, unless they are there.
pub(crate) fn directory(directory: &Located) -> Result<(), Fault> {
    let path = &directory.path;
    let mut missing = Vec::new();
    let mut here = path.as_str();
    loop {
        match fs::metadata(here) {
            Ok(found) if found.is_dir() => break,
            Ok(_) => return Err(Fault::of_kind(ErrorKind::AlreadyExists, "mkdir", path)),
            Err(error) if error.kind() == ErrorKind::NotFound && here != "/" => {
                missing.push(here);
                here = path::parent(here);
            }
            Err(error) => return Err(Fault::system("mkdir", path)(error)),
        }
    }
    for each in missing.into_iter().rev() {
        match fs::create_dir(each) {
            Ok(()) => {}
            // Another call was faster.
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            Err(error) => return Err(Fault::system("mkdir", path)(error)),
        }
    }
    Ok(())
}

/// Moves a file or a directory to where nothing is.
pub(crate) fn moved(from: &Located, to: &Located) -> Result<(), Fault> {
    match fs::symlink_metadata(&to.path) {
        Ok(_) => Err(Fault::Other(format!("Destination already exists: {}", to.path))),
        Err(error) if error.kind() == ErrorKind::NotFound => {
            let both = format!("{}' -> '{}", from.path, to.path);
            if from.path == from.directory.path {
                // The sandbox has no word for it, and no place inside a directory can be its own.
                return Err(Fault::of_kind(ErrorKind::InvalidInput, "rename", &both));
            }
            fs::rename(&from.path, &to.path).map_err(Fault::system("rename", &both))
        }
        Err(error) => Err(Fault::system("lstat", &to.path)(error)),
    }
}

#[cfg(test)]
mod tests;
