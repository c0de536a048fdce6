//! Messages over stdio: both eras in one process and one id space.

use std::pin::Pin;
use std::sync::{Arc, OnceLock};

use futures_util::StreamExt;
use futures_util::future::join_all;
use tokio::sync::{SetOnce, mpsc};
use tokio_util::sync::CancellationToken;

use crate::call::{CallSink, NoSink};
use crate::json;
use crate::jsonrpc::{self, Id, Incoming, Message, Notification, Request, UnknownId};
use crate::mcp::envelope::{self, Envelope};
use crate::mcp::{
    self, Answer, Aside, Begun, Exchange, Feature, Greeting, Method, Notifier, Params, Peer, ProtocolError,
    Revision, Wishes,
};
use crate::names::Principal;
use crate::session::{Asks, InFlight, Room, Running, Session};

use super::listen::Ends;
use super::observer::{Carrier, Watched};
use super::talk::{Hear, Messages, Work, talk};
use super::{
    LIMITS, NO_BATCHES, Server, duplicate, finish_running, join_batch, malformed, response, stray_error,
    unfit, unknown_id,
};

/// One stdio peer: the session it opened, if any, and what it has running.
#[derive(Debug)]
pub struct StdioConnection {
    principal: Principal,
    carrier: Carrier,
    session: SetOnce<Arc<Session>>,
    in_flight: Arc<InFlight>,
    /// What it spoke without a handshake, if it did.
    stateless: OnceLock<Revision>,
    /// Set when streams that don't end by themselves are to end.
    over: CancellationToken,
}

impl StdioConnection {
    /// A peer that said nothing yet.
    #[must_use]
    pub fn new() -> Arc<Self> {
        Self::of(Principal::Local, Carrier::Pipe)
    }

    /// The same for a peer that comes another way, but speaks as one over stdio does.
    pub(super) fn of(principal: Principal, carrier: Carrier) -> Arc<Self> {
        Arc::new(Self {
            principal,
            carrier,
            session: SetOnce::new(),
            in_flight: Arc::default(),
            stateless: OnceLock::new(),
            over: CancellationToken::new(),
        })
    }

    /// Tells everything that runs that nobody waits for it any more.
    pub fn close(&self) {
        self.in_flight.cancel_all();
    }

    /// Ends the streams that don't end by themselves, and the wait for answers: the peer says no more.
    pub fn wind_up(&self) {
        self.over.cancel();
    }

    /// The next message that the peer didn't ask for: of changes, once a handshake was made. Cancel-safe.
    pub async fn next_news(&self) -> Vec<u8> {
        self.session.wait().await.next_news().await
    }

    fn session(&self) -> Option<Arc<Session>> {
        self.session.get().cloned()
    }

    pub(super) fn revision(&self) -> Option<Revision> {
        self.session().map(|session| session.greeting().revision)
    }

    /// What stands for an id that couldn't be read: as in the handshake's revision, else in what was spoken without.
    fn unknown_id(&self) -> UnknownId {
        unknown_id(self.revision().or_else(|| self.stateless.get().copied()))
    }
}

/// A response that takes a while; none where the request was cancelled.
type PendingLine = Pin<Box<dyn Future<Output = Option<Vec<u8>>> + Send>>;

/// What a line comes to. Messages are given without the line end.
pub enum LineReply {
    /// Nothing is to be written.
    None,
    /// A message, ready.
    Ready(Vec<u8>),
    /// A message that takes a while.
    Pending(PendingLine),
    /// Several messages, of which the last is the response.
    Several(Messages),
}

impl std::fmt::Debug for LineReply {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::None => "None",
            Self::Ready(_) => "Ready",
            Self::Pending(_) => "Pending",
            Self::Several(_) => "Several",
        })
    }
}

impl Server {
    /// Takes one line, without its end. Lines are given in the order in which they came; what is pending may be
    /// awaited in any order and all at once.
    pub fn stdio_line(&self, connection: &Arc<StdioConnection>, line: &[u8]) -> LineReply {
        let unknown = || connection.unknown_id();
        match jsonrpc::parse(line, LIMITS) {
            Err(error) if error.wants_answer() => LineReply::Ready(malformed(&error, unknown())),
            Err(_) => LineReply::None,
            Ok(Incoming::Single(message)) => self.stdio_message(connection, message, Hear::Notifications),
            Ok(Incoming::Batch(entries)) => {
                let allowed = connection.revision().is_some_and(|revision| revision.has(Feature::Batches));
                if let Some(why) = if allowed { unfit(&entries) } else { Some(NO_BATCHES) } {
                    return LineReply::Ready(stray_error(&ProtocolError::invalid_request(why), unknown()));
                }
                let replies = entries.into_iter().map(|entry| match entry {
                    Ok(message) => self.stdio_message(connection, message, Hear::Response),
                    Err(error) if error.wants_answer() => LineReply::Ready(malformed(&error, unknown())),
                    Err(_) => LineReply::None,
                });
                batch(replies.collect())
            }
        }
    }

