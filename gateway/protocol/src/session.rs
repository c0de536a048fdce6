//! Sessions of the handshake revisions, and the requests that run in them.
//!
//! A session belongs to the principal who opened it: to anybody else it doesn't exist. Idle ones end by themselves,
//! and their number is capped, because most clients never say goodbye.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::SetOnce;
use tokio_util::sync::CancellationToken;

use crate::call::{CallSink, LogLevel};
use crate::changes::Listener;
use crate::jsonrpc::Response;
use crate::mcp::{Exchange, Greeting, Peer, session_news};
use crate::names::Principal;

mod asking;
mod in_flight;
mod streams;

pub use asking::{Asks, Room, Voice};
pub use in_flight::{Duplicate, InFlight, Running};
#[doc(hidden)]
pub use streams::fuzz_event_id;
pub use streams::{Event, NoMore, Reader, Writer};

use streams::{Pool, Streams};

/// What one client and the gateway agreed on, and what it has running.
#[derive(Debug)]
pub struct Session {
    id: String,
    principal: Principal,
    greeting: Greeting,
    level: Mutex<Option<LogLevel>>,
    listener: Listener,
    /// Set once the client is ready for messages that it didn't ask for.
    ready: SetOnce<()>,
    /// The requests that run.
    pub in_flight: Arc<InFlight>,
    streams: Streams,
    /// The questions that wait for an answer, where the client answers any.
    asks: Option<Arc<Asks>>,
}

impl Session {
    /// A session that no store knows: the one of a stdio process. `over` is set when the client says no more.
    #[must_use]
    pub fn unlisted(
        principal: Principal,
        greeting: Greeting,
        listener: Listener,
        in_flight: Arc<InFlight>,
        over: CancellationToken,
    ) -> Self {
        let streams = Streams::new(0, Arc::default(), CancellationToken::new());
        Self::new(String::new(), principal, greeting, listener, in_flight, streams, over)
    }

    fn new(
        id: String,
        principal: Principal,
        greeting: Greeting,
        listener: Listener,
        in_flight: Arc<InFlight>,
        streams: Streams,
        over: CancellationToken,
    ) -> Self {
        let answers = ["elicitation", "sampling", "roots"].iter().any(|it| greeting.capabilities.has(it));
        Self {
            id,
            principal,
            greeting,
            level: Mutex::default(),
            listener,
            ready: SetOnce::new(),
            in_flight,
            streams,
            asks: answers.then(|| Arc::new(Asks::new(over))),
        }
    }

    /// The client is ready for messages that it didn't ask for: it said so, or asked for something itself.
    pub fn set_ready(&self) {
        let _ = self.ready.set(()); // once is enough
    }

    /// What the client was told of changes, and which resources it subscribed to.
    #[must_use]
    pub fn listener(&self) -> &Listener {
        &self.listener
    }

    /// The next message about something that changed, once the client is ready for it; from then on it counts as
    /// told. While nobody asks, nothing piles up. Cancel-safe.
    pub async fn next_news(&self) -> Vec<u8> {
        self.ready.wait().await;
        session_news(&self.listener.next().await)
    }

    /// Whom it belongs to.
    #[must_use]
    pub fn principal(&self) -> &Principal {
        &self.principal
    }

    /// Ends what runs in it, and its streams.
    fn end(&self) {
        self.in_flight.cancel_all();
        self.streams.end();
    }

    /// From which level on the client wants log messages; none until it said so.
    #[must_use]
    pub fn level(&self) -> Option<LogLevel> {
        *self.level.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The client wants log messages from `level` on.
    pub fn set_level(&self, level: LogLevel) {
        *self.level.lock().unwrap_or_else(PoisonError::into_inner) = Some(level);
    }

    /// Its unguessable name: 32 hexadecimal digits, empty for an unlisted one.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.id
    }

    /// What was agreed on.
    #[must_use]
    pub fn greeting(&self) -> &Greeting {
        &self.greeting
    }

    /// How the client is asked; none where it answers no questions.
    #[must_use]
    pub fn asks(&self) -> Option<&Arc<Asks>> {
        self.asks.as_ref()
    }

    /// The client answered something. What wasn't asked in this session changes nothing.
    pub fn answered(&self, answer: &Response<'_>) {
        if let Some(asks) = &self.asks {
            asks.answered(answer);
        }
    }

    /// What is known of a request in this session.
    #[must_use]
    pub fn exchange(
        &self,
        cancel: CancellationToken,
        sink: Arc<dyn CallSink>,
        peer: Option<Arc<dyn Peer>>,
    ) -> Exchange {
        let Greeting { revision, client, capabilities } = &self.greeting;
        Exchange {
            revision: *revision,
            principal: self.principal.clone(),
            client: Some(Arc::clone(client)),
            capabilities: Arc::clone(capabilities),
            cancel,
            sink,
            peer,
        }
    }
}

