//! The file of a trace: private to its user, and never a file that could block the gateway or that others can read.
//! Used by `trace` only.

use std::fs::{self, File};
use std::os::unix::fs::{FileExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::Path;

use moongate_config::Config;
use rustix::fs::OFlags;

use super::TraceError;

/// True if the gateway reads this file itself.
pub(super) fn is_one_of(path: &Path, config: &Config) -> bool {
    let Ok(path) = fs::canonicalize(path) else { return false }; // a missing file isn't read
    let components = config.plugins.iter().filter_map(|plugin| plugin.component_file());
    let others = [&config.file].into_iter().chain(&config.ca_file).chain(&config.secret_files);
    let named = others.map(|file| file.as_path()).chain(components);
    named.filter_map(|file| fs::canonicalize(file).ok()).any(|file| file == path)
}

/// Opens the file for appending. Also returns true if its last line is incomplete.
pub(super) fn open(path: &Path) -> Result<(File, bool), TraceError> {
    let io = |source| TraceError::Io { path: path.to_owned(), source };
    // Don't wait for a pipe, and don't follow a link.
    let flags = (OFlags::NONBLOCK | OFlags::NOFOLLOW | OFlags::NOCTTY).bits().cast_signed();
    let opened =
        File::options().read(true).append(true).create(true).mode(0o600).custom_flags(flags).open(path);
    let file = opened.map_err(|source| match fs::symlink_metadata(path) {
        Ok(found) if found.is_symlink() => TraceError::Symlink(path.to_owned()),
        Ok(found) if !found.is_file() => TraceError::NotRegularFile(path.to_owned()),
        Ok(_) | Err(_) => io(source),
    })?;
    let found = file.metadata().map_err(io)?;
    if !found.is_file() {
        return Err(TraceError::NotRegularFile(path.to_owned()));
    }
    if found.uid() != rustix::process::geteuid().as_raw() {
        return Err(TraceError::OtherOwner(path.to_owned()));
    }
    if found.mode() & 0o077 != 0 {
        return Err(TraceError::OtherUsersHaveAccess { path: path.to_owned(), mode: found.mode() & 0o777 });
    }
    if found.nlink() > 1 {
        return Err(TraceError::HardLinked(path.to_owned()));
    }
    let mut last = [b'\n'];
    if let Some(at) = found.len().checked_sub(1) {
        file.read_exact_at(&mut last, at).map_err(io)?;
    }
    Ok((file, last != [b'\n']))
}
