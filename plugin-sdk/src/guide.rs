//! The guide: one page with examples for each task.
//!
//! The pages are the general and the Rust sections of the guide for all languages, `docs/guide` in the repository.
//!
#![doc = include_str!("guide/README.md")]

/// Arguments of tools, and their JSON Schemas.
///
#[doc = include_str!("guide/arguments.md")]
///
/// API: [`schemars::JsonSchema`]
pub mod arguments {}

/// How a call fails.
///
#[doc = include_str!("guide/errors.md")]
///
/// API: [`crate::ToolError`]
pub mod errors {}

/// Files in directories that the operator grants.
///
#[doc = include_str!("guide/files.md")]
///
/// API: [`crate::files`]
pub mod files {}

/// HTTP requests to the origins that the operator grants.
///
#[doc = include_str!("guide/http.md")]
///
/// API: [`crate::http`]
pub mod http {}

/// Progress, log messages, change notifications and cancellation.
///
#[doc = include_str!("guide/progress.md")]
///
/// API: [`crate::progress`], [`crate::log`], [`crate::changes`], [`crate::Context`]
pub mod progress {}

/// Prompts: prepared messages that a user chooses from a menu; and completion.
///
#[doc = include_str!("guide/prompts.md")]
///
/// API: [`crate::PromptMessage`], [`crate::PromptArg`], [`crate::Completion`]
pub mod prompts {}

/// From a crate to a component that others can use.
///
#[doc = include_str!("guide/publishing.md")]
pub mod publishing {}

/// Questions to the client: to its user, its model, or the program itself.
///
#[doc = include_str!("guide/questions.md")]
///
/// API: [`crate::input`], [`crate::Context`]
pub mod questions {}

/// Data that a host can read by its URI.
///
#[doc = include_str!("guide/resources.md")]
///
/// API: [`crate::ResourceContents`], [`crate::ReadResult`]
pub mod resources {}

/// Results of tools.
///
#[doc = include_str!("guide/results.md")]
///
/// API: [`crate::Json`], [`crate::Content`], [`crate::ToolResult`], [`crate::IntoToolResult`]
pub mod results {}

/// Settings, secrets and environment variables from the operator.
///
#[doc = include_str!("guide/settings.md")]
///
/// API: [`crate::config`], [`crate::env`]
pub mod settings {}

/// Values that a plugin stores between calls.
///
#[doc = include_str!("guide/state.md")]
///
/// API: [`crate::kv`]
pub mod state {}

/// Native tests, without Wasm or a gateway.
///
#[doc = include_str!("guide/testing.md")]
///
/// API: [`crate::testing`]
pub mod testing {}

/// Functions that a model can call.
///
#[doc = include_str!("guide/tools.md")]
///
/// API: [`macro@crate::plugin`], [`macro@crate::tool`], [`trait@crate::Plugin`]
pub mod tools {}
