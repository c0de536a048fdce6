//! Write a Moongate plugin as a Rust `impl` block.
//!
//! ```
//! use moongate_sdk::prelude::*;
//!
//! #[derive(Default)]
//! struct Hello;
//!
//! /// Greets people.
//! #[plugin]
//! impl Hello {
//!     /// Greets someone by name.
//!     #[tool(read_only)]
//!     fn hello(&self, name: &str) -> String {
//!         format!("Hello, {name}!")
//!     }
//! }
//!
//! // In `cargo test`, without Wasm or a gateway:
//! let client = moongate_sdk::testing::Client::<Hello>::new();
//! let result = client.call("hello", serde_json::json!({ "name": "Ada" })).unwrap();
//! assert_eq!(result.all_text(), "Hello, Ada!");
//! ```
//!
//! The crate needs `crate-type = ["cdylib", "rlib"]`. Build it with `cargo build --release --target wasm32-wasip2`.
//! To derive `Deserialize`, `Serialize` and `JsonSchema` for your own types, add `serde` and `schemars`.
//!
//! # Attributes
//! - A **doc comment** is the description of the plugin, tool, resource, prompt or argument that follows.
//! - **Parameters** are arguments, owned or borrowed (`&str`). `Option<T>` is optional. A single parameter called
//!   `args` is the whole argument object: a struct that derives `Deserialize` and
//!   [`JsonSchema`](schemars::JsonSchema). A parameter of type [`&Context`](Context) gives information about the
//!   call.
//! - The **return type** is any type that implements [`IntoToolResult`] ([`IntoResource`], [`IntoPrompt`]). [`Json`]
//!   also gives the tool an output schema. In a `Result`, `?` works on every [`std::error::Error`]; [`ToolError`]
//!   determines how the client sees it.
//!
//! Every call gets its own plugin value, made by [`Default`], in its own sandbox: there is nothing to lock, and no
//! memory is kept between calls. Store values with [`kv`], send requests with [`http`], and ask the user, the model
//! or the client with [`input`].
//!
//! # Guide
//! [`guide`] has a page for each task: tools, arguments, results, errors, resources, prompts, completion, questions,
//! progress and logs, HTTP requests, state, settings, files, testing and publishing.
//!
//! # Generated code
//! The macro generates an implementation of [`Plugin`] and one line of [`export!`]. You can also write both by hand:
//!
//! ```
//! use moongate_sdk::{CallOutcome, Context, Failure, Plugin, PluginInfo, Tool, ToolError, ToolResult};
//!
//! #[derive(Default)]
//! struct Hello;
//!
//! impl Plugin for Hello {
//!     fn info() -> PluginInfo {
//!         PluginInfo::new("hello", "1.0.0")
//!     }
//!
//!     fn tools(&self) -> Result<Vec<Tool>, Failure> {
//!         Ok(vec![Tool::new("hello", "Greets the world.", r#"{"type":"object"}"#)])
//!     }
//!
//!     fn call_tool(&self, _: &Context, name: &str, _args: &str) -> Result<CallOutcome, Failure> {
//!         match name {
//!             "hello" => Ok(CallOutcome::Done(ToolResult::text("Hello, world!"))),
//!             _ => ToolError::not_found(format!("there is no tool `{name}`")).into_outcome(),
//!         }
//!     }
//! }
//!
//! moongate_sdk::export!(Hello: tools);
//! ```

#[doc(hidden)]
pub mod bindings; // generated bindings of the contract
mod bounds; // requirements on plugin authors' types
pub mod changes; // change notifications
mod completion; // return types of completions
pub mod config; // settings from `gateway.toml`
mod content; // blocks of text, images, audio and resources
mod context; // the call in progress
pub mod env; // environment variables
mod error; // errors of calls
#[doc(hidden)]
pub mod expansion; // functions for the code that `#[plugin]` generates
#[doc(hidden)]
pub mod export; // from the contract's functions to `Plugin`
pub mod files; // errors of files
pub mod guide; // the guide, one page for each task
mod host; // the gateway's functions, or fakes of them in native tests
pub mod http; // HTTP requests
mod info; // constructors for plugin descriptions
pub mod input; // questions to the user, the model and the client
pub mod kv; // stored values
pub mod log; // log messages
mod plugin; // the trait that a plugin implements
pub mod progress; // progress reports
mod prompt; // return types of prompts
mod resource; // return types of resources
mod result; // return types of tools
mod rounds; // the state of restarted calls
mod schema; // JSON Schemas from Rust types
mod template; // URI templates
mod string_fields; // structs from pairs of name and string
#[cfg(not(target_family = "wasm"))]
pub mod testing; // the test client

pub use bindings::completions::{Completion, CompletionTarget};
pub use bindings::imports::moongate::plugin::request::ClientInfo;
pub use bindings::lifecycle::PluginInfo;
pub use bindings::prompts::{Prompt, PromptArgument, PromptMessage, PromptOutcome, PromptResult};
pub use bindings::resources::{ReadOutcome, ReadResult, ResourceTemplate};
pub use bindings::tools::{CallOutcome, CallResult as ToolResult, Tool, ToolAnnotations};
pub use bindings::types::{
    Annotations, Content, CustomFault, EmbeddedResource, Failure, Fault, Icon, IconTheme, InputRequest,
    LogLevel, MediaContent, NeedInput, ResourceBody, ResourceContents, ResourceInfo, Role, TextContent,
};
pub use bounds::{FormFields, HasSchema, IntoToolError, Readable, Structured};
pub use completion::IntoCompletion;
pub use context::Context;
pub use error::ToolError;
pub use moongate_sdk_macros::{complete, plugin, prompt, resource, tool};
pub use plugin::Plugin;
pub use prompt::{IntoPrompt, PromptArg};
pub use resource::IntoResource;
pub use result::{IntoToolResult, Json, Pretty};
pub use {schemars, serde, serde_json};

/// The items that most plugins use.
pub mod prelude {
    pub use crate::input::{Decision, Form, Roots, Sampling, Url};
    pub use crate::{
        Content, Context, Json, LogLevel, Pretty, PromptMessage, ResourceContents, ToolError, ToolResult,
        changes, complete, config, env, http, kv, log, plugin, progress, prompt, resource, serde_json, tool,
    };
}
