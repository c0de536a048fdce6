//! Tools that reach for files.

use moongate_sdk::ToolError;
use moongate_sdk::prelude::*;

use crate::{bytes, files, reach, wild};

/// Tools that reach for files.
#[derive(Debug, Default)]
pub(crate) struct Directories;

#[plugin(part)]
impl Directories {
    /// Returns the folders it was given. For grants: there are only those in `allow.dirs`.
    #[tool]
    fn list_dirs(&self) -> Vec<Content> {
        reach::granted().into_iter().map(Content::text).collect()
    }

    /// Lists a folder. For grants.
    #[tool]
    fn list_dir(&self, path: &str) -> String {
        reach::list(path)
    }

    /// Reads a file. For grants.
    #[tool]
    fn read_file(&self, path: &str) -> String {
        reach::told(std::fs::read_to_string(path))
    }

    /// Reads a file, and fails where it can't. For paths that nothing is granted for.
    #[tool]
    fn need_file(&self, path: &str, named: bool) -> Result<String, ToolError> {
        std::fs::read_to_string(path).map_err(|error| {
            let named = if named { format!(" `{path}`") } else { String::new() };
            ToolError::failed(format!("the file{named} can't be read: {error}"))
        })
    }

    /// Writes a file. For grants, and for folders that may only be read.
    #[tool]
    fn write_file(&self, path: &str, text: &str) -> String {
        reach::told(std::fs::write(path, text).map(|()| "written".to_owned()))
    }

    /// Calls the file system as it is told, step by step, and tells what came of each: what it got, or `refused: ` and
    /// the error. For ways out of a directory, and for changes to what may only be read; all steps several times for
    /// what changes meanwhile.
    #[tool]
    fn file_steps(&self, steps: &[files::Step], times: Option<u32>) -> String {
        files::steps(steps, times.unwrap_or(1))
    }

    /// Reads a file or folder again and again until it is refused. For the limit of what is read from files.
    #[tool]
    fn read_without_end(&self, path: &str, way: &str) -> Result<String, ToolError> {
        one_of(way, &bytes::READING)?;
        Ok(bytes::read(path, way))
    }

    /// Writes a file again and again until it is refused. For the limit of what is written to files.
    #[tool]
    fn write_without_end(&self, path: &str, way: &str) -> Result<String, ToolError> {
        one_of(way, &bytes::WRITING)?;
        Ok(bytes::write(path, way))
    }

    /// Opens a file in each granted folder with flags that nobody defined.
    #[tool]
    fn strange_flags(&self) -> String {
        wild::strange_flags()
    }
}

/// Is it one of the ways that there are?
fn one_of(way: &str, ways: &[&str]) -> Result<(), ToolError> {
    if ways.contains(&way) {
        return Ok(());
    }
    Err(ToolError::invalid_params(format!("`{way}` is no way; there are {}", ways.join(", "))).at("/way"))
}
