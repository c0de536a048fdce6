//! Messages over Streamable HTTP, once the transport has checked Host, Origin, token, verb, type and size.
//!
//! The order of the checks is the one that clients can tell apart: the message's shape, its era, then for stateless
//! revisions the header that names the revision, the envelope, whether that revision is served, the other headers, the
//! method (2026-07-28, basic/transports/streamable-http).

use std::sync::Arc;

use futures_util::StreamExt;
use futures_util::future::join_all;
use tokio_util::sync::CancellationToken;

use crate::jsonrpc::{
    self, ErrorObject, Id, Incoming, Malformed, Message, Notification, Request, Shape, UnknownId,
};
use crate::mcp::envelope::{self, Envelope};
use crate::mcp::{Answer, Begun, Era, Feature, Greeting, Method, Params, ProtocolError, Revision};
use crate::names::Principal;
use crate::session::Session;

use super::headers::{self, Header, Headers, SESSION, VERSION};
use super::listen::Ends;
use super::stdio::notified;
use super::talk::{Hear, Messages, Said, Work, detached, talk};
use super::{
    LIMITS, NO_BATCHES, Server, duplicate, finish, finish_running, join_batch, malformed, response,
    stray_error, unfit, unknown_id,
};

/// The code that clients know for "this session is gone"; the HTTP status 404 is what counts.
const SESSION_NOT_FOUND: i32 = -32001;

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

/// What a POST comes to.
#[derive(Debug)]
pub enum PostReply {
    /// One message, or none.
    Whole(HttpReply),
    /// Several messages, as a stream of events with status 200.
    Events(Events),
}

/// Several messages, of which the last is the response.
pub struct Events {
    /// The first, which is there already.
    pub first: Vec<u8>,
    /// The others.
    pub rest: Messages,
}

impl std::fmt::Debug for Events {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Events").finish_non_exhaustive()
    }
}

