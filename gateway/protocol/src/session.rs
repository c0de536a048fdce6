//! Sessions of the handshake revisions, and their running requests.
//!
//! A session belongs to the principal that opened it; for other principals it doesn't exist. Idle sessions end
//! automatically, and their number is limited, because most clients never end theirs.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::SetOnce;
use tokio_util::sync::CancellationToken;

use crate::call::{CallSink, LogLevel};
use crate::caller::Caller;
use crate::changes::ChangeListener;
use crate::jsonrpc::{MalformedMessage, Response};
use crate::mcp::{InitializeParams, Peer, RequestContext, session_notification};
use crate::names::Principal;

mod client_requests;
mod running;
mod streams;

pub use client_requests::{AnswerBudget, ClientRequester, PendingRequests};
pub use running::{DuplicateRequestId, InFlightRequests, RunningRequest};
#[cfg(any(test, feature = "fuzz"))]
#[doc(hidden)]
pub use streams::fuzz_event_id;
pub use streams::{EventReader, EventWriter, ResumeError, SseEvent};

use streams::{SessionStreams, StreamMemory};

/// The agreement between a client and the gateway, and the client's running requests.
#[derive(Debug)]
pub struct Session {
    id: String,
    caller: Caller,
    principal: Principal,
    greeting: InitializeParams,
    level: Mutex<Option<LogLevel>>,
    listener: ChangeListener,
    /// Set once the client accepts notifications.
    ready: SetOnce<()>,
    /// The running requests.
    pub in_flight: Arc<InFlightRequests>,
    streams: SessionStreams,
    /// The open questions to the client. `None` if the client doesn't answer questions.
    pending_requests: Option<Arc<PendingRequests>>,
}

impl Session {
    /// The session of a stdio process, which isn't in a store. `closing` is set when the client sends nothing more.
    #[must_use]
    pub fn for_stdio(
        caller: Caller,
        greeting: InitializeParams,
        listener: ChangeListener,
        in_flight: Arc<InFlightRequests>,
        closing: CancellationToken,
    ) -> Self {
        let streams = SessionStreams::new(0, Arc::default(), CancellationToken::new());
        Self::new(String::new(), caller, greeting, listener, in_flight, streams, closing)
    }

    fn new(
        id: String,
        caller: Caller,
        greeting: InitializeParams,
        listener: ChangeListener,
        in_flight: Arc<InFlightRequests>,
        streams: SessionStreams,
        closing: CancellationToken,
    ) -> Self {
        let answers_questions =
            ["elicitation", "sampling", "roots"].iter().any(|it| greeting.capabilities.has(it));
        Self {
            id,
            principal: caller.principal(),
            caller,
            greeting,
            level: Mutex::default(),
            listener,
            ready: SetOnce::new(),
            in_flight,
            streams,
            pending_requests: answers_questions.then(|| Arc::new(PendingRequests::new(closing))),
        }
    }

    /// Marks that the client accepts notifications: it sent `notifications/initialized`, or a request of its own.
    pub fn set_ready(&self) {
        let _ = self.ready.set(()); // repeated calls change nothing
    }

    /// The changes that the client knows, and its resource subscriptions.
    #[must_use]
    pub fn listener(&self) -> &ChangeListener {
        &self.listener
    }

    /// The next notification about a change, once the client accepts them. From then on it counts as sent. Changes that
    /// aren't fetched are merged, not queued. Cancel-safe.
    pub async fn next_notification(&self) -> Vec<u8> {
        self.ready.wait().await;
        session_notification(&self.listener.next().await)
    }

    /// The owner.
    #[must_use]
    pub fn principal(&self) -> &Principal {
        &self.principal
    }

    /// Cancels the running requests and ends the streams.
    fn end(&self) {
        self.in_flight.cancel_all();
        self.streams.end();
    }

    /// The minimum level of log messages. `None` until the client has set it.
    #[must_use]
    pub fn log_level(&self) -> Option<LogLevel> {
        *self.level.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sets the minimum level of log messages.
    pub fn set_log_level(&self, level: LogLevel) {
        *self.level.lock().unwrap_or_else(PoisonError::into_inner) = Some(level);
    }

    /// The unguessable id: 32 hexadecimal digits, or empty for stdio.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.id
    }

    /// The client's `initialize` parameters.
    #[must_use]
    pub fn initialize_params(&self) -> &InitializeParams {
        &self.greeting
    }

    /// The open questions. `None` if the client doesn't answer questions.
    #[must_use]
    pub fn pending_requests(&self) -> Option<&Arc<PendingRequests>> {
        self.pending_requests.as_ref()
    }

    /// Handles a response from the client. It is ignored if this session didn't send the request.
    pub fn receive_response(&self, answer: &Response<'_>) {
        if let Some(pending_requests) = &self.pending_requests {
            pending_requests.receive_response(answer);
        }
    }

