//! The text of a guest's failed answer, to which the gateway can append a note.

use super::text;
use crate::bindings::{completions, prompts, resources, tools, types};

/// An answer that can report a failure.
pub(crate) trait FailureText {
    /// True if the answer reports a failure.
    fn is_failure(&self) -> bool {
        false
    }

    /// True if the failure's text contains these words.
    fn mentions(&self, _words: &str) -> bool {
        false
    }

    /// Appends a note to the failure's text, whatever its length.
    fn append_note(&mut self, _note: &str) {}
}

/// The message of a failure. `None` if it has none.
fn message(failure: &mut types::Failure) -> Option<&mut String> {
    match failure {
        types::Failure::InvalidParams(fault)
        | types::Failure::NotFound(fault)
        | types::Failure::Internal(fault) => Some(&mut fault.message),
        types::Failure::Custom(fault) => Some(&mut fault.message),
        types::Failure::MissingCapability(_) => None,
    }
}

impl<T: FailureText> FailureText for Result<T, types::Failure> {
    fn is_failure(&self) -> bool {
        self.as_ref().map_or(true, T::is_failure)
    }

    fn mentions(&self, words: &str) -> bool {
        match self {
            Ok(done) => done.mentions(words),
            Err(
                types::Failure::InvalidParams(fault)
                | types::Failure::NotFound(fault)
                | types::Failure::Internal(fault),
            ) => fault.message.contains(words),
            Err(types::Failure::Custom(fault)) => fault.message.contains(words),
            Err(types::Failure::MissingCapability(_)) => false,
        }
    }

    fn append_note(&mut self, note: &str) {
        match self {
            Ok(done) => done.append_note(note),
            Err(failure) => {
                let Some(message) = message(failure) else { return };
                let note = format!(" (moongate: {note})");
                // Messages above the limit are truncated at the end, so make room for the note first.
                let room = text::MAX_MESSAGE_BYTES.saturating_sub(note.len());
                *message = text::clean_block(std::mem::take(message), room) + &note;
            }
        }
    }
}

impl FailureText for tools::CallOutcome {
    fn is_failure(&self) -> bool {
        matches!(self, Self::Done(result) if result.is_error == Some(true))
    }

    fn mentions(&self, words: &str) -> bool {
        let Self::Done(result) = self else { return false };
        result.content.iter().any(|block| match block {
            types::Content::Text(text) => text.text.contains(words),
            types::Content::Image(_)
            | types::Content::Audio(_)
            | types::Content::Link(_)
            | types::Content::Embedded(_)
            | types::Content::Other(_) => false,
        })
    }

    fn append_note(&mut self, note: &str) {
        let Self::Done(result) = self else { return };
        result.content.push(types::Content::Text(types::TextContent {
            text: format!("moongate: {note}"),
            annotations: None,
            meta: None,
            extra: None,
        }));
    }
}

impl FailureText for resources::ReadOutcome {}

impl FailureText for prompts::PromptOutcome {}

impl FailureText for completions::Completion {}

#[cfg(test)]
mod tests;
