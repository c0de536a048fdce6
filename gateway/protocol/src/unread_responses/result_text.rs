//! Results while they are rendered. They count while they grow: a text with control characters is written as up to six
//! times its size, so the size of a result says little about that of its response.

use std::fmt;
use std::sync::Arc;

use bytes::Bytes;

use crate::caller::Caller;
use crate::json::{Json, JsonBuffer};
use crate::jsonrpc::{self, Id};

use super::message::MIN_COUNTED_BYTES;
use super::{CountedMessage, ResponseTooLarge, UnreadResponse, UnreadResponses};

/// The step in which the share of a result grows, in bytes.
const GROWTH_BYTES: usize = 16 * 1024;

/// The space for the rest of the message before the result, in bytes: enough for most ids, so that the result isn't
/// moved.
const HEAD_BYTES: usize = 128;

/// The JSON text of a result, with its share of the memory for unread responses.
#[derive(Debug)]
pub struct ResultText {
    /// Starts with space for the head of the message.
    text: Vec<u8>,
    unread: Option<UnreadResponse>,
}

/// Collects the text of a result.
#[derive(Debug)]
pub(crate) struct ResultWriter<'a> {
    responses: &'a Arc<UnreadResponses>,
    caller: &'a Caller,
    result: ResultText,
    /// The length from which more has to be counted.
    counted: usize,
}

impl<'a> ResultWriter<'a> {
    /// A result for `caller`, without text.
    pub(crate) fn new(responses: &'a Arc<UnreadResponses>, caller: &'a Caller) -> Self {
        Self { responses, caller, result: ResultText::with_capacity(512), counted: MIN_COUNTED_BYTES }
    }

    /// The result.
    pub(crate) fn finish(self) -> ResultText {
        let mut result = self.result;
        if let Some(unread) = &mut result.unread {
            result.text.shrink_to(result.text.len() + 1); // with the closing brace
            unread.shrink_to(result.text.len());
        }
        result
    }

    fn count(&mut self, length: usize) -> Result<(), ResponseTooLarge> {
        let counted = length.next_multiple_of(GROWTH_BYTES);
        match &mut self.result.unread {
            Some(unread) => unread.grow(counted - self.counted)?,
            none => *none = Some(self.responses.reserve(self.caller, counted)?),
        }
        self.counted = counted;
        Ok(())
    }
}

impl fmt::Write for ResultWriter<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let length = self.result.text.len() + text.len();
        if length > self.counted {
            self.count(length).map_err(|ResponseTooLarge| fmt::Error)?;
        }
        self.result.text.extend_from_slice(text.as_bytes());
        Ok(())
    }
}

impl JsonBuffer for ResultWriter<'_> {
    fn reserve(&mut self, additional: usize) {
        let length = self.result.text.len() + additional;
        // If it doesn't fit, writing it fails.
        if length <= self.counted || self.count(length).is_ok() {
            self.result.text.reserve(additional);
        }
    }
}

impl ResultText {
    fn with_capacity(length: usize) -> Self {
        let mut text = Vec::with_capacity(HEAD_BYTES + length + 1);
        text.resize(HEAD_BYTES, b' ');
        Self { text, unread: None }
    }

    /// The JSON text.
    #[must_use]
    pub fn json(&self) -> &[u8] {
        self.text.get(HEAD_BYTES..).unwrap_or_default()
    }

    /// The response with this result.
    pub(crate) fn into_response(self, id: &Id) -> CountedMessage {
        let Self { mut text, unread } = self;
        text.push(b'}');
        let head = jsonrpc::result_head(id);
        let start = HEAD_BYTES.saturating_sub(head.len());
        text.splice(start..HEAD_BYTES, head);
        CountedMessage::from_parts(Bytes::from(text).slice(start..), unread)
    }
}

impl From<Json> for ResultText {
    fn from(result: Json) -> Self {
        let mut text = Self::with_capacity(result.get().len());
        text.text.extend_from_slice(result.get().as_bytes());
        text
    }
}
