//! Messages over Streamable HTTP, once the transport has checked host, origin, token, method, content type and size.
//!
//! This file has the types of requests and answers; each HTTP method has a file of its own.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use futures_util::stream::{self, Stream, StreamExt as _};
use tokio::time::Instant;

use crate::caller::Caller;
use crate::caller_budget::BudgetShare;
use crate::dispatch::RefusedRequest;
use crate::jsonrpc::{ErrorObject, Incoming, MalformedMessage, MessageKind, MessageOutline, MissingId};
use crate::mcp::errors::SESSION_NOT_FOUND;
use crate::mcp::{Era, Feature, ProtocolError, Revision};
use crate::names::Principal;
use crate::session::{EventReader, Session, SseEvent};
use crate::unread_responses::CountedMessage;

use super::headers::{Header, Headers, PROTOCOL_VERSION_HEADER, SESSION_ID_HEADER};
use super::response_stream::StreamSupport;
use super::{Server, join_batch, malformed, stray_error, unknown_id};

mod get;
mod legacy_sse;
mod post;
mod upgrade;

pub(super) use get::no_stream;
pub(super) use legacy_sse::LegacySseClients;
pub use legacy_sse::LegacySseConnection;

/// A POST to the endpoint.
#[derive(Clone, Copy)]
pub struct HttpPost<'a> {
    /// The caller.
    pub caller: &'a Caller,
    /// The request's headers.
    pub headers: &'a dyn Headers,
    /// The request's body.
    pub body: &'a [u8],
    /// The share of the memory budget that the request holds. `None` means that it is too small to count.
    pub memory: Option<&'a Arc<BudgetShare>>,
    /// The client's support for event streams.
    pub streaming: StreamSupport,
}

/// A GET of the endpoint.
#[derive(Clone, Copy)]
pub struct HttpGet<'a> {
    /// The caller.
    pub caller: &'a Caller,
    /// The request's headers.
    pub headers: &'a dyn Headers,
    /// The client's support for event streams.
    pub streaming: StreamSupport,
}

impl std::fmt::Debug for HttpGet<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Get").field("caller", self.caller).finish_non_exhaustive()
    }
}

impl std::fmt::Debug for HttpPost<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Post").field("caller", self.caller).finish_non_exhaustive()
    }
}

/// An answer in one piece.
#[derive(Debug)]
pub struct HttpReply {
    /// The HTTP status.
    pub status: u16,
    /// Headers in addition to content type and length.
    pub headers: Vec<(&'static str, String)>,
    /// One JSON text, or empty.
    pub body: CountedMessage,
}

/// The answer to a request.
#[derive(Debug)]
pub enum HttpAnswer {
    /// At most one message.
    Whole(HttpReply),
    /// An event stream, with status 200.
    Events(EventStream),
}

/// The lifetime of an event stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StreamLifetime {
    /// The stream ends with the response to a request.
    UntilResponse,
    /// The stream stays open until either side closes it.
    UntilClosed,
}

/// An event stream.
pub struct EventStream {
    stream: Pin<Box<dyn Stream<Item = SseEvent> + Send>>,
    lifetime: StreamLifetime,
}

impl EventStream {
    pub(super) fn new(
        stream: impl Stream<Item = SseEvent> + Send + 'static,
        lifetime: StreamLifetime,
    ) -> Self {
        Self { stream: Box::pin(stream), lifetime }
    }

    /// The same stream, which ends with `end` at the latest.
    #[must_use]
    pub fn ending_with(self, end: impl Future<Output = ()> + Send + 'static) -> Self {
        let Self { stream, lifetime } = self;
        Self { stream: Box::pin(stream.take_until(Box::pin(end))), lifetime }
    }

    /// The same stream; `inspect` sees each event as it passes.
    #[must_use]
    pub fn inspect(self, mut inspect: impl FnMut(&SseEvent) + Send + 'static) -> Self {
        let Self { stream, lifetime } = self;
        Self::new(stream.inspect(move |event| inspect(event)), lifetime)
    }

    /// The lifetime of the stream.
    #[must_use]
    pub fn lifetime(&self) -> StreamLifetime {
        self.lifetime
    }
}

impl Stream for EventStream {
    type Item = SseEvent;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<SseEvent>> {
        self.stream.as_mut().poll_next(cx)
    }
}

impl std::fmt::Debug for EventStream {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Events").field("lifetime", &self.lifetime).finish_non_exhaustive()
    }
}

impl From<HttpReply> for HttpAnswer {
    fn from(reply: HttpReply) -> Self {
        Self::Whole(reply)
    }
}

impl From<EventReader> for EventStream {
    fn from(reader: EventReader) -> Self {
        let lifetime = if reader.awaits_response() {
            StreamLifetime::UntilResponse
        } else {
            StreamLifetime::UntilClosed
        };
        let events =
            stream::unfold(
                reader,
                |mut reader| async move { reader.next().await.map(|event| (event, reader)) },
            );
        Self::new(events, lifetime)
    }
}

impl HttpReply {
    fn new(status: u16, body: impl Into<CountedMessage>) -> Self {
        Self { status, headers: Vec::new(), body: body.into() }
    }

    /// A reply without a body.
    pub(super) fn empty(status: u16) -> Self {
        Self::new(status, CountedMessage::from(Vec::new()))
    }

    /// An error that doesn't answer a single request: the message is empty, a notification, a response or a batch.
    ///
    /// `null` would mean that a request's id couldn't be read, so the error has no id at all (2025-11-25,
    /// basic/transports: "a JSON-RPC error response that has no `id`").
    pub(super) fn stray(error: &ProtocolError) -> Self {
        Self::new(error.status, stray_error(error, MissingId::Omit))
    }

