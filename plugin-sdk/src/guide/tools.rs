//! Tools: functions that a model may call.
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
//!     /// Count the words of a text. Words are what white space divides.
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
//! The **doc comment** is what the model chooses by: say what the tool does and when to use it. The **name** is the
//! function's, or `name = "…"`; clients see it with the plugin's id before it, as in `counter_count`, and hosts take 64
//! characters in all. Functions and types may be private.
//!
//! # Hints
//! `read_only`, `destructive`, `idempotent` and `open_world` say what a call may do, alone or with `= false`. Hosts ask a
//! person before calls that may destroy something, and that is what MCP has them assume of a tool that says nothing.
//!
//! # A value for each call
//! The plugin is a value of its type, made by [`Default`] for each call in a sandbox of its own. Fields are for what is
//! made anew each time; what should remain goes into [`kv`](crate::kv). So a tool takes `&self` or no `self` at all, and
//! can't be `async`: waiting in it holds up nobody else.
//!
//! # Tools that come and go
//! `when` names a function that says whether the tool is listed. The gateway asks when it lists the plugin: once it is
//! loaded, and again after [`changes::tools`](crate::changes::tools).
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
//! Where the tools aren't known when the plugin is built at all, implement [`Plugin`](crate::Plugin) by hand.
//!
//! # Many tools
//! Tools can stand in several blocks, each of a type of its own: `#[plugin(part)]` marks the others, and the plugin names
//! them. A component holds one plugin.
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
//! /// Works on texts.
//! #[plugin(parts = [Words])]
//! impl Texts {
//!     /// Turn a text round.
//!     #[tool]
//!     fn reverse(&self, text: &str) -> String {
//!         text.chars().rev().collect()
//!     }
//! }
//! # assert_eq!(moongate_sdk::testing::Client::<Texts>::new().tools().len(), 2);
//! ```
