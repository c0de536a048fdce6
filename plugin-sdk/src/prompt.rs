//! Types of arguments and results of prompts: [`PromptArg`] and [`IntoPrompt`].

use std::fmt::Display;
use std::str::FromStr;

use crate::{Content, IntoToolError, PromptMessage, PromptResult, Role, ToolError};

/// A value that a prompt can return.
#[diagnostic::on_unimplemented(
    message = "a prompt can't return `{Self}`",
    label = "not the messages of a prompt",
    note = "return a `String`, `PromptMessage`, `Vec<PromptMessage>`, `PromptResult`, or a `Result` of one of them"
)]
pub trait IntoPrompt: Sized {
    /// Converts the value to messages.
    ///
    /// # Errors
    /// The prompt failed.
    fn into_prompt(self) -> Result<PromptResult, ToolError>;
}

/// A type that a prompt's argument can have. MCP passes all of them as strings.
#[diagnostic::on_unimplemented(
    message = "`{Self}` can't be the argument of a prompt",
    label = "can't be parsed from a string",
    note = "use `String`, a number, `bool`, or an `Option` of one of them"
)]
pub trait PromptArg: Sized {
    /// `true` if the argument is required.
    const REQUIRED: bool = true;

    /// Parses the value.
    ///
    /// # Errors
    /// The string is invalid; the message describes the expected format.
    fn from_text(text: &str) -> Result<Self, String>;

    /// The value of a missing argument, for types that have one.
    #[must_use]
    fn absent() -> Option<Self> {
        None
    }
}

// === impl PromptMessage ===

impl PromptMessage {
    /// A user message.
    pub fn user(content: impl Into<Content>) -> Self {
        Self { role: Role::User, content: content.into(), extra: None }
    }

    /// An assistant message.
    pub fn assistant(content: impl Into<Content>) -> Self {
        Self { role: Role::Assistant, content: content.into(), extra: None }
    }
}

// === impl PromptResult ===

impl PromptResult {
    /// A result with these messages.
    #[must_use]
    pub fn new(messages: Vec<PromptMessage>) -> Self {
        Self { description: None, messages, meta: None, extra: None }
    }
}

// === impl IntoPrompt ===

impl IntoPrompt for PromptResult {
    fn into_prompt(self) -> Result<PromptResult, ToolError> {
        Ok(self)
    }
}

impl IntoPrompt for Vec<PromptMessage> {
    fn into_prompt(self) -> Result<PromptResult, ToolError> {
        Ok(PromptResult::new(self))
    }
}

impl IntoPrompt for PromptMessage {
    fn into_prompt(self) -> Result<PromptResult, ToolError> {
        Ok(PromptResult::new(vec![self]))
    }
}

impl IntoPrompt for String {
    fn into_prompt(self) -> Result<PromptResult, ToolError> {
        PromptMessage::user(self).into_prompt()
    }
}

impl IntoPrompt for &str {
    fn into_prompt(self) -> Result<PromptResult, ToolError> {
        PromptMessage::user(self).into_prompt()
    }
}

impl<T: IntoPrompt, E: IntoToolError> IntoPrompt for Result<T, E> {
    fn into_prompt(self) -> Result<PromptResult, ToolError> {
        self.map_err(Into::into)?.into_prompt()
    }
}

// === impl PromptArg ===

/// Types that implement [`FromStr`].
macro_rules! from_text {
    ($($Type:ty),*) => {$(
        impl PromptArg for $Type {
            fn from_text(text: &str) -> Result<Self, String> {
                parse(text)
            }
        }
    )*};
}
from_text!(String, bool, char, u8, u16, u32, u64, usize, i8, i16, i32, i64, isize, f32, f64);

impl<T: PromptArg> PromptArg for Option<T> {
    const REQUIRED: bool = false;

    fn from_text(text: &str) -> Result<Self, String> {
        T::from_text(text).map(Some)
    }

    fn absent() -> Option<Self> {
        Some(None)
    }
}

fn parse<T: FromStr<Err: Display>>(text: &str) -> Result<T, String> {
    text.parse().map_err(|error: T::Err| error.to_string())
}
