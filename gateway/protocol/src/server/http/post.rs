//! POST: messages to the gateway.
//!
//! The order of the checks is visible to clients: the shape of the message, unread responses of the caller, the era of
//! the message, then for stateless revisions the version header, the envelope, whether the gateway serves the revision,
//! the other headers, and the method (2026-07-28, basic/transports/streamable-http).

use std::sync::Arc;

use futures_util::future::join_all;
use moongate_system::background::MovableFuture;
use tokio::sync::mpsc;
use tokio::task::yield_now;
use tokio_util::sync::CancellationToken;

use crate::call::BusyReason;
use crate::caller::Caller;
use crate::caller_budget::BudgetShare;
use crate::dispatch::{NetworkTransport, RefusedRequest};
use crate::jsonrpc::{
    self, Incoming, MalformedMessage, Message, MessageOutline, MessageText, Notification, Request,
};
use crate::mcp::envelope::{self, RequestEnvelope};
use crate::mcp::errors::HEADER_MISMATCH;
use crate::mcp::{
    Feature, InitializeParams, Method, Params, ProtocolError, RequestAnswer, SideMessage, StartedRequest,
};
use crate::session::Session;

use super::upgrade::{self, Upgraded};
use super::{ClaimedRevision, HttpAnswer, HttpPost, HttpReply, StreamLifetime, refuse_body};
use crate::server::headers::{self, Header, Headers, SESSION_ID_HEADER, TRACE_PARENT_HEADER};
use crate::server::listen_streams::StreamEnds;
use crate::server::observer::ServerSpan;
use crate::server::request::read_counted_params;
use crate::server::response_stream::{RequestInProgress, StreamSupport, Unread, response_stream, stopping};
use crate::server::{
    MAX_INLINE_BYTES, NO_BATCHES, PARSE_LIMITS, Server, batch_error, duplicate_id, finish, finish_request,
    join_batch, malformed, response, stray_error, unknown_id,
};

impl HttpPost<'_> {
    /// Parses the parameters of a request in the body.
    fn read_params(&self, request: &Request<'_>) -> Result<Params, ProtocolError> {
        let params = read_counted_params(request, self.memory.cloned())?;
        Ok(match self.headers.get(TRACE_PARENT_HEADER) {
            Header::Text(parent) => params.with_trace_parent(parent),
            Header::Absent | Header::Invalid => params,
        })
    }
}

impl Server {
    /// Serves a POST.
    ///
    /// Dropping the future, or the stream that it returns, cancels a call of a stateless revision. A call in a session
    /// continues (2025-11-25, basic/transports: a lost connection doesn't cancel).
    pub async fn post(self: &Arc<Self>, post: HttpPost<'_>) -> HttpAnswer {
        let caller = post.caller;
        match self.answer_post(post).await {
            HttpAnswer::Whole(mut reply) => {
                // Also an error, which may repeat a part of the request.
                reply.body = reply.body.counted(&self.unread_responses, caller);
                HttpAnswer::Whole(reply)
            }
            events @ HttpAnswer::Events(_) => events,
        }
    }

    async fn answer_post(self: &Arc<Self>, post: HttpPost<'_>) -> HttpAnswer {
        let claimed_revision = ClaimedRevision::of(post.headers);
        let unknown = unknown_id(claimed_revision.revision());
        let length = post.body.len();
        let turn = self.large_messages.wait(post.caller, length).await;
        let text = MessageText::new(post.body);
        match jsonrpc::parse(&text, PARSE_LIMITS) {
            Err(error) => {
                let session = self.session(post.caller, post.headers, claimed_revision).await.ok();
                if let Err(error) = self.forward_malformed(session.as_deref(), &error).await {
                    return HttpReply::stray(&error).into();
                }
                HttpReply::malformed(error, session.as_deref(), unknown).into()
            }
            Ok(Incoming::Single(Message::Request(request))) => {
                self.post_request(post, claimed_revision, &request, turn).await
            }
            Ok(Incoming::Single(Message::Notification(notification))) => {
                self.post_notification(post, claimed_revision, &notification).await.into()
            }
            Ok(Incoming::Single(Message::Response(_))) if claimed_revision.is_stateless() => {
                let error = ProtocolError::invalid_request("responses can't be posted in this revision");
                HttpReply::stray(&error).into()
            }
            Ok(Incoming::Single(Message::Response(answer))) => {
                let received = async {
                    let session = self.session(post.caller, post.headers, claimed_revision).await?;
                    self.receive_response(&session, &answer).await
                };
                match received.await {
                    Ok(()) => HttpReply::accepted().into(),
                    Err(error) => HttpReply::stray(&error).into(),
                }
            }
            Ok(Incoming::Batch(entries)) => {
                self.post_batch(post, claimed_revision, entries, turn).await.into()
            }
        }
    }

