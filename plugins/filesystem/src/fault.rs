//! Errors, with the messages of the official server.

use std::io;

/// An error of a tool.
#[derive(Debug, thiserror::Error)]
pub(crate) enum FsError {
    /// The path is not allowed.
    #[error("Access denied - {0}")]
    Denied(String),
    /// A system call failed.
    #[error("{}", system_message(.error, .call, .path))]
    System {
        error: io::Error,
        /// The name of the system call.
        call: &'static str,
        /// The path. Empty if the message doesn't show it.
        path: String,
    },
    /// Any other error, as a message.
    #[error("{0}")]
    Other(String),
}

impl FsError {
    /// Creates the error of a system call on `path`.
    pub(crate) fn system(call: &'static str, path: &str) -> impl FnOnce(io::Error) -> Self {
        move |error| Self::System { error, call, path: path.to_owned() }
    }

    /// Creates an error that the system would report.
    pub(crate) fn of_kind(kind: io::ErrorKind, call: &'static str, path: &str) -> Self {
        Self::system(call, path)(kind.into())
    }

    /// Returns `true` if the path doesn't exist.
    pub(crate) fn is_not_found(&self) -> bool {
        matches!(self, Self::System { error, .. } if error.kind() == io::ErrorKind::NotFound)
    }
}

/// `EPERM`, which has no `ErrorKind`.
const EPERM: i32 = if cfg!(target_family = "wasm") { 63 } else { 1 };

fn system_message(error: &io::Error, call: &str, path: &str) -> String {
    use io::ErrorKind as Kind;
    let (code, words) = match error.kind() {
        Kind::NotFound => ("ENOENT", "no such file or directory"),
        Kind::PermissionDenied if error.raw_os_error() == Some(EPERM) => ("EPERM", "operation not permitted"),
        Kind::PermissionDenied => ("EACCES", "permission denied"),
        Kind::AlreadyExists => ("EEXIST", "file already exists"),
        Kind::IsADirectory => ("EISDIR", "illegal operation on a directory"),
        Kind::NotADirectory => ("ENOTDIR", "not a directory"),
        Kind::DirectoryNotEmpty => ("ENOTEMPTY", "directory not empty"),
        Kind::InvalidInput => ("EINVAL", "invalid argument"),
        Kind::InvalidFilename => ("ENAMETOOLONG", "name too long"),
        Kind::CrossesDevices => ("EXDEV", "cross-device link not permitted"),
        Kind::StorageFull => ("ENOSPC", "no space left on device"),
        Kind::QuotaExceeded => ("EDQUOT", "disk quota exceeded"),
        Kind::FileTooLarge => ("EFBIG", "file too large"),
        Kind::ReadOnlyFilesystem => ("EROFS", "read-only file system"),
        _ => return format!("{error}, {call} '{path}'"),
    };
    let mut text = format!("{code}: {words}, {call}");
    if !path.is_empty() {
        text.push_str(&format!(" '{path}'"));
    }
    text
}
