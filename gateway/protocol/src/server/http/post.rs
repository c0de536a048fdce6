//! POST: messages to the gateway.
//!
//! The order of the checks is the one that clients can tell apart: the message's shape, its era, then for stateless
//! revisions the header that names the revision, the envelope, whether that revision is served, the other headers, the
//! method (2026-07-28, basic/transports/streamable-http).

use std::sync::Arc;

use futures_util::future::join_all;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::jsonrpc::{self, Incoming, Malformed, Message, Notification, Request};
use crate::mcp::envelope::{self, Envelope};
use crate::mcp::{Answer, Aside, Begun, Feature, Greeting, Method, Params, ProtocolError};
use crate::session::Session;

use super::lift::{self, Lifted};
use super::{HttpAnswer, HttpReply, Lasts, Post, Spoken};
use crate::server::headers::{self, Header, SESSION};
use crate::server::listen::Ends;
use crate::server::observer::{Carrier, Watched};
use crate::server::stdio::notified;
use crate::server::talk::{Hear, Work, talk};
use crate::server::{
    LIMITS, NO_BATCHES, Server, duplicate, finish, finish_running, join_batch, malformed, response,
    stray_error, unfit, unknown_id,
};

impl Server {
    /// Serves a POST.
    ///
    /// Dropping the future, or the stream that it gives, cancels a call of a stateless revision; a call in a session
    /// goes on (2025-11-25, basic/transports: a lost connection is no cancellation).
    pub async fn post(self: &Arc<Self>, post: Post<'_>) -> HttpAnswer {
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
            Ok(Incoming::Single(Message::Response(answer))) => {
                match self.session(post.principal, post.headers, spoken) {
                    Ok(session) => {
                        session.answered(&answer);
                        HttpReply::accepted().into()
                    }
                    Err(error) => HttpReply::stray(&error).into(),
                }
            }
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
        match self.session(post.principal, post.headers, spoken) {
            Ok(session) => {
                notified(Some(&session), &session.in_flight, notification);
                HttpReply::accepted()
            }
            Err(error) => HttpReply::stray(&error),
        }
    }

    async fn post_request(
        self: &Arc<Self>,
        post: Post<'_>,
        spoken: Spoken,
        request: &Request<'_>,
    ) -> HttpAnswer {
        let mut watched = self.watch(request, Carrier::Tcp);
        let refuse = |watched: Watched, status: u16, error: ProtocolError| {
            HttpAnswer::Whole(HttpReply::new(status, watched.response(&request.id, &Answer::Error(error))))
        };
        let params = match self.burden.read(request) {
            Ok(params) => params,
            Err(error) => {
                let early = if spoken.is_stateless() { 400 } else { 200 };
                let status = if error.status == 503 { 503 } else { early };
                return refuse(watched, status, error);
            }
        };
        self.look(&mut watched, post.principal, &params);
        let greets = request.method == Method::Initialize.as_str();
        if greets && envelope::claimed_version(&params).is_none() {
            if spoken.is_stateless() {
                let message = "`initialize` doesn't exist in the revision that the header names";
                return refuse(watched, 400, ProtocolError::header("MCP-Protocol-Version", message));
            }
            return self.initialize(post, request, &params, watched).into();
        }
        if envelope::claims(&params) || spoken.is_stateless() {
            let begun = self.post_stateless(post, request, params, &mut watched);
            return match watched.until(begun) {
                Ok(Work { begun: Begun::Later(later), asides: Some(asides) }) => {
                    let messages = talk(later, asides, request.id.clone(), None);
                    let is_listening = request.method == Method::Listen.as_str();
                    let lasts = if is_listening { Lasts::UntilEnded } else { Lasts::UntilAnswered };
                    lift::at_once(messages, &request.id, lasts).await
                }
                Ok(Work { begun, .. }) => {
                    let answer = finish(begun).await;
                    HttpReply::new(answer.status(), response(&request.id, &answer)).into()
                }
                Err(error) => {
                    HttpReply::new(error.status, response(&request.id, &Answer::Error(error))).into()
                }
            };
        }
        match self.session(post.principal, post.headers, spoken) {
            Ok(session) => self.post_in_session(&session, request, params, post.hear, watched).await,
            Err(error) => refuse(watched, error.status, error),
        }
    }

