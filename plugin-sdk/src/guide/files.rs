//! Files in directories that the operator grants.
//!
//! ```toml
//! [plugins.notes.allow]
//! dirs = [{ host = "./notes", guest = "/notes", mode = "rw" }]   # the default `mode` is read-only
//! ```
//!
//! `guest` is the path that the plugin sees. [`std::fs`] works there as usual. Paths outside of it don't exist, and
//! symlinks that lead out of it can't be followed.
//!
//! ```
//! use moongate_sdk::prelude::*;
//! use std::fs;
//! use std::path::{Path, PathBuf};
//!
//! /// Notes in files. The directory is a setting, so that tests can use another one.
//! #[derive(Default)]
//! struct Notes;
//!
//! #[plugin]
//! impl Notes {
//!     /// List the notes.
//!     #[tool(read_only)]
//!     fn list(&self) -> Result<String, ToolError> {
//!         let mut names = Vec::new();
//!         for entry in fs::read_dir(directory()?)? {
//!             names.push(entry?.file_name().to_string_lossy().into_owned());
//!         }
//!         names.sort();
//!         Ok(names.join("\n"))
//!     }
//!
//!     /// Write a note.
//!     #[tool]
//!     fn write(&self, name: &str, text: &str) -> Result<(), ToolError> {
//!         let path = directory()?.join(Path::new(name).file_name().ok_or("a note needs a name")?);
//!         Ok(fs::write(path, text)?)
//!     }
//! }
//!
//! fn directory() -> Result<PathBuf, ToolError> {
//!     Ok(config::get("directory")?.unwrap_or_else(|| "/notes".to_owned()).into())
//! }
//!
//! # use moongate_sdk::testing::Client;
//! # use serde_json::json;
//! # let directory = std::env::temp_dir().join(format!("moongate-sdk-files-{}", std::process::id()));
//! # fs::create_dir_all(&directory).unwrap();
//! // In a test, these are real files in a temporary directory:
//! let client = Client::<Notes>::new().config("directory", directory.to_str().unwrap());
//! client.call("write", json!({ "name": "moon.md", "text": "Full." })).unwrap();
//! assert_eq!(client.call("list", json!({})).unwrap().all_text(), "moon.md");
//! # fs::remove_dir_all(&directory).unwrap();
//! ```
//!
//! The bytes that a call can read and write are limited (`limits.read`, `limits.written`); above the limit you get a
//! "quota exceeded" error. If several calls write to one file, write to a temporary file and rename it. For small
//! values that many calls change, prefer [`kv`](crate::kv), which has atomic updates.
//!
//! I/O errors don't contain a path. Add it, so that the model knows the file:
//!
//! ```
//! # use moongate_sdk::prelude::*;
//! # use std::fs;
//! # use std::path::Path;
//! fn text(path: &Path) -> Result<String, ToolError> {
//!     fs::read_to_string(path).map_err(|error| ToolError::failed(format!("`{}`: {error}", path.display())))
//! }
//! # let error = format!("{:?}", text(Path::new("/notes/moon.md")).unwrap_err());
//! # assert!(error.contains("`/notes/moon.md`: "), "{error}");
//! ```
