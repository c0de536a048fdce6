//! What a transport tells of one peer's messages.

use std::net::SocketAddr;
use std::sync::Arc;

use moongate_model::names::{Digest, Principal};
use moongate_protocol::server::{Event, Events, HttpReply};

use super::line::{Direction, Peer, Transport, What};
use super::{OVERHEAD, Trace};

/// The header that names a session, in answers.
const SESSION: &str = "mcp-session-id";

/// One peer's messages on their way to the trace; without one, nothing is done.
#[derive(Debug, Clone, Default)]
pub struct Tap(Option<Tapped>);

#[derive(Debug, Clone)]
struct Tapped {
    trace: Trace,
    peer: Arc<Peer>,
}

impl Tap {
    /// For the peer over stdio.
    #[must_use]
    pub fn stdio(trace: Option<&Trace>) -> Self {
        let peer = || Peer { transport: Transport::Stdio, client: None, token: None, session: None };
        Self(trace.map(|trace| Tapped { trace: trace.clone(), peer: Arc::new(peer()) }))
    }

    /// For a request over HTTP: where it comes from, whom its token stands for as far as that is known, and its session.
    pub(in crate::transport) fn http(
        trace: &Trace,
        client: Option<SocketAddr>,
        principal: Option<&Principal>,
        session: Option<&str>,
    ) -> Self {
        let token = match principal {
            Some(Principal::Named(name)) => Some(Arc::clone(name)),
            Some(Principal::Anonymous | Principal::Local) | None => None,
        };
        let peer = Peer { transport: Transport::Http, client, token, session: session.map(told) };
        Self(Some(Tapped { trace: trace.clone(), peer: Arc::new(peer) }))
    }

    /// The same in a session that is known only now.
    pub(in crate::transport) fn in_session(&self, id: &str) -> Self {
        Self(self.0.as_ref().map(|tapped| {
            let peer = Peer { session: Some(told(id)), ..(*tapped.peer).clone() };
            Tapped { trace: tapped.trace.clone(), peer: Arc::new(peer) }
        }))
    }

    /// A message came in, or what was to be one.
    pub(in crate::transport) fn received(&self, message: &[u8]) {
        if let Some(Tapped { trace, peer }) = &self.0 {
            trace.hand_over(Direction::In, peer, None, message);
        }
    }

    /// More than `most` bytes came in, and were thrown away.
    pub(in crate::transport) fn thrown_away(&self, most: usize) {
        if let Some(Tapped { trace, peer }) = &self.0 {
            trace.hand(Direction::In, peer, None, OVERHEAD, || What::ThrownAway { most });
        }
    }

    /// A message leaves.
    pub(in crate::transport) fn sent(&self, message: &[u8]) {
        if let Some(Tapped { trace, peer }) = &self.0 {
            trace.hand_over(Direction::Out, peer, None, message);
        }
    }

    /// An HTTP answer leaves that is one message or none.
    pub(in crate::transport) fn answered(&self, reply: &HttpReply) {
        let HttpReply { status, headers, body } = reply;
        let begun = headers.iter().find(|(name, _)| name.eq_ignore_ascii_case(SESSION));
        match begun {
            Some((_, id)) => self.in_session(id).refused(*status, body),
            None => self.refused(*status, body),
        }
    }

    /// The same, where the protocol wasn't asked.
    pub(in crate::transport) fn refused(&self, status: u16, message: &[u8]) {
        if let Some(Tapped { trace, peer }) = &self.0
            && !message.is_empty()
        {
            trace.hand_over(Direction::Out, peer, Some(status), message);
        }
    }

    /// Events, each of which is told as it leaves.
    pub(in crate::transport) fn watching(self, events: Events) -> Events {
        if self.0.is_none() {
            return events;
        }
        events.shown_to(move |event| match event {
            Event::Message { message, .. } => self.sent(message),
            Event::Place { .. } => {} // no message
        })
    }
}

/// A session's id as it is told: whoever has the id itself has the session.
fn told(id: &str) -> String {
    Digest::of(id.as_bytes()).short()
}
