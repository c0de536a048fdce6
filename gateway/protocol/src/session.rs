//! Sessions of the handshake revisions, and their running requests.
//!
//! A session belongs to the principal that opened it; for other principals it doesn't exist. Idle sessions end
//! automatically, and their number is limited, because most clients never end theirs.

use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::SetOnce;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::call::{CallSink, LogLevel};
use crate::caller::Caller;
use crate::changes::ChangeListener;
use crate::dispatch::{NetworkTransport, Observer};
use crate::jsonrpc::{MalformedMessage, Response};
use crate::mcp::{InitializeParams, Peer, RequestContext, session_notification};
use crate::names::{Digest, Principal};

mod client_requests;
mod running;
mod session_span;
mod session_store;
mod session_table;
pub mod shared;
mod streams;

pub(crate) use client_requests::ForeignAnswer;
pub use client_requests::{ClientRequester, PendingRequests, QuestionAnswer, QuestionBudget};
pub use running::{DuplicateRequestId, InFlightRequests, RunningRequest};
pub use session_store::SessionStore;
#[cfg(any(test, feature = "fuzz"))]
#[doc(hidden)]
pub use streams::fuzz_event_id;
pub(crate) use streams::{EventId, StreamKind};
pub use streams::{EventReader, EventWriter, ResumeError, SseEvent};

use client_requests::QuestionIds;
use session_span::SessionSpan;
use shared::SharedCopy;
use streams::{SessionStreams, StreamMemory};

/// The agreement between a client and the gateway, and the client's running requests.
#[derive(Debug)]
pub struct Session {
    id: String,
    /// A name for records, from which the id can't be found out. `None` over stdio.
    public_name: Option<Arc<str>>,
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
    /// Set if this is the copy of a session that other replicas serve as well.
    shared: Option<SharedCopy>,
    /// Set until its end is reported, if it is observed.
    span: Mutex<Option<SessionSpan>>,
}

/// The additional part of a shared session.
enum SharedPart {
    None,
    Copy(SharedCopy, QuestionIds),
}

/// The activity of a session with its start, ordered from the easiest to end to the hardest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum SessionActivity {
    /// It does nothing.
    Idle(Instant),
    /// Its client reads a stream, so it is connected.
    Read(Instant),
    /// All its requests wait for answers of the client.
    Asking(Instant),
    /// It runs a request.
    Running,
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
        let streams = SessionStreams::new(0, caller.clone(), StreamMemory::new(0), CancellationToken::new());
        Self::new(String::new(), caller, greeting, listener, in_flight, streams, closing, SharedPart::None)
    }

    #[expect(clippy::too_many_arguments, reason = "each is a part of the session")]
    fn new(
        id: String,
        caller: Caller,
        greeting: InitializeParams,
        listener: ChangeListener,
        in_flight: Arc<InFlightRequests>,
        streams: SessionStreams,
        closing: CancellationToken,
        shared: SharedPart,
    ) -> Self {
        let (shared, ids) = match shared {
            SharedPart::None => (None, QuestionIds::of_session()),
            SharedPart::Copy(copy, ids) => (Some(copy), ids),
        };
        let answers_questions =
            ["elicitation", "sampling", "roots"].iter().any(|it| greeting.capabilities.has(it));
        let pending_requests =
            answers_questions.then(|| Arc::new(PendingRequests::new(caller.clone(), closing, ids)));
        let public_name = (!id.is_empty()).then(|| Digest::of(id.as_bytes()).short().into());
        Self {
            id,
            public_name,
            principal: caller.principal(),
            caller,
            greeting,
            level: Mutex::default(),
            listener,
            ready: SetOnce::new(),
            in_flight,
            streams,
            pending_requests,
            shared,
            span: Mutex::default(),
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
    pub fn caller(&self) -> &Caller {
        &self.caller
    }

    fn activity(&self) -> SessionActivity {
        let (running, since) = self.in_flight.activity();
        let asking = self.pending_requests.as_ref().map_or(0, |pending| pending.asking_requests());
        if running > asking {
            SessionActivity::Running
        } else if running > 0 {
            SessionActivity::Asking(since)
        } else if self.streams.are_read() || self.shared.as_ref().is_some_and(SharedCopy::is_read) {
            SessionActivity::Read(since)
        } else {
            SessionActivity::Idle(since)
        }
    }

    /// Reports the end of this session, which was just opened, to the observer.
    pub(crate) fn observe(&self, observer: Option<&Arc<dyn Observer>>, transport: NetworkTransport) {
        let span = observer
            .map(|observer| SessionSpan::new(Arc::clone(observer), self.greeting.revision, transport));
        *self.span.lock().unwrap_or_else(PoisonError::into_inner) = span;
    }

    /// Reports the end, unless it was reported.
    fn report_end(&self) {
        drop(self.take_span());
    }

    fn take_span(&self) -> Option<SessionSpan> {
        self.span.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Ends a session that has been idle for long. It counts as ended at its last activity.
    fn expire(&self) {
        if let Some(span) = self.take_span() {
            let (_, since) = self.in_flight.activity();
            span.end_at(since);
        }
        self.end();
    }

    /// Cancels the running requests and ends the streams.
    fn end(&self) {
        self.report_end();
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

    /// Handles a response from the client. It is ignored if this session didn't send the request. An answer to another
    /// replica is returned.
    pub(crate) fn receive_response(&self, answer: &Response<'_>) -> Option<ForeignAnswer> {
        self.pending_requests.as_ref()?.receive_response(answer)
    }

    /// The malformed answer to a question of another replica.
    pub(crate) fn foreign_malformed(&self, malformed: &MalformedMessage) -> Option<ForeignAnswer> {
        self.pending_requests.as_ref()?.foreign_malformed(malformed)
    }

    /// Handles a malformed message of the client. True if it answers a question, which then fails at once.
    pub fn receive_malformed(&self, malformed: &MalformedMessage) -> bool {
        self.pending_requests.as_ref().is_some_and(|pending| pending.receive_malformed(malformed))
    }

    /// A name for the session, from which its id can't be found out.
    #[must_use]
    pub fn public_name(&self) -> Option<&Arc<str>> {
        self.public_name.as_ref()
    }

    /// The context of a request in this session. Its `caller` owns the session, but can have another token than before.
    #[must_use]
    pub fn request_context(
        &self,
        caller: &Caller,
        cancel: CancellationToken,
        sink: Arc<dyn CallSink>,
        peer: Option<Arc<dyn Peer>>,
    ) -> RequestContext {
        let InitializeParams { revision, client, capabilities } = &self.greeting;
        RequestContext {
            revision: *revision,
            caller: caller.clone(),
            session: self.public_name.clone(),
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

#[cfg(test)]
mod tests;
