//! The reasons for closing a WebSocket, and their codes (RFC 6455, 7.4.1).

use std::sync::{Arc, OnceLock};

/// The reason for closing a connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum CloseReason {
    /// The client sent everything.
    Normal,
    /// The peer closed it.
    Peer {
        /// Its code.
        code: u16,
        /// Its text, which isn't trusted.
        reason: String,
    },
    /// The gateway is stopping.
    GatewayStops,
    /// The peer broke the protocol, for example with compression, which isn't negotiated.
    Protocol,
    /// A message is binary.
    Binary,
    /// A message isn't UTF-8.
    Encoding,
    /// The caller's token or certificate has expired, or was revoked.
    CredentialEnded,
    /// The peer sent too many small frames that complete no message.
    TooManyFrames,
    /// A message is too long.
    TooLong,
    /// There was no message for too long.
    Idle,
    /// The peer doesn't answer pings.
    Unresponsive,
}

impl CloseReason {
    /// The code and the text for the peer.
    pub(crate) fn code(&self) -> (u16, &'static str) {
        match self {
            Self::Normal => (1000, ""),
            Self::Peer { code, reason: _ } => (*code, ""),
            Self::GatewayStops => (1001, "the gateway is stopping"),
            Self::Idle => (1001, "the connection was idle"),
            Self::Unresponsive => (1001, "no answer to pings"),
            Self::Protocol => (1002, "invalid WebSocket frame; compression isn't supported"),
            Self::Binary => (1003, "binary messages aren't supported; send text"),
            Self::Encoding => (1007, "the message isn't UTF-8"),
            Self::CredentialEnded => (1008, "the token or certificate has expired or was revoked"),
            Self::TooManyFrames => (1008, "too many pings or parts of messages"),
            Self::TooLong => (1009, "the message is larger than `max_body` in `[http]`"),
        }
    }
}

/// The first reason for closing a connection.
#[derive(Debug, Clone, Default)]
pub(crate) struct CloseReasonSlot(Arc<OnceLock<CloseReason>>);

impl CloseReasonSlot {
    /// Sets the reason, unless there is one.
    pub(crate) fn set(&self, reason: CloseReason) {
        let _ = self.0.set(reason);
    }

    /// The reason.
    pub(crate) fn get(&self) -> CloseReason {
        self.0.get().cloned().unwrap_or(CloseReason::Normal)
    }
}
