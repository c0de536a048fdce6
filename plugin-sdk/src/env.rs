//! Environment variables that the operator grants.
//!
//! ```
//! use moongate_sdk::prelude::*;
//!
//! /// Greets in the operator's language.
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
//! The operator names each variable in `gateway.toml` with `env = ["LANG"]` in `[plugins.<name>.allow]`. Other
//! variables are absent. Prefer a setting ([`config`](crate::config)) if you can: settings have a schema and a
//! description.
//!
//! In a component, [`std::env`](mod@std::env) returns the same variables. In native tests it returns those of the
//! machine, and this module only those that the test sets.

use crate::host::env as host;

/// Returns the variable `name`, if it is set, granted and valid UTF-8.
#[must_use]
pub fn get(name: &str) -> Option<String> {
    host::get(name)
}
