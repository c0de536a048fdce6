//! HTTP with events as 2024-11-05 had it: one long GET brings the client every message, and what the client posts
//! elsewhere is answered there (2024-11-05, basic/transports, "HTTP with SSE").
//!
//! But for the framing it is stdio: one connection, one client, which may make one handshake. The GET is the
//! connection; when it ends, so does everything that runs for it.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures_util::StreamExt as _;
use futures_util::stream;
use tokio::sync::{Semaphore, mpsc};

use crate::jsonrpc::{self, Incoming, Message};
use crate::mcp::ProtocolError;
use crate::names::Principal;
use crate::server::stdio::{LineReply, StdioConnection};
use crate::server::talk::Said;
use crate::server::{Carrier, LIMITS, Server, unknown_id};
use crate::session::{Event, unguessable};

use super::{Events, HttpReply, Lasts, no_session};

/// How many requests of one client may wait for their answer, or for being read.
const WAITING: u32 = 64;

/// How many may be connected at once, whatever is configured: each holds a connection for as long as it likes, and of
/// those there is no endless number.
const MOST: usize = 256;

/// All clients that are connected so.
#[derive(Debug)]
pub(in crate::server) struct Visits {
    open: Mutex<HashMap<String, Arc<Visit>>>,
    most: usize,
}

/// One of them.
#[derive(Debug)]
struct Visit {
    principal: Principal,
    connection: Arc<StdioConnection>,
    out: mpsc::Sender<Vec<u8>>,
    turns: Arc<Semaphore>,
}

/// A connection of a client of 2024-11-05.
#[derive(Debug)]
pub struct Visitor {
    /// What the client must name with everything that it posts; nobody can guess it.
    pub id: String,
    /// What the client is told.
    pub events: Events,
}

impl Visits {
    /// At most `most` at once, and never more than [`MOST`].
    pub(in crate::server) fn new(most: usize) -> Self {
        Self { open: Mutex::default(), most: most.min(MOST) }
    }

    /// How many are connected.
    pub(in crate::server) fn count(&self) -> usize {
        self.lock().len()
    }

    /// Tells everything that runs for any of them that nobody waits any more.
    pub(in crate::server) fn close_all(&self) {
        self.lock().values().for_each(|visit| visit.connection.close());
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Arc<Visit>>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Server {
    /// A client of 2024-11-05 has come. Dropping its events ends all that runs for it.
    ///
    /// # Errors
    /// There are too many of them.
    pub fn visit(self: &Arc<Self>, principal: &Principal) -> Result<Visitor, HttpReply> {
        let refuse =
            |why: &str| HttpReply::stray(&ProtocolError { status: 503, ..ProtocolError::internal(why) });
        let id = unguessable().map_err(|error| refuse(&error.to_string()))?;
        let (out, inbox) = mpsc::channel(WAITING as usize);
        let (connection, turns) = (
            StdioConnection::of(principal.clone(), Carrier::Tcp),
            Arc::new(Semaphore::new(WAITING as usize)),
        );
        let visit = Visit {
            principal: principal.clone(),
            connection: Arc::clone(&connection),
            out,
            turns: Arc::clone(&turns),
        };
        {
            let mut open = self.visits.lock();
            if open.len() >= self.visits.most {
                return Err(refuse("too many clients are connected; try again later"));
            }
            open.insert(id.clone(), Arc::new(visit));
        }
        let reader = Reader { server: Arc::clone(self), id: id.clone(), connection, inbox, turns };
        let events = stream::unfold(reader, |mut reader| async move {
            let message = reader.next().await?;
            Some((Event::Message { id: None, message: message.into() }, reader))
        });
        Ok(Visitor { id, events: Events::new(events, Lasts::UntilAnswered) })
    }

    /// A client of 2024-11-05 has posted something. The answer comes on its stream.
    #[must_use]
    pub fn visited(self: &Arc<Self>, principal: &Principal, id: &str, body: &[u8]) -> HttpReply {
        let visit = self.visits.lock().get(id).filter(|visit| visit.principal == *principal).cloned();
        let Some(visit) = visit else { return HttpReply::stray(&no_session()) };
        let asks = match jsonrpc::parse(body, LIMITS) {
            Err(error) => {
                return HttpReply::malformed(&error, unknown_id(visit.connection.revision()));
            }
            Ok(Incoming::Single(Message::Request(_)) | Incoming::Batch(_)) => true,
            Ok(Incoming::Single(Message::Notification(_) | Message::Response(_))) => false,
        };
        if !asks {
            let _ = self.stdio_line(&visit.connection, body); // nothing is answered
            return HttpReply::accepted();
        }
        let Ok(turn) = Arc::clone(&visit.turns).try_acquire_owned() else {
            let error = ProtocolError::internal("too many requests wait for their answers to be read");
            return HttpReply::stray(&ProtocolError { status: 503, ..error });
        };
        let reply = self.stdio_line(&visit.connection, body);
        if visit.out.is_closed() {
            visit.connection.close(); // its client left meanwhile, and nobody else ends what has just begun
        }
        let out = visit.out.clone();
        tokio::spawn(async move {
            deliver(reply, &out).await;
            drop(turn);
        });
        HttpReply::accepted()
    }
}

/// Sends what a request comes to. When the client has gone it is brought to its end all the same.
async fn deliver(reply: LineReply, out: &mpsc::Sender<Vec<u8>>) {
    match reply {
        LineReply::None => {}
        LineReply::Ready(message) => {
            let _ = out.send(message).await;
        }
        LineReply::Pending(pending) => {
            if let Some(message) = pending.await {
                let _ = out.send(message).await;
            }
        }
        LineReply::Several(mut messages) => {
            while let Some(message) = messages.next().await.map(Said::into_message) {
                let _ = out.send(message).await;
            }
        }
    }
}

/// The client's stream.
struct Reader {
    server: Arc<Server>,
    id: String,
    connection: Arc<StdioConnection>,
    inbox: mpsc::Receiver<Vec<u8>>,
    turns: Arc<Semaphore>,
}

impl Reader {
    /// The next message; none once the gateway stops and everything was answered. Cancel-safe.
    async fn next(&mut self) -> Option<Vec<u8>> {
        let stop = self.server.stop.clone();
        loop {
            let stopping = stop.is_cancelled();
            tokio::select! {
                biased;
                message = self.inbox.recv() => return message,
                () = stop.cancelled(), if !stopping => self.connection.wind_up(),
                news = self.connection.next_news(), if !stopping => return Some(news),
                _ = self.turns.acquire_many(WAITING), if stopping => return self.inbox.try_recv().ok(),
            }
        }
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        self.inbox.close(); // first, for whoever posts this moment
        self.server.visits.lock().remove(&self.id);
        self.connection.close();
    }
}
