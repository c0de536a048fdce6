//! Errors: how a call fails.
//!
//! `?` works on any error in a function that returns `Result<_, ToolError>`. The model reads the error's message with
//! those of its sources. So write messages for a model: explain what is wrong and what to do instead.
//!
//! ```
//! use moongate_sdk::prelude::*;
//!
//! #[derive(Default)]
//! struct Numbers;
//!
//! /// Arithmetic.
//! #[plugin]
//! impl Numbers {
//!     /// Divide two integers, given as strings.
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
//! | constructor | reported to |
//! |---|---|
//! | [`ToolError::failed`](crate::ToolError::failed), `?` | the model, as a result with `isError`; it can try again |
//! | [`invalid_params`](crate::ToolError::invalid_params), [`not_found`](crate::ToolError::not_found), [`internal`](crate::ToolError::internal), [`custom`](crate::ToolError::custom) | the client program, as a JSON-RPC error; the model may never see it |
//! | [`missing_capability`](crate::ToolError::missing_capability) | the client program, with the capabilities that it is missing |
//!
//! A tool that refuses its arguments uses `failed`, so that the model can correct them. If in doubt, use it, too.
//! Resources and prompts have no `isError`, so for them every error is a JSON-RPC error.
//!
//! ```
//! # use moongate_sdk::prelude::*;
//! # fn check(days: u32) -> Result<(), ToolError> {
//! if days > 10 {
//!     return Err(ToolError::failed("invalid `days`: forecasts are limited to 10 days"));
//! }
//! # Ok(())
//! # }
//! # assert!(check(11).is_err());
//! ```
//!
//! # Other error types
//! A function can also return `Result<_, E>` with any `E` that can be converted to a `ToolError`: each
//! [`std::error::Error`] that borrows nothing, `Box<dyn Error>`, `anyhow::Error`, or a `String`. For your own enum,
//! implement `Error`, or `From<MyError> for ToolError` if you want control over the conversion, but not both.
//!
//! A function that asks the client ([`input`](crate::input)) returns `ToolError` itself, or an enum that can contain
//! one, because questions travel as errors of this type.
//!
//! # Panics
//! A panic ends only this call. The gateway's log contains the message and location for you; the caller gets a short
//! error without them. The next call gets a new sandbox. Use `expect` only for conditions that can't occur.
