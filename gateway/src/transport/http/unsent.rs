//! Answers that the client hasn't read yet: their bytes are counted until they are sent.

use std::sync::Arc;

use bytes::Bytes;
use moongate_model::caller::Caller;
use moongate_protocol::unsent_answers::{UnsentAnswer, UnsentAnswers};

/// The size from which an answer is counted, in bytes. The number of connections limits smaller ones.
const MIN_COUNTED_BYTES: usize = 16 * 1024;

/// An answer and its part of the budget, both released once the answer is sent.
struct CountedAnswer {
    text: Vec<u8>,
    _unsent: UnsentAnswer,
}

impl AsRef<[u8]> for CountedAnswer {
    fn as_ref(&self) -> &[u8] {
        &self.text
    }
}

/// The bytes of an answer to `caller`, counted until they are sent.
pub(super) fn count(answers: &Arc<UnsentAnswers>, caller: &Caller, text: Vec<u8>) -> Bytes {
    if text.len() < MIN_COUNTED_BYTES {
        return Bytes::from(text);
    }
    let unsent = answers.charge(caller, text.capacity());
    Bytes::from_owner(CountedAnswer { text, _unsent: unsent })
}

#[cfg(test)]
mod tests;
