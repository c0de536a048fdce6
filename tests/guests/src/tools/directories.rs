//! Tools that access files.

use moongate_sdk::ToolError;
use moongate_sdk::prelude::*;

use crate::{bytes, files, reach, wild};

/// Tools that access files.
#[derive(Debug, Default)]
pub(crate) struct Directories;

#[plugin(part)]
impl Directories {
    /// Return the granted directories. For grants: only those in `allow.dirs`.
    #[tool]
    fn list_dirs(&self) -> Vec<Content> {
        reach::granted().into_iter().map(Content::text).collect()
    }

    /// List a directory. For grants.
    #[tool]
    fn list_dir(&self, path: &str) -> String {
        reach::list(path)
    }

    /// Read a file. For grants.
    #[tool]
    fn read_file(&self, path: &str) -> String {
        reach::outcome_text(std::fs::read_to_string(path))
    }

    /// Read a file, and fail if that isn't possible. For paths without a grant.
    #[tool]
    fn need_file(&self, path: &str, named: bool) -> Result<String, ToolError> {
        std::fs::read_to_string(path).map_err(|error| {
            let named = if named { format!(" `{path}`") } else { String::new() };
            ToolError::failed(format!("cannot read the file{named}: {error}"))
        })
    }

    /// Write a file. For grants and read-only directories.
    #[tool]
    fn write_file(&self, path: &str, text: &str) -> String {
        reach::outcome_text(std::fs::write(path, text).map(|()| "written".to_owned()))
    }

    /// Run file system calls step by step, and return each result: its value, or `refused: ` and the error. For
    /// escapes from a directory and changes in read-only ones. Can repeat all steps, for files that change meanwhile.
    #[tool]
    fn file_steps(&self, steps: &[files::Step], times: Option<u32>) -> String {
        files::steps(steps, times.unwrap_or(1))
    }

    /// Read a file or directory repeatedly until that fails. For the limit of bytes read.
    #[tool]
    fn read_without_end(&self, path: &str, way: &str) -> Result<String, ToolError> {
        one_of(way, &bytes::READING)?;
        Ok(bytes::read(path, way))
    }

    /// Write a file repeatedly until that fails. For the limit of bytes written.
    #[tool]
    fn write_without_end(&self, path: &str, way: &str) -> Result<String, ToolError> {
        one_of(way, &bytes::WRITING)?;
        Ok(bytes::write(path, way))
    }

    /// Open a file in each granted directory with undefined flags.
    #[tool]
    fn strange_flags(&self) -> String {
        wild::strange_flags()
    }
}

/// Checks that the way exists.
fn one_of(way: &str, ways: &[&str]) -> Result<(), ToolError> {
    if ways.contains(&way) {
        return Ok(());
    }
    Err(ToolError::invalid_params(format!("unknown way `{way}`; use one of {}", ways.join(", "))).at("/way"))
}
