//! The outcome and the size of a plugin's answer, as observers see them.

use crate::call::{Completion, Content, Outcome, PromptResult, ReadResult, ToolResult};
use crate::limiter::CallPermit;

use super::observer::CallOutcome;

/// A plugin's answer with an outcome other than [`CallOutcome::Failed`].
pub(super) trait HasOutcome {
    fn outcome(&self) -> CallOutcome<'static>;

    /// The size of its content, in bytes.
    fn content_bytes(&self) -> u64;
}

impl<T: HasOutcome> HasOutcome for Outcome<T> {
    fn outcome(&self) -> CallOutcome<'static> {
        match self {
            Self::Done(result) => result.outcome(),
            Self::NeedInput(_) => CallOutcome::NeedInput,
        }
    }

    fn content_bytes(&self) -> u64 {
        match self {
            Self::Done(result) => result.content_bytes(),
            Self::NeedInput(_) => 0,
        }
    }
}

impl<T: HasOutcome> HasOutcome for (T, CallPermit) {
    fn outcome(&self) -> CallOutcome<'static> {
        self.0.outcome()
    }

    fn content_bytes(&self) -> u64 {
        self.0.content_bytes()
    }
}

impl HasOutcome for ToolResult {
    fn outcome(&self) -> CallOutcome<'static> {
        if self.is_error { CallOutcome::ToolError } else { CallOutcome::Done }
    }

    fn content_bytes(&self) -> u64 {
        let structured = self.structured.as_ref().map_or(0, |value| value.get().len() as u64);
        structured + self.content.iter().map(Content::content_bytes).sum::<u64>()
    }
}

impl HasOutcome for ReadResult {
    fn outcome(&self) -> CallOutcome<'static> {
        CallOutcome::Done
    }

    fn content_bytes(&self) -> u64 {
        self.contents.iter().map(|contents| contents.body.content_bytes()).sum()
    }
}

impl HasOutcome for PromptResult {
    fn outcome(&self) -> CallOutcome<'static> {
        CallOutcome::Done
    }

    fn content_bytes(&self) -> u64 {
        self.messages.iter().map(|message| message.content.content_bytes()).sum()
    }
}

impl HasOutcome for Completion {
    fn outcome(&self) -> CallOutcome<'static> {
        CallOutcome::Done
    }

    fn content_bytes(&self) -> u64 {
        self.values.iter().map(|value| value.len() as u64).sum()
    }
}
