//! Tools whose results are too big, invalid or misleading.

use moongate_sdk::prelude::*;
use schemars::JsonSchema;
use serde::Serialize;

use crate::{output, says};

/// The declared output of `bad_structured` and similar tools.
#[derive(Serialize, JsonSchema)]
struct Number {
    /// A number.
    n: i64,
}

/// The declared output of `many_objects`.
#[derive(Serialize, JsonSchema)]
struct Items {
    /// The objects.
    items: Vec<Item>,
}

/// A small object.
#[derive(Serialize, JsonSchema)]
struct Item {
    /// A number.
    a: i64,
}

/// Tools with bad results.
#[derive(Debug, Default)]
pub(crate) struct Results;

#[plugin(part)]
impl Results {
    /// Return text: by default 128 MiB of letters. For the limits of results and of responses.
    #[tool]
    fn huge_result(
        &self,
        bytes: Option<usize>,
        /// Whether to return control characters, which JSON writes as six bytes.
        control: Option<bool>,
        /// The number of progress reports before the result.
        reports: Option<u32>,
    ) -> String {
        let bytes = bytes.unwrap_or(128 << 20);
        says::progress_flood(reports.unwrap_or(0));
        if control == Some(true) { "\u{1}".repeat(bytes) } else { output::letters(bytes) }
    }

    /// Return a hundred thousand text blocks. For the limit of blocks.
    #[tool]
    fn many_blocks(&self, count: Option<usize>) -> Vec<Content> {
        vec![Content::text("x"); count.unwrap_or(100_000)]
    }

    /// Return structured content: by default 32 MiB. For the limit of a result.
    #[tool]
    fn huge_structured(&self, bytes: Option<usize>) -> ToolResult {
        output::structured(format!("\"{}\"", output::letters(bytes.unwrap_or(32 << 20))))
    }

    /// Return structured content of many small objects: by default 10,000. For the memory of output validation.
    #[tool(output = Items)]
    fn many_objects(
        &self,
        count: Option<usize>,
        /// The length of a text beside it: by default none.
        text_bytes: Option<usize>,
    ) -> ToolResult {
        let mut items = r#"{"a":0},"#.repeat(count.unwrap_or(10_000));
        items.pop();
        let mut result = output::structured(format!(r#"{{"items":[{items}]}}"#));
        result.content.extend(text_bytes.map(|length| Content::text(output::letters(length))));
        result
    }

    /// Return nested structured content: by default 100,000 levels deep. For the JSON parser.
    #[tool]
    fn deep_structured(&self, levels: Option<usize>) -> ToolResult {
        let levels = levels.unwrap_or(100_000);
        output::structured("[".repeat(levels) + &"]".repeat(levels))
    }

    /// Return structured content that doesn't match its schema. For output validation.
    #[tool(output = Number)]
    fn bad_structured(&self) -> ToolResult {
        output::structured(r#"{"n":"not a number"}"#)
    }

    /// Return no structured content despite an output schema. For output validation.
    #[tool(output = Number)]
    fn missing_structured(&self) -> ToolResult {
        ToolResult::text("no structured content")
    }

    /// Return structured content that isn't valid JSON. For output validation.
    #[tool]
    fn broken_structured(&self) -> ToolResult {
        output::structured(r#"{"n": 1"#)
    }

    /// Return structured content with a duplicate key. For output validation.
    #[tool(output = Number)]
    fn doubled_structured(&self) -> ToolResult {
        output::structured(r#"{"n":1,"n":"not a number"}"#)
    }

    /// Return structured content with line breaks between its tokens. For line framing: it is still one message.
    #[tool(output = Number)]
    fn structured_with_newlines(&self) -> ToolResult {
        output::structured("{\n  \"n\":\r\n  1\n}\n")
    }

    /// Return text with characters that reverse the text around them. For the display of results.
    #[tool]
    fn bidi_text(&self) -> &'static str {
        output::BIDI
    }

    /// Return text with terminal control characters, and log it. For the display of results.
    #[tool]
    fn control_characters(&self) -> &'static str {
        log::warning(output::CONTROL);
        output::CONTROL
    }

    #[doc = "Has invisible characters:\u{202e} turned\u{202c}, \u{1b}[31mred\u{1b}[0m, \u{e0041}\u{e0042}tagged."]
    #[tool(title = "Zoo\u{7}\u{202e}ooZ")]
    fn strange_description(&self) -> &'static str {
        "described strangely"
    }
}
