//! Messages over Streamable HTTP, once the transport has checked Host, Origin, token, verb, type and size.
//!
//! What comes in and what goes out; each verb is answered in a file of its own.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use futures_util::stream::{self, Stream, StreamExt as _};
use tokio::time::Instant;

use crate::jsonrpc::{ErrorObject, Malformed, Shape, UnknownId};
use crate::mcp::errors::SESSION_NOT_FOUND;
use crate::mcp::{Era, Feature, ProtocolError, Revision};
use crate::names::Principal;
use crate::session::{Event, Reader, Session};

use super::headers::{Header, Headers, SESSION, VERSION};
use super::talk::Hear;
use super::{Server, malformed, stray_error};

mod get;
mod legacy;
mod lift;
mod post;

pub use legacy::Visitor;
pub(super) use legacy::Visits;

/// A POST to the endpoint.
#[derive(Clone, Copy)]
pub struct Post<'a> {
    /// Who calls.
    pub principal: &'a Principal,
    /// The request's headers.
    pub headers: &'a dyn Headers,
    /// The request's body.
    pub body: &'a [u8],
    /// Whether the client takes a stream of events for an answer.
    pub hear: Hear,
}

/// A GET of the endpoint.
#[derive(Clone, Copy)]
pub struct Get<'a> {
    /// Who calls.
    pub principal: &'a Principal,
    /// The request's headers.
    pub headers: &'a dyn Headers,
    /// Whether the client takes a stream of events for an answer.
    pub hear: Hear,
}

impl std::fmt::Debug for Get<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Get").field("principal", self.principal).finish_non_exhaustive()
    }
}

impl std::fmt::Debug for Post<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Post").field("principal", self.principal).finish_non_exhaustive()
    }
}

/// What is answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HttpReply {
    /// The status.
    pub status: u16,
    /// Headers beside type and length.
    pub headers: Vec<(&'static str, String)>,
    /// One JSON text, or nothing.
    pub body: Vec<u8>,
}

/// What a request comes to.
#[derive(Debug)]
pub enum HttpAnswer {
    /// One message, or none.
    Whole(HttpReply),
    /// Messages as a stream of events, with status 200.
    Events(Events),
}

/// Does a stream of events end by itself?
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lasts {
    /// It ends with the response to a request.
    UntilAnswered,
    /// It ends when one of both ends it.
    UntilEnded,
}

/// Messages, one after the other.
pub struct Events {
    stream: Pin<Box<dyn Stream<Item = Event> + Send>>,
    lasts: Lasts,
}

impl Events {
    pub(super) fn new(stream: impl Stream<Item = Event> + Send + 'static, lasts: Lasts) -> Self {
        Self { stream: Box::pin(stream), lasts }
    }

    /// The same; each event is shown to `look` as it passes.
    #[must_use]
    pub fn shown_to(self, mut look: impl FnMut(&Event) + Send + 'static) -> Self {
        let Self { stream, lasts } = self;
        Self::new(stream.inspect(move |event| look(event)), lasts)
    }

    /// Whether it ends by itself.
    #[must_use]
    pub fn lasts(&self) -> Lasts {
        self.lasts
    }
}

impl Stream for Events {
    type Item = Event;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Event>> {
        self.stream.as_mut().poll_next(cx)
    }
}

impl std::fmt::Debug for Events {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Events").field("lasts", &self.lasts).finish_non_exhaustive()
    }
}

impl From<HttpReply> for HttpAnswer {
    fn from(reply: HttpReply) -> Self {
        Self::Whole(reply)
    }
}

impl From<Reader> for Events {
    fn from(reader: Reader) -> Self {
        let lasts = if reader.awaits_answer() { Lasts::UntilAnswered } else { Lasts::UntilEnded };
        let events =
            stream::unfold(
                reader,
                |mut reader| async move { reader.next().await.map(|event| (event, reader)) },
            );
        Self::new(events, lasts)
    }
}

