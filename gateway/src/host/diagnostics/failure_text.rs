//! What an answer says of its failure, and what the gateway adds to that for whoever reads it.

use std::borrow::Cow;

use super::text;
use crate::host::bindings::{completions, prompts, resources, tools, types};

/// How much of what an answer says of its failure is looked at, in bytes.
const LOOKED_AT: usize = 4 << 10;

/// An answer that may say that the request failed.
pub(in crate::host) trait Complains {
    /// What it says of that, at most [`LOOKED_AT`] bytes of it; none: it says that all went well.
    fn complaint(&self) -> Option<Cow<'_, str>> {
        None
    }

    /// Puts sentences of the gateway's behind what it says of its failure. However much it says, they stay.
    fn append(&mut self, _sentences: &[String]) {}
}

impl<T: Complains> Complains for Result<T, types::Failure> {
    fn complaint(&self) -> Option<Cow<'_, str>> {
        let message = match self {
            Ok(done) => return done.complaint(),
            Err(
                types::Failure::InvalidParams(fault)
                | types::Failure::NotFound(fault)
                | types::Failure::Internal(fault),
            ) => &fault.message,
            Err(types::Failure::Custom(fault)) => &fault.message,
            Err(types::Failure::MissingCapability(_)) => "",
        };
        Some(Cow::Borrowed(text::beginning(message, LOOKED_AT)))
    }

    fn append(&mut self, sentences: &[String]) {
        let message = match self {
            Ok(done) => return done.append(sentences),
            Err(
                types::Failure::InvalidParams(fault)
                | types::Failure::NotFound(fault)
                | types::Failure::Internal(fault),
            ) => &mut fault.message,
            Err(types::Failure::Custom(fault)) => &mut fault.message,
            Err(types::Failure::MissingCapability(_)) => return,
        };
        if sentences.is_empty() {
            return;
        }
        let appended: String = sentences.iter().map(|sentence| format!(" (moongate: {sentence})")).collect();
        // What is longer than messages may be is cut at its end.
        let room = text::MESSAGE.saturating_sub(appended.len());
        *message = text::block(std::mem::take(message), room) + &appended;
    }
}

impl Complains for tools::CallOutcome {
    fn complaint(&self) -> Option<Cow<'_, str>> {
        let Self::Done(result) = self else { return None };
        if result.is_error != Some(true) {
            return None;
        }
        let mut texts = result.content.iter().filter_map(|block| match block {
            types::Content::Text(text) => Some(text.text.as_str()),
            types::Content::Image(_)
            | types::Content::Audio(_)
            | types::Content::Link(_)
            | types::Content::Embedded(_)
            | types::Content::Other(_) => None,
        });
        let mut said = Cow::Borrowed(text::beginning(texts.next().unwrap_or_default(), LOOKED_AT));
        for text in texts {
            // A line each.
            let Some(room) = LOOKED_AT.checked_sub(said.len() + 1) else { break };
            let said = said.to_mut();
            said.push('\n');
            said.push_str(text::beginning(text, room));
        }
        Some(said)
    }

    fn append(&mut self, sentences: &[String]) {
        let Self::Done(result) = self else { return };
        result.content.extend(sentences.iter().map(|sentence| {
            let text = format!("moongate: {sentence}");
            let (annotations, meta, extra) = (None, None, None);
            types::Content::Text(types::TextContent { text, annotations, meta, extra })
        }));
    }
}

impl Complains for resources::ReadOutcome {}

impl Complains for prompts::PromptOutcome {}

impl Complains for completions::Completion {}

#[cfg(test)]
mod tests;
