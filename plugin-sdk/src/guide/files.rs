//! Files, in directories that the operator grants.
//!
//! ```toml
//! [plugins.notes.allow]
//! dirs = [{ host = "./notes", guest = "/notes", mode = "rw" }]   # without `mode` it may only read
//! ```
//!
//! `guest` is the path that the plugin sees; [`std::fs`] works below it as anywhere. Outside of it nothing exists, and
//! links that lead out of it can't be followed.
//!
//! ```
//! use moongate_sdk::prelude::*;
//! use std::fs;
//! use std::path::{Path, PathBuf};
//!
//! /// Notes in files. The directory is a setting, so that a test can give another one.
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
//! # let folder = std::env::temp_dir().join(format!("moongate-sdk-files-{}", std::process::id()));
//! # fs::create_dir_all(&folder).unwrap();
//! // In a test these are real files, of a temporary directory:
//! let client = Client::<Notes>::new().config("directory", folder.to_str().unwrap());
//! client.call("write", json!({ "name": "moon.md", "text": "Full." })).unwrap();
//! assert_eq!(client.call("list", json!({})).unwrap().all_text(), "moon.md");
//! # fs::remove_dir_all(&folder).unwrap();
//! ```
//!
//! Bytes read and written in a call have limits (`limits.read`, `limits.written`); beyond them the system says that the
//! quota is used up. Where several calls write to one file, write to another one and rename it; small things that many
//! calls change are better kept in [`kv`](crate::kv), which has atomic updates.
//!
//! An error of the system names no path: add it, so that the model learns which file it was.
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
