//! HTTP+SSE of 2024-11-05: one long GET carries every message to the client, and the client posts its own messages to
//! another path (2024-11-05, basic/transports, "HTTP with SSE").
//!
//! Apart from the framing it works like stdio: one connection, one client, at most one handshake. The GET is the
//! connection; when it ends, so does everything that runs for it.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures_util::stream;
use futures_util::{FutureExt as _, StreamExt as _};
use moongate_system::background::MovableFuture;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};
use tokio_util::sync::CancellationToken;

use crate::call::BusyReason;
use crate::caller::Caller;
use crate::dispatch::{NetworkTransport, RefusedRequest};
use crate::jsonrpc::{self, Incoming, Message, MessageOutline, MessageText};
use crate::mcp::ProtocolError;
use crate::names::Principal;
use crate::server::response_stream::OutgoingMessage;
use crate::server::stdio::{LineReply, StdioConnection, StdioSource};
use crate::server::{PARSE_LIMITS, RequestBodyMemory, Server, unknown_id};
use crate::session::{SseEvent, random_id};
use crate::unread_responses::{CountedMessage, UnreadResponses};

use super::{EventStream, HttpReply, StreamLifetime, refuse_body, session_not_found};

/// The maximum number of requests of one client that run, and of messages that wait until the client reads them.
const MAX_PENDING_REQUESTS: u32 = 64;

/// The maximum number of connected clients, regardless of the configuration: each occupies a connection for as long as
/// it wants.
const MAX_LEGACY_SSE_CLIENTS: usize = 256;

/// All connected clients.
#[derive(Debug)]
pub(in crate::server) struct LegacySseClients {
    connected: Mutex<ConnectedClients>,
    max: usize,
}

#[derive(Debug, Default)]
struct ConnectedClients {
    by_id: HashMap<String, Arc<LegacySseClient>>,
    /// The number of clients that ever connected.
    count: u64,
}

/// A connected client.
#[derive(Debug)]
struct LegacySseClient {
    caller: Caller,
    principal: Principal,
    /// Earlier clients have lower numbers.
    number: u64,
    /// Set when another caller needs its place.
    replaced: CancellationToken,
    connection: Arc<StdioConnection>,
    out: mpsc::Sender<LegacySseMessage>,
    permits: Arc<Semaphore>,
}

/// A message to a client, and the permit of a response, which is released once the transport takes the message.
#[derive(Debug)]
struct LegacySseMessage {
    text: CountedMessage,
    _permit: Option<OwnedSemaphorePermit>,
}

/// Sends messages to a client.
struct LegacySseSender {
    out: mpsc::Sender<LegacySseMessage>,
    answers: Arc<UnreadResponses>,
    caller: Caller,
}

/// The connection of a client.
#[derive(Debug)]
pub struct LegacySseConnection {
    /// The unguessable id that the client must send with every message.
    pub id: String,
    /// The messages to the client.
    pub events: EventStream,
}

impl LegacySseClients {
    /// At most `max` clients, and never more than [`MAX_LEGACY_SSE_CLIENTS`].
    pub(in crate::server) fn new(max: usize) -> Self {
        Self { connected: Mutex::default(), max: max.min(MAX_LEGACY_SSE_CLIENTS) }
    }

    /// The number of connected clients.
    pub(in crate::server) fn count(&self) -> usize {
        self.lock().by_id.len()
    }

    /// Cancels the requests of all clients.
    pub(in crate::server) fn cancel_all(&self) {
        self.lock().by_id.values().for_each(|client| client.connection.cancel_all());
    }

    /// Cancels the requests of the clients of these principals.
    pub(in crate::server) fn cancel_all_of(&self, principals: &[Principal]) {
        let connected = self.lock();
        let clients = connected.by_id.values().filter(|client| principals.contains(&client.principal));
        clients.for_each(|client| client.connection.cancel_all());
    }

