//! Errors: how a call ends without what was asked for.
//!
//! `?` works on any error in a function that returns `Result<_, ToolError>`; its message, with those of its sources, is
//! what the model reads. So write messages for a model: what is wrong, and what to do instead.
//!
//! ```
//! use moongate_sdk::prelude::*;
//!
//! #[derive(Default)]
//! struct Numbers;
//!
//! /// Numbers.
//! #[plugin]
//! impl Numbers {
//!     /// Divide two whole numbers, given as text.
//!     #[tool]
//!     fn divide(&self, a: &str, b: &str) -> Result<i64, ToolError> {
//!         let (a, b): (i64, i64) = (a.trim().parse()?, b.trim().parse()?);
//!         a.checked_div(b).ok_or_else(|| ToolError::failed("can't divide by 0; give another `b`"))
//!     }
//! }
//!
//! # use moongate_sdk::testing::Client;
//! # use serde_json::json;
//! let client = Client::<Numbers>::new();
//! let result = client.call("divide", json!({ "a": "1", "b": "0" })).unwrap();
//! assert!(result.failed());
//! assert_eq!(result.all_text(), "can't divide by 0; give another `b`");
//!
//! let result = client.call("divide", json!({ "a": "one", "b": "1" })).unwrap();
//! assert_eq!(result.all_text(), "invalid digit found in string");
//! ```
//!
//! # For the model or for the program
//! | made by | who is told |
//! |---|---|
//! | [`ToolError::failed`](crate::ToolError::failed), `?` | the model, by a result that says `isError`; it can try again |
//! | [`invalid_params`](crate::ToolError::invalid_params), [`not_found`](crate::ToolError::not_found), [`internal`](crate::ToolError::internal), [`custom`](crate::ToolError::custom) | the program, by a JSON-RPC error; a model may never see it |
//! | [`missing_capability`](crate::ToolError::missing_capability) | the program: what it would have to be able to do |
//!
//! If in doubt, `failed` is right. Resources and prompts have no `isError`; there each is a JSON-RPC error.
//!
//! ```
//! # use moongate_sdk::prelude::*;
//! # fn check(days: u32) -> Result<(), ToolError> {
//! if days > 10 {
//!     return Err(ToolError::invalid_params("no forecast goes so far").at("/days").data(&10));
//! }
//! # Ok(())
//! # }
//! # assert!(check(11).is_err());
//! ```
//!
//! # Other error types
//! A function may also return `Result<_, E>` with any `E` that can become a `ToolError`: each [`std::error::Error`] that
//! borrows nothing, `Box<dyn Error>`, `anyhow::Error`, a `String`. An enum of your own implements `Error`, or
//! `From<MyError> for ToolError` where it decides itself; but not both.
//!
//! A function that asks the client ([`input`](crate::input)) returns `ToolError` itself, or an enum that can hold one,
//! because a question travels as one.
//!
//! # Panics
//! A panic ends this one call. The gateway's log has the message and the place, for you; the caller reads one sentence
//! without either. The next call gets a new sandbox. So `expect` is fine for what can't happen, and nothing else.
