//! Tools whose calls end in something that is no result.

use std::io::Write as _;

use moongate_sdk::prelude::*;
use moongate_sdk::{ToolError, ToolResult};

use crate::wild;

/// Tools that end in no result.
#[derive(Debug, Default)]
pub(crate) struct Ends;

#[plugin(part)]
impl Ends {
    /// Ends its program with handles open, a line unfinished and progress told.
    #[tool]
    fn exit_in_the_middle(&self) {
        wild::exit_in_the_middle();
    }

    /// Panics. The message belongs to the log, not to the caller.
    #[tool]
    fn panic(&self) {
        panic!("the zoo panics as it was asked to");
    }

    /// Runs into an instruction that can't be executed. For traps.
    #[tool]
    fn unreachable_trap(&self) {
        std::process::abort();
    }

    /// Looks for a file, if there is to be one, prints a text on stderr and runs into an instruction that can't be executed.
    /// For what runtimes of other languages do before they end.
    #[tool]
    fn last_words(&self, text: &str, look: Option<String>) {
        let _ = look.map(std::fs::metadata);
        let _ = std::io::stderr().write_all(text.as_bytes());
        std::process::abort();
    }

    /// Ends its program as if all were well. For exits: the gateway goes on.
    #[tool]
    fn exit(&self, code: Option<i32>) {
        #[expect(clippy::disallowed_methods, reason = "it is what this tool is for")]
        std::process::exit(code.unwrap_or(0));
    }

    /// Returns a result that says it failed.
    #[tool]
    fn error_result(&self, message: Option<String>) -> ToolResult {
        ToolResult::error(message.unwrap_or_else(|| "the tool failed as it was asked to".to_owned()))
    }

    /// Ends in the protocol error for wrong arguments.
    #[tool]
    fn protocol_error_invalid_params(&self) -> Result<(), ToolError> {
        Err(ToolError::invalid_params("these arguments are wrong").at("/place").data(&["more"]))
    }

    /// Ends in the protocol error for what doesn't exist.
    #[tool]
    fn protocol_error_not_found(&self) -> Result<(), ToolError> {
        Err(ToolError::not_found("there is nothing of that name"))
    }

    /// Ends in the protocol error for what broke.
    #[tool]
    fn protocol_error_internal(&self) -> Result<(), ToolError> {
        Err(ToolError::internal("something broke"))
    }

    /// Ends in the protocol error for capabilities that the client lacks.
    #[tool]
    fn protocol_error_missing_capability(&self) -> Result<(), ToolError> {
        Err(ToolError::missing_capability(["sampling", "elicitation.url"]))
    }

    /// Ends in a protocol error with a code of its own.
    #[tool]
    fn protocol_error_custom(&self) -> Result<(), ToolError> {
        Err(ToolError::custom(1234, "an error of the plugin's own"))
    }

    /// Ends in a protocol error with a code that JSON-RPC keeps for itself. For codes: the gateway uses another.
    #[tool]
    fn protocol_error_reserved_code(&self) -> Result<(), ToolError> {
        Err(ToolError::custom(-32601, "method not found, says the plugin"))
    }
}
