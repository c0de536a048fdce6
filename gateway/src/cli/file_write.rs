//! Writes files that other programs read: completely or not at all.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

/// Writes a new file, and creates its directory.
///
/// # Errors
/// The file exists, or it can't be written.
pub(super) fn create_new(path: &Path, text: &str) -> io::Result<()> {
    if fs::symlink_metadata(path).is_ok() {
        return Err(io::ErrorKind::AlreadyExists.into());
    }
    replace(path, text)
}

/// Writes a file by renaming, and keeps its permissions. If the path is a symlink, its target is replaced. Creates the
/// directory if it is missing.
///
/// # Errors
/// The file can't be written. It then has its previous content.
pub(super) fn replace(path: &Path, text: &str) -> io::Result<()> {
    let path = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let directory = directory_of(&path);
    create_directory_of(&path)?;
    let name = path.file_name().ok_or(io::ErrorKind::InvalidInput)?.to_string_lossy();
    let temporary = directory.join(format!(".{name}.{}", std::process::id()));
    let permissions = fs::metadata(&path).ok().map(|found| found.permissions());
    let write = || {
        let mut file = File::options().write(true).create_new(true).open(&temporary)?;
        if let Some(permissions) = permissions {
            file.set_permissions(permissions)?;
        }
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
        fs::rename(&temporary, &path)
    };
    write().inspect_err(|_| drop(fs::remove_file(&temporary)))
}

/// Creates the directory of a file if it is missing.
///
/// # Errors
/// It can't be created.
pub(super) fn create_directory_of(path: &Path) -> io::Result<()> {
    fs::create_dir_all(directory_of(path))
}

/// The directory of a file.
fn directory_of(path: &Path) -> PathBuf {
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    parent.map_or_else(|| PathBuf::from("."), Path::to_owned)
}
