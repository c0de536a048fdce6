//! Tools whose calls fail.

use std::io::Write as _;

use moongate_sdk::prelude::*;
use moongate_sdk::{ToolError, ToolResult};

use crate::wild;

/// Tools whose calls fail.
#[derive(Debug, Default)]
pub(crate) struct Ends;

#[plugin(part)]
impl Ends {
    /// Exit with open handles, an unfinished line and reported progress.
    #[tool]
    fn exit_in_the_middle(&self) {
        wild::exit_in_the_middle();
    }

    /// Panic. For the log: the caller doesn't see the message.
    #[tool]
    fn panic(&self) {
        panic!("the zoo panics on request");
    }

    /// Execute an unreachable instruction. For traps.
    #[tool]
    fn unreachable_trap(&self) {
        std::process::abort();
    }

    /// Access a file if given, print a text on stderr and trap. For the crash messages of runtimes of other
    /// languages.
    #[tool]
    fn last_words(&self, text: &str, look: Option<String>) {
        let _ = look.map(std::fs::metadata);
        let _ = std::io::stderr().write_all(text.as_bytes());
        std::process::abort();
    }

    /// Exit with success. For exits: the gateway keeps running.
    #[tool]
    fn exit(&self, code: Option<i32>) {
        #[expect(clippy::disallowed_methods, reason = "the purpose of the tool")]
        std::process::exit(code.unwrap_or(0));
    }

    /// Return a result with `isError`.
    #[tool]
    fn error_result(&self, message: Option<String>) -> ToolResult {
        ToolResult::error(message.unwrap_or_else(|| "the tool failed on request".to_owned()))
    }

    /// Fail with the protocol error for invalid arguments.
    #[tool]
    fn protocol_error_invalid_params(&self) -> Result<(), ToolError> {
        Err(ToolError::invalid_params("these arguments are wrong").at("/place").data(&["more"]))
    }

    /// Fail with the protocol error for unknown items.
    #[tool]
    fn protocol_error_not_found(&self) -> Result<(), ToolError> {
        Err(ToolError::not_found("there is nothing of that name"))
    }

    /// Fail with the protocol error for internal errors.
    #[tool]
    fn protocol_error_internal(&self) -> Result<(), ToolError> {
        Err(ToolError::internal("something broke"))
    }

    /// Fail with the protocol error for missing client capabilities.
    #[tool]
    fn protocol_error_missing_capability(&self) -> Result<(), ToolError> {
        Err(ToolError::missing_capability(["sampling", "elicitation.url"]))
    }

    /// Fail with a protocol error with a custom code.
    #[tool]
    fn protocol_error_custom(&self) -> Result<(), ToolError> {
        Err(ToolError::custom(1234, "an error of the plugin's own"))
    }

    /// Fail with a protocol error with a code that JSON-RPC reserves. For codes: the gateway replaces it.
    #[tool]
    fn protocol_error_reserved_code(&self) -> Result<(), ToolError> {
        Err(ToolError::custom(-32601, "method not found, says the plugin"))
    }
}
