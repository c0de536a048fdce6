//! The zoo: a plugin with one tool for each way in which a plugin can misbehave, or try to get out.
//!
//! Each says in its description which limit of the host it is for, and what to expect. Where the host refuses politely,
//! the tool returns normally and tells what it was told. Those that behave well, and all resources and prompts, stand
//! here; the others in `tools`. What a component in Rust can't do (tables that grow, broken exports) is written in WAT
//! beside the tests that need it.
#![forbid(unsafe_code)]

use std::time::Duration;

use moongate_sdk::prelude::*;
use moongate_sdk::{ReadResult, ToolError};

mod asks; // questions to the client
mod bytes; // files, read and written without end
mod files; // files, without a library in between
mod http; // requests over HTTP
mod output; // what bad results are made of
mod reach; // files, network, variables
mod resources; // processor, memory, handles
mod says; // logs, progress, standard streams
mod tools; // the tools that misbehave
mod wild; // calls of WASI that no library makes

/// The plugin.
#[derive(Debug, Default)]
pub struct Zoo;

/// One tool for each way to misbehave.
#[plugin(
    name = "zoo",
    title = "Zoo",
    parts = [
        tools::Burden,
        tools::Ends,
        tools::Results,
        tools::Notices,
        tools::Surroundings,
        tools::Directories,
        tools::Requests,
    ]
)]
impl Zoo {
    // --- well-behaved ---

    /// Returns its text. For load.
    #[tool(read_only, idempotent)]
    fn echo(&self, text: String) -> String {
        text
    }

    /// Waits and returns. For calls at the same time, and for draining.
    #[tool(read_only, idempotent)]
    fn sleep(&self, milliseconds: u32) -> String {
        std::thread::sleep(Duration::from_millis(milliseconds.into()));
        format!("slept for {milliseconds} ms")
    }

    /// Returns what the gateway says of the call.
    #[tool(read_only)]
    fn echo_context(&self, ctx: &Context) -> Json<says::About> {
        Json(says::about(ctx))
    }

    /// Returns one setting. For `[plugins.zoo.config]`.
    #[tool(read_only)]
    fn config_get(&self, key: &str) -> Result<String, ToolError> {
        Ok(config::get(key)?.unwrap_or_else(|| format!("`{key}` isn't set")))
    }

    /// Returns how many calls this instance has served. For fresh sandboxes: it is 1 each time.
    #[tool(read_only)]
    fn calls_seen(&self) -> u32 {
        resources::calls_seen()
    }

    // --- questions ---

    /// Asks the client these questions at once, whatever they are, and returns the answers. For what may be asked.
    #[tool]
    fn ask(&self, ctx: &Context, questions: &[asks::Question]) -> Result<String, ToolError> {
        Ok(asks::ask(ctx, questions)?.to_string())
    }

    /// Asks for a name and greets. For what a person answers.
    #[tool]
    fn ask_name(&self, ctx: &Context) -> Result<String, ToolError> {
        asks::name(ctx)
    }

    /// Asks one question after the other: by default without end. For rounds.
    #[tool]
    fn ask_in_rounds(&self, ctx: &Context, rounds: Option<usize>) -> Result<String, ToolError> {
        asks::in_rounds(ctx, rounds.unwrap_or(usize::MAX))
    }

    // --- resources and prompts ---

    /// A text.
    #[resource(uri = "zoo://text", name = "text", mime_type = "text/plain")]
    fn text(&self) -> &'static str {
        "a text"
    }

    /// Is answered with the URI of something else. For the space of a plugin.
    #[resource(uri = "zoo://foreign", name = "foreign")]
    fn foreign(&self) -> ReadResult {
        ReadResult::new(vec![ResourceContents::text("file:///etc/passwd", "root")])
    }

    /// Bytes, as many as its URI says. For the limit of a result.
    #[resource(uri = "zoo://bytes/{count}", name = "bytes", mime_type = "application/octet-stream")]
    fn bytes(&self, count: u32) -> Vec<u8> {
        vec![b'x'; count as usize]
    }

    /// A text that holds what somebody answered. For resources that ask.
    #[resource(uri = "zoo://asked", name = "asked", mime_type = "text/plain")]
    fn asked(&self, ctx: &Context) -> Result<String, ToolError> {
        asks::name(ctx)
    }

    /// Holds what somebody answered. For prompts that ask.
    #[prompt]
    fn asking_prompt(&self, ctx: &Context) -> Result<String, ToolError> {
        asks::name(ctx)
    }

    /// Repeats a text. For load.
    #[prompt]
    fn repeat(&self, text: &str) -> String {
        text.to_owned()
    }

    /// Panics. For prompts that end badly.
    #[prompt]
    fn panicking_prompt(&self) -> String {
        panic!("the zoo panics as it was asked to");
    }
}

#[cfg(test)]
mod tests;
