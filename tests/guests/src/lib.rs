//! The zoo: a plugin with a tool for each way in which a plugin can misbehave or try to escape.
//!
//! Each description names the host's limit that the tool is for, and what to expect. If the host refuses politely,
//! the tool returns the error as its result. Well-behaved tools and all resources and prompts are in this file, the
//! others in `tools`. Components that Rust can't produce (tables that grow, broken exports) are written in WAT next
//! to the tests that need them.
#![forbid(unsafe_code)]

use std::time::Duration;

use moongate_sdk::prelude::*;
use moongate_sdk::{ReadResult, ToolError};

mod asks; // questions to the client
mod bytes; // endless reads and writes of files
mod files; // direct file system calls
mod http; // requests over HTTP
mod output; // bad results
mod reach; // files, network, variables
mod resources; // processor, memory, handles
mod says; // logs, progress, standard streams
mod tools; // the tools that misbehave
mod wild; // unusual WASI calls

/// The plugin.
#[derive(Debug, Default)]
pub struct Zoo;

/// A tool for each way to misbehave.
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

    /// Return the text. For load.
    #[tool(read_only, idempotent)]
    fn echo(&self, text: String) -> String {
        text
    }

    /// Wait, then return. For concurrent calls and draining.
    #[tool(read_only, idempotent)]
    fn sleep(&self, milliseconds: u32) -> String {
        std::thread::sleep(Duration::from_millis(milliseconds.into()));
        format!("slept for {milliseconds} ms")
    }

    /// Return the context of the call.
    #[tool(read_only)]
    fn echo_context(&self, ctx: &Context) -> Json<says::CallInfo> {
        Json(says::about(ctx))
    }

    /// Return a setting. For `[plugins.zoo.config]`.
    #[tool(read_only)]
    fn config_get(&self, key: &str) -> Result<String, ToolError> {
        Ok(config::get(key)?.unwrap_or_else(|| format!("`{key}` isn't set")))
    }

    /// Return the number of calls to this instance. For fresh sandboxes: it is always 1.
    #[tool(read_only)]
    fn calls_seen(&self) -> u32 {
        resources::calls_seen()
    }

    // --- questions ---

    /// Ask the client these questions together, and return the answers. For invalid and unsupported questions.
    #[tool]
    fn ask(
        &self,
        ctx: &Context,
        questions: &[asks::Question],
        /// The length of the state that waits for the answers: by default none.
        state_bytes: Option<usize>,
    ) -> Result<String, ToolError> {
        Ok(asks::ask(ctx, questions, state_bytes)?.to_string())
    }

    /// Ask for a name and greet. For users' answers.
    #[tool]
    fn ask_name(&self, ctx: &Context) -> Result<String, ToolError> {
        asks::name(ctx)
    }

    /// Ask one question after the other: by default endlessly. For the limit of rounds.
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

    /// Returns the URI of another resource. For ownership of URIs.
    #[resource(uri = "zoo://foreign", name = "foreign")]
    fn foreign(&self) -> ReadResult {
        ReadResult::new(vec![ResourceContents::text("file:///etc/passwd", "root")])
    }

    /// As many bytes as its URI says. For the limit of a result.
    #[resource(uri = "zoo://bytes/{count}", name = "bytes", mime_type = "application/octet-stream")]
    fn bytes(&self, count: u32) -> Vec<u8> {
        vec![b'x'; count as usize]
    }

    /// A text with the user's answer. For resources that ask.
    #[resource(uri = "zoo://asked", name = "asked", mime_type = "text/plain")]
    fn asked(&self, ctx: &Context) -> Result<String, ToolError> {
        asks::name(ctx)
    }

    /// A prompt with the user's answer. For prompts that ask.
    #[prompt]
    fn asking_prompt(&self, ctx: &Context) -> Result<String, ToolError> {
        asks::name(ctx)
    }

    /// Repeat a text. For load.
    #[prompt]
    fn repeat(&self, text: &str) -> String {
        text.to_owned()
    }

    /// Panic. For prompts that fail.
    #[prompt]
    fn panicking_prompt(&self) -> String {
        panic!("the zoo panics on request");
    }
}

#[cfg(test)]
mod tests;