impl From<HttpReply> for PostReply {
    fn from(reply: HttpReply) -> Self {
        Self::Whole(reply)
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
    /// Serves a POST.
    ///
    /// Dropping the future, or the stream that it gives, cancels a call of a stateless revision; a call in a session
    /// goes on (2025-11-25, basic/transports: a lost connection is no cancellation).
    pub async fn post(self: &Arc<Self>, post: Post<'_>) -> PostReply {
        let spoken = Spoken::of(post.headers);
        let unknown = unknown_id(spoken.revision());
        match jsonrpc::parse(post.body, LIMITS) {
            Err(error) => HttpReply::malformed(&error, unknown).into(),
            Ok(Incoming::Single(Message::Request(request))) => {
                self.post_request(post, spoken, &request).await
            }
            Ok(Incoming::Single(Message::Notification(notification))) => {
                self.post_notification(post, spoken, &notification).into()
            }
            Ok(Incoming::Single(Message::Response(_))) if spoken.is_stateless() => {
                let error = ProtocolError::invalid_request("a response can't be posted in this revision");
                HttpReply::stray(&error).into()
            }
            Ok(Incoming::Single(Message::Response(answer))) => match self.session(post, spoken) {
                Ok(session) => {
                    session.answered(&answer);
                    HttpReply::accepted().into()
                }
                Err(error) => HttpReply::stray(&error).into(),
            },
            Ok(Incoming::Batch(entries)) => self.post_batch(post, spoken, entries).await.into(),
        }
    }

    fn post_notification(
        &self,
        post: Post<'_>,
        spoken: Spoken,
        notification: &Notification<'_>,
    ) -> HttpReply {
        let claimed = Params::read(notification.params).is_ok_and(|params| envelope::claims(&params));
        if claimed || spoken.is_stateless() {
            return HttpReply::accepted();
        }
        match self.session(post, spoken) {
            Ok(session) => {
                notified(Some(&session), &session.in_flight, notification);
                HttpReply::accepted()
            }
            Err(error) => HttpReply::stray(&error),
        }
    }

    /// Serves a GET: there is no stream of the server's own messages.
    #[must_use]
    pub fn get(&self, _principal: &Principal, _headers: &dyn Headers) -> HttpReply {
        HttpReply::not_allowed("POST, DELETE, OPTIONS")
    }

    /// Serves a DELETE: ends a session.
    #[must_use]
    pub fn delete(&self, principal: &Principal, headers: &dyn Headers) -> HttpReply {
        let spoken = Spoken::of(headers);
        if spoken.is_stateless() {
            return HttpReply::not_allowed("POST");
        }
        if spoken == Spoken::Unknown {
            return HttpReply::stray(&unknown_revision());
        }
        match headers.get(SESSION) {
            Header::Text(id) if self.sessions.end(id, principal) => HttpReply::new(200, Vec::new()),
            Header::Text(_) => HttpReply::stray(&no_session()),
            Header::Absent | Header::Invalid => HttpReply::stray(&session_needed()),
        }
    }

    async fn post_request(
        self: &Arc<Self>,
        post: Post<'_>,
        spoken: Spoken,
        request: &Request<'_>,
    ) -> PostReply {
        let refuse = |error: ProtocolError| {
            PostReply::Whole(HttpReply::new(error.status, response(&request.id, &Answer::Error(error))))
        };
        let params = match Params::read(request.params) {
            Ok(params) => params,
            Err(error) => {
                let status = if spoken.is_stateless() { 400 } else { 200 };
                return HttpReply::new(status, response(&request.id, &Answer::Error(error))).into();
            }
        };
        let greets = request.method == Method::Initialize.as_str();
        if greets && envelope::claimed_version(&params).is_none() {
            if spoken.is_stateless() {
                let message = "`initialize` doesn't exist in the revision that the header names";
                return refuse(ProtocolError::header(message));
            }
            return self.initialize(post, request, &params).into();
        }
        if envelope::claims(&params) || spoken.is_stateless() {
            return match self.post_stateless(post, request, params) {
                Ok(Work { begun: Begun::Later(later), asides: Some(asides) }) => {
                    let messages = talk(later, asides, request.id.clone(), None);
                    lifted(messages, &request.id).await
                }
                Ok(Work { begun, .. }) => {
                    let answer = finish(begun).await;
                    HttpReply::new(answer.status(), response(&request.id, &answer)).into()
                }
                Err(error) => refuse(error),
            };
        }
        match self.session(post, spoken) {
            Ok(session) => self.post_in_session(&session, request, params, post.hear).await,
            Err(error) => refuse(error),
        }
    }

    /// A request of a stateless revision: its header for the revision, the envelope, then the other headers.
    fn post_stateless(
        &self,
        post: Post<'_>,
        request: &Request<'_>,
        params: Params,
    ) -> Result<Work, ProtocolError> {
        if let Some(claimed) = envelope::claimed_version(&params) {
            headers::check_version(post.headers, claimed)?;
        }
        let envelope = Envelope::read(&params)?;
        headers::check_standard(post.headers, &request.method, &params)?;
        if request.method == Method::CallTool.as_str() {
            headers::check_arguments(post.headers, &self.protocol.in_headers(post.principal, &params))?;
        }
        if Method::find(&request.method, envelope.revision) == Some(Method::Listen) {
            if post.hear == Hear::Response {
                return Err(ProtocolError::not_acceptable(
                    "changes are told in a stream of events: accept `text/event-stream`",
                ));
            }
            let ends = Ends { gone: CancellationToken::new(), over: CancellationToken::new() };
            return self.listen(&envelope, &request.id, &params, post.principal, ends);
        }
        let (principal, cancel) = (post.principal.clone(), CancellationToken::new());
        let told = cancel.clone();
        let work = self.stateless(envelope, &request.method, params, principal, cancel, post.hear)?;
        Ok(work.lingering(told))
    }

    /// Opens a session.
    fn initialize(&self, post: Post<'_>, request: &Request<'_>, params: &Params) -> HttpReply {
        let refuse = |status, error| HttpReply::new(status, response(&request.id, &Answer::Error(error)));
        if let Header::Text(id) = post.headers.get(SESSION)
            && self.sessions.find(id, post.principal).is_some()
        {
            return refuse(400, ProtocolError::invalid_request("this session is initialized already"));
        }
        let greeting = match Greeting::read(params) {
            Ok(greeting) => greeting,
            Err(error) => return refuse(200, error),
        };
        let hello = self.protocol.greet(&greeting);
        let listener = self.protocol.listener(&self.updates);
        match self.sessions.open(post.principal.clone(), greeting, listener) {
            Ok(session) => {
                let mut reply = HttpReply::new(200, response(&request.id, &Answer::Result(hello)));
                reply.headers.push((SESSION, session.id().to_owned()));
                reply
            }
            Err(error) => refuse(503, ProtocolError::internal(error.to_string())),
        }
    }

    /// A request in a session. It goes on when the client goes away, so it runs in a task of its own.
    async fn post_in_session(
        &self,
        session: &Arc<Session>,
        request: &Request<'_>,
        params: Params,
        hear: Hear,
    ) -> PostReply {
        let id = &request.id;
        let Ok(running) = session.in_flight.begin(id) else {
            return HttpReply::new(200, duplicate(id)).into();
        };
        let body = match self.in_session(session, &request.method, params, &running, hear) {
            Ok(Work { begun: Begun::Later(later), asides: Some(asides) }) => {
                let messages = detached(talk(later, asides, id.clone(), Some(running)));
                return match lifted(messages, id).await {
                    PostReply::Whole(reply) => HttpReply { status: 200, ..reply }.into(),
                    events @ PostReply::Events(_) => events,
                };
            }
            Ok(Work { begun: Begun::Now(answer), .. }) => response(id, &answer),
            Ok(Work { begun, .. }) => match tokio::spawn(finish_running(begun, id.clone(), running)).await {
                Ok(Some(body)) => body,
                Ok(None) => response(id, &Answer::Error(ProtocolError::cancelled())),
                Err(_) => response(id, &Answer::Error(ProtocolError::internal("the gateway is stopping"))),
            },
            Err(error) => response(id, &Answer::Error(error)),
        };
        HttpReply::new(200, body).into()
    }

    async fn post_batch(
        self: &Arc<Self>,
        post: Post<'_>,
        spoken: Spoken,
        entries: Vec<Result<Message<'_>, Malformed>>,
    ) -> HttpReply {
        let unknown = unknown_id(spoken.revision());
        let refuse = |message: &str| {
            let error = ProtocolError::invalid_request(message);
            HttpReply::new(error.status, stray_error(&error, unknown))
        };
        if spoken.is_stateless() {
            return refuse(NO_BATCHES);
        }
        if let Some(why) = unfit(&entries) {
            return refuse(why);
        }
        let session = match self.session(post, spoken) {
            Ok(session) => session,
            Err(error) => return HttpReply::stray(&error),
        };
        if !session.greeting().revision.has(Feature::Batches) {
            return refuse(NO_BATCHES);
        }
        let answers = entries.into_iter().map(|entry| {
            let session = Arc::clone(&session);
            async move {
                match entry {
                    Err(error) => error.wants_answer().then(|| malformed(&error, unknown)),
                    Ok(Message::Request(request)) => {
                        let params = match Params::read(request.params) {
                            Ok(params) => params,
                            Err(error) => return Some(response(&request.id, &Answer::Error(error))),
                        };
                        match self.post_in_session(&session, &request, params, Hear::Response).await {
                            PostReply::Whole(reply) => Some(reply.body),
                            PostReply::Events(_) => None, // there are none without hearing
                        }
                    }
                    Ok(Message::Notification(notification)) => {
                        notified(Some(&session), &session.in_flight, &notification);
                        None
                    }
                    Ok(Message::Response(answer)) => {
                        session.answered(&answer);
                        None
                    }
                }
            }
        });
        let responses: Vec<_> = join_all(answers.collect::<Vec<_>>()).await.into_iter().flatten().collect();
        if responses.is_empty() { HttpReply::accepted() } else { HttpReply::new(200, join_batch(&responses)) }
    }

    /// The session that a request names, if it may be used.
    fn session(&self, post: Post<'_>, spoken: Spoken) -> Result<Arc<Session>, ProtocolError> {
        if spoken == Spoken::Unknown {
            return Err(unknown_revision());
        }
        match post.headers.get(SESSION) {
            Header::Text(id) => self.sessions.find(id, post.principal).ok_or_else(no_session),
            Header::Invalid => Err(no_session()),
            Header::Absent => Err(session_needed()),
        }
    }
}

/// Lifts an answer to a stream of events once something is said before the response.
async fn lifted(mut messages: Messages, id: &Id) -> PostReply {
    match messages.next().await {
        Some(Said::Response { message, status }) => HttpReply::new(status, message).into(),
        Some(Said::Notification(first) | Said::Request(first)) => {
            PostReply::Events(Events { first, rest: messages })
        }
        None => HttpReply::new(200, response(id, &Answer::Error(ProtocolError::cancelled()))).into(),
    }
}

fn unknown_revision() -> ProtocolError {
    let known: Vec<_> = Revision::ALL.iter().map(|revision| revision.as_str()).collect();
    ProtocolError::invalid_request(format!(
        "the `MCP-Protocol-Version` header names no known revision; known are {}",
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