    /// The answer to a POST whose body is above the transport's limit, and of which only the outline is known. `why` is
    /// the error's message.
    #[must_use]
    pub async fn refuse_post(
        &self,
        caller: &Caller,
        headers: &dyn Headers,
        outline: MessageOutline,
        why: &str,
    ) -> Vec<u8> {
        let claimed_revision = ClaimedRevision::of(headers);
        let session = self.session(caller, headers, claimed_revision).await.ok();
        refuse_body(outline, why, session.as_deref())
    }

    async fn post_notification(
        &self,
        post: HttpPost<'_>,
        claimed_revision: ClaimedRevision,
        notification: &Notification<'_>,
    ) -> HttpReply {
        let claimed =
            Params::read(notification.params).is_ok_and(|params| envelope::is_stateless_claim(&params));
        if claimed || claimed_revision.is_stateless() {
            return HttpReply::accepted();
        }
        let received = async {
            let session = self.session(post.caller, post.headers, claimed_revision).await?;
            self.receive_session_notification(&session, notification).await
        };
        match received.await {
            Ok(()) => HttpReply::accepted(),
            Err(error) => HttpReply::stray(&error),
        }
    }

    async fn post_request(
        self: &Arc<Self>,
        post: HttpPost<'_>,
        claimed_revision: ClaimedRevision,
        request: &Request<'_>,
        turn: Option<BudgetShare>,
    ) -> HttpAnswer {
        let caller = post.caller;
        let mut span = self.span(request, NetworkTransport::Http);
        let refuse = |span: ServerSpan, status: u16, error: ProtocolError| {
            HttpAnswer::Whole(HttpReply::new(status, span.respond(&request.id, RequestAnswer::Error(error))))
        };
        if self.unread_responses.is_exceeded(post.caller) {
            let error = ProtocolError::internal(BusyReason::UnreadResponses.to_string());
            return refuse(span, 503, error);
        }
        let mut params = match post.read_params(request) {
            Ok(params) => params,
            Err(error) => {
                let status = if claimed_revision.is_stateless() { 400 } else { 200 };
                return refuse(span, status, error);
            }
        };
        drop(turn);
        self.record_params(&mut span, &request.id, post.caller, &mut params);
        let is_initialize = request.method == Method::Initialize.as_str();
        if is_initialize && envelope::claimed_version(&params).is_none() {
            if claimed_revision.is_stateless() {
                let message = "the revision in the header doesn't support `initialize`";
                return refuse(span, 400, ProtocolError::header("MCP-Protocol-Version", message));
            }
            return self.initialize(post, request, &params, span).await.into();
        }
        if envelope::is_stateless_claim(&params) || claimed_revision.is_stateless() {
            let envelope = check_stateless(&post, request, &params, &mut span);
            if envelope.is_ok() && request.method == Method::CallTool.as_str() {
                // Headers repeat its arguments, so it must be known before they are checked.
                self.protocol.wait_for_tool(&post.caller.principal(), &params).await;
            }
            let responses = self.responses_to(caller);
            let started = envelope.and_then(|envelope| self.post_stateless(post, request, params, envelope));
            return match span.instrument(started) {
                Ok(RequestInProgress {
                    started: StartedRequest::Pending(later),
                    side_messages: Some(side_messages),
                }) => {
                    let is_listening = request.method == Method::Listen.as_str();
                    let unread = Unread::of(&request.method);
                    let messages =
                        response_stream(later, side_messages, request.id.clone(), None, unread, responses);
                    let lifetime = if is_listening {
                        StreamLifetime::UntilClosed
                    } else {
                        StreamLifetime::UntilResponse
                    };
                    upgrade::stateless(messages, &request.id, lifetime).await
                }
                Ok(RequestInProgress { started: begun, .. }) => {
                    let id = request.id.clone();
                    let finished = MovableFuture::new(async move {
                        // With many connections, the others now read their requests before this call runs. That is a
                        // fifth faster, because the code of each step stays in the processor's caches.
                        yield_now().await;
                        let answer = finish(begun, &responses.caller).await;
                        let (status, message) = responses.response_with_status(&id, answer);
                        HttpReply::new(status, message)
                    });
                    finished.await.into()
                }
                Err(error) => {
                    if error.error.code == HEADER_MISMATCH {
                        self.request_refused(caller, RefusedRequest::HeaderMismatch);
                    }
                    HttpReply::new(error.status, response(&request.id, RequestAnswer::Error(error))).into()
                }
            };
        }
        match self.session(post.caller, post.headers, claimed_revision).await {
            Ok(session) => self.post_in_session(&session, post, request, params, span).await,
            Err(error) => refuse(span, error.status, error),
        }
    }

