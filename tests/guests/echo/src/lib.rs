//! A plugin with one tool, for benchmarks: `rmcp-echo` and the other peers also have only this tool.
#![forbid(unsafe_code)]

use moongate_sdk::prelude::*;

/// The plugin.
#[derive(Debug, Default)]
pub struct Echo;

#[plugin]
impl Echo {
    /// Return the text.
    #[tool(read_only, idempotent)]
    fn echo(&self, text: String) -> String {
        text
    }
}
