//! All open sessions over HTTP: their number, their owners and their end.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::caller::Caller;
use crate::changes::ChangeListener;
use crate::mcp::InitializeParams;
use crate::names::Principal;

use super::session_table::SessionTable;
use super::streams::{SessionStreams, StreamMemory};
use super::{Session, SessionActivity, SessionError, SharedPart, random_id};

/// All open sessions.
#[derive(Debug)]
pub struct SessionStore {
    open: Mutex<SessionTable>,
    max: usize,
    idle: Duration,
    stop: CancellationToken,
    pub(super) stream_memory: Arc<StreamMemory>,
}

impl SessionStore {
    /// At most `max` sessions, which keep messages of `stream_bytes` in all. Each one ends after `idle` without a request
    /// and without a reader of its streams. Once `stop` is set, streams without an end of their own end.
    #[must_use]
    pub fn new(max: usize, idle: Duration, stream_bytes: u64, stop: CancellationToken) -> Self {
        Self { open: Mutex::default(), max, idle, stop, stream_memory: StreamMemory::new(stream_bytes) }
    }

    /// Opens a session. At the limit, a session of the caller with the most sessions is ended: one that has been idle
    /// for long, then one whose client reads a stream, then one that only waits for answers of its client.
    ///
    /// # Errors
    /// The sessions that could be ended are busy, or the system provides no random bytes.
    pub fn open(
        &self,
        caller: Caller,
        greeting: InitializeParams,
        listener: ChangeListener,
    ) -> Result<Arc<Session>, SessionError> {
        self.insert(random_id()?, caller, greeting, listener, SharedPart::None)
    }

    /// Opens a session with this id, which isn't open here. See [`Self::open`].
    pub(super) fn insert(
        &self,
        id: String,
        caller: Caller,
        greeting: InitializeParams,
        listener: ChangeListener,
        shared: SharedPart,
    ) -> Result<Arc<Session>, SessionError> {
        let mut tag = [0_u8; 4];
        getrandom::fill(&mut tag).map_err(|_| SessionError::NoRandomness)?;
        let streams = SessionStreams::new(
            u32::from_be_bytes(tag),
            caller.clone(),
            Arc::clone(&self.stream_memory),
            self.stop.clone(),
        );
        let closing = match &shared {
            SharedPart::None => self.stop.clone(),
            SharedPart::Copy(..) => CancellationToken::new(), // other gateways forward answers until the call ends
        };
        let session = Session::new(id, caller, greeting, listener, Arc::default(), streams, closing, shared);
        let session = Arc::new(session);
        let now = Instant::now();
        let mut table = self.lock();
        if let Some(earlier) = table.get(&session.id) {
            return Ok(earlier); // another request has just loaded it
        }
        let expired = table.take_expired(self.idle, now).sessions;
        let mut removed = None;
        if table.count() >= self.max {
            removed = Some(table.make_room(&session.caller, self.max, now).ok_or(SessionError::TooMany)?);
        }
        table.insert(Arc::clone(&session), now);
        drop(table);
        expired.iter().for_each(|session| session.expire());
        if let Some(removed) = removed {
            removed.end();
        }
        self.stream_memory.sweep();
        Ok(session)
    }

    /// The session with this id, regardless of its owner.
    pub(super) fn get(&self, id: &str) -> Option<Arc<Session>> {
        self.lock().get(id)
    }

    /// Ends the session with this id, and its requests.
    pub(super) fn remove(&self, id: &str) {
        let ended = self.lock().remove(id);
        if let Some(session) = ended {
            session.end();
        }
    }

    /// All sessions.
    pub(super) fn all(&self) -> Vec<Arc<Session>> {
        self.lock().all().map(Arc::clone).collect()
    }

    /// The sessions that aren't idle.
    pub(super) fn busy(&self) -> Vec<Arc<Session>> {
        self.all()
            .into_iter()
            .filter(|session| !matches!(session.activity(), SessionActivity::Idle(_)))
            .collect()
    }

    /// Finds the caller's session with this id and marks it as used.
    #[must_use]
    pub fn find(&self, id: &str, principal: &Principal) -> Option<Arc<Session>> {
        // Expired sessions are removed when one is opened, not here: every request comes through here.
        let session = self.lock().get(id).filter(|session| session.principal == *principal)?;
        let (_, since) = session.in_flight.activity();
        if since.elapsed() >= self.idle && matches!(session.activity(), SessionActivity::Idle(_)) {
            return None;
        }
        session.in_flight.touch();
        session.listener.set_viewer(principal);
        Some(session)
    }

    /// Reports whether a session with this id belongs to another principal.
    #[must_use]
    pub fn is_foreign(&self, id: &str, principal: &Principal) -> bool {
        self.lock().get(id).is_some_and(|session| session.principal != *principal)
    }

    /// Ends the caller's session with this id, and its requests.
    #[must_use]
    pub fn end(&self, id: &str, principal: &Principal) -> bool {
        let mut table = self.lock();
        if table.get(id).is_none_or(|session| session.principal != *principal) {
            return false;
        }
        let ended = table.remove(id);
        drop(table);
        if let Some(session) = ended {
            session.end();
        }
        true
    }

    /// Ends all sessions of these principals, and their requests.
    pub fn end_all_of(&self, principals: &[Principal]) {
        let mut table = self.lock();
        let ended: Vec<_> =
            table.all().filter(|session| principals.contains(&session.principal)).map(Arc::clone).collect();
        ended.iter().for_each(|session| drop(table.remove(&session.id)));
        drop(table);
        ended.iter().for_each(|session| session.end());
    }

    /// Cancels the requests of all sessions.
    pub fn cancel_all(&self) {
        self.lock().all().for_each(|session| session.in_flight.cancel_all());
    }

    /// Reports the ends of all sessions: the gateway stops.
    pub fn report_ends(&self) {
        self.all().iter().for_each(|session| session.report_end());
    }

    /// The number of open sessions.
    #[must_use]
    pub fn count(&self) -> usize {
        self.stream_memory.sweep_all();
        loop {
            let mut table = self.lock();
            let expired = table.take_expired(self.idle, Instant::now());
            let count = table.count();
            drop(table);
            expired.sessions.iter().for_each(|session| session.expire());
            if expired.are_all {
                return count;
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, SessionTable> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
