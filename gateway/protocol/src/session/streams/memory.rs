//! The size of the kept events of all sessions, and the sessions that keep events without a reader.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use tokio::time::Instant;

use crate::caller::Caller;
use crate::session::Session;

use super::store::DELIVERED_STREAM_TTL;

/// The maximum number of sessions that one request sweeps.
const MAX_SWEPT_SESSIONS: usize = 64;

/// The size of the streams of all sessions.
#[derive(Debug)]
pub(in crate::session) struct StreamMemory {
    state: Mutex<MemoryState>,
    /// The size above which callers are limited: if a caller uses more than its part, each of its sessions is limited to
    /// its share.
    max: usize,
}

#[derive(Debug, Default)]
struct MemoryState {
    total: usize,
    /// The sizes of the streams of each caller. There are no zeros.
    callers: HashMap<Caller, usize>,
    /// The sessions with streams that have neither a reader nor a writer, and when they can have expired.
    unused: VecDeque<(Instant, Weak<Session>)>,
}

/// The size of the streams of one session, which is also counted in the total.
#[derive(Debug)]
pub(super) struct SessionMemory {
    bytes: usize,
    caller: Caller,
    total: Arc<StreamMemory>,
}

impl StreamMemory {
    /// No streams yet, with a limit in bytes.
    pub(in crate::session) fn new(max: u64) -> Arc<Self> {
        Arc::new(Self { state: Mutex::default(), max: usize::try_from(max).unwrap_or(usize::MAX) })
    }

    /// Removes expired streams, and if the total is too large, streams of the callers that use too much. A part of the
    /// sessions is examined each time.
    pub(in crate::session) fn sweep(&self) {
        self.sweep_sessions(MAX_SWEPT_SESSIONS);
    }

    /// Like [`Self::sweep`], for all sessions.
    pub(in crate::session) fn sweep_all(&self) {
        self.sweep_sessions(usize::MAX);
    }

    fn sweep_sessions(&self, most: usize) {
        let now = Instant::now();
        let count = self.lock().unused.len().min(most);
        for _ in 0..count {
            let mut state = self.lock();
            let is_full = state.total > self.max;
            let Some((_, session)) = state.unused.pop_front_if(|(due, _)| *due <= now || is_full) else {
                return;
            };
            drop(state);
            if let Some(session) = session.upgrade()
                && session.streams.store().sweep()
            {
                self.add_unused(&session);
            }
        }
    }

    /// Adds a session with streams that have neither a reader nor a writer.
    pub(super) fn add_unused(&self, session: &Arc<Session>) {
        let due = Instant::now() + DELIVERED_STREAM_TTL;
        self.lock().unused.push_back((due, Arc::downgrade(session)));
    }

    pub(super) fn is_full(&self) -> bool {
        self.lock().total > self.max
    }

    #[cfg(test)]
    pub(super) fn bytes(&self) -> usize {
        self.lock().total
    }

    fn lock(&self) -> MutexGuard<'_, MemoryState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl SessionMemory {
    pub(super) fn new(caller: Caller, total: Arc<StreamMemory>) -> Self {
        Self { bytes: 0, caller, total }
    }

    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Reports whether the total is too large and this session's caller uses more than its part.
    pub(super) fn is_over(&self) -> bool {
        let state = self.total.lock();
        let held = state.callers.get(&self.caller).copied().unwrap_or(0);
        state.total > self.total.max && held > self.total.max / state.callers.len().max(1)
    }

    /// Replaces a size that was counted.
    pub(super) fn replace(&mut self, before: usize, after: usize) {
        if before == after {
            return;
        }
        self.bytes = self.bytes - before + after;
        let mut state = self.total.lock();
        state.total = state.total - before + after;
        let held = state.callers.entry(self.caller.clone()).or_default();
        *held = *held - before + after;
        if *held == 0 {
            state.callers.remove(&self.caller);
        }
    }
}

impl Drop for SessionMemory {
    fn drop(&mut self) {
        self.replace(self.bytes, 0);
    }
}