    /// The answer to a malformed message. A malformed notification is accepted and ignored. A malformed response is
    /// rejected without its id, which is one of the gateway's and would look like the client's own.
    fn malformed(error: MalformedMessage, session: Option<&Session>, unknown: MissingId) -> Self {
        let is_answer = session.is_some_and(|session| session.receive_malformed(&error));
        match error.kind {
            MessageKind::Notification => Self::accepted(),
            MessageKind::Unknown | MessageKind::Request if !is_answer => {
                Self::new(400, malformed(&error, unknown))
            }
            MessageKind::Unknown | MessageKind::Request | MessageKind::Response => {
                Self::new(400, malformed(&MalformedMessage { id: None, ..error }, MissingId::Omit))
            }
        }
    }

    /// The message was accepted and has no answer.
    fn accepted() -> Self {
        Self::empty(202)
    }

    /// The method isn't allowed.
    fn method_not_allowed(allow: &str) -> Self {
        let error = ProtocolError::invalid_request("HTTP method not allowed");
        Self {
            status: 405,
            headers: vec![("allow", allow.to_owned())],
            body: stray_error(&error, MissingId::Omit).into(),
        }
    }
}

/// The revision in the `MCP-Protocol-Version` header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ClaimedRevision {
    /// No header.
    Nothing,
    /// A known revision.
    Known(Revision),
    /// An unknown or invalid value.
    Unknown,
}

impl ClaimedRevision {
    fn of(headers: &dyn Headers) -> Self {
        match headers.get(PROTOCOL_VERSION_HEADER) {
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
    /// The session of a request, if the caller owns it.
    async fn session(
        &self,
        caller: &Caller,
        headers: &dyn Headers,
        claimed_revision: ClaimedRevision,
    ) -> Result<Arc<Session>, ProtocolError> {
        if claimed_revision == ClaimedRevision::Unknown {
            return Err(unknown_revision());
        }
        match headers.get(SESSION_ID_HEADER) {
            Header::Text(id) => self.find_session(id, caller).await,
            Header::Invalid => Err(session_not_found()),
            Header::Absent => Err(session_required()),
        }
    }

    /// The caller's session with this id.
    async fn find_session(&self, id: &str, caller: &Caller) -> Result<Arc<Session>, ProtocolError> {
        if let Some(shared) = &self.shared {
            return shared.find(id, caller).await.map_err(|why| self.no_shared_session(caller, why));
        }
        let principal = caller.principal();
        self.sessions.find(id, &principal).ok_or_else(|| self.no_session(id, caller, &principal))
    }

    /// The answer to the id of a session that the caller doesn't have. It doesn't depend on whether another has it.
    fn no_session(&self, id: &str, caller: &Caller, principal: &Principal) -> ProtocolError {
        if self.sessions.is_foreign(id, principal) {
            self.request_refused(caller, RefusedRequest::ForeignSession);
        }
        session_not_found()
    }

    /// The time at which a stream opened now is closed early, so that its client reconnects. Only newer clients support
    /// that (2025-11-25, basic/transports).
    fn closes_at(&self, session: &Session) -> Option<Instant> {
        let known = session.initialize_params().revision.has(Feature::Priming);
        self.close_streams_after.filter(|_| known).map(|after| Instant::now() + after)
    }
}

/// The answer to a body of which only the outline is known. In a revision with batches, each message of a batch gets its
/// own error, as in other batches with malformed messages.
fn refuse_body(outline: MessageOutline, why: &str, session: Option<&Session>) -> Vec<u8> {
    let error = ErrorObject::invalid_request(why);
    match outline.refuse(&error) {
        Err(single) => HttpReply::malformed(single, session, MissingId::Omit).body.to_vec(),
        Ok(Incoming::Single(_)) => Vec::new(), // never: everything is refused
        Ok(Incoming::Batch(entries)) => {
            let revision = session.map(|session| session.initialize_params().revision);
            let unknown = unknown_id(revision);
            let errors = entries.iter().filter_map(|entry| entry.as_ref().err());
            let answers: Vec<CountedMessage> = errors
                .filter(|error| {
                    let is_answer = session.is_some_and(|session| session.receive_malformed(error));
                    error.wants_answer() && !is_answer
                })
                .map(|error| malformed(error, unknown).into())
                .collect();
            if !answers.is_empty() && revision.is_some_and(|revision| revision.has(Feature::Batches)) {
                return join_batch(answers);
            }
            malformed(&MalformedMessage { id: None, error, kind: MessageKind::Unknown }, MissingId::Omit)
        }
    }
}

fn unknown_revision() -> ProtocolError {
    let known: Vec<_> = Revision::ALL.iter().map(|revision| revision.as_str()).collect();
    ProtocolError::invalid_request(format!(
        "unknown revision in the `MCP-Protocol-Version` header; supported: {}",
        known.join(", ")
    ))
}

pub(super) fn session_not_found() -> ProtocolError {
    let message = "session not found; send `initialize` again".to_owned();
    ProtocolError { error: ErrorObject { code: SESSION_NOT_FOUND, message, data: None }, status: 404 }
}

fn session_required() -> ProtocolError {
    ProtocolError::invalid_request(
        "a session is required (open one with `initialize` and send its `Mcp-Session-Id` header), or the headers and the `_meta` of a stateless revision",
    )
}
