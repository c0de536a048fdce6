//! Error objects and malformed messages.

use std::fmt;

use crate::json::Json;

use super::Id;

/// The text isn't JSON.
pub const PARSE_ERROR: i32 = -32_700;
/// The JSON isn't a valid message.
pub const INVALID_REQUEST: i32 = -32_600;
/// There is no such method.
pub const METHOD_NOT_FOUND: i32 = -32_601;
/// The method's parameters are wrong.
pub const INVALID_PARAMS: i32 = -32_602;
/// The receiver failed.
pub const INTERNAL_ERROR: i32 = -32_603;

/// The `error` member of a response.
#[derive(Debug, Clone, PartialEq)]
pub struct ErrorObject {
    /// The kind of error, for programs.
    pub code: i32,
    /// One sentence, for people and models.
    pub message: String,
    /// Additional data for programs.
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

/// An invalid message, and the error to answer with.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{error}")]
pub struct MalformedMessage {
    /// The id, if it is readable.
    pub id: Option<Id>,
    /// [`PARSE_ERROR`] or [`INVALID_REQUEST`], and the reason.
    pub error: ErrorObject,
    /// The probable kind of message.
    pub kind: MessageKind,
}

/// The probable kind of a malformed message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MessageKind {
    /// Unknown.
    Unknown,
    /// A request.
    Request,
    /// A notification, apart from its `params`.
    Notification,
    /// A response.
    Response,
}

impl MalformedMessage {
    /// Reports whether the error may be sent to the peer. Notifications and responses are never answered: two peers
    /// that answer each other's invalid answers would loop forever.
    #[must_use]
    pub fn wants_answer(&self) -> bool {
        match self.kind {
            MessageKind::Unknown | MessageKind::Request => true,
            MessageKind::Notification | MessageKind::Response => false,
        }
    }
}
