//! The error of this crate.

use std::fmt;

use moongate_config::SourceReference;
use moongate_model::text::blanked_line;

/// The longest foreign text in an error, in characters.
const MAX_FOREIGN_CHARS: usize = 300;

/// A component that can't be downloaded, verified, stored or published, in words for the operator.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct SourceError {
    message: String,
    hint: Option<String>,
}

impl SourceError {
    /// An error with this message.
    pub fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), hint: None }
    }

    /// The same error with a fix.
    #[must_use]
    pub fn with_hint(self, hint: impl Into<String>) -> Self {
        Self { hint: Some(hint.into()), ..self }
    }

    /// The same error with the address that it is about, unless the message names it.
    pub(crate) fn about(mut self, reference: &SourceReference) -> Self {
        let shown = foreign(&reference.shown());
        let host = match reference {
            SourceReference::Web(url) => url.host_str().unwrap_or_default(),
            SourceReference::Oci(reference) => reference.registry(),
        };
        if !self.message.contains(host) {
            self.message = format!("`{shown}`: {}", self.message);
        }
        self
    }

    /// The fix.
    #[must_use]
    pub fn hint(&self) -> Option<&str> {
        self.hint.as_deref()
    }
}

/// Foreign text for use within a line.
pub(crate) fn foreign(text: &impl fmt::Display) -> String {
    blanked_line(&text.to_string(), MAX_FOREIGN_CHARS)
}