    /// The answer to a line that is longer than the transport reads.
    #[must_use]
    pub fn line_too_long(&self, connection: &Arc<StdioConnection>, most: usize) -> Vec<u8> {
        let error = ProtocolError::invalid_request(format!("the line is longer than {most} bytes"));
        stray_error(&error, connection.unknown_id())
    }

    fn stdio_message(
        &self,
        connection: &Arc<StdioConnection>,
        message: Message<'_>,
        hear: Hear,
    ) -> LineReply {
        match message {
            Message::Request(request) => self.stdio_request(connection, &request, hear),
            Message::Notification(notification) => {
                notified(connection.session.get(), &connection.in_flight, &notification);
                LineReply::None
            }
            Message::Response(answer) => {
                if let Some(session) = connection.session() {
                    session.answered(&answer);
                }
                LineReply::None
            }
        }
    }

    fn stdio_request(
        &self,
        connection: &Arc<StdioConnection>,
        request: &Request<'_>,
        hear: Hear,
    ) -> LineReply {
        let mut watched = self.watch(request, connection.carrier);
        let Ok(running) = connection.in_flight.begin(&request.id) else {
            return LineReply::Ready(watched.response(&request.id, &duplicate()));
        };
        let id = request.id.clone();
        let begun = self.stdio_begin(connection, request, &running, hear, &mut watched);
        match watched.until(begun) {
            Ok(Work { begun: Begun::Now(answer), .. }) => LineReply::Ready(response(&id, &answer)),
            Ok(Work { begun: Begun::Later(later), asides: Some(asides) }) => {
                LineReply::Several(talk(later, asides, id, Some(running)))
            }
            Ok(Work { begun, asides: None }) => {
                LineReply::Pending(Box::pin(finish_running(begun, id, running)))
            }
            Err(error) => LineReply::Ready(response(&id, &Answer::Error(error))),
        }
    }

    /// Finds out which era a request belongs to and begins it.
    fn stdio_begin(
        &self,
        connection: &Arc<StdioConnection>,
        request: &Request<'_>,
        running: &Running,
        hear: Hear,
        watched: &mut Watched,
    ) -> Result<Work, ProtocolError> {
        let params = self.burden.read(request)?;
        self.look(watched, &connection.principal, &params);
        let session = connection.session();
        let greets = request.method == Method::Initialize.as_str();
        if envelope::claims(&params) && !(greets && envelope::claimed_version(&params).is_none()) {
            let envelope = Envelope::read(&params)?;
            watched.speaks(envelope.revision);
            let _ = connection.stateless.set(envelope.revision); // the first is as good as any
            if Method::find(&request.method, envelope.revision) == Some(Method::Listen) {
                let ends = Ends { gone: running.token(), over: connection.over.clone() };
                return self.listen(&envelope, &request.id, &params, &connection.principal, ends);
            }
            return self.stateless(
                envelope,
                &request.method,
                params,
                connection.principal.clone(),
                running.token(),
                hear,
            );
        }
        if greets {
            if session.is_some() {
                return Err(ProtocolError::invalid_request("this connection is initialized already"));
            }
            let greeting = Greeting::read(&params)?;
            watched.speaks(greeting.revision);
            let hello = self.protocol.greet(&greeting);
            let (listener, in_flight) =
                (self.protocol.listener(&self.updates), Arc::clone(&connection.in_flight));
            let (principal, over) = (connection.principal.clone(), connection.over.clone());
            let session = Session::unlisted(principal, greeting, listener, in_flight, over);
            let _ = connection.session.set(Arc::new(session)); // there is none: looked up above
            return Ok(Work::done(Answer::Result(hello)));
        }
        let Some(session) = session else {
            return self.before_handshake(connection, &request.method, params, running);
        };
        watched.speaks(session.greeting().revision);
        self.in_session(&session, &request.method, params, running, hear)
    }

    /// Before the handshake there is only `ping`, and methods that have no handshake but need an envelope.
    fn before_handshake(
        &self,
        connection: &StdioConnection,
        method: &str,
        params: Params,
        running: &Running,
    ) -> Result<Work, ProtocolError> {
        if method == Method::Ping.as_str() {
            let exchange = Exchange {
                revision: Revision::LATEST_HANDSHAKE,
                principal: connection.principal.clone(),
                client: None,
                capabilities: Arc::default(),
                cancel: running.token(),
                sink: Arc::new(NoSink),
                peer: None,
            };
            return Ok(Work { begun: self.protocol.begin(exchange, Method::Ping, params), asides: None });
        }
        if method == Method::Discover.as_str() {
            Envelope::read(&params)?;
        }
        Err(ProtocolError::invalid_request(format!(
            "`{}` came before `initialize`, and without the `_meta` of a stateless revision",
            method.escape_debug()
        )))
    }

