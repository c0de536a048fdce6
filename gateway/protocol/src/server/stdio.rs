//! Messages over a byte stream, such as stdio: both eras share one connection and one id space.

use std::sync::{Arc, OnceLock};

use futures_util::StreamExt;
use futures_util::future::join_all;
use moongate_system::background::MovableFuture;
use tokio::sync::SetOnce;
use tokio_util::sync::CancellationToken;

use crate::call::{BusyReason, DiscardSink};
use crate::caller::Caller;
use crate::caller_budget::BudgetShare;
use crate::dispatch::NetworkTransport;
use crate::jsonrpc::{
    self, ErrorObject, Incoming, MalformedMessage, Message, MessageOutline, MessageText, MissingId, Request,
};
use crate::mcp::envelope::{self, RequestEnvelope};
use crate::mcp::{
    Feature, InitializeParams, Method, Params, ProtocolError, RequestAnswer, RequestContext, Revision,
    StartedRequest,
};
use crate::session::{InFlightRequests, RunningRequest, Session};
use crate::unread_responses::CountedMessage;

use super::listen_streams::StreamEnds;
use super::observer::ServerSpan;
use super::request::{read_counted_params, receive_notification};
use super::response_stream::{RequestInProgress, ResponseStream, StreamSupport, Unread, response_stream};
use super::{
    MAX_INLINE_BYTES, NO_BATCHES, PARSE_LIMITS, RequestBodyMemory, Server, TOO_MANY_LARGE_REQUESTS,
    batch_error, duplicate_id, finish_request, join_batch, malformed, response, stray_error, unknown_id,
};

/// The peer of one byte stream: the session that it opened, if any, and its running requests.
#[derive(Debug)]
pub struct StdioConnection {
    caller: Caller,
    transport: NetworkTransport,
    session: SetOnce<Arc<Session>>,
    in_flight: Arc<InFlightRequests>,
    /// The revision of its first request without a handshake.
    stateless: OnceLock<Revision>,
    /// Set when streams without an end of their own must end.
    closing: CancellationToken,
}

impl StdioConnection {
    /// The process that started the gateway, before its first message.
    #[must_use]
    pub fn new() -> Arc<Self> {
        Self::with_transport(Caller::Local, NetworkTransport::Pipe)
    }

    /// A peer on another transport that uses the message flow of stdio, before its first message.
    #[must_use]
    pub fn with_transport(caller: Caller, transport: NetworkTransport) -> Arc<Self> {
        Arc::new(Self {
            caller,
            transport,
            session: SetOnce::new(),
            in_flight: Arc::default(),
            stateless: OnceLock::new(),
            closing: CancellationToken::new(),
        })
    }

    /// The caller at the other end.
    #[must_use]
    pub fn caller(&self) -> &Caller {
        &self.caller
    }

    /// Cancels all running requests.
    pub fn cancel_all(&self) {
        self.in_flight.cancel_all();
    }

    /// Ends streams without an end of their own, and the wait for answers: the peer sends nothing more.
    pub fn close_streams(&self) {
        self.closing.cancel();
    }

    /// The next notification about a change, once a handshake was made. Cancel-safe.
    pub async fn next_notification(&self) -> Vec<u8> {
        self.session.wait().await.next_notification().await
    }

    pub(super) fn session(&self) -> Option<Arc<Session>> {
        self.session.get().cloned()
    }

    pub(super) fn revision(&self) -> Option<Revision> {
        self.session().map(|session| session.initialize_params().revision)
    }

    /// Handles a malformed message.
    fn malformed(&self, error: &MalformedMessage) -> LineReply {
        let is_answer = self.session().is_some_and(|session| session.receive_malformed(error));
        if error.wants_answer() && !is_answer {
            LineReply::Ready(malformed(error, self.unknown_id()).into())
        } else {
            LineReply::None
        }
    }

    /// The placeholder for an unreadable id, in the revision of the handshake, else of the first stateless request.
    fn unknown_id(&self) -> MissingId {
        unknown_id(self.revision().or_else(|| self.stateless.get().copied()))
    }
}

/// The source of a message.
#[derive(Debug, Clone, Copy)]
pub(super) struct StdioSource<'a> {
    pub(super) connection: &'a Arc<StdioConnection>,
    /// The peer, with the token of this message if it has one.
    pub(super) caller: &'a Caller,
    /// The memory of the message's line. `None` means that the requests in it aren't counted yet.
    pub(super) memory: Option<&'a Arc<BudgetShare>>,
}

/// The reason that a line was discarded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DiscardReason {
    /// It is longer than the transport's limit.
    TooLong {
        /// The limit, in bytes.
        limit: usize,
    },
    /// Its caller has used up its part of the memory for requests.
    NoMemory,
}

/// A pending response. `None` means that the request was cancelled.
type PendingLine = MovableFuture<Option<CountedMessage>>;

/// The reply to a line. Messages have no line end.
pub enum LineReply {
    /// Nothing to write.
    None,
    /// One message, ready.
    Ready(CountedMessage),
    /// One message, pending.
    Pending(PendingLine),
    /// Several messages. The last one is the response.
    Stream(ResponseStream),
}

