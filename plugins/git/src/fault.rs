//! Errors, with the messages of the official server where it has its own.

use std::fmt::Display;
use std::io;
use std::path::Path;

/// An error of a tool.
#[derive(Debug, thiserror::Error)]
pub(crate) enum GitError {
    /// A message for the model.
    #[error("{0}")]
    Failed(String),
    /// A file operation failed.
    #[error("can't {action} `{path}`: {error}")]
    File { action: &'static str, path: String, error: io::Error },
}

/// The result of everything that can fail.
pub(crate) type GitResult<T> = Result<T, GitError>;

impl GitError {
    /// An error with this message.
    pub(crate) fn new(message: impl Display) -> Self {
        Self::Failed(message.to_string())
    }

    /// The error of a file operation, such as `read`.
    pub(crate) fn file(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        move |error| Self::File { action, path: path.display().to_string(), error }
    }

    /// The error for a revision that doesn't exist.
    pub(crate) fn unresolved(name: impl Display) -> Self {
        Self::Failed(format!("Ref '{name}' did not resolve to an object"))
    }
}
