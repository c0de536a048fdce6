//! The open sessions, by id, by owner, and by the time of their last activity.
//!
//! The store's lock is held for a bounded number of steps, however many sessions are open. A session's position in
//! the order of activity isn't updated with every request. It is too early at most, so the first session of the order
//! whose position is right has been idle for longest. A position that is found to be too early is corrected.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use crate::caller::Caller;

use super::{Session, SessionActivity};

/// The maximum number of sessions that are examined while one is opened.
const MAX_EXAMINED_SESSIONS: usize = 64;

/// The open sessions.
#[derive(Debug, Default)]
pub(super) struct SessionTable {
    by_id: HashMap<String, OpenSession>,
    by_activity: ActivityOrder,
    by_caller: HashMap<Caller, ActivityOrder>,
    /// The number of sessions of each caller.
    by_size: BTreeSet<(usize, Caller)>,
    /// The number of positions that were ever assigned.
    positions: u64,
}

/// Sessions in the order of their last known activity.
type ActivityOrder = BTreeMap<ActivityPosition, Arc<Session>>;

/// A time that isn't later than the session's last activity, and a number that makes it unique.
type ActivityPosition = (Instant, u64);

/// Sessions that were removed because they were idle.
#[derive(Debug)]
pub(super) struct ExpiredSessions {
    pub(super) sessions: Vec<Arc<Session>>,
    /// False if more can have expired.
    pub(super) are_all: bool,
}

#[derive(Debug)]
struct OpenSession {
    session: Arc<Session>,
    position: ActivityPosition,
}

impl SessionTable {
    pub(super) fn count(&self) -> usize {
        self.by_id.len()
    }

    pub(super) fn get(&self, id: &str) -> Option<Arc<Session>> {
        self.by_id.get(id).map(|open| Arc::clone(&open.session))
    }

    pub(super) fn all(&self) -> impl Iterator<Item = &Arc<Session>> {
        self.by_activity.values()
    }

    pub(super) fn insert(&mut self, session: Arc<Session>, now: Instant) {
        let position = self.position(now);
        let before = self.count_of(&session.caller);
        self.resize(&session.caller, before, before + 1);
        self.by_activity.insert(position, Arc::clone(&session));
        self.by_caller.entry(session.caller.clone()).or_default().insert(position, Arc::clone(&session));
        self.by_id.insert(session.id.clone(), OpenSession { session, position });
    }

    pub(super) fn remove(&mut self, id: &str) -> Option<Arc<Session>> {
        let OpenSession { session, position } = self.by_id.remove(id)?;
        let before = self.count_of(&session.caller);
        self.resize(&session.caller, before, before - 1);
        self.by_activity.remove(&position);
        if let Some(order) = self.by_caller.get_mut(&session.caller) {
            order.remove(&position);
            if order.is_empty() {
                self.by_caller.remove(&session.caller);
            }
        }
        Some(session)
    }

    /// Removes sessions that have been idle for `idle`. If many are, some may be left.
    pub(super) fn take_expired(&mut self, idle: Duration, now: Instant) -> ExpiredSessions {
        let mut expired = Vec::new();
        for _ in 0..MAX_EXAMINED_SESSIONS {
            let first = self.by_activity.first_key_value();
            let Some(session) = first.and_then(|((known, _), session)| {
                (now.saturating_duration_since(*known) >= idle).then(|| Arc::clone(session))
            }) else {
                return ExpiredSessions { sessions: expired, are_all: true };
            };
            match session.activity() {
                SessionActivity::Idle(since) if now.saturating_duration_since(since) >= idle => {
                    expired.extend(self.remove(&session.id));
                }
                SessionActivity::Idle(since) => self.postpone(&session, since),
                SessionActivity::Read(_) | SessionActivity::Asking(_) | SessionActivity::Running => {
                    self.postpone(&session, now);
                }
            }
        }
        ExpiredSessions { sessions: expired, are_all: false }
    }

    /// Removes a session so that `asker` can open one. It is a session of the caller with the most sessions, so no
    /// caller loses one to a caller that has more. A running request is ended only for another caller, if its owner
    /// has more than half of the `max` sessions. `None` if there is no such session.
    pub(super) fn make_room(&mut self, asker: &Caller, max: usize, now: Instant) -> Option<Arc<Session>> {
        let (most, largest) = self.by_size.last().cloned()?;
        let (activity, session) = if self.count_of(asker) >= most {
            self.idlest(Some(asker), now)?
        } else {
            // Several callers can have the most sessions.
            let idlest = self.idlest(None, now)?;
            if self.count_of(&idlest.1.caller) >= most { idlest } else { self.idlest(Some(&largest), now)? }
        };
        let can_end = match activity {
            SessionActivity::Idle(_) | SessionActivity::Read(_) | SessionActivity::Asking(_) => true,
            SessionActivity::Running => session.caller != *asker && most > max / 2,
        };
        if can_end { self.remove(&session.id) } else { None }
    }

    /// The session that is easiest to do without: of one caller, or of all.
    fn idlest(&mut self, caller: Option<&Caller>, now: Instant) -> Option<(SessionActivity, Arc<Session>)> {
        let count = caller.map_or(self.count(), |caller| self.count_of(caller));
        let mut best: Option<(SessionActivity, Arc<Session>)> = None;
        for _ in 0..count.min(MAX_EXAMINED_SESSIONS) {
            let order = match caller {
                Some(caller) => self.by_caller.get(caller)?,
                None => &self.by_activity,
            };
            let ((known, _), session) = order.first_key_value()?;
            let session = Arc::clone(session);
            let activity = session.activity();
            let since = match activity {
                SessionActivity::Idle(since) if since <= *known => return Some((activity, session)),
                SessionActivity::Idle(since) => since,
                SessionActivity::Read(_) | SessionActivity::Asking(_) | SessionActivity::Running => now,
            };
            self.postpone(&session, since);
            if best.as_ref().is_none_or(|(best, _)| activity < *best) {
                best = Some((activity, session));
            }
        }
        best
    }

    /// Corrects a session's position.
    fn postpone(&mut self, session: &Arc<Session>, activity: Instant) {
        let new = self.position(activity);
        let Some(open) = self.by_id.get_mut(&session.id) else { return };
        let old = std::mem::replace(&mut open.position, new);
        for order in
            [Some(&mut self.by_activity), self.by_caller.get_mut(&session.caller)].into_iter().flatten()
        {
            order.remove(&old);
            order.insert(new, Arc::clone(session));
        }
    }

    fn position(&mut self, activity: Instant) -> ActivityPosition {
        self.positions += 1;
        (activity, self.positions)
    }

    fn count_of(&self, caller: &Caller) -> usize {
        self.by_caller.get(caller).map_or(0, BTreeMap::len)
    }

    fn resize(&mut self, caller: &Caller, before: usize, after: usize) {
        self.by_size.remove(&(before, caller.clone()));
        if after > 0 {
            self.by_size.insert((after, caller.clone()));
        }
    }
}
