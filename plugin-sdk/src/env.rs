//! Variables of the gateway's environment, as far as the operator grants them.
//!
//! ```
//! use moongate_sdk::prelude::*;
//!
//! /// Speaks the operator's language.
//! #[derive(Default)]
//! struct Polite;
//!
//! #[plugin]
//! impl Polite {
//!     /// Greets.
//!     #[tool]
//!     fn greet(&self) -> &'static str {
//!         match env::get("LANG") {
//!             Some(lang) if lang.starts_with("de") => "Guten Tag!",
//!             _ => "Hello!",
//!         }
//!     }
//! }
//!
//! # use moongate_sdk::testing::Client;
//! # use serde_json::json;
//! let client = Client::<Polite>::new().env("LANG", "de_CH.UTF-8");
//! assert_eq!(client.call("greet", json!({})).unwrap().all_text(), "Guten Tag!");
//! ```
//!
//! The operator names each variable in `gateway.toml`, `env = ["LANG"]` below `[plugins.<name>.allow]`; any other is
//! absent. What a plugin is to be told by its operator is better a setting ([`config`](crate::config)), which has a schema
//! and a description.
//!
//! [`std::env`](mod@std::env) finds the same variables in a component. In native tests it would find those of the machine; this module
//! finds what the test sets, and nothing else.

use crate::host::env as host;

/// The variable `name`, if it is set, granted and text.
#[must_use]
pub fn get(name: &str) -> Option<String> {
    host::get(name)
}