    /// Starts a request of a stateless revision, after checking the headers that repeat arguments.
    fn post_stateless(
        &self,
        post: HttpPost<'_>,
        request: &Request<'_>,
        params: Params,
        envelope: RequestEnvelope,
    ) -> Result<RequestInProgress, ProtocolError> {
        if request.method == Method::CallTool.as_str() {
            headers::check_arguments(
                post.headers,
                &self.protocol.header_arguments(&post.caller.principal(), &params),
            )?;
        }
        if Method::find(&request.method, envelope.revision) == Some(Method::Listen) {
            if post.streaming == StreamSupport::Unsupported {
                return Err(ProtocolError::not_acceptable(
                    "the response is an event stream; send `Accept: text/event-stream`",
                ));
            }
            let ends = StreamEnds { cancelled: CancellationToken::new(), closing: CancellationToken::new() };
            return self.listen(&envelope, &request.id, &params, post.caller, ends);
        }
        let caller = post.caller.clone();
        let cancel = CancellationToken::new();
        let on_drop = cancel.clone();
        let request = self.stateless(envelope, &request.method, params, caller, cancel, post.streaming)?;
        Ok(request.detached_on_drop(on_drop))
    }

    /// Opens a session.
    async fn initialize(
        &self,
        post: HttpPost<'_>,
        request: &Request<'_>,
        params: &Params,
        mut span: ServerSpan,
    ) -> HttpReply {
        let refuse = |span: ServerSpan, status, error| {
            HttpReply::new(status, span.respond(&request.id, RequestAnswer::Error(error)))
        };
        if let Header::Text(id) = post.headers.get(SESSION_ID_HEADER)
            && self.find_session(id, post.caller).await.is_ok()
        {
            return refuse(span, 400, ProtocolError::invalid_request("this session is already initialized"));
        }
        let greeting = match InitializeParams::read(params) {
            Ok(greeting) => greeting,
            Err(error) => return refuse(span, 200, error),
        };
        span.set_revision(greeting.revision);
        let principal = post.caller.principal();
        let result = self.protocol.initialize(&greeting, &principal);
        let listener = self.protocol.listener(&self.updates, &principal);
        let opened = match &self.shared {
            Some(shared) => {
                let opened = Box::pin(shared.open(post.caller, greeting, listener)).await;
                opened.map_err(|why| self.no_shared_session(post.caller, why))
            }
            None => self
                .sessions
                .open(post.caller.clone(), greeting, listener)
                .map_err(|error| ProtocolError::internal(error.to_string())),
        };
        match opened {
            Ok(session) => {
                session.observe(self.observer.as_ref(), NetworkTransport::Http);
                let mut reply = HttpReply::new(200, span.respond(&request.id, result.into()));
                reply.headers.push((SESSION_ID_HEADER, session.id().to_owned()));
                reply
            }
            Err(error) => refuse(span, 503, error),
        }
    }

    /// Serves a request in a session. It runs in a task of its own, because it continues if the client disconnects.
    async fn post_in_session(
        &self,
        session: &Arc<Session>,
        post: HttpPost<'_>,
        request: &Request<'_>,
        params: Params,
        mut span: ServerSpan,
    ) -> HttpAnswer {
        let id = &request.id;
        span.set_session(session);
        let Ok(running) = session.in_flight.begin(id) else {
            return HttpReply::new(200, span.respond(id, duplicate_id())).into();
        };
        if running.is_cancelled() {
            let error = ProtocolError::cancelled(); // the session has just ended
            return HttpReply::new(200, span.respond(id, RequestAnswer::Error(error))).into();
        }
        let responses = self.responses_to(session.caller());
        let HttpPost { caller, streaming, .. } = post;
        let closes_at = match streaming {
            StreamSupport::Supported => self.closes_at(session),
            StreamSupport::Unknown | StreamSupport::Unsupported => None,
        };
        let started = match self.update_shared(session, caller, &request.method, &params).await {
            Some(answer) => answer.map(RequestInProgress::done),
            None => self.in_session(session, caller, &request.method, params, &running, streaming),
        };
        let body = match span.instrument(started) {
            Ok(RequestInProgress { started: StartedRequest::Pending(later), side_messages })
                if side_messages.is_some() || closes_at.is_some() =>
            {
                let messages = response_stream(
                    later,
                    side_messages.unwrap_or_else(no_side_messages),
                    id.clone(),
                    Some(running),
                    Unread::Pause,
                    responses,
                );
                match upgrade::in_session(session, id, messages, closes_at).await {
                    Upgraded::Response(message) => message,
                    Upgraded::Stream(reader) => return HttpAnswer::Events(reader.into()),
                    Upgraded::Cancelled => response(id, RequestAnswer::Error(ProtocolError::cancelled())),
                    Upgraded::Stopping => response(id, stopping()),
                }
            }
            Ok(RequestInProgress { started: StartedRequest::Ready(answer), .. })
                if answer.shared_bytes() <= MAX_INLINE_BYTES =>
            {
                responses.response(id, answer)
            }
            Ok(RequestInProgress { started: begun, .. }) => {
                let finished = finish_request(begun, id.clone(), running, responses);
                match tokio::spawn(MovableFuture::inherit(session.caller(), finished)).await {
                    Ok(Some(message)) => message,
                    Ok(None) => response(id, RequestAnswer::Error(ProtocolError::cancelled())),
                    Err(_) => response(id, stopping()),
                }
            }
            Err(error) => response(id, RequestAnswer::Error(error)),
        };
        HttpReply::new(200, body).into()
    }

