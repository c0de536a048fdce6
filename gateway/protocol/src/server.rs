//! The endpoint: which era a message belongs to, in which order it is checked, and who answers it.
//!
//! Both eras are served side by side and decided for every message anew. Transports give bytes and what they know of
//! the peer, and get bytes back; nothing of sockets or HTTP libraries is known here.

use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use crate::changes::Updates;
use crate::dispatch::Dispatcher;
use crate::jsonrpc::{self, Id, Malformed, Message, ParseLimits, UnknownId};
use crate::mcp::envelope;
use crate::mcp::{
    Answer, Begun, Feature, Method, Params, Protocol, ProtocolError, ProtocolOptions, Revision,
};
use crate::session::{Room, Running, Sessions};

mod burden;
mod headers;
mod http;
mod lingering;
mod listen;
mod observer;
mod stdio;
mod talk;

pub use crate::session::Event;
#[doc(hidden)]
pub use headers::fuzz_headers;
pub use headers::{Header, Headers};
pub use http::{Events, Get, HttpAnswer, HttpReply, Lasts, Post, Visitor};
pub use observer::{Answered, Carrier, Observer};
pub use stdio::{LineReply, StdioConnection};
pub use talk::{Hear, Messages, Said};

use burden::Burden;
use http::Visits;
use listen::Listens;
use talk::finish;

/// How many messages a batch may hold (2025-03-26 only).
const LIMITS: ParseLimits = ParseLimits { max_batch: 100 };

/// What an endpoint is made with.
#[derive(Debug)]
pub struct ServerOptions {
    /// How the protocol is served.
    pub protocol: ProtocolOptions,
    /// How many handshake sessions may be open over HTTP, and how many connections of clients of 2024-11-05.
    pub max_sessions: usize,
    /// When an idle one ends.
    pub session_idle: std::time::Duration,
    /// Where updates of resources are reported.
    pub updates: Arc<Updates>,
    /// When a stream of events is closed early, for its client to come back to it; none: never.
    pub close_streams_after: Option<std::time::Duration>,
    /// Who is told of each request; none: nobody.
    pub observer: Option<Arc<dyn Observer>>,
}

/// Who uses an endpoint at one moment.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Gauges {
    /// Handshake sessions over HTTP.
    pub sessions: usize,
    /// Open streams of changes of stateless revisions (2026-07-28, `subscriptions/listen`), on all transports.
    pub listening: usize,
    /// Connected clients of 2024-11-05.
    pub visitors: usize,
}

/// One endpoint over one catalog, for every transport.
#[derive(Debug)]
pub struct Server {
    protocol: Arc<Protocol>,
    sessions: Sessions,
    updates: Arc<Updates>,
    listens: Listens,
    visits: Visits,
    burden: Burden,
    answers: Room,
    close_streams_after: Option<std::time::Duration>,
    observer: Option<Arc<dyn Observer>>,
    /// Set when the gateway stops.
    stop: CancellationToken,
}

impl Server {
    /// Serves what `dispatcher` reaches.
    #[must_use]
    pub fn new(dispatcher: Dispatcher, options: ServerOptions) -> Arc<Self> {
        let ServerOptions { protocol, max_sessions, session_idle, updates, close_streams_after, observer } =
            options;
        let stop = CancellationToken::new();
        Arc::new(Self {
            protocol: Arc::new(Protocol::new(dispatcher, protocol)),
            sessions: Sessions::new(max_sessions, session_idle, stop.clone()),
            updates,
            listens: Listens::default(),
            visits: Visits::new(max_sessions),
            burden: Burden::default(),
            answers: Room::default(),
            close_streams_after,
            observer,
            stop,
        })
    }

    /// The gateway stops: streams that don't end by themselves end now, so that nobody waits for them. Requests are
    /// still answered.
    pub fn stop(&self) {
        self.stop.cancel();
    }

    /// Time is up: tells what still runs in sessions, and for clients of 2024-11-05, that nobody waits any more. It has
    /// its plugin's grace from now on, or as long as the process lives.
    pub fn give_up(&self) {
        self.sessions.cancel_all();
        self.visits.close_all();
    }

    /// Who is there.
    #[must_use]
    pub fn gauges(&self) -> Gauges {
        Gauges {
            sessions: self.sessions.count(),
            listening: self.listens.count(),
            visitors: self.visits.count(),
        }
    }
}

/// The response message.
fn response(id: &Id, answer: &Answer) -> Vec<u8> {
    let mut out = Vec::with_capacity(256);
    match answer {
        Answer::Result(result) | Answer::ToolError(result) => jsonrpc::write_result(&mut out, id, result),
        Answer::Shared(result) => jsonrpc::write_result(&mut out, id, result),
        Answer::Error(error) => jsonrpc::write_error(&mut out, Some(id), UnknownId::Null, &error.error),
    }
    out
}

/// The response to what is no message.
fn malformed(malformed: &Malformed, unknown: UnknownId) -> Vec<u8> {
    let mut out = Vec::with_capacity(128);
    jsonrpc::write_error(&mut out, malformed.id.as_ref(), unknown, &malformed.error);
    out
}

/// An error without a request.
fn stray_error(error: &ProtocolError, unknown: UnknownId) -> Vec<u8> {
    let mut out = Vec::with_capacity(128);
    jsonrpc::write_error(&mut out, None, unknown, &error.error);
    out
}

/// What stands for an id that couldn't be read: newer revisions leave it out, JSON-RPC itself says `null`.
fn unknown_id(revision: Option<Revision>) -> UnknownId {
    match revision {
        Some(revision) if revision.has(Feature::OptionalErrorId) => UnknownId::Omit,
        Some(_) | None => UnknownId::Null,
    }
}

/// Why a batch is refused where its revision has none.
const NO_BATCHES: &str = "this revision has no batches";

/// Why a batch is refused as a whole, though its revision has batches: it would change what is spoken.
fn unfit(entries: &[Result<Message<'_>, Malformed>]) -> Option<&'static str> {
    entries.iter().flatten().find_map(|message| {
        let params = match message {
            Message::Request(request) if request.method == Method::Initialize.as_str() => {
                return Some("`initialize` can't be part of a batch");
            }
            Message::Request(request) => request.params,
            Message::Notification(notification) => notification.params,
            Message::Response(_) => None,
        };
        Params::read(params).is_ok_and(|params| envelope::claims(&params)).then_some(NO_BATCHES)
    })
}

/// Several responses in one array.
fn join_batch(responses: &[Vec<u8>]) -> Vec<u8> {
    let mut out = vec![b'['];
    out.extend_from_slice(&responses.join(&b','));
    out.push(b']');
    out
}

/// The answer to a second request of an id that runs already.
fn duplicate() -> Answer {
    Answer::Error(ProtocolError::invalid_request("a request of this id runs already"))
}

/// Finishes a request that is registered as running; none where it was cancelled meanwhile.
async fn finish_running(begun: Begun, id: Id, running: Running) -> Option<Vec<u8>> {
    let answer = finish(begun).await;
    let cancelled = running.is_cancelled();
    drop(running);
    (!cancelled).then(|| response(&id, &answer))
}

#[cfg(test)]
mod tests;
