//! Error objects, and what becomes of bytes that are no message.

use std::fmt;

use crate::json::Json;

use super::Id;

/// The text isn't JSON.
pub const PARSE_ERROR: i32 = -32_700;
/// The JSON isn't a message.
pub const INVALID_REQUEST: i32 = -32_600;
/// There is no such method.
pub const METHOD_NOT_FOUND: i32 = -32_601;
/// The method's parameters are wrong.
pub const INVALID_PARAMS: i32 = -32_602;
/// The answering side failed.
pub const INTERNAL_ERROR: i32 = -32_603;

/// The `error` member of a response.
#[derive(Debug, Clone, PartialEq)]
pub struct ErrorObject {
    /// What kind of error it is, for programs.
    pub code: i32,
    /// One sentence, for people and models.
    pub message: String,
    /// Anything else a program may want to know.
    pub data: Option<Json>,
}

impl ErrorObject {
    /// An error without `data`.
    #[must_use]
    pub fn new(code: i32, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), data: None }
    }

    /// [`PARSE_ERROR`].
    #[must_use]
    pub fn parse_error(message: impl Into<String>) -> Self {
        Self::new(PARSE_ERROR, message)
    }

    /// [`INVALID_REQUEST`].
    #[must_use]
    pub fn invalid_request(message: impl Into<String>) -> Self {
        Self::new(INVALID_REQUEST, message)
    }
}

impl fmt::Display for ErrorObject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.message, self.code)
    }
}

/// Bytes that are no message, and what to say to it.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{error}")]
pub struct Malformed {
    /// The id, where it could be read.
    pub id: Option<Id>,
    /// [`PARSE_ERROR`] or [`INVALID_REQUEST`], and why.
    pub error: ErrorObject,
    /// What it was meant to be.
    pub shape: Shape,
}

/// What malformed bytes were meant to be, as far as one can tell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// Can't tell.
    Unknown,
    /// A request.
    Request,
    /// A notification, except for its `params`.
    Notification,
    /// A response.
    Response,
}

impl Malformed {
    /// May the error be sent to the peer? Notifications and responses are never answered: two peers that
    /// answer each other's broken answers would go on for ever.
    #[must_use]
    pub fn wants_answer(&self) -> bool {
        match self.shape {
            Shape::Unknown | Shape::Request => true,
            Shape::Notification | Shape::Response => false,
        }
    }
}