    /// A request of a handshake session, on any transport.
    pub(super) fn in_session(
        &self,
        session: &Session,
        method: &str,
        params: Params,
        running: &Running,
        hear: Hear,
    ) -> Result<Work, ProtocolError> {
        let revision = session.greeting().revision;
        let method = Method::find(method, revision).ok_or_else(|| ProtocolError::unknown_method(method))?;
        if method != Method::Ping {
            session.set_ready();
        }
        match method {
            Method::Initialize => {
                return Err(ProtocolError::invalid_request("this session is initialized already"));
            }
            Method::SetLevel => {
                session.set_level(params.level()?);
                return Ok(Work::done(Answer::empty()));
            }
            Method::Subscribe => {
                self.protocol.subscribe(session.listener(), revision, session.principal(), &params)?;
                return Ok(Work::done(Answer::empty()));
            }
            Method::Unsubscribe => {
                self.protocol.unsubscribe(session.listener(), &params)?;
                return Ok(Work::done(Answer::empty()));
            }
            Method::Ping
            | Method::Discover
            | Method::ListTools
            | Method::CallTool
            | Method::ListResources
            | Method::ListTemplates
            | Method::ReadResource
            | Method::ListPrompts
            | Method::GetPrompt
            | Method::Complete
            | Method::Listen => {}
        }
        let asks = session.asks().filter(|_| method.may_ask()).map(|asks| (asks, &self.answers));
        let Ear { sink, peer, asides } = ear(revision, Wishes::read(&params, session.level()), hear, asks);
        let exchange = session.exchange(running.token(), sink, peer);
        Ok(Work { begun: self.protocol.begin(exchange, method, params), asides })
    }

    /// A request of a stateless revision, on any transport; envelope and headers were checked before.
    pub(super) fn stateless(
        &self,
        envelope: Envelope,
        method: &str,
        params: Params,
        principal: Principal,
        cancel: CancellationToken,
        hear: Hear,
    ) -> Result<Work, ProtocolError> {
        let Envelope { revision, client, capabilities, level } = envelope;
        let method = Method::find(method, revision).ok_or_else(|| ProtocolError::unknown_method(method))?;
        let Ear { sink, peer, asides } = ear(revision, Wishes::read(&params, level), hear, None);
        let exchange = Exchange { revision, principal, client, capabilities, cancel, sink, peer };
        Ok(Work { begun: self.protocol.begin(exchange, method, params), asides })
    }
}

/// Who listens to a request while it runs.
struct Ear {
    sink: Arc<dyn CallSink>,
    peer: Option<Arc<dyn Peer>>,
    asides: Option<mpsc::Receiver<Aside>>,
}

/// Where a call's notifications and questions go: nowhere unless the client wants or answers some and the transport
/// can carry them.
fn ear(revision: Revision, wishes: Wishes, hear: Hear, asks: Option<(&Arc<Asks>, &Room)>) -> Ear {
    let deaf = || Arc::new(NoSink) as Arc<dyn CallSink>;
    if hear != Hear::Notifications || (wishes.is_empty() && asks.is_none()) {
        return Ear { sink: deaf(), peer: None, asides: None };
    }
    let (out, asides) = mcp::asides();
    let peer = asks.map(|(asks, room)| Arc::new(asks.through(out.clone(), room)) as Arc<dyn Peer>);
    let sink = if wishes.is_empty() { deaf() } else { Arc::new(Notifier::new(revision, wishes, out)) };
    Ear { sink, peer, asides: Some(asides) }
}

/// What a notification changes. Unknown and malformed ones change nothing, and none is ever answered.
///
/// `$/cancelRequest` is what generic JSON-RPC clients say for `notifications/cancelled`; their `$/progress` changes
/// nothing.
pub(super) fn notified(
    session: Option<&Arc<Session>>,
    in_flight: &InFlight,
    notification: &Notification<'_>,
) {
    let member = match &*notification.method {
        "notifications/initialized" => {
            if let Some(session) = session {
                session.set_ready();
            }
            return;
        }
        "notifications/cancelled" => "requestId",
        "$/cancelRequest" => "id",
        _ => return,
    };
    let id = notification.params.and_then(|params| json::member(params.get(), member));
    if let Some(id) = id.and_then(|raw| Id::from_raw(raw).ok()) {
        in_flight.cancel(&id);
    }
}

fn batch(replies: Vec<LineReply>) -> LineReply {
    let pending = replies.into_iter().map(|reply| async {
        match reply {
            LineReply::None => None,
            LineReply::Ready(message) => Some(message),
            LineReply::Pending(pending) => pending.await,
            LineReply::Several(mut messages) => {
                let mut last = None;
                while let Some(said) = messages.next().await {
                    last = Some(said.into_message());
                }
                last
            }
        }
    });
    let all = join_all(pending.collect::<Vec<_>>());
    LineReply::Pending(Box::pin(async move {
        let responses: Vec<_> = all.await.into_iter().flatten().collect();
        (!responses.is_empty()).then(|| join_batch(&responses))
    }))
}
