//! The endpoint: determines the era of each message, checks it in the specified order and answers it.
//!
//! Both eras are served side by side, and the era is determined for every message. Transports pass bytes and what
//! they know about the peer, and get bytes back. Nothing here depends on sockets or HTTP libraries.

use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use crate::caller::Caller;
use crate::changes::ResourceUpdates;
use crate::dispatch::{Dispatcher, Observer};
use crate::jsonrpc::{self, Id, MalformedMessage, Message, MissingId, ParseLimits};
use crate::mcp::envelope;
use crate::mcp::{
    Feature, Method, Params, Protocol, ProtocolError, ProtocolOptions, RequestAnswer, Revision,
    StartedRequest,
};
use crate::names::Principal;
use crate::session::shared::{ReplicaId, SharedLimits, SharedSessionStore, SharedSessions};
use crate::session::{QuestionBudget, RunningRequest, SessionStore};
use crate::unread_responses::{CountedMessage, MIN_COUNTED_BYTES, UnreadResponses};

mod detach;
mod headers;
mod http;
mod large_messages;
mod listen_streams;
mod memory_budget;
mod observer;
mod request;
mod response_stream;
mod shared_sessions;
mod stdio;

pub use crate::session::SseEvent;
#[cfg(any(test, feature = "fuzz"))]
#[doc(hidden)]
pub use headers::fuzz_headers;
pub use headers::{Header, Headers};
pub use http::{EventStream, HttpAnswer, HttpGet, HttpPost, HttpReply, LegacySseConnection, StreamLifetime};
pub use large_messages::MAX_INLINE_BYTES;
pub use memory_budget::{RequestBodyMemory, TOO_MANY_LARGE_REQUESTS, TooManyLargeRequests};
pub use response_stream::{OutgoingMessage, ResponseStream, StreamSupport};
pub use stdio::{DiscardReason, LineReply, StdioConnection};

use http::LegacySseClients;
use large_messages::LargeMessageTurns;
use listen_streams::ListenStreams;
use memory_budget::RequestMemoryBudget;
use response_stream::finish;

/// At most 100 messages in a batch (2025-03-26 only).
const PARSE_LIMITS: ParseLimits = ParseLimits { max_batch: 100 };

/// The options of an endpoint.
#[derive(Debug)]
pub struct ServerOptions {
    /// The options of the protocol.
    pub protocol: ProtocolOptions,
    /// The maximum number of handshake sessions over HTTP, and of clients of 2024-11-05.
    pub max_sessions: usize,
    /// The time after which an idle session ends.
    pub session_idle: std::time::Duration,
    /// The source of resource updates.
    pub updates: Arc<ResourceUpdates>,
    /// The time after which an event stream is closed early, so that its client reconnects. `None` means never.
    pub close_streams_after: Option<std::time::Duration>,
    /// The memory of requests, of responses, and of what waits for clients.
    pub memory: ServerMemory,
    /// The replica and the store of sessions that several gateways serve together. `None` if there are none.
    pub shared: Option<SharedServing>,
}

/// The part of one gateway in sessions that several serve together.
#[derive(Debug)]
pub struct SharedServing {
    /// This gateway.
    pub replica: ReplicaId,
    /// The store of all of them.
    pub store: Arc<dyn SharedSessionStore>,
}

/// The memory of an endpoint, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ServerMemory {
    /// Requests in flight.
    pub requests: u64,
    /// Responses that clients haven't read yet. One caller can use an eighth before its requests are refused.
    pub responses: u64,
    /// Questions to clients that are open, and answers to them until their request ends.
    pub questions: u64,
    /// Messages that are kept for clients with broken connections.
    pub streams: u64,
    /// Subscriptions to resources.
    pub subscriptions: u64,
}

impl ServerMemory {
    /// The memory of an endpoint in a process that has this much for everything.
    #[must_use]
    pub fn of_process(memory: u64) -> Self {
        Self {
            requests: memory / 8,
            responses: memory / 8,
            questions: (memory / 32).min(64 << 20),
            streams: (memory / 32).min(64 << 20),
            subscriptions: (memory / 64).min(32 << 20),
        }
    }
}

/// Current usage of an endpoint.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ServerGauges {
    /// Handshake sessions over HTTP.
    pub sessions: usize,
    /// Open notification streams of stateless revisions (2026-07-28, `subscriptions/listen`), on all transports.
    pub listen_streams: usize,
    /// Connected clients of 2024-11-05.
    pub legacy_sse_clients: usize,
    /// The bytes of answers that clients haven't read yet.
    pub unread_bytes: u64,
}

