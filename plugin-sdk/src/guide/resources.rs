//! Resources: data that a host can read by its URI.
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
//!     /// Today's to-do list.
//!     #[resource(uri = "notes://today", mime_type = "text/markdown", title = "Today")]
//!     fn today(&self) -> Result<String, ToolError> {
//!         Ok(kv::get("today")?.unwrap_or_default())
//!     }
//!
//!     /// The note of a day.
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
//!         changes::resource("notes://today"); // notifies clients that subscribed to it
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
//! A `uri` without braces is a fixed resource in the list. With braces it is a **template**: `{name}` is a single
//! path segment, `{+name}` is any string, and each is a parameter with that name, of any type that can be parsed from
//! a string. A parameter `uri: &str` is the whole URI.
//!
//! URIs are used as they are: no prefix is added. Choose a scheme that names the plugin, because two plugins can't
//! own the same prefix; the gateway rejects the second with an error. The part of a template before its first `{` is
//! such a prefix, and must contain the scheme: `notes://{day}` owns every URI that starts with `notes://`.
//!
//! A function returns a `String`, bytes (`Vec<u8>`), [`Json`](crate::Json),
//! [`ResourceContents`](crate::ResourceContents) or several of them. Use a [`ReadResult`](crate::ReadResult) to set
//! how long the result can be cached:
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
//! If the resources are only known at run time, implement [`Plugin`](crate::Plugin) by hand. Call
//! [`changes::resources`](crate::changes::resources) to make the gateway list them again.
