//! `get_file_info`: metadata of a file.

use std::fs::{self, Metadata};
use std::io;
use std::time::SystemTime;

use jiff::Timestamp;

use crate::fault::FsError;
use crate::granted::Access;
use crate::path::ResolvedPath;

/// One line for each property.
pub(crate) fn of(file: &ResolvedPath) -> Result<String, FsError> {
    let found = fs::metadata(&file.path).map_err(FsError::system("stat", &file.path))?;
    // WASI has no creation time, owner or mode, so `permissions` show the tools' own access.
    let permissions = match file.directory.access {
        Access::Read => "read",
        Access::ReadWrite => "read, write",
    };
    Ok(format!(
        "size: {}\ncreated: unknown\nmodified: {}\naccessed: {}\nisDirectory: {}\nisFile: {}\npermissions: {permissions}",
        found.len(),
        time(&found, Metadata::modified),
        time(&found, Metadata::accessed),
        found.is_dir(),
        found.is_file(),
    ))
}

/// A time in JavaScript's format, in UTC.
fn time(found: &Metadata, which: fn(&Metadata) -> io::Result<SystemTime>) -> String {
    let time = which(found).ok().and_then(|time| Timestamp::try_from(time).ok());
    time.map_or_else(
        || "unknown".to_owned(),
        |time| format!("{} GMT+0000 (Coordinated Universal Time)", time.strftime("%a %b %d %Y %H:%M:%S")),
    )
}

#[cfg(test)]
mod tests;