    fn lock(&self) -> MutexGuard<'_, ConnectedClients> {
        self.connected.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ConnectedClients {
    /// Disconnects a client of the caller with the most clients, unless `asker` would then have more: one without
    /// requests, or the earliest. False if there is none.
    fn make_room(&mut self, asker: &Caller) -> bool {
        let mut sizes = HashMap::<&Caller, usize>::new();
        for client in self.by_id.values() {
            *sizes.entry(&client.caller).or_default() += 1;
        }
        let own = sizes.get(asker).copied().unwrap_or(0);
        let largest = sizes.iter().max_by_key(|(_, size)| **size).filter(|(_, size)| own + 1 < **size);
        let Some((largest, _)) = largest else { return false };
        let theirs = self.by_id.iter().filter(|(_, client)| client.caller == **largest);
        let first = theirs.min_by_key(|(_, client)| (client.has_requests(), client.number));
        let removed = first.map(|(id, _)| id.clone()).and_then(|id| self.by_id.remove(&id));
        removed.map(|client| client.replaced.cancel()).is_some()
    }
}

impl LegacySseClient {
    fn has_requests(&self) -> bool {
        self.permits.available_permits() < MAX_PENDING_REQUESTS as usize
    }
}

impl Server {
    /// Connects a client. Dropping its events ends everything that runs for it. At the limit, a client of the caller
    /// with the most clients is disconnected, unless that is this one.
    ///
    /// # Errors
    /// Too many clients are connected.
    pub fn connect_legacy_sse(self: &Arc<Self>, caller: &Caller) -> Result<LegacySseConnection, HttpReply> {
        let refuse =
            |why: &str| HttpReply::stray(&ProtocolError { status: 503, ..ProtocolError::internal(why) });
        let id = random_id().map_err(|error| refuse(&error.to_string()))?;
        let (out, inbox) = mpsc::channel(MAX_PENDING_REQUESTS as usize);
        let connection = StdioConnection::with_transport(caller.clone(), NetworkTransport::Http);
        let permits = Arc::new(Semaphore::new(MAX_PENDING_REQUESTS as usize));
        let replaced = CancellationToken::new();
        {
            let mut connected = self.legacy_clients.lock();
            if connected.by_id.len() >= self.legacy_clients.max && !connected.make_room(caller) {
                return Err(refuse("too many clients are connected; try again later"));
            }
            connected.count += 1;
            let client = LegacySseClient {
                caller: caller.clone(),
                principal: caller.principal(),
                number: connected.count,
                replaced: replaced.clone(),
                connection: Arc::clone(&connection),
                out,
                permits: Arc::clone(&permits),
            };
            connected.by_id.insert(id.clone(), Arc::new(client));
        }
        let server = Arc::clone(self);
        let reader = LegacySseReader { server, id: id.clone(), replaced, connection, inbox, permits };
        let events = stream::unfold(reader, |mut reader| async move {
            let message = reader.next().await?;
            Some((SseEvent::Message { id: None, message }, reader))
        });
        Ok(LegacySseConnection { id, events: EventStream::new(events, StreamLifetime::UntilResponse) })
    }

    /// The answer to a message above the transport's limit, of which only the outline is known. `why` is the error's
    /// message.
    #[must_use]
    pub fn refuse_legacy_message(
        &self,
        caller: &Caller,
        id: &str,
        outline: MessageOutline,
        why: &str,
    ) -> Vec<u8> {
        let session = self.legacy_client(caller, id).and_then(|client| client.connection.session());
        refuse_body(outline, why, session.as_deref())
    }

    fn legacy_client(&self, caller: &Caller, id: &str) -> Option<Arc<LegacySseClient>> {
        let client = self.legacy_clients.lock().by_id.get(id).cloned()?;
        if client.principal != caller.principal() {
            self.request_refused(caller, RefusedRequest::ForeignSession);
            return None;
        }
        Some(client)
    }