/// An endpoint over one catalog, shared by all transports.
#[derive(Debug)]
pub struct Server {
    protocol: Arc<Protocol>,
    sessions: Arc<SessionStore>,
    /// Set if other replicas serve the sessions as well.
    shared: Option<Arc<SharedSessions>>,
    updates: Arc<ResourceUpdates>,
    listen_streams: ListenStreams,
    legacy_clients: LegacySseClients,
    request_memory: RequestMemoryBudget,
    large_messages: LargeMessageTurns,
    question_budget: Arc<QuestionBudget>,
    unread_responses: Arc<UnreadResponses>,
    close_streams_after: Option<std::time::Duration>,
    observer: Option<Arc<dyn Observer>>,
    /// Set when the gateway stops.
    stop: CancellationToken,
}

impl Server {
    /// Serves the plugins of `dispatcher`. Requests are reported to its observer. Must be called within a runtime if
    /// sessions are shared.
    #[must_use]
    pub fn new(dispatcher: Dispatcher, options: ServerOptions) -> Arc<Self> {
        let ServerOptions {
            protocol,
            max_sessions,
            session_idle,
            updates,
            close_streams_after,
            memory,
            shared,
        } = options;
        let stop = CancellationToken::new();
        let observer = dispatcher.observer().cloned();
        let unread_responses = UnreadResponses::new(memory.responses);
        updates.set_memory(memory.subscriptions);
        let dispatcher = dispatcher.with_unread_responses(Arc::clone(&unread_responses));
        let protocol = Arc::new(Protocol::new(dispatcher, protocol));
        let sessions = SessionStore::new(max_sessions, session_idle, memory.streams, stop.clone());
        let sessions = Arc::new(sessions);
        let shared = shared.map(|SharedServing { replica, store }| {
            let (copies, protocol, updates) =
                (Arc::clone(&sessions), Arc::clone(&protocol), Arc::clone(&updates));
            let limits = SharedLimits { max_sessions, idle: session_idle };
            SharedSessions::start(store, replica, copies, protocol, updates, limits)
        });
        Arc::new(Self {
            protocol,
            sessions,
            shared,
            updates,
            listen_streams: ListenStreams::default(),
            legacy_clients: LegacySseClients::new(max_sessions),
            request_memory: RequestMemoryBudget::new(memory.requests),
            large_messages: LargeMessageTurns::default(),
            question_budget: QuestionBudget::new(memory.questions),
            unread_responses,
            close_streams_after,
            observer,
            stop,
        })
    }

    /// The answers that clients haven't read yet. Transports keep each message until it is written.
    #[must_use]
    pub fn unread_responses(&self) -> &Arc<UnreadResponses> {
        &self.unread_responses
    }

    fn responses_to(&self, caller: &Caller) -> ResponseRenderer {
        ResponseRenderer { unread_responses: Arc::clone(&self.unread_responses), caller: caller.clone() }
    }

    /// The memory of a request over HTTP. Transports count its body while they receive it.
    #[must_use]
    pub fn body_memory(&self, caller: &Caller) -> RequestBodyMemory {
        self.request_memory.for_body(caller)
    }

    /// Ends the streams without an end of their own when the gateway stops, so that nothing waits for them. Requests
    /// are still answered.
    pub fn close_streams(&self) {
        self.stop.cancel();
    }

    /// Stores what other replicas need to continue the sessions. Call it once nothing runs any more.
    pub async fn leave_shared_sessions(&self) {
        if let Some(shared) = &self.shared {
            shared.leave().await;
        }
    }

    /// Reports the ends of sessions that are still open. Call it once nothing runs any more.
    pub fn report_session_ends(&self) {
        self.sessions.report_ends();
    }

    /// Cancels everything that still runs in sessions and for clients of 2024-11-05. Running calls get their plugin's
    /// cancellation grace, or as long as the process lives.
    pub fn cancel_all(&self) {
        self.sessions.cancel_all();
        self.legacy_clients.cancel_all();
    }

    /// Ends the sessions of these principals, and their requests.
    pub fn end_sessions(&self, principals: &[Principal]) {
        self.sessions.end_all_of(principals);
        self.legacy_clients.cancel_all_of(principals);
    }

    /// Current usage.
    #[must_use]
    pub fn gauges(&self) -> ServerGauges {
        ServerGauges {
            sessions: self.sessions.count(),
            listen_streams: self.listen_streams.count(),
            legacy_sse_clients: self.legacy_clients.count(),
            unread_bytes: self.unread_responses.used(),
        }
    }
}

