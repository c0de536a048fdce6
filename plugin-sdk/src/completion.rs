//! The return types of completions: [`IntoCompletion`].

use crate::{Completion, IntoToolError, ToolError};

/// A value that a completion can return.
#[diagnostic::on_unimplemented(
    message = "a completion can't return `{Self}`",
    label = "no suggestions",
    note = "return a `Vec<String>`, `Vec<&str>`, `Completion`, or a `Result` of one of them"
)]
pub trait IntoCompletion: Sized {
    /// Returns the suggestions.
    ///
    /// # Errors
    /// The completion failed. An argument without suggestions returns an empty list instead.
    fn into_completion(self) -> Result<Completion, ToolError>;
}

// === impl Completion ===

impl From<Vec<String>> for Completion {
    /// A complete list of suggestions.
    fn from(values: Vec<String>) -> Self {
        let total = u32::try_from(values.len()).ok();
        Self { values, total, has_more: Some(false), meta: None, extra: None }
    }
}

impl From<Vec<&str>> for Completion {
    fn from(values: Vec<&str>) -> Self {
        values.into_iter().map(str::to_owned).collect::<Vec<_>>().into()
    }
}

// === impl IntoCompletion ===

impl IntoCompletion for Completion {
    fn into_completion(self) -> Result<Completion, ToolError> {
        Ok(self)
    }
}

impl IntoCompletion for Vec<String> {
    fn into_completion(self) -> Result<Completion, ToolError> {
        Ok(self.into())
    }
}

impl IntoCompletion for Vec<&str> {
    fn into_completion(self) -> Result<Completion, ToolError> {
        Ok(self.into())
    }
}

impl<T: IntoCompletion, E: IntoToolError> IntoCompletion for Result<T, E> {
    fn into_completion(self) -> Result<Completion, ToolError> {
        self.map_err(Into::into)?.into_completion()
    }
}
