//! Return types of tools: [`IntoToolResult`] and the wrappers [`Json`] and [`Pretty`].

use std::borrow::Cow;

use serde::Serialize;
use serde_json::Value;

use crate::content::add_meta;
use crate::{Content, IntoToolError, Structured, ToolError, ToolResult, schema};

/// A value that a tool can return.
///
/// Implemented for strings, numbers and booleans (one text block), `()` (no content), [`Content`] and lists of it,
/// [`Json`] and [`Pretty`] (structured content), [`ToolResult`], and a `Result` of any of these, whose error is a
/// [`ToolError`] or can be converted to one.
#[diagnostic::on_unimplemented(
    message = "a tool can't return `{Self}`",
    label = "not a tool's result",
    note = "return a `String`, `Json<T>`, `Content`, `Vec<Content>`, `ToolResult`, or a `Result` of one of them"
)]
pub trait IntoToolResult: Sized {
    /// The JSON Schema of the structured content, for types that always have structured content.
    #[must_use]
    fn output_schema() -> Option<String> {
        None
    }

    /// Converts the value to a tool result.
    ///
    /// # Errors
    /// The tool failed.
    fn into_tool_result(self) -> Result<ToolResult, ToolError>;
}

/// Structured content, and the same JSON as one line of text for clients that don't support structured content. The
/// tool's output schema is generated from `T`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Json<T>(pub T);

/// Like [`Json`], but the text is pretty-printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pretty<T>(pub T);

// === impl ToolResult ===

impl ToolResult {
    /// A result with these content blocks.
    #[must_use]
    pub fn new(content: Vec<Content>) -> Self {
        Self { content, structured: None, is_error: None, meta: None, extra: None }
    }

    /// A result with one text block.
    pub fn text(text: impl Into<String>) -> Self {
        Self::new(vec![Content::text(text)])
    }

    /// The result of a failed tool, with `isError`.
    pub fn error(message: impl Into<String>) -> Self {
        Self { is_error: Some(true), ..Self::text(message) }
    }

    /// Adds a content block.
    #[must_use]
    pub fn with(mut self, content: impl Into<Content>) -> Self {
        self.content.push(content.into());
        self
    }

    /// Adds structured content. Give the tool an `output_schema` for it.
    ///
    /// # Errors
    /// The value can't be serialized as JSON.
    pub fn with_structured(mut self, value: &impl Serialize) -> Result<Self, ToolError> {
        self.structured = Some(to_json(value, serde_json::to_string)?);
        Ok(self)
    }

    /// Adds a member to `_meta`. The gateway drops keys that MCP reserves.
    #[must_use]
    pub fn meta(mut self, key: impl Into<String>, value: impl Into<Value>) -> Self {
        add_meta(&mut self.meta, key.into(), &value.into());
        self
    }

    /// Returns `true` if the tool failed.
    #[must_use]
    pub fn failed(&self) -> bool {
        self.is_error == Some(true)
    }

    /// The text of all text blocks, joined by newlines.
    #[must_use]
    pub fn all_text(&self) -> String {
        self.content.iter().filter_map(Content::as_text).collect::<Vec<_>>().join("\n")
    }

    /// The structured content, or null if there is none.
    #[must_use]
    pub fn structured_value(&self) -> Value {
        self.structured.as_deref().and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default()
    }
}

// === impl IntoToolResult ===

impl IntoToolResult for ToolResult {
    fn into_tool_result(self) -> Result<ToolResult, ToolError> {
        Ok(self)
    }
}

impl IntoToolResult for () {
    fn into_tool_result(self) -> Result<ToolResult, ToolError> {
        Ok(ToolResult::new(Vec::new()))
    }
}

impl IntoToolResult for Content {
    fn into_tool_result(self) -> Result<ToolResult, ToolError> {
        Ok(ToolResult::new(vec![self]))
    }
}

impl IntoToolResult for Vec<Content> {
    fn into_tool_result(self) -> Result<ToolResult, ToolError> {
        Ok(ToolResult::new(self))
    }
}

/// Types that become one text block.
macro_rules! as_text {
    ($($Type:ty),*) => {$(
        impl IntoToolResult for $Type {
            fn into_tool_result(self) -> Result<ToolResult, ToolError> {
                Ok(ToolResult::text(self.to_string()))
            }
        }
    )*};
}
as_text!(
    &str,
    Cow<'_, str>,
    bool,
    char,
    u8,
    u16,
    u32,
    u64,
    u128,
    usize,
    i8,
    i16,
    i32,
    i64,
    i128,
    isize,
    f32,
    f64
);

impl IntoToolResult for String {
    fn into_tool_result(self) -> Result<ToolResult, ToolError> {
        Ok(ToolResult::text(self))
    }
}

impl<T: Structured> IntoToolResult for Json<T> {
    fn output_schema() -> Option<String> {
        Some(schema::output::<T>())
    }

    fn into_tool_result(self) -> Result<ToolResult, ToolError> {
        let json = to_json(&self.0, serde_json::to_string)?;
        Ok(ToolResult { structured: Some(json.clone()), ..ToolResult::text(json) })
    }
}

impl<T: Structured> IntoToolResult for Pretty<T> {
    fn output_schema() -> Option<String> {
        Some(schema::output::<T>())
    }

    fn into_tool_result(self) -> Result<ToolResult, ToolError> {
        let text = to_json(&self.0, serde_json::to_string_pretty)?;
        ToolResult::text(text).with_structured(&self.0)
    }
}

impl<T: IntoToolResult, E: IntoToolError> IntoToolResult for Result<T, E> {
    fn output_schema() -> Option<String> {
        T::output_schema()
    }

    fn into_tool_result(self) -> Result<ToolResult, ToolError> {
        self.map_err(Into::into)?.into_tool_result()
    }
}

fn to_json<T: Serialize>(
    value: &T,
    write: fn(&T) -> serde_json::Result<String>,
) -> Result<String, ToolError> {
    write(value)
        .map_err(|error| ToolError::internal(format_args!("cannot serialize the result as JSON: {error}")))
}