    /// Serves a batch. Its responses are counted until they are joined, so that the rest of the batch is refused if they
    /// are large.
    async fn post_batch(
        self: &Arc<Self>,
        post: HttpPost<'_>,
        claimed_revision: ClaimedRevision,
        entries: Vec<Result<Message<'_>, MalformedMessage>>,
        turn: Option<BudgetShare>,
    ) -> HttpReply {
        let unknown = unknown_id(claimed_revision.revision());
        let refuse = |message: &str| {
            let error = ProtocolError::invalid_request(message);
            HttpReply::new(error.status, stray_error(&error, unknown))
        };
        if claimed_revision.is_stateless() {
            return refuse(NO_BATCHES);
        }
        if let Some(why) = batch_error(&entries) {
            return refuse(why);
        }
        let session = match self.session(post.caller, post.headers, claimed_revision).await {
            Ok(session) => session,
            Err(error) => return HttpReply::stray(&error),
        };
        if !session.initialize_params().revision.has(Feature::Batches) {
            return refuse(NO_BATCHES);
        }
        let answers = entries.into_iter().map(|entry| {
            let session = Arc::clone(&session);
            let params = match &entry {
                Ok(Message::Request(request)) => Some(post.read_params(request)),
                Ok(Message::Notification(_) | Message::Response(_)) | Err(_) => None,
            };
            async move {
                match entry {
                    Err(error) => {
                        // If the answer can't be forwarded, its question times out: a batch has one status.
                        let _ = self.forward_malformed(Some(&session), &error).await;
                        let is_answer = session.receive_malformed(&error);
                        let wants_answer = error.wants_answer() && !is_answer;
                        wants_answer.then(|| HttpReply::new(200, malformed(&error, unknown)))
                    }
                    Ok(Message::Request(request)) => {
                        let mut span = self.span(&request, NetworkTransport::Http);
                        let refuse = |span: ServerSpan, error| {
                            Some(HttpReply::new(200, span.respond(&request.id, RequestAnswer::Error(error))))
                        };
                        if self.unread_responses.is_exceeded(session.caller()) {
                            let error = ProtocolError::internal(BusyReason::UnreadResponses.to_string());
                            return refuse(span, error);
                        }
                        let mut params = match params? {
                            Ok(params) => params,
                            Err(error) => return refuse(span, error),
                        };
                        self.record_params(&mut span, &request.id, post.caller, &mut params);
                        let post = HttpPost { streaming: StreamSupport::Unsupported, ..post };
                        let answer = self.post_in_session(&session, post, &request, params, span).await;
                        match answer {
                            HttpAnswer::Whole(reply) => Some(reply),
                            HttpAnswer::Events(_) => None, // never without stream support
                        }
                    }
                    Ok(Message::Notification(notification)) => {
                        let _ = self.receive_session_notification(&session, &notification).await;
                        None
                    }
                    Ok(Message::Response(answer)) => {
                        let _ = self.receive_response(&session, &answer).await;
                        None
                    }
                }
            }
        });
        // All entries are read before the first one starts.
        let answers: Vec<_> = answers.collect();
        drop(turn);
        let replies = join_all(answers).await.into_iter().flatten();
        let responses: Vec<_> = replies.map(|reply| reply.body).collect();
        if responses.is_empty() {
            return HttpReply::accepted();
        }
        HttpReply::new(200, join_batch(responses))
    }
}

/// Checks the version header of a request of a stateless revision, the envelope and the headers that every method has.
fn check_stateless(
    post: &HttpPost<'_>,
    request: &Request<'_>,
    params: &Params,
    span: &mut ServerSpan,
) -> Result<RequestEnvelope, ProtocolError> {
    if let Some(claimed) = envelope::claimed_version(params) {
        headers::check_version(post.headers, &claimed)?;
    }
    let envelope = RequestEnvelope::read(params)?;
    span.set_revision(envelope.revision);
    headers::check_standard(post.headers, &request.method, params)?;
    Ok(envelope)
}

/// A channel without messages.
fn no_side_messages() -> mpsc::Receiver<SideMessage> {
    mpsc::channel(1).1
}