/// Why no session was opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum OpenError {
    /// As many as allowed are open, and all of them have something running.
    #[error("too many sessions are open; end one or try again later")]
    Full,
    /// The system gave no random bytes.
    #[error("the system gave no random bytes for a session id")]
    NoRandomness,
}

/// A name that nobody can guess: 32 hexadecimal digits.
///
/// # Errors
/// The system has no random bytes.
pub fn unguessable() -> Result<String, OpenError> {
    let mut bytes = [0_u8; 16];
    getrandom::fill(&mut bytes).map_err(|_| OpenError::NoRandomness)?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// All open sessions.
#[derive(Debug)]
pub struct Sessions {
    open: Mutex<HashMap<String, Arc<Session>>>,
    most: usize,
    idle: Duration,
    stop: CancellationToken,
    pool: Arc<Pool>,
}

impl Sessions {
    /// At most `most` sessions, each ended after `idle` without a request and without anybody who reads its streams.
    /// Once `stop` is set, streams that don't end by themselves end.
    #[must_use]
    pub fn new(most: usize, idle: Duration, stop: CancellationToken) -> Self {
        Self { open: Mutex::default(), most, idle, stop, pool: Arc::default() }
    }

    /// Opens a session. Where there are too many, the one that was silent longest makes room, the caller's own first,
    /// and those last whose client still listens.
    ///
    /// # Errors
    /// All open sessions are busy, or the system has no random bytes.
    pub fn open(
        &self,
        principal: Principal,
        greeting: Greeting,
        listener: Listener,
    ) -> Result<Arc<Session>, OpenError> {
        let id = unguessable()?;
        let mut tag = [0_u8; 4];
        getrandom::fill(&mut tag).map_err(|_| OpenError::NoRandomness)?;
        let mut open = self.lock();
        self.drop_idle(&mut open);
        if open.len() >= self.most {
            let silent =
                open.values().filter_map(|session| Some((session, session.in_flight.silent_since()?)));
            let oldest = silent
                .min_by_key(|(session, since)| {
                    (session.principal != principal, session.streams.are_read(), *since)
                })
                .map(|(session, _)| session.id.clone())
                .ok_or(OpenError::Full)?;
            if let Some(oldest) = open.remove(&oldest) {
                oldest.end();
            }
        }
        let streams = Streams::new(u32::from_be_bytes(tag), Arc::clone(&self.pool), self.stop.clone());
        let (in_flight, over) = (Arc::default(), self.stop.clone());
        let session = Session::new(id.clone(), principal, greeting, listener, in_flight, streams, over);
        let session = Arc::new(session);
        open.insert(id, Arc::clone(&session));
        Ok(session)
    }

    /// The session of that name, if it is the caller's; it counts as used.
    #[must_use]
    pub fn find(&self, id: &str, principal: &Principal) -> Option<Arc<Session>> {
        // Other idle sessions are left to whoever opens one: every request comes through here.
        let open = self.lock();
        let session =
            open.get(id).filter(|session| session.principal == *principal && !self.is_over(session))?;
        session.in_flight.touch();
        Some(Arc::clone(session))
    }

    /// Ends the session of that name, if it is the caller's, and what runs in it.
    #[must_use]
    pub fn end(&self, id: &str, principal: &Principal) -> bool {
        let mut open = self.lock();
        if open.get(id).is_none_or(|session| session.principal != *principal) {
            return false;
        }
        let ended = open.remove(id);
        drop(open);
        if let Some(session) = ended {
            session.end();
        }
        true
    }

    /// Tells everything that runs in any of them that nobody waits any more.
    pub fn cancel_all(&self) {
        self.lock().values().for_each(|session| session.in_flight.cancel_all());
    }

    /// How many are open.
    #[must_use]
    pub fn count(&self) -> usize {
        let mut open = self.lock();
        self.drop_idle(&mut open);
        open.len()
    }

    fn drop_idle(&self, open: &mut HashMap<String, Arc<Session>>) {
        open.retain(|_, session| {
            let stays = !self.is_over(session);
            if stays {
                session.streams.tidy();
            } else {
                session.end();
            }
            stays
        });
    }

    fn is_over(&self, session: &Session) -> bool {
        let silent = session.in_flight.silent_since().is_some_and(|since| since.elapsed() >= self.idle);
        silent && !session.streams.are_read()
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Arc<Session>>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests;