    /// Handles a malformed message of the client. True if it answers a question, which then fails at once.
    pub fn receive_malformed(&self, malformed: &MalformedMessage) -> bool {
        self.pending_requests.as_ref().is_some_and(|pending| pending.receive_malformed(malformed))
    }

    /// The context of a request in this session.
    #[must_use]
    pub fn request_context(
        &self,
        cancel: CancellationToken,
        sink: Arc<dyn CallSink>,
        peer: Option<Arc<dyn Peer>>,
    ) -> RequestContext {
        let InitializeParams { revision, client, capabilities } = &self.greeting;
        RequestContext {
            revision: *revision,
            caller: self.caller.clone(),
            client: Some(Arc::clone(client)),
            capabilities: Arc::clone(capabilities),
            cancel,
            sink,
            peer,
        }
    }
}

/// An error in opening a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SessionError {
    /// The maximum number of sessions is open, and all of them are busy.
    #[error("too many sessions are open; end one or try again later")]
    TooMany,
    /// The system provided no random bytes.
    #[error("no random bytes available for a session id")]
    NoRandomness,
}

/// An unguessable id: 32 hexadecimal digits.
///
/// # Errors
/// The system provides no random bytes.
pub fn random_id() -> Result<String, SessionError> {
    let mut bytes = [0_u8; 16];
    getrandom::fill(&mut bytes).map_err(|_| SessionError::NoRandomness)?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// All open sessions.
#[derive(Debug)]
pub struct SessionStore {
    open: Mutex<HashMap<String, Arc<Session>>>,
    max: usize,
    idle: Duration,
    stop: CancellationToken,
    stream_memory: Arc<StreamMemory>,
}

impl SessionStore {
    /// At most `max` sessions. Each one ends after `idle` without a request and without a reader of its streams. Once
    /// `stop` is set, streams without an end of their own end.
    #[must_use]
    pub fn new(max: usize, idle: Duration, stop: CancellationToken) -> Self {
        Self { open: Mutex::default(), max, idle, stop, stream_memory: Arc::default() }
    }

    /// Opens a session. At the limit, the session that has been idle longest is ended: the caller's own first, and
    /// those last whose client still reads a stream.
    ///
    /// # Errors
    /// All open sessions are busy, or the system provides no random bytes.
    pub fn open(
        &self,
        caller: Caller,
        greeting: InitializeParams,
        listener: ChangeListener,
    ) -> Result<Arc<Session>, SessionError> {
        let id = random_id()?;
        let mut tag = [0_u8; 4];
        getrandom::fill(&mut tag).map_err(|_| SessionError::NoRandomness)?;
        let mut open = self.lock();
        self.drop_idle(&mut open);
        if open.len() >= self.max {
            let idle = open.values().filter_map(|session| Some((session, session.in_flight.idle_since()?)));
            let oldest = idle
                .min_by_key(|(session, since)| (session.caller != caller, session.streams.are_read(), *since))
                .map(|(session, _)| session.id.clone())
                .ok_or(SessionError::TooMany)?;
            if let Some(oldest) = open.remove(&oldest) {
                oldest.end();
            }
        }
        let streams =
            SessionStreams::new(u32::from_be_bytes(tag), Arc::clone(&self.stream_memory), self.stop.clone());
        let in_flight = Arc::default();
        let closing = self.stop.clone();
        let session = Session::new(id.clone(), caller, greeting, listener, in_flight, streams, closing);
        let session = Arc::new(session);
        open.insert(id, Arc::clone(&session));
        Ok(session)
    }

    /// Finds the caller's session with this id and marks it as used.
    #[must_use]
    pub fn find(&self, id: &str, principal: &Principal) -> Option<Arc<Session>> {
        // Expired sessions are removed when one is opened, not here: every request comes through here.
        let open = self.lock();
        let session =
            open.get(id).filter(|session| session.principal == *principal && !self.is_expired(session))?;
        session.in_flight.touch();
        Some(Arc::clone(session))
    }

    /// Ends the caller's session with this id, and its requests.
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

    /// Cancels the requests of all sessions.
    pub fn cancel_all(&self) {
        self.lock().values().for_each(|session| session.in_flight.cancel_all());
    }

    /// The number of open sessions.
    #[must_use]
    pub fn count(&self) -> usize {
        let mut open = self.lock();
        self.drop_idle(&mut open);
        open.len()
    }

    fn drop_idle(&self, open: &mut HashMap<String, Arc<Session>>) {
        open.retain(|_, session| {
            let is_kept = !self.is_expired(session);
            if is_kept {
                session.streams.evict();
            } else {
                session.end();
            }
            is_kept
        });
    }

    fn is_expired(&self, session: &Session) -> bool {
        let idle = session.in_flight.idle_since().is_some_and(|since| since.elapsed() >= self.idle);
        idle && !session.streams.are_read()
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Arc<Session>>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests;