/// Renders a response. It isn't counted unless its result already is.
fn response(id: &Id, answer: RequestAnswer) -> CountedMessage {
    let mut out = Vec::new();
    match answer {
        RequestAnswer::Result(result) | RequestAnswer::ToolError(result) => return result.into_response(id),
        RequestAnswer::Shared(result) => jsonrpc::write_result(&mut out, id, &result),
        RequestAnswer::Error(error) => {
            jsonrpc::write_error(&mut out, Some(id), MissingId::Null, &error.error)
        }
    }
    out.into()
}

/// Renders the responses to the requests of one caller, and counts them until they are sent.
#[derive(Debug, Clone)]
struct ResponseRenderer {
    unread_responses: Arc<UnreadResponses>,
    caller: Caller,
}

impl ResponseRenderer {
    fn response(&self, id: &Id, answer: RequestAnswer) -> CountedMessage {
        self.response_with_status(id, answer).1
    }

    /// Renders a response with its HTTP status. The memory for a shared result is reserved before it is copied: until
    /// then, any number of requests can have the same one.
    fn response_with_status(&self, id: &Id, answer: RequestAnswer) -> (u16, CountedMessage) {
        let reserved = match &answer {
            RequestAnswer::Shared(result) if result.get().len() >= MIN_COUNTED_BYTES => {
                self.unread_responses.reserve(&self.caller, result.get().len()).map(Some)
            }
            RequestAnswer::Shared(_)
            | RequestAnswer::Result(_)
            | RequestAnswer::ToolError(_)
            | RequestAnswer::Error(_) => Ok(None),
        };
        match reserved {
            Ok(Some(unread)) => (answer.status(), response(id, answer).with_share(unread)),
            Ok(None) => (answer.status(), response(id, answer).counted(&self.unread_responses, &self.caller)),
            Err(error) => {
                let error = ProtocolError::internal(error.to_string());
                (503, response(id, RequestAnswer::Error(error)))
            }
        }
    }
}

/// Renders the response to a malformed message.
fn malformed(malformed: &MalformedMessage, unknown: MissingId) -> Vec<u8> {
    let mut out = Vec::with_capacity(128);
    jsonrpc::write_error(&mut out, malformed.id.as_ref(), unknown, &malformed.error);
    out
}

/// Renders an error without a request.
fn stray_error(error: &ProtocolError, unknown: MissingId) -> Vec<u8> {
    let mut out = Vec::with_capacity(128);
    jsonrpc::write_error(&mut out, None, unknown, &error.error);
    out
}

/// The placeholder for an unreadable id: newer revisions omit it, plain JSON-RPC has `null`.
fn unknown_id(revision: Option<Revision>) -> MissingId {
    match revision {
        Some(revision) if revision.has(Feature::OptionalErrorId) => MissingId::Omit,
        Some(_) | None => MissingId::Null,
    }
}

/// The error for a batch in a revision without batches.
const NO_BATCHES: &str = "batches aren't supported in this revision";

/// The reason to refuse a whole batch in a revision with batches: one of its messages would change the revision.
fn batch_error(entries: &[Result<Message<'_>, MalformedMessage>]) -> Option<&'static str> {
    entries.iter().flatten().find_map(|message| {
        let params = match message {
            Message::Request(request) if request.method == Method::Initialize.as_str() => {
                return Some("`initialize` can't be part of a batch");
            }
            Message::Request(request) => request.params,
            Message::Notification(notification) => notification.params,
            Message::Response(_) => None,
        };
        Params::read(params).is_ok_and(|params| envelope::is_stateless_claim(&params)).then_some(NO_BATCHES)
    })
}

/// Joins responses into an array. Each response is dropped once it is copied, because a batch can be large.
fn join_batch(responses: Vec<CountedMessage>) -> Vec<u8> {
    let mut out = Vec::with_capacity(responses.iter().map(|response| response.len() + 1).sum::<usize>() + 1);
    for response in responses {
        out.push(if out.is_empty() { b'[' } else { b',' });
        out.extend_from_slice(&response);
    }
    out.push(b']');
    out
}

/// The answer to a request whose id is already in use.
fn duplicate_id() -> RequestAnswer {
    RequestAnswer::Error(ProtocolError::invalid_request("a request with this id is already running"))
}

/// Finishes a request that is registered as running. `None` means that it was cancelled.
async fn finish_request(
    begun: StartedRequest,
    id: Id,
    running: RunningRequest,
    responses: ResponseRenderer,
) -> Option<CountedMessage> {
    let answer = finish(begun, &responses.caller).await;
    let cancelled = running.is_cancelled();
    drop(running);
    (!cancelled).then(|| responses.response(&id, answer))
}

#[cfg(test)]
mod tests;