    /// A request of a stateless revision: its header for the revision, the envelope, then the other headers.
    fn post_stateless(
        &self,
        post: Post<'_>,
        request: &Request<'_>,
        params: Params,
        watched: &mut Watched,
    ) -> Result<Work, ProtocolError> {
        if let Some(claimed) = envelope::claimed_version(&params) {
            headers::check_version(post.headers, claimed)?;
        }
        let envelope = Envelope::read(&params)?;
        watched.speaks(envelope.revision);
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
    fn initialize(
        &self,
        post: Post<'_>,
        request: &Request<'_>,
        params: &Params,
        mut watched: Watched,
    ) -> HttpReply {
        let refuse = |watched: Watched, status, error| {
            HttpReply::new(status, watched.response(&request.id, &Answer::Error(error)))
        };
        if let Header::Text(id) = post.headers.get(SESSION)
            && self.sessions.find(id, post.principal).is_some()
        {
            return refuse(
                watched,
                400,
                ProtocolError::invalid_request("this session is initialized already"),
            );
        }
        let greeting = match Greeting::read(params) {
            Ok(greeting) => greeting,
            Err(error) => return refuse(watched, 200, error),
        };
        watched.speaks(greeting.revision);
        let hello = self.protocol.greet(&greeting);
        let listener = self.protocol.listener(&self.updates);
        match self.sessions.open(post.principal.clone(), greeting, listener) {
            Ok(session) => {
                let mut reply = HttpReply::new(200, watched.response(&request.id, &Answer::Result(hello)));
                reply.headers.push((SESSION, session.id().to_owned()));
                reply
            }
            Err(error) => refuse(watched, 503, ProtocolError::internal(error.to_string())),
        }
    }

    /// A request in a session. It goes on when the client goes away, so it runs in a task of its own.
    async fn post_in_session(
        &self,
        session: &Arc<Session>,
        request: &Request<'_>,
        params: Params,
        hear: Hear,
        mut watched: Watched,
    ) -> HttpAnswer {
        let id = &request.id;
        watched.speaks(session.greeting().revision);
        let Ok(running) = session.in_flight.begin(id) else {
            return HttpReply::new(200, watched.response(id, &duplicate())).into();
        };
        let closes = match hear {
            Hear::Notifications => self.closes(session),
            Hear::Anything | Hear::Response => None,
        };
        let begun = self.in_session(session, &request.method, params, &running, hear);
        let body = match watched.until(begun) {
            Ok(Work { begun: Begun::Later(later), asides }) if asides.is_some() || closes.is_some() => {
                let messages = talk(later, asides.unwrap_or_else(silence), id.clone(), Some(running));
                match lift::in_session(session, messages, closes).await {
                    Lifted::Whole(message) => message,
                    Lifted::Events(reader) => return HttpAnswer::Events(reader.into()),
                    Lifted::Cancelled => response(id, &Answer::Error(ProtocolError::cancelled())),
                    Lifted::Stopping => response(id, &Answer::Error(stopping())),
                }
            }
            Ok(Work { begun: Begun::Now(answer), .. }) => response(id, &answer),
            Ok(Work { begun, .. }) => match tokio::spawn(finish_running(begun, id.clone(), running)).await {
                Ok(Some(body)) => body,
                Ok(None) => response(id, &Answer::Error(ProtocolError::cancelled())),
                Err(_) => response(id, &Answer::Error(stopping())),
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
        let session = match self.session(post.principal, post.headers, spoken) {
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
                        let mut watched = self.watch(&request, Carrier::Tcp);
                        let params = match self.burden.read(&request) {
                            Ok(params) => params,
                            Err(error) => {
                                return Some(watched.response(&request.id, &Answer::Error(error)));
                            }
                        };
                        self.look(&mut watched, post.principal, &params);
                        let answer =
                            self.post_in_session(&session, &request, params, Hear::Response, watched).await;
                        match answer {
                            HttpAnswer::Whole(reply) => Some(reply.body),
                            HttpAnswer::Events(_) => None, // there are none without hearing
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
}

/// Nothing is said beside the response.
fn silence() -> mpsc::Receiver<Aside> {
    mpsc::channel(1).1
}

fn stopping() -> ProtocolError {
    ProtocolError::internal("the gateway is stopping")
}
