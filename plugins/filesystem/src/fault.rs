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

    /// Creates an error that the system would report, with a number such as [`libc::EISDIR`].
    pub(crate) fn of_code(code: i32, call: &'static str, path: &str) -> Self {
        Self::system(call, path)(io::Error::from_raw_os_error(code))
    }

    /// Returns `true` if the path doesn't exist.
    pub(crate) fn is_not_found(&self) -> bool {
        matches!(self, Self::System { error, .. } if error.kind() == io::ErrorKind::NotFound)
    }
}

/// System errors of file operations, with Node's names and wording, which the official server shows.
const SYSTEM_ERRORS: &[(i32, &str, &str)] = &[
    (libc::EACCES, "EACCES", "permission denied"),
    (libc::EAGAIN, "EAGAIN", "resource temporarily unavailable"),
    (libc::EBADF, "EBADF", "bad file descriptor"),
    (libc::EBUSY, "EBUSY", "resource busy or locked"),
    (libc::EDEADLK, "EDEADLK", "resource deadlock would occur"),
    (libc::EDQUOT, "EDQUOT", "disk quota exceeded"),
    (libc::EEXIST, "EEXIST", "file already exists"),
    (libc::EFBIG, "EFBIG", "file too large"),
    (libc::EILSEQ, "EILSEQ", "illegal byte sequence"),
    (libc::EINTR, "EINTR", "interrupted system call"),
    (libc::EINVAL, "EINVAL", "invalid argument"),
    (libc::EIO, "EIO", "i/o error"),
    (libc::EISDIR, "EISDIR", "illegal operation on a directory"),
    (libc::ELOOP, "ELOOP", "too many symbolic links encountered"),
    (libc::EMFILE, "EMFILE", "too many open files"),
    (libc::EMLINK, "EMLINK", "too many links"),
    (libc::ENAMETOOLONG, "ENAMETOOLONG", "name too long"),
    (libc::ENFILE, "ENFILE", "file table overflow"),
    (libc::ENODEV, "ENODEV", "no such device"),
    (libc::ENOENT, "ENOENT", "no such file or directory"),
    (libc::ENOLCK, "ENOLCK", "no locks available"),
    (libc::ENOMEM, "ENOMEM", "not enough memory"),
    (libc::ENOSPC, "ENOSPC", "no space left on device"),
    (libc::ENOTDIR, "ENOTDIR", "not a directory"),
    (libc::ENOTEMPTY, "ENOTEMPTY", "directory not empty"),
    (libc::ENOTSUP, "ENOTSUP", "operation not supported on socket"),
    (libc::ENXIO, "ENXIO", "no such device or address"),
    (libc::EOVERFLOW, "EOVERFLOW", "value too large for defined data type"),
    (libc::EPERM, "EPERM", "operation not permitted"),
    (libc::EPIPE, "EPIPE", "broken pipe"),
    (libc::EROFS, "EROFS", "read-only file system"),
    (libc::ESPIPE, "ESPIPE", "invalid seek"),
    (libc::ETXTBSY, "ETXTBSY", "text file is busy"),
    (libc::EXDEV, "EXDEV", "cross-device link not permitted"),
];

fn system_message(error: &io::Error, call: &str, path: &str) -> String {
    let known = SYSTEM_ERRORS.iter().find(|(number, _, _)| error.raw_os_error() == Some(*number));
    let mut text = match known {
        Some((_, code, words)) => format!("{code}: {words}, {call}"),
        None => format!("{error}, {call}"),
    };
    if !path.is_empty() {
        text.push_str(&format!(" '{path}'"));
    }
    text
}

#[cfg(test)]
mod tests;