    /// Handles a message that a client posted. The answer is sent on its stream. `memory` is that of the body, and
    /// `in_progress` is dropped when the answer has been sent.
    pub async fn post_legacy_message(
        self: &Arc<Self>,
        caller: &Caller,
        id: &str,
        body: &[u8],
        mut memory: RequestBodyMemory,
        in_progress: impl Send + 'static,
    ) -> HttpReply {
        let Some(client) = self.legacy_client(caller, id) else {
            return HttpReply::stray(&session_not_found());
        };
        if let Some(session) = client.connection.session() {
            session.listener().set_viewer(&caller.principal());
        }
        let _turn = self.large_messages.wait(&client.caller, body.len()).await;
        memory.release(); // requests reserve theirs when they are read, which is now
        let text = MessageText::new(body);
        let incoming = match jsonrpc::parse(&text, PARSE_LIMITS) {
            Err(error) => {
                let unknown = unknown_id(client.connection.revision());
                return HttpReply::malformed(error, client.connection.session().as_deref(), unknown);
            }
            Ok(incoming) => incoming,
        };
        let source = StdioSource { connection: &client.connection, caller, memory: None };
        match incoming {
            Incoming::Single(Message::Request(_)) | Incoming::Batch(_) => {}
            Incoming::Single(Message::Notification(_) | Message::Response(_)) => {
                let _ = self.stdio_incoming(source, Ok(incoming)); // has no reply
                return HttpReply::accepted();
            }
        }
        let busy =
            |why: String| HttpReply::stray(&ProtocolError { status: 503, ..ProtocolError::internal(why) });
        if self.unread_responses.is_exceeded(&client.caller) {
            return busy(BusyReason::UnreadResponses.to_string());
        }
        let Ok(permit) = Arc::clone(&client.permits).try_acquire_owned() else {
            return busy("too many requests are pending; read their responses first".to_owned());
        };
        let reply = self.stdio_incoming(source, Ok(incoming));
        if client.out.is_closed() {
            client.connection.cancel_all(); // the client has just disconnected, and nothing else ends this request
        }
        let out = LegacySseSender {
            out: client.out.clone(),
            answers: Arc::clone(&self.unread_responses),
            caller: client.caller.clone(),
        };
        let delivered = deliver(reply, out, permit).map(|()| drop(in_progress));
        tokio::spawn(MovableFuture::inherit(&client.caller, delivered));
        HttpReply::accepted()
    }
}

/// Sends a reply. If the client has disconnected, the request still runs to its end.
async fn deliver(reply: LineReply, out: LegacySseSender, permit: OwnedSemaphorePermit) {
    match reply {
        LineReply::None => {}
        LineReply::Ready(message) => out.send(message, Some(permit)).await,
        LineReply::Pending(pending) => {
            if let Some(message) = pending.await {
                out.send(message, Some(permit)).await;
            }
        }
        LineReply::Stream(mut messages) => {
            let mut permit = Some(permit);
            while let Some(message) = messages.next().await {
                let permit = match message {
                    OutgoingMessage::Notification(_) | OutgoingMessage::Request(_) => None,
                    OutgoingMessage::Response { .. } => permit.take(),
                };
                out.send(message.into_message(), permit).await;
            }
        }
    }
}

impl LegacySseSender {
    async fn send(&self, message: CountedMessage, permit: Option<OwnedSemaphorePermit>) {
        let text = message.counted(&self.answers, &self.caller);
        // Fails only if the client has disconnected.
        let _ = self.out.send(LegacySseMessage { text, _permit: permit }).await;
    }
}

/// The stream of a client.
struct LegacySseReader {
    server: Arc<Server>,
    id: String,
    replaced: CancellationToken,
    connection: Arc<StdioConnection>,
    inbox: mpsc::Receiver<LegacySseMessage>,
    permits: Arc<Semaphore>,
}

impl LegacySseReader {
    /// The next message. `None` once the client's place is needed, or the gateway stops and everything was answered.
    /// Cancel-safe.
    async fn next(&mut self) -> Option<CountedMessage> {
        let stop = self.server.stop.clone();
        loop {
            let stopping = stop.is_cancelled();
            tokio::select! {
                biased;
                () = self.replaced.cancelled() => return None,
                message = self.inbox.recv() => return message.map(|message| message.text),
                () = stop.cancelled(), if !stopping => self.connection.close_streams(),
                notification = self.connection.next_notification(), if !stopping => return Some(notification.into()),
                _ = self.permits.acquire_many(MAX_PENDING_REQUESTS), if stopping => {
                    return self.inbox.try_recv().ok().map(|message| message.text);
                }
            }
        }
    }
}

impl Drop for LegacySseReader {
    fn drop(&mut self) {
        self.inbox.close(); // first, because a message could be posted at this moment
        self.server.legacy_clients.lock().by_id.remove(&self.id);
        self.connection.cancel_all();
    }
}
