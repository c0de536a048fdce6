//! Telling: progress, log lines, changes; and noticing that nobody waits any more.
//!
//! ```
//! use moongate_sdk::prelude::*;
//!
//! #[derive(Default)]
//! struct Indexer;
//!
//! /// Indexes texts.
//! #[plugin]
//! impl Indexer {
//!     /// Index some texts.
//!     #[tool]
//!     fn index(&self, ctx: &Context, texts: Vec<String>) -> Result<String, ToolError> {
//!         for (done, text) in texts.iter().enumerate() {
//!             if ctx.cancelled() {
//!                 log::info(format_args!("cancelled after {done} texts"));
//!                 return Err(ToolError::failed("cancelled"));
//!             }
//!             progress::report_with((done + 1) as f64, texts.len() as f64, "indexing");
//!             log::debug(format_args!("{} bytes", text.len()));
//!         }
//!         Ok(format!("{} texts", texts.len()))
//!     }
//! }
//!
//! # use moongate_sdk::testing::Client;
//! # use serde_json::json;
//! let client = Client::<Indexer>::new();
//! client.call("index", json!({ "texts": ["a", "b"] })).unwrap();
//! assert_eq!(client.progress()[1].total, Some(2.0));
//! assert_eq!(client.logs().len(), 2);
//!
//! let client = Client::<Indexer>::new().cancelled();
//! assert!(client.call("index", json!({ "texts": ["a"] })).unwrap().failed());
//! ```
//!
//! # Progress
//! [`progress::report`](crate::progress::report) and [`report_with`](crate::progress::report_with) reach the client where
//! it asked for them, and cost next to nothing where it didn't. First comes how far the call is, then how far it has to go,
//! if that is known. Each report needs a larger number than the one before, or it is dropped.
//!
//! ```
//! # use moongate_sdk::prelude::*;
//! progress::report(3.0, 10.0); // 3 of 10
//! progress::report(4.0, None); // nobody knows of how many
//! ```
//!
//! # Log
//! [`log`](crate::log) has a function for each level. Lines go to the gateway's log with the plugin's id, and to a client
//! that asked for that level; so never log a secret. [`log::data`](crate::log::data) logs any value that can be
//! serialised, as the part of the plugin that its second argument names:
//!
//! ```
//! # use moongate_sdk::prelude::*;
//! # use serde_json::json;
//! log::data(LogLevel::Warning, Some("index"), &json!({ "file": "a.txt", "words": 3 }));
//! log::data(LogLevel::Info, None, &["a", "b"]);
//! ```
//!
//! What a plugin prints (`println!`, `eprintln!`) reaches the gateway's log too, and no client. The numbers of
//! lines and bytes in a call have limits; what is beyond them is dropped and counted.
//!
//! # Cancellation and time
//! [`Context::cancelled`](crate::Context::cancelled) says that the client took its request back or went away. A call that
//! doesn't look is dropped after a grace (`limits.cancel_grace`), so look where something has to be put in order first.
//! [`Context::remaining`](crate::Context::remaining) is the time until the gateway ends the call.
//!
//! # Changes
//! [`changes`](crate::changes) says that a list or a resource is different now. The gateway acts on it after the call: it
//! lists the plugin anew, and tells its clients.
