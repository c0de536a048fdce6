//! Tools: functions that a model can call.
//!
//! ```
//! use moongate_sdk::prelude::*;
//!
//! #[derive(Default)]
//! struct Counter;
//!
//! /// Counts words.
//! #[plugin(title = "Counter", instructions = "Count before you shorten a text.")]
//! impl Counter {
//!     /// Count the words of a text, separated by white space.
//!     #[tool(title = "Count words", read_only, idempotent, open_world = false)]
//!     fn count(&self, text: &str) -> usize {
//!         text.split_whitespace().count()
//!     }
//! }
//!
//! # use moongate_sdk::testing::Client;
//! # use serde_json::json;
//! # assert_eq!(Client::<Counter>::new().call("count", json!({ "text": "a b" })).unwrap().all_text(), "2");
//! ```
//!
//! The model chooses tools by their **doc comment**: describe what the tool does and when to use it. The **name** is
//! the function's, or set with `name = "…"`. Clients see it prefixed with the plugin's id, as in `counter_count`;
//! hosts accept 64 characters in total. Functions and types can be private.
//!
//! # Hints
//! `read_only`, `destructive`, `idempotent` and `open_world` describe the effects of a call, alone or with `= false`.
//! Hosts ask the user before calls that can be destructive, which MCP assumes for tools without these hints.
//!
//! # A value for each call
//! Each call gets a new value of the plugin's type, made by [`Default`], in its own sandbox. So fields don't keep
//! values between calls; use [`kv`](crate::kv) for that. A tool takes `&self` or no `self` at all, and can't be
//! `async`: a waiting call doesn't block other calls.
//!
//! # Tools that come and go
//! `when` names a function that decides whether the tool is listed. The gateway calls it when it lists the plugin:
//! after loading it, and again after [`changes::tools`](crate::changes::tools).
//!
//! ```
//! # use moongate_sdk::prelude::*;
//! # #[derive(Default)]
//! # struct Door;
//! /// A door.
//! #[plugin]
//! impl Door {
//!     /// Unlock the door.
//!     #[tool]
//!     fn unlock(&self) -> Result<(), ToolError> {
//!         kv::set("open", &true)?;
//!         changes::tools();
//!         Ok(())
//!     }
//!
//!     /// Go through the door.
//!     #[tool(when = Door::is_open)]
//!     fn enter(&self) -> &'static str {
//!         "You are inside."
//!     }
//! }
//!
//! impl Door {
//!     fn is_open(&self) -> bool {
//!         kv::get("open").ok().flatten().unwrap_or(false)
//!     }
//! }
//!
//! # use moongate_sdk::testing::Client;
//! # use serde_json::json;
//! let client = Client::<Door>::new();
//! assert_eq!(client.tools().len(), 1);
//! client.call("unlock", json!({})).unwrap();
//! assert_eq!(client.tools().len(), 2);
//! ```
//!
//! If the tools are only known at run time, implement [`Plugin`](crate::Plugin) by hand.
//!
//! # Many tools
//! You can split the tools into several blocks, each with its own type: mark the others with `#[plugin(part)]`, and
//! name them in the plugin. A component contains one plugin.
//!
//! ```
//! # use moongate_sdk::prelude::*;
//! #[derive(Default)]
//! struct Words;
//!
//! #[plugin(part)]
//! impl Words {
//!     /// Count the words.
//!     #[tool]
//!     fn count(&self, text: &str) -> usize {
//!         text.split_whitespace().count()
//!     }
//! }
//!
//! #[derive(Default)]
//! struct Texts;
//!
//! /// Processes texts.
//! #[plugin(parts = [Words])]
//! impl Texts {
//!     /// Reverse a text.
//!     #[tool]
//!     fn reverse(&self, text: &str) -> String {
//!         text.chars().rev().collect()
//!     }
//! }
//! # assert_eq!(moongate_sdk::testing::Client::<Texts>::new().tools().len(), 2);
//! ```
