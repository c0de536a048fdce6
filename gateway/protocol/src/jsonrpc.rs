//! JSON-RPC 2.0 messages, independent of MCP.
//!
//! [`parse`] turns the bytes of one line or one body into messages: the envelope is checked, and `params` and `result`
//! stay text. Invalid input becomes a [`MalformedMessage`], with the id if it can be found, because a client waits for
//! an answer with its id. It also determines whether the input may be answered at all. The writers append one line of
//! JSON without its line end.
//!
//! Two rules are stricter than the specification, as MCP requires: an id is a string or an integer and never null, and
//! its token is returned exactly as received.

use std::borrow::Cow;

use crate::json::JsonPart;

mod error;
#[cfg(any(test, feature = "fuzz"))]
pub(crate) mod fuzz;
mod id;
mod outline;
mod read;
mod write;

pub use error::{
    ErrorObject, INTERNAL_ERROR, INVALID_PARAMS, INVALID_REQUEST, METHOD_NOT_FOUND, MalformedMessage,
    MessageKind, PARSE_ERROR,
};
#[cfg(any(test, feature = "fuzz"))]
pub use fuzz::fuzz_one;
pub use id::{Id, IdError};
pub use outline::{MessageOutline, MessageScanner};
pub use read::{MessageText, parse};
pub(crate) use write::result_head;
pub use write::{MissingId, write_error, write_notification, write_request, write_result};

/// The limits of [`parse`]. The transport limits the total size; the depth is fixed ([`MAX_DEPTH`]).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ParseLimits {
    /// The number of messages in a batch.
    pub max_batch: usize,
}

/// The nesting depth of a message, its own braces included: the limit of serde_json's parser.
pub const MAX_DEPTH: usize = 128;

/// The content of one line or one body.
#[derive(Debug)]
pub enum Incoming<'a> {
    /// One message.
    Single(Message<'a>),
    /// A batch, never empty: each entry is a message or an error. At most [`ParseLimits::max_batch`] are messages.
    Batch(Vec<Result<Message<'a>, MalformedMessage>>),
}

/// One message.
#[derive(Debug)]
pub enum Message<'a> {
    /// A request.
    Request(Request<'a>),
    /// A notification.
    Notification(Notification<'a>),
    /// A response.
    Response(Response<'a>),
}

/// A call that expects a response.
#[derive(Debug)]
pub struct Request<'a> {
    /// The caller's id.
    pub id: Id,
    /// The method.
    pub method: Cow<'a, str>,
    /// An object or an array; `null` counts as absent.
    pub params: Option<JsonPart<'a>>,
}

/// A call without a response.
#[derive(Debug)]
pub struct Notification<'a> {
    /// The method.
    pub method: Cow<'a, str>,
    /// An object or an array; `null` counts as absent.
    pub params: Option<JsonPart<'a>>,
}

/// The response to one of the gateway's requests.
#[derive(Debug)]
pub struct Response<'a> {
    /// The id of the request. `None` means that the peer couldn't read the id; such a response is useless.
    pub id: Option<Id>,
    /// The result or the error.
    pub outcome: Result<JsonPart<'a>, ErrorObject>,
}

#[cfg(test)]
mod tests;
