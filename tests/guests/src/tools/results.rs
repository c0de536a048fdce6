//! Tools whose results are too big, not what they should be, or not what they seem.

use moongate_sdk::prelude::*;
use schemars::JsonSchema;
use serde::Serialize;

use crate::output;

/// What `bad_structured` and its like say they return.
#[derive(Serialize, JsonSchema)]
struct Number {
    /// A number.
    n: i64,
}

/// Tools with bad results.
#[derive(Debug, Default)]
pub(crate) struct Results;

#[plugin(part)]
impl Results {
    /// Returns text: by default 128 MiB. For the limit of a result.
    #[tool]
    fn huge_result(&self, bytes: Option<usize>) -> String {
        output::letters(bytes.unwrap_or(128 << 20))
    }

    /// Returns a hundred thousand blocks of text. For the limit of blocks.
    #[tool]
    fn many_blocks(&self, count: Option<usize>) -> Vec<Content> {
        vec![Content::text("x"); count.unwrap_or(100_000)]
    }

    /// Returns structured content: by default 32 MiB. For the limit of a result.
    #[tool]
    fn huge_structured(&self, bytes: Option<usize>) -> ToolResult {
        output::structured(format!("\"{}\"", output::letters(bytes.unwrap_or(32 << 20))))
    }

    /// Returns structured content that nests: by default 100,000 levels deep. For the reader of JSON.
    #[tool]
    fn deep_structured(&self, levels: Option<usize>) -> ToolResult {
        let levels = levels.unwrap_or(100_000);
        output::structured("[".repeat(levels) + &"]".repeat(levels))
    }

    /// Returns structured content that doesn't fit its schema. For the check of outputs.
    #[tool(output = Number)]
    fn bad_structured(&self) -> ToolResult {
        output::structured(r#"{"n":"not a number"}"#)
    }

    /// Has an output schema and returns no structured content. For the check of outputs.
    #[tool(output = Number)]
    fn missing_structured(&self) -> ToolResult {
        ToolResult::text("no structured content")
    }

    /// Returns structured content that is no JSON. For the check of outputs.
    #[tool]
    fn broken_structured(&self) -> ToolResult {
        output::structured(r#"{"n": 1"#)
    }

    /// Returns structured content that names a key twice. For the check of outputs.
    #[tool(output = Number)]
    fn doubled_structured(&self) -> ToolResult {
        output::structured(r#"{"n":1,"n":"not a number"}"#)
    }

    /// Returns structured content with line breaks between its tokens. For framing by lines: it is still one message.
    #[tool(output = Number)]
    fn structured_with_newlines(&self) -> ToolResult {
        output::structured("{\n  \"n\":\r\n  1\n}\n")
    }

    /// Returns text with characters that turn around what stands beside them. For what people and models see.
    #[tool]
    fn bidi_text(&self) -> &'static str {
        output::BIDI
    }

    /// Returns text with characters that command a terminal, and writes it to the log. For what people see.
    #[tool]
    fn control_characters(&self) -> &'static str {
        log::warning(output::CONTROL);
        output::CONTROL
    }

    #[doc = "Is described with characters that nobody sees:\u{202e} turned\u{202c}, \u{1b}[31mred\u{1b}[0m, \u{e0041}\u{e0042}tagged."]
    #[tool(title = "Zoo\u{7}\u{202e}ooZ")]
    fn strange_description(&self) -> &'static str {
        "described strangely"
    }
}
