//! What an answer says of its failure, and what the gateway adds to that for whoever reads it.

use super::bindings::{completions, prompts, resources, tools, types};

/// An answer that may say that the request failed.
pub(super) trait Complains {
    /// What it says of that; none: it says that all went well.
    fn complaint(&self) -> Option<String> {
        None
    }

    /// Adds a sentence of the gateway's to what it says of its failure.
    fn add(&mut self, _sentence: &str) {}
}

impl<T: Complains> Complains for Result<T, types::Failure> {
    fn complaint(&self) -> Option<String> {
        match self {
            Ok(done) => done.complaint(),
            Err(
                types::Failure::InvalidParams(fault)
                | types::Failure::NotFound(fault)
                | types::Failure::Internal(fault),
            ) => Some(fault.message.clone()),
            Err(types::Failure::Custom(fault)) => Some(fault.message.clone()),
            Err(types::Failure::MissingCapability(_)) => Some(String::new()),
        }
    }

    fn add(&mut self, sentence: &str) {
        let message = match self {
            Ok(done) => return done.add(sentence),
            Err(
                types::Failure::InvalidParams(fault)
                | types::Failure::NotFound(fault)
                | types::Failure::Internal(fault),
            ) => &mut fault.message,
            Err(types::Failure::Custom(fault)) => &mut fault.message,
            Err(types::Failure::MissingCapability(_)) => return,
        };
        message.push_str(&format!(" (moongate: {sentence})"));
    }
}

impl Complains for tools::CallOutcome {
    fn complaint(&self) -> Option<String> {
        let Self::Done(result) = self else { return None };
        let texts = result.content.iter().filter_map(|block| match block {
            types::Content::Text(text) => Some(text.text.as_str()),
            types::Content::Image(_)
            | types::Content::Audio(_)
            | types::Content::Link(_)
            | types::Content::Embedded(_)
            | types::Content::Other(_) => None,
        });
        (result.is_error == Some(true)).then(|| texts.collect::<Vec<_>>().join("\n"))
    }

    fn add(&mut self, sentence: &str) {
        if let Self::Done(result) = self {
            let text = format!("moongate: {sentence}");
            let (annotations, meta, extra) = (None, None, None);
            result.content.push(types::Content::Text(types::TextContent { text, annotations, meta, extra }));
        }
    }
}

impl Complains for resources::ReadOutcome {}

impl Complains for prompts::PromptOutcome {}

impl Complains for completions::Completion {}
