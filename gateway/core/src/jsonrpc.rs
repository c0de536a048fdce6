//! JSON-RPC 2.0 messages, knowing nothing of MCP.
//!
//! [`parse`] turns the bytes of one line or one body into messages in a single pass: the envelope is checked, and
//! `params` and `result` stay text. Whatever isn't a message becomes a [`Malformed`] that carries the id where it
//! could be read, and says whether it may be answered at all. The writers append one line of JSON without its end.
//!
//! Beyond the specification, as MCP has it: an id is a string or an integer and never null, and its token is given
//! back exactly as it came.

use std::borrow::Cow;

use serde_json::value::RawValue;

mod error;
#[cfg(any(test, feature = "fuzz"))]
pub(crate) mod fuzz;
mod id;
mod read;
mod scan;
mod write;

pub use error::{
    ErrorObject, INTERNAL_ERROR, INVALID_PARAMS, INVALID_REQUEST, METHOD_NOT_FOUND, Malformed, PARSE_ERROR,
    Shape,
};
#[cfg(any(test, feature = "fuzz"))]
pub use fuzz::fuzz_one;
pub use id::{Id, IdError};
pub use read::parse;
pub use write::{UnknownId, write_error, write_notification, write_request, write_result};

/// How much [`parse`] accepts. The size of the whole is the transport's business, the depth is fixed
/// ([`MAX_DEPTH`]).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ParseLimits {
    /// How many messages a batch may hold.
    pub max_batch: usize,
}

/// How deep a message may nest, its own braces included: what serde_json reads without growing the stack further.
pub const MAX_DEPTH: usize = 128;

/// What one line or one body holds.
#[derive(Debug)]
pub enum Incoming<'a> {
    /// One message.
    Single(Message<'a>),
    /// A batch, never empty: each entry is a message or what is wrong with it.
    Batch(Vec<Result<Message<'a>, Malformed>>),
}

/// One message.
#[derive(Debug)]
pub enum Message<'a> {
    /// Wants an answer.
    Request(Request<'a>),
    /// Wants none.
    Notification(Notification<'a>),
    /// Is one.
    Response(Response<'a>),
}

/// A call that wants an answer.
#[derive(Debug)]
pub struct Request<'a> {
    /// The caller's name for it.
    pub id: Id,
    /// What is to be done.
    pub method: Cow<'a, str>,
    /// An object or an array; `null` counts as absent.
    pub params: Option<&'a RawValue>,
}

/// A call that wants no answer.
#[derive(Debug)]
pub struct Notification<'a> {
    /// What happened.
    pub method: Cow<'a, str>,
    /// An object or an array; `null` counts as absent.
    pub params: Option<&'a RawValue>,
}

/// The answer to a request of ours.
#[derive(Debug)]
pub struct Response<'a> {
    /// Which request it answers. None: the peer couldn't read the id; nothing can be done with it.
    pub id: Option<Id>,
    /// What came of it.
    pub outcome: Result<&'a RawValue, ErrorObject>,
}

#[cfg(test)]
mod tests;