impl std::fmt::Debug for LineReply {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::None => "None",
            Self::Ready(_) => "Ready",
            Self::Pending(_) => "Pending",
            Self::Stream(_) => "Stream",
        })
    }
}

impl Server {
    /// Handles one line, without its end. Lines must be passed in the order of arrival; pending replies may be awaited
    /// in any order and concurrently.
    pub fn stdio_line(&self, connection: &Arc<StdioConnection>, line: &[u8]) -> LineReply {
        let source = StdioSource { connection, caller: &connection.caller, memory: None };
        self.stdio_incoming(source, jsonrpc::parse(&MessageText::new(line), PARSE_LIMITS))
    }

    /// The same for a line whose memory is already counted. Its requests hold that memory until they end.
    pub fn counted_line(
        &self,
        connection: &Arc<StdioConnection>,
        line: &[u8],
        memory: RequestBodyMemory,
    ) -> LineReply {
        let share = memory.into_share();
        let source = StdioSource { connection, caller: &connection.caller, memory: share.as_ref() };
        self.stdio_incoming(source, jsonrpc::parse(&MessageText::new(line), PARSE_LIMITS))
    }

    /// Handles a line that was discarded, and of which only the outline is known.
    pub fn discarded_line(
        &self,
        connection: &Arc<StdioConnection>,
        outline: MessageOutline,
        reason: DiscardReason,
    ) -> LineReply {
        let error = match reason {
            DiscardReason::TooLong { limit } => {
                ErrorObject::invalid_request(format!("the line is longer than {limit} bytes"))
            }
            DiscardReason::NoMemory => ProtocolError::internal(TOO_MANY_LARGE_REQUESTS).error,
        };
        let source = StdioSource { connection, caller: &connection.caller, memory: None };
        self.stdio_incoming(source, outline.refuse(&error))
    }

    /// Handles a line that was read, or is malformed.
    pub(super) fn stdio_incoming(
        &self,
        source: StdioSource<'_>,
        incoming: Result<Incoming<'_>, MalformedMessage>,
    ) -> LineReply {
        let connection = source.connection;
        match incoming {
            Err(error) => connection.malformed(&error),
            Ok(Incoming::Single(message)) => self.stdio_message(source, message, StreamSupport::Supported),
            Ok(Incoming::Batch(entries)) => {
                let allowed = connection.revision().is_some_and(|revision| revision.has(Feature::Batches));
                if let Some(why) = if allowed { batch_error(&entries) } else { Some(NO_BATCHES) } {
                    let error = ProtocolError::invalid_request(why);
                    return LineReply::Ready(stray_error(&error, connection.unknown_id()).into());
                }
                let replies = entries.into_iter().map(|entry| match entry {
                    Ok(message) => self.stdio_message(source, message, StreamSupport::Unsupported),
                    Err(error) => connection.malformed(&error),
                });
                let is_counted = match connection.caller {
                    // Calls over stdio wait while many answers are unread: those of a batch would wait for each other.
                    Caller::Local => false,
                    Caller::Named(_)
                    | Caller::Subject(_)
                    | Caller::Certificate(_)
                    | Caller::User(_)
                    | Caller::Operator(_)
                    | Caller::Address(_) => true,
                };
                batch_reply(replies.collect(), is_counted)
            }
        }
    }

    fn stdio_message(
        &self,
        source: StdioSource<'_>,
        message: Message<'_>,
        streaming: StreamSupport,
    ) -> LineReply {
        let connection = source.connection;
        match message {
            Message::Request(request) => self.stdio_request(source, &request, streaming),
            Message::Notification(notification) => {
                let _ = receive_notification(connection.session.get(), &connection.in_flight, &notification);
                LineReply::None
            }
            Message::Response(answer) => {
                if let Some(session) = connection.session() {
                    session.receive_response(&answer);
                }
                LineReply::None
            }
        }
    }

    fn stdio_request(
        &self,
        source: StdioSource<'_>,
        request: &Request<'_>,
        streaming: StreamSupport,
    ) -> LineReply {
        let connection = source.connection;
        let mut span = self.span(request, connection.transport);
        let must_read = match connection.caller {
            Caller::Local => false, // its calls wait instead
            Caller::Named(_)
            | Caller::Subject(_)
            | Caller::Certificate(_)
            | Caller::User(_)
            | Caller::Operator(_)
            | Caller::Address(_) => self.unread_responses.is_exceeded(&connection.caller),
        };
        if must_read {
            let error = ProtocolError::internal(BusyReason::UnreadResponses.to_string());
            return LineReply::Ready(span.respond(&request.id, RequestAnswer::Error(error)));
        }
        let Ok(running) = connection.in_flight.begin(&request.id) else {
            return LineReply::Ready(span.respond(&request.id, duplicate_id()));
        };
        if running.is_cancelled() {
            let error = ProtocolError::cancelled(); // the connection is closing
            return LineReply::Ready(span.respond(&request.id, RequestAnswer::Error(error)));
        }
        let id = request.id.clone();
        let responses = self.responses_to(&connection.caller);
        let started = self.start_stdio(source, request, &running, streaming, &mut span);
        match span.instrument(started) {
            Ok(RequestInProgress { started: StartedRequest::Ready(answer), .. })
                if answer.shared_bytes() <= MAX_INLINE_BYTES =>
            {
                LineReply::Ready(responses.response(&id, answer))
            }
            Ok(RequestInProgress {
                started: StartedRequest::Pending(later),
                side_messages: Some(side_messages),
            }) => {
                let unread = Unread::of(&request.method);
                LineReply::Stream(response_stream(later, side_messages, id, Some(running), unread, responses))
            }
            Ok(RequestInProgress { started: begun, .. }) => {
                LineReply::Pending(MovableFuture::new(finish_request(begun, id, running, responses)))
            }
            Err(error) => LineReply::Ready(response(&id, RequestAnswer::Error(error))),
        }
    }

