//! Who is asked in the handshake revisions: the client, with requests of the gateway's own (2025-11-25, basic).

use std::fmt;
use std::pin::Pin;
use std::time::Duration;

use crate::json::Json;
use crate::jsonrpc::ErrorObject;

/// An answer that somebody has to think about.
pub type Asking<'a> = Pin<Box<dyn Future<Output = Result<Json, AskError>> + Send + 'a>>;

/// The client at the other end, while a request of it runs.
pub trait Peer: fmt::Debug + Send + Sync {
    /// Sends a request and waits for the result. Dropping the future withdraws the request.
    fn ask<'a>(&'a self, method: &'a str, params: Option<&'a Json>) -> Asking<'a>;
}

/// Why a question got no answer.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum AskError {
    /// The client answered with an error.
    #[error("the client refused: {}", .0.message)]
    Refused(ErrorObject),
    /// It didn't answer.
    #[error("the client didn't answer within {}", humantime::format_duration(*.0))]
    Silence(Duration),
    /// It has as many questions open as it may have.
    #[error("{0} questions to this client are open already")]
    TooMany(usize),
    /// It answered, but there is no room for the answer.
    #[error("too many long answers wait for others; try again later")]
    NoRoom,
    /// No answer can come any more.
    #[error("no answer can come any more: the client has gone, or the gateway stops")]
    Gone,
}
