//! Progress, log messages, change notifications and cancellation.
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
//! [`progress::report`](crate::progress::report) and [`report_with`](crate::progress::report_with) send progress to
//! the client if it requested it, and otherwise cost almost nothing. The first argument is the current value, the
//! second the total, if it is known. The value must increase with each report, or the report is dropped.
//!
//! ```
//! # use moongate_sdk::prelude::*;
//! progress::report(3.0, 10.0); // 3 of 10
//! progress::report(4.0, None); // the total is unknown
//! ```
//!
//! # Log
//! [`log`](crate::log) has a function for each level. Messages go to the gateway's log with the plugin's id, and to
//! clients that requested this level, so never log a secret. [`log::data`](crate::log::data) logs any serializable
//! value; its second argument names the part of the plugin:
//!
//! ```
//! # use moongate_sdk::prelude::*;
//! # use serde_json::json;
//! log::data(LogLevel::Warning, Some("index"), &json!({ "file": "a.txt", "words": 3 }));
//! log::data(LogLevel::Info, None, &["a", "b"]);
//! ```
//!
//! Output of `println!` and `eprintln!` also goes to the gateway's log, but not to clients. The number of lines and
//! bytes per call is limited; output above the limit is dropped and counted.
//!
//! # Cancellation and time
//! [`Context::cancelled`](crate::Context::cancelled) reports that the client cancelled the request or disconnected. A
//! call that doesn't check it is dropped after a grace period (`limits.cancel_grace`), so check it if you need to
//! clean up. [`Context::remaining`](crate::Context::remaining) is the time until the gateway ends the call.
//!
//! # Changes
//! [`changes`](crate::changes) reports that a list or a resource has changed. After the call, the gateway lists the
//! plugin again and notifies its clients.