    /// Determines the era of a request and starts it.
    fn start_stdio(
        &self,
        StdioSource { connection, caller, memory }: StdioSource<'_>,
        request: &Request<'_>,
        running: &RunningRequest,
        streaming: StreamSupport,
        span: &mut ServerSpan,
    ) -> Result<RequestInProgress, ProtocolError> {
        let mut params = match memory {
            Some(share) => read_counted_params(request, Some(Arc::clone(share)))?,
            None => self.read_params(caller, request)?,
        };
        self.record_params(span, &request.id, caller, &mut params);
        let session = connection.session();
        let is_initialize = request.method == Method::Initialize.as_str();
        if envelope::is_stateless_claim(&params)
            && !(is_initialize && envelope::claimed_version(&params).is_none())
        {
            let envelope = RequestEnvelope::read(&params)?;
            span.set_revision(envelope.revision);
            let _ = connection.stateless.set(envelope.revision); // only the first one is kept
            if Method::find(&request.method, envelope.revision) == Some(Method::Listen) {
                let ends = StreamEnds { cancelled: running.token(), closing: connection.closing.clone() };
                return self.listen(&envelope, &request.id, &params, caller, ends);
            }
            return self.stateless(
                envelope,
                &request.method,
                params,
                caller.clone(),
                running.token(),
                streaming,
            );
        }
        if is_initialize {
            if session.is_some() {
                return Err(ProtocolError::invalid_request("this connection is already initialized"));
            }
            let greeting = InitializeParams::read(&params)?;
            span.set_revision(greeting.revision);
            let result = self.protocol.initialize(&greeting, &caller.principal());
            let session = Session::for_stdio(
                connection.caller.clone(),
                greeting,
                self.protocol.listener(&self.updates, &caller.principal()),
                Arc::clone(&connection.in_flight),
                connection.closing.clone(),
            );
            session.observe(self.observer.as_ref(), connection.transport);
            let _ = connection.session.set(Arc::new(session)); // unset, as checked above
            return Ok(RequestInProgress::done(result.into()));
        }
        let Some(session) = session else {
            return self.before_handshake(connection, &request.method, params, running);
        };
        span.set_session(&session);
        self.in_session(&session, caller, &request.method, params, running, streaming)
    }

    /// Before the handshake, only `ping` is served, and methods without a handshake require an envelope.
    fn before_handshake(
        &self,
        connection: &StdioConnection,
        method: &str,
        params: Params,
        running: &RunningRequest,
    ) -> Result<RequestInProgress, ProtocolError> {
        if method == Method::Ping.as_str() {
            let request_context = RequestContext {
                revision: Revision::LATEST_HANDSHAKE,
                caller: connection.caller.clone(),
                session: None,
                client: None,
                capabilities: Arc::default(),
                cancel: running.token(),
                sink: Arc::new(DiscardSink),
                peer: None,
            };
            let begun = self.protocol.start(request_context, Method::Ping, params);
            return Ok(RequestInProgress { started: begun, side_messages: None });
        }
        if method == Method::Discover.as_str() {
            RequestEnvelope::read(&params)?;
        }
        Err(ProtocolError::invalid_request(format!(
            "`{}` was sent before `initialize`, and without the `_meta` of a stateless revision",
            method.escape_debug()
        )))
    }
}

/// The responses of a batch as one message. Each response stays counted until they are joined, unless `is_counted` is
/// false.
fn batch_reply(replies: Vec<LineReply>, is_counted: bool) -> LineReply {
    let all = replies.into_iter().map(move |reply| async move {
        let message = last_message(reply).await?;
        Some(if is_counted { message } else { message.uncounted() })
    });
    let all = join_all(all.collect::<Vec<_>>());
    LineReply::Pending(MovableFuture::new(async move {
        let responses: Vec<_> = all.await.into_iter().flatten().collect();
        (!responses.is_empty()).then(|| join_batch(responses).into())
    }))
}

async fn last_message(reply: LineReply) -> Option<CountedMessage> {
    match reply {
        LineReply::None => None,
        LineReply::Ready(message) => Some(message),
        LineReply::Pending(pending) => pending.await,
        LineReply::Stream(mut messages) => {
            let mut last = None;
            while let Some(message) = messages.next().await {
                last = Some(message.into_message());
            }
            last
        }
    }
}
