//! The transports' interface to the trace: records the messages of one peer.

use std::net::SocketAddr;
use std::sync::Arc;

use moongate_model::names::{Digest, LocalUser, Principal};
use moongate_protocol::server::{DiscardReason, EventStream, HttpReply, SseEvent};

use super::line::{MessageDirection, Payload, TracedPeer, TracedTransport};
use super::{MESSAGE_OVERHEAD_BYTES, Trace};

/// The response header with the session id.
const SESSION_HEADER: &str = "mcp-session-id";

/// Records the messages of one peer, or nothing if there is no trace.
#[derive(Debug, Clone, Default)]
pub struct Tap(Option<TapTarget>);

#[derive(Debug, Clone)]
struct TapTarget {
    trace: Trace,
    peer: Arc<TracedPeer>,
}

impl Tap {
    /// Records a peer over stdio.
    #[must_use]
    pub fn stdio(trace: Option<&Trace>) -> Self {
        let peer =
            || TracedPeer { transport: TracedTransport::Stdio, client: None, token: None, session: None };
        Self(trace.map(|trace| TapTarget { trace: trace.clone(), peer: Arc::new(peer()) }))
    }

    /// Records the connection of a user to the Unix socket, with its number.
    pub(in crate::transport) fn unix(trace: &Trace, user: &LocalUser, number: u64) -> Self {
        let peer = TracedPeer {
            transport: TracedTransport::Unix,
            client: None,
            token: Some(user.name().into()),
            session: Some(number.to_string()),
        };
        Self(Some(TapTarget { trace: trace.clone(), peer: Arc::new(peer) }))
    }

    /// Records a request over HTTP: its address, the name of its token if known, and its session.
    pub(in crate::transport) fn http(
        trace: &Trace,
        client: Option<SocketAddr>,
        principal: Option<&Principal>,
        session: Option<&str>,
    ) -> Self {
        let token = match principal {
            Some(Principal::Named(name) | Principal::Certificate(name)) => Some(Arc::clone(name)),
            Some(Principal::Subject(subject)) => Some(subject.name().into()),
            Some(Principal::User(user)) => Some(user.name().into()),
            Some(Principal::Anonymous | Principal::Local | Principal::Operator) | None => None,
        };
        let peer = TracedPeer {
            transport: TracedTransport::Http,
            client,
            token,
            session: session.map(session_digest),
        };
        Self(Some(TapTarget { trace: trace.clone(), peer: Arc::new(peer) }))
    }

    /// The same tap, in a session that was just opened.
    pub(in crate::transport) fn in_session(&self, id: &str) -> Self {
        Self(self.0.as_ref().map(|target| {
            let peer = TracedPeer { session: Some(session_digest(id)), ..(*target.peer).clone() };
            TapTarget { trace: target.trace.clone(), peer: Arc::new(peer) }
        }))
    }

    /// Records an incoming message, or an invalid one.
    pub(in crate::transport) fn received(&self, message: &[u8]) {
        if let Some(TapTarget { trace, peer }) = &self.0 {
            trace.queue_message(MessageDirection::In, peer, None, message);
        }
    }

    /// Records that a message was discarded.
    pub(in crate::transport) fn discarded(&self, reason: DiscardReason) {
        if let Some(TapTarget { trace, peer }) = &self.0 {
            let payload = || Payload::Discarded(reason);
            trace.queue(MessageDirection::In, peer, None, MESSAGE_OVERHEAD_BYTES, payload);
        }
    }

    /// Records an outgoing message.
    pub(in crate::transport) fn sent(&self, message: &[u8]) {
        if let Some(TapTarget { trace, peer }) = &self.0 {
            trace.queue_message(MessageDirection::Out, peer, None, message);
        }
    }

    /// Records an HTTP response with at most one message.
    pub(in crate::transport) fn answered(&self, reply: &HttpReply) {
        let HttpReply { status, headers, body } = reply;
        let new_session = headers.iter().find(|(name, _)| name.eq_ignore_ascii_case(SESSION_HEADER));
        match new_session {
            Some((_, id)) => self.in_session(id).refused(*status, body),
            None => self.refused(*status, body),
        }
    }

    /// Records the response to a rejected request.
    pub(in crate::transport) fn refused(&self, status: u16, message: &[u8]) {
        if let Some(TapTarget { trace, peer }) = &self.0
            && !message.is_empty()
        {
            trace.queue_message(MessageDirection::Out, peer, Some(status), message);
        }
    }

    /// Records each event as it is sent.
    pub(in crate::transport) fn traced(self, events: EventStream) -> EventStream {
        if self.0.is_none() {
            return events;
        }
        events.inspect(move |event| match event {
            SseEvent::Message { message, .. } => self.sent(message),
            SseEvent::Priming { .. } => {} // not a message
        })
    }
}

/// The digest of a session id. The id itself would give access to the session.
fn session_digest(id: &str) -> String {
    Digest::of(id.as_bytes()).short()
}
