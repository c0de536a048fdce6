//! Sessions of the handshake revisions, and the requests that run in them.
//!
//! A session belongs to the principal who opened it: to anybody else it doesn't exist. Idle ones end by themselves,
//! and their number is capped, because most clients never say goodbye.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::call::{CallSink, LogLevel};
use crate::jsonrpc::Id;
use crate::mcp::{Exchange, Greeting};
use crate::names::Principal;

/// What one client and the gateway agreed on, and what it has running.
#[derive(Debug)]
pub struct Session {
    id: String,
    principal: Principal,
    greeting: Greeting,
    level: Mutex<Option<LogLevel>>,
    /// The requests that run.
    pub in_flight: Arc<InFlight>,
}

impl Session {
    /// A session that no store knows: the one of a stdio process.
    #[must_use]
    pub fn unlisted(principal: Principal, greeting: Greeting, in_flight: Arc<InFlight>) -> Self {
        Self::new(String::new(), principal, greeting, in_flight)
    }

    fn new(id: String, principal: Principal, greeting: Greeting, in_flight: Arc<InFlight>) -> Self {
        Self { id, principal, greeting, level: Mutex::default(), in_flight }
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

    /// What is known of a request in this session.
    #[must_use]
    pub fn exchange(&self, cancel: CancellationToken, sink: Arc<dyn CallSink>) -> Exchange {
        let Greeting { revision, client, capabilities } = &self.greeting;
        Exchange {
            revision: *revision,
            principal: self.principal.clone(),
            client: Some(Arc::clone(client)),
            capabilities: Arc::clone(capabilities),
            cancel,
            sink,
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

/// All open sessions.
#[derive(Debug)]
pub struct Sessions {
    open: Mutex<HashMap<String, Arc<Session>>>,
    most: usize,
    idle: Duration,
}

impl Sessions {
    /// At most `most` sessions, each ended after `idle` without a request.
    #[must_use]
    pub fn new(most: usize, idle: Duration) -> Self {
        Self { open: Mutex::default(), most, idle }
    }

    /// Opens a session. Where there are too many, the one that was silent longest makes room, the caller's own first.
    ///
    /// # Errors
    /// All open sessions are busy, or the system has no random bytes.
    pub fn open(&self, principal: Principal, greeting: Greeting) -> Result<Arc<Session>, OpenError> {
        let mut bytes = [0_u8; 16];
        getrandom::fill(&mut bytes).map_err(|_| OpenError::NoRandomness)?;
        let id: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        let mut open = self.lock();
        self.drop_idle(&mut open);
        if open.len() >= self.most {
            let silent =
                open.values().filter_map(|session| Some((session, session.in_flight.silent_since()?)));
            let oldest = silent
                .min_by_key(|(session, since)| (session.principal != principal, *since))
                .map(|(session, _)| session.id.clone())
                .ok_or(OpenError::Full)?;
            open.remove(&oldest);
        }
        let session = Arc::new(Session::new(id.clone(), principal, greeting, Arc::default()));
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
            session.in_flight.cancel_all();
        }
        true
    }

    /// How many are open.
    #[must_use]
    pub fn count(&self) -> usize {
        let mut open = self.lock();
        self.drop_idle(&mut open);
        open.len()
    }

    fn drop_idle(&self, open: &mut HashMap<String, Arc<Session>>) {
        open.retain(|_, session| !self.is_over(session));
    }

    fn is_over(&self, session: &Session) -> bool {
        session.in_flight.silent_since().is_some_and(|since| since.elapsed() >= self.idle)
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Arc<Session>>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The requests of one session or connection that run.
#[derive(Debug, Default)]
pub struct InFlight(Mutex<Requests>);

/// What runs, and what its ids stand for.
#[derive(Debug)]
struct Requests {
    /// By a number of our own, because a peer may use the id of a cancelled request anew while that one still ends.
    running: HashMap<u64, CancellationToken>,
    /// Which of them an id stands for.
    ids: HashMap<Id, u64>,
    /// How many there were.
    count: u64,
    /// When the peer was last heard of, or a request ended.
    touched: Instant,
}

impl Default for Requests {
    fn default() -> Self {
        Self { running: HashMap::new(), ids: HashMap::new(), count: 0, touched: Instant::now() }
    }
}

/// A request that runs; it counts as running until this is dropped.
#[derive(Debug)]
pub struct Running {
    all: Arc<InFlight>,
    number: u64,
    id: Id,
    cancel: CancellationToken,
}

/// A request of the same id runs already.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a request of this id runs already")]
pub struct Duplicate;

impl InFlight {
    /// Takes up a request.
    ///
    /// # Errors
    /// One of the same id runs already.
    pub fn begin(self: &Arc<Self>, id: &Id) -> Result<Running, Duplicate> {
        let cancel = CancellationToken::new();
        let mut requests = self.lock();
        if requests.ids.contains_key(id) {
            return Err(Duplicate);
        }
        requests.count += 1;
        let number = requests.count;
        requests.ids.insert(id.clone(), number);
        requests.running.insert(number, cancel.clone());
        Ok(Running { all: Arc::clone(self), number, id: id.clone(), cancel })
    }

    /// Tells a request that nobody waits for it any more, and frees its id; one that doesn't run is nothing to tell.
    pub fn cancel(&self, id: &Id) {
        let mut requests = self.lock();
        let number = requests.ids.remove(id);
        if let Some(cancel) = number.and_then(|number| requests.running.get(&number)) {
            cancel.cancel();
        }
    }

    /// Tells all of them.
    pub fn cancel_all(&self) {
        self.lock().running.values().for_each(CancellationToken::cancel);
    }

    /// Since when nothing runs and nothing was heard; none while something runs.
    fn silent_since(&self) -> Option<Instant> {
        let requests = self.lock();
        requests.running.is_empty().then_some(requests.touched)
    }

    /// The peer was heard of.
    fn touch(&self) {
        self.lock().touched = Instant::now();
    }

    fn lock(&self) -> MutexGuard<'_, Requests> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Running {
    /// Set when nobody waits for it any more.
    #[must_use]
    pub fn token(&self) -> CancellationToken {
        self.cancel.clone()
    }

    /// Was it cancelled?
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.cancel.is_cancelled()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let mut requests = self.all.lock();
        requests.running.remove(&self.number);
        requests.touched = Instant::now();
        if requests.ids.get(&self.id) == Some(&self.number) {
            requests.ids.remove(&self.id);
        }
    }
}

#[cfg(test)]
mod tests;
