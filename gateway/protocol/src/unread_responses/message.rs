//! Messages to clients, with their share of the memory for unread responses.

use std::ops::Deref;
use std::sync::Arc;

use bytes::Bytes;

use crate::caller::Caller;

use super::{ResponseTooLarge, UnreadResponse, UnreadResponses};

/// The size from which a message is counted, in bytes. The number of requests and connections limits smaller ones.
pub(crate) const MIN_COUNTED_BYTES: usize = 1024;

/// The text of a message to a client. A large one counts until it is dropped, which is once it is sent.
#[derive(Debug)]
pub struct CountedMessage {
    text: Bytes,
    unread: Option<UnreadResponse>,
}

impl CountedMessage {
    /// The same message, counted for `caller` unless it is small or already counted.
    #[must_use]
    pub fn counted(self, responses: &Arc<UnreadResponses>, caller: &Caller) -> Self {
        let Self { text, unread } = self;
        let is_missing = unread.is_none() && text.len() >= MIN_COUNTED_BYTES;
        let unread = if is_missing { Some(responses.charge(caller, text.len())) } else { unread };
        Self { text, unread }
    }

    /// The same message, counted for `caller` whatever its size, for callers that can have many of them.
    #[must_use]
    pub fn always_counted(self, responses: &Arc<UnreadResponses>, caller: &Caller) -> Self {
        let Self { text, unread } = self;
        let unread = unread.unwrap_or_else(|| responses.charge(caller, text.len()));
        Self { text, unread: Some(unread) }
    }

    /// The same message, counted for `caller` unless it is small or already counted.
    ///
    /// # Errors
    /// The caller would hold too much.
    pub(crate) fn reserved(
        self,
        responses: &Arc<UnreadResponses>,
        caller: &Caller,
    ) -> Result<Self, ResponseTooLarge> {
        if self.unread.is_some() || self.text.len() < MIN_COUNTED_BYTES {
            return Ok(self);
        }
        let unread = responses.reserve(caller, self.text.len())?;
        Ok(self.with_share(unread))
    }

    /// The same message with a share that was reserved for it.
    pub(crate) fn with_share(self, share: UnreadResponse) -> Self {
        Self { text: self.text, unread: Some(share) }
    }

    /// The same message, no longer counted.
    pub(crate) fn uncounted(self) -> Self {
        Self { text: self.text, unread: None }
    }

    /// A message with this share.
    pub(crate) fn from_parts(text: Bytes, unread: Option<UnreadResponse>) -> Self {
        Self { text, unread }
    }

    /// The text, and its share.
    pub(crate) fn into_parts(self) -> (Bytes, Option<UnreadResponse>) {
        (self.text, self.unread)
    }

    /// The text, which counts until its last part is dropped.
    #[must_use]
    pub fn into_bytes(self) -> Bytes {
        if self.unread.is_some() { Bytes::from_owner(self) } else { self.text }
    }
}

impl From<Vec<u8>> for CountedMessage {
    fn from(text: Vec<u8>) -> Self {
        Self { text: text.into(), unread: None }
    }
}

impl Deref for CountedMessage {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.text
    }
}

impl AsRef<[u8]> for CountedMessage {
    fn as_ref(&self) -> &[u8] {
        &self.text
    }
}

impl PartialEq for CountedMessage {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl Eq for CountedMessage {}