impl HttpReply {
    fn new(status: u16, body: Vec<u8>) -> Self {
        Self { status, headers: Vec::new(), body }
    }

    /// An error about what isn't a single request: nothing, a notification, a response, a batch.
    ///
    /// `null` would say that a request's id couldn't be read, so there is no id at all (2025-11-25,
    /// basic/transports: "a JSON-RPC error response that has no `id`").
    fn stray(error: &ProtocolError) -> Self {
        Self::new(error.status, stray_error(error, UnknownId::Omit))
    }

    /// What is no message. A broken notification is taken and ignored; a broken response is refused without its id,
    /// which is one of ours and would look like the client's own.
    fn malformed(error: &Malformed, unknown: UnknownId) -> Self {
        match error.shape {
            Shape::Unknown | Shape::Request => Self::new(400, malformed(error, unknown)),
            Shape::Notification => Self::accepted(),
            Shape::Response => {
                let nameless = Malformed { id: None, ..error.clone() };
                Self::new(400, malformed(&nameless, UnknownId::Omit))
            }
        }
    }

    /// The message was taken, and there is nothing to say.
    fn accepted() -> Self {
        Self::new(202, Vec::new())
    }

    /// This verb doesn't exist here.
    fn not_allowed(allow: &str) -> Self {
        let error = ProtocolError::invalid_request("this method isn't allowed here");
        Self {
            status: 405,
            headers: vec![("allow", allow.to_owned())],
            body: stray_error(&error, UnknownId::Omit),
        }
    }
}

/// The era that a request's headers speak of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Spoken {
    /// Nothing was said.
    Nothing,
    /// A revision that is known.
    Known(Revision),
    /// Something else.
    Unknown,
}

impl Spoken {
    fn of(headers: &dyn Headers) -> Self {
        match headers.get(VERSION) {
            Header::Absent => Self::Nothing,
            Header::Invalid => Self::Unknown,
            Header::Text(text) => Revision::from_name(text).map_or(Self::Unknown, Self::Known),
        }
    }

    fn revision(self) -> Option<Revision> {
        match self {
            Self::Known(revision) => Some(revision),
            Self::Nothing | Self::Unknown => None,
        }
    }

    fn is_stateless(self) -> bool {
        self.revision().is_some_and(|revision| revision.era() == Era::Stateless)
    }
}

impl Server {
    /// The session that a request names, if it may be used.
    fn session(
        &self,
        principal: &Principal,
        headers: &dyn Headers,
        spoken: Spoken,
    ) -> Result<Arc<Session>, ProtocolError> {
        if spoken == Spoken::Unknown {
            return Err(unknown_revision());
        }
        match headers.get(SESSION) {
            Header::Text(id) => self.sessions.find(id, principal).ok_or_else(no_session),
            Header::Invalid => Err(no_session()),
            Header::Absent => Err(session_needed()),
        }
    }

    /// When a stream that is opened now is closed early, for its client to come back to it. Only newer ones know how
    /// (2025-11-25, basic/transports).
    fn closes(&self, session: &Session) -> Option<Instant> {
        let known = session.greeting().revision.has(Feature::Priming);
        self.close_streams_after.filter(|_| known).map(|after| Instant::now() + after)
    }
}

fn unknown_revision() -> ProtocolError {
    let known: Vec<_> = Revision::ALL.iter().map(|revision| revision.as_str()).collect();
    ProtocolError::invalid_request(format!(
        "the `MCP-Protocol-Version` header names no known revision; known members are {}",
        known.join(", ")
    ))
}

fn no_session() -> ProtocolError {
    let message = "no such session; `initialize` again".to_owned();
    ProtocolError { error: ErrorObject { code: SESSION_NOT_FOUND, message, data: None }, status: 404 }
}

fn session_needed() -> ProtocolError {
    ProtocolError::invalid_request(
        "this needs a session that `initialize` opened (the `Mcp-Session-Id` header), or the headers and the `_meta` of a stateless revision",
    )
}
