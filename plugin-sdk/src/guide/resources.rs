//! Resources: data that a host may read, by its URI.
//!
//! ```
//! use moongate_sdk::prelude::*;
//!
//! #[derive(Default)]
//! struct Notes;
//!
//! /// Notes.
//! #[plugin]
//! impl Notes {
//!     /// What is to be done today.
//!     #[resource(uri = "notes://today", mime_type = "text/markdown", title = "Today")]
//!     fn today(&self) -> Result<String, ToolError> {
//!         Ok(kv::get("today")?.unwrap_or_default())
//!     }
//!
//!     /// The note of one day.
//!     #[resource(uri = "notes://days/{year}/{day}")]
//!     fn day(&self, year: u16, day: u16) -> Result<String, ToolError> {
//!         let note: Option<String> = kv::get(&format!("{year}-{day}"))?;
//!         note.ok_or_else(|| ToolError::not_found(format!("there is no note of day {day} of {year}")))
//!     }
//!
//!     /// Write today's note.
//!     #[tool]
//!     fn write(&self, text: &str) -> Result<(), ToolError> {
//!         kv::set("today", text)?;
//!         changes::resource("notes://today"); // clients that subscribed to it are told
//!         Ok(())
//!     }
//! }
//!
//! # use moongate_sdk::testing::Client;
//! # use serde_json::json;
//! let client = Client::<Notes>::new().kept("2026-5", "Snow.");
//! client.call("write", json!({ "text": "Milk." })).unwrap();
//! assert_eq!(client.read("notes://today").unwrap().contents[0].as_text(), Some("Milk."));
//! assert_eq!(client.read("notes://days/2026/5").unwrap().contents[0].as_text(), Some("Snow."));
//! assert!(client.read("notes://days/2026/x").is_err());
//! ```
//!
//! A `uri` without braces is a resource with a place in the list. With braces it is a **template**: `{name}` is one part of
//! a path, `{+name}` is anything, and each is a parameter of that name, of any type that is made from text. A parameter
//! `uri: &str` is the whole URI.
//!
//! URIs are the plugin's own: no prefix is added. Choose a scheme that names the plugin, because two plugins can't own the
//! same beginning; the gateway refuses the second, and says so. What stands before the first `{` of a template is such a
//! beginning, and has to name more than a scheme: `notes://days/{day}`, not `notes://{day}`.
//!
//! A function returns a `String`, bytes (`Vec<u8>`), [`Json`](crate::Json), [`ResourceContents`](crate::ResourceContents)
//! or several of them. A [`ReadResult`](crate::ReadResult) also says how long a copy may be kept:
//!
//! ```
//! # use moongate_sdk::prelude::*;
//! use moongate_sdk::ReadResult;
//! use std::time::Duration;
//!
//! # fn table() -> ReadResult {
//! let table = ResourceContents::text("tables://units", "m\tmetre").mime_type("text/tab-separated-values");
//! ReadResult::new(vec![table]).keep_for(Duration::from_secs(3600)).shareable()
//! # }
//! # assert_eq!(table().shareable, Some(true));
//! ```
//!
//! Resources that aren't known when the plugin is built are listed by an implementation of
//! [`Plugin`](crate::Plugin) by hand; [`changes::resources`](crate::changes::resources) has the gateway ask again.
