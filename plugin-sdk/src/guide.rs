//! The guide: one page with examples for each task.
//!
//! | task | page |
//! |---|---|
//! | offer functions to a model | [`tools`], and [`arguments`] for their arguments |
//! | return results | [`results`] for text, structured content, images and links; [`errors`] for errors |
//! | offer data that hosts can read | [`resources`] |
//! | offer prepared messages to users | [`prompts`], and [`completion`] for suggestions while they type |
//! | ask the user, the model or the client | [`crate::input`] |
//! | report progress, write to the log, notice cancellation, report changes | [`telling`] |
//! | send HTTP requests | [`crate::http`] |
//! | store values between calls | [`crate::kv`] |
//! | be configured by the operator | [`settings`] for settings, secrets and environment variables |
//! | read and write files | [`files`] |
//! | test without a gateway | [`crate::testing`] |
//! | publish a plugin | [`publishing`] |
//!
//! Everything except computing needs a grant from the operator in the plugin's section of `gateway.toml`. If a grant
//! is missing, the error names the line to add.

pub mod arguments;
pub mod completion;
pub mod errors;
pub mod files;
pub mod prompts;
pub mod publishing;
pub mod resources;
pub mod results;
pub mod settings;
pub mod telling;
pub mod tools;
