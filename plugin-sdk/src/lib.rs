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
//! // In `cargo test`, without Wasm and without a gateway:
//! let client = moongate_sdk::testing::Client::<Hello>::new();
//! let result = client.call("hello", serde_json::json!({ "name": "Ada" })).unwrap();
//! assert_eq!(result.all_text(), "Hello, Ada!");
//! ```
//!
//! The crate needs `crate-type = ["cdylib", "rlib"]` and is built by
//! `cargo build --release --target wasm32-wasip2`. Add `serde` and `schemars` when you derive `Deserialize`,
//! `Serialize` and `JsonSchema` for types of your own.
//!
//! # What the macro reads
//! - A **doc comment** is the description of the plugin, tool, resource, prompt or argument below it.
//! - **Parameters** are arguments, owned or borrowed (`&str`). `Option<T>` may be left out. A single parameter called
//!   `args` is the whole argument object instead: a struct that derives `Deserialize` and
//!   [`JsonSchema`](schemars::JsonSchema). A parameter of type [`&Context`](Context) tells about the call.
//! - The **return type** is anything that implements [`IntoToolResult`] ([`IntoResource`], [`IntoPrompt`]). [`Json`]
//!   also gives the tool an output schema. In a `Result`, `?` works on every [`std::error::Error`]; [`ToolError`] says
//!   what becomes of it.
//!
//! Every call gets a plugin value of its own, made by [`Default`], in a sandbox of its own: there is nothing to lock,
//! and nothing remains in memory from one call to the next. [`kv`] keeps what should remain, [`http`] asks other servers,
//! and [`input`] is how a call asks the person, the model or the program at the other end.
//!
//! # Further
//! [`guide`] has a page for each thing that a plugin can do: tools, arguments, results, errors, resources, prompts,
//! completion, questions, progress and logs, requests, state, settings, files, testing and publishing.
//!
//! # What the macro writes
//! An implementation of [`Plugin`] and one line of [`export!`]. Both can be written by hand:
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
pub mod bindings; // what `wit-bindgen` makes of the contract
mod bounds; // what is wanted of authors' types
pub mod changes; // lists and resources that hold something new
mod completion; // what a completion may return
pub mod config; // the plugin's settings in `gateway.toml`
mod content; // blocks of text, images, sounds and resources
mod context; // the call being served
pub mod env; // variables of the gateway's environment
mod error; // how a call goes wrong
#[doc(hidden)]
pub mod expansion; // what the code that `#[plugin]` writes calls
#[doc(hidden)]
pub mod export; // from the contract's functions to `Plugin`
pub mod guide; // a page for each thing that a plugin can do
mod host; // the gateway's functions, or fakes of them in native tests
pub mod http; // requests to other servers
mod info; // constructors of what a plugin says of itself
pub mod input; // questions to the person, the model, the client
pub mod kv; // what is kept from one call to the next
pub mod log; // lines for the gateway's log and the client
mod plugin; // the trait that a plugin implements
pub mod progress; // how far a call has come
mod prompt; // what a prompt may return
mod resource; // what a resource may return
mod result; // what a tool may return
mod rounds; // what a call keeps when it starts over
mod schema; // JSON Schemas from Rust types
mod template; // URI templates
mod texts; // structs from pairs of name and text
#[cfg(not(target_family = "wasm"))]
pub mod testing; // calls a plugin in native tests

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

/// What most plugins name.
pub mod prelude {
    pub use crate::input::{Decision, Form, Roots, Sampling, Url};
    pub use crate::{
        Content, Context, Json, LogLevel, Pretty, PromptMessage, ResourceContents, ToolError, ToolResult,
        changes, complete, config, env, http, kv, log, plugin, progress, prompt, resource, serde_json, tool,
    };
}
