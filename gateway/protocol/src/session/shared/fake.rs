//! A shared store in memory, for tests.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::{Mutex, MutexGuard, PoisonError};

use futures_util::{StreamExt as _, stream};
use tokio::sync::mpsc;
use tokio::time::Instant;

use super::*;

/// A shared store in memory.
#[derive(Debug, Default)]
pub(crate) struct FakeSharedStore(Mutex<FakeState>);

#[derive(Debug, Default)]
struct FakeState {
    sessions: HashMap<String, FakeSession>,
    inboxes: HashMap<String, Vec<Mail>>,
    leases: HashMap<String, Instant>,
    journal: Vec<ResourceUri>,
    wake_ups: HashMap<String, mpsc::UnboundedSender<WakeUp>>,
    /// The number of operations so far.
    operations: usize,
    /// The size of the messages that are being appended, and the largest so far, in bytes.
    appending: usize,
    most_appended: usize,
    fails: bool,
    loses_wake_ups: bool,
}

#[derive(Debug)]
struct FakeSession {
    stored: StoredSession,
    members: HashSet<String>,
    known: BTreeMap<ListKind, Digest>,
    subscriptions: Vec<(ResourceUri, JournalPosition)>,
    notifier: Option<(StreamName, ReplicaId)>,
    logs: HashMap<StreamName, FakeLog>,
}

#[derive(Debug)]
struct FakeLog {
    replica: ReplicaId,
    request: Option<Id>,
    events: BTreeMap<u64, Bytes>,
    end: StreamEnd,
    watcher: Option<ReplicaId>,
}

impl FakeSharedStore {
    /// Makes all operations fail, or succeed again. Wake-ups end.
    pub(crate) fn set_failing(&self, fails: bool) {
        let mut state = self.lock();
        state.fails = fails;
        state.wake_ups.clear();
    }

    /// Loses wake-ups from now on, but not the connection.
    pub(crate) fn lose_wake_ups(&self) {
        self.lock().loses_wake_ups = true;
    }

    /// Forgets everything.
    pub(crate) fn clear(&self) {
        let mut state = self.lock();
        state.sessions.clear();
        state.leases.clear();
        state.inboxes.clear();
        state.journal.clear();
    }

    /// Ends all leases.
    pub(crate) fn end_leases(&self) {
        self.lock().leases.clear();
    }

    /// The number of operations so far.
    pub(crate) fn operations(&self) -> usize {
        self.lock().operations
    }

    /// The largest size of messages that were appended at the same time, in bytes.
    pub(crate) fn most_appended(&self) -> usize {
        self.lock().most_appended
    }

    fn lock(&self) -> MutexGuard<'_, FakeState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn operation<'a, T: Send + 'a>(
        &'a self,
        operation: impl FnOnce(&mut FakeState) -> T + Send + 'a,
    ) -> StoreOperation<'a, T> {
        Box::pin(async move {
            tokio::task::yield_now().await;
            let outcome = {
                let mut state = self.lock();
                state.operations += 1;
                if state.fails {
                    Err(SharedStoreError::without_effect("it fails"))
                } else {
                    Ok(operation(&mut state))
                }
            };
            tokio::task::yield_now().await;
            outcome
        })
    }
}

impl FakeState {
    fn start_appending(&mut self, bytes: usize) {
        self.appending += bytes;
        self.most_appended = self.most_appended.max(self.appending);
    }

    fn wake(&self, replica: &str, wake_up: WakeUp) {
        if let Some(out) = self.wake_ups.get(replica).filter(|_| !self.loses_wake_ups) {
            let _ = out.send(wake_up);
        }
    }

    fn wake_members(&self, id: &str) {
        for member in self.sessions.get(id).into_iter().flat_map(|session| &session.members) {
            self.wake(member, WakeUp::Session(id.to_owned()));
        }
    }

    fn is_alive(&self, replica: &ReplicaId) -> bool {
        self.leases.get(replica.as_str()).is_some_and(|end| *end > Instant::now())
    }

    fn position(&self) -> JournalPosition {
        JournalPosition(self.journal.len() as u64, 0)
    }
}

impl SharedSessionStore for FakeSharedStore {
    fn create<'a>(&'a self, session: &'a NewSession) -> StoreOperation<'a, ()> {
        self.operation(|state| {
            let NewSession { id, content, replica, known, .. } = session.clone();
            let session = FakeSession {
                stored: StoredSession { content, level: None, version: 0 },
                members: [replica.as_str().to_owned()].into(),
                known: known.into_iter().collect(),
                subscriptions: Vec::new(),
                notifier: None,
                logs: HashMap::new(),
            };
            state.sessions.insert(id, session);
        })
    }

    fn load<'a>(&'a self, id: &'a str, replica: &'a ReplicaId) -> StoreOperation<'a, Option<StoredSession>> {
        self.operation(move |state| {
            let session = state.sessions.get_mut(id)?;
            session.members.insert(replica.as_str().to_owned());
            Some(session.stored.clone())
        })
    }

    fn touch<'a>(
        &'a self,
        sessions: &'a [BusySession],
        _replica: &'a ReplicaId,
    ) -> StoreOperation<'a, Vec<Option<u64>>> {
        self.operation(|state| {
            let version = |busy: &BusySession| Some(state.sessions.get(&busy.id)?.stored.version);
            sessions.iter().map(version).collect()
        })
    }

    fn update<'a>(
        &'a self,
        id: &'a str,
        update: &'a SessionUpdate,
    ) -> StoreOperation<'a, SessionUpdateOutcome> {
        self.operation(move |state| {
            let position = state.position();
            let Some(session) = state.sessions.get_mut(id) else { return SessionUpdateOutcome::Ended };
            match update {
                SessionUpdate::Level(level) => session.stored.level = Some(*level),
                SessionUpdate::Subscribe { uri, max_count, max_bytes: _ } => {
                    if session.subscriptions.len() >= *max_count {
                        return SessionUpdateOutcome::TooMany;
                    }
                    if session.subscriptions.iter().all(|(known, _)| known != uri) {
                        session.subscriptions.push((uri.clone(), position));
                    }
                }
                SessionUpdate::Unsubscribe(uri) => session.subscriptions.retain(|(known, _)| known != uri),
            }
            session.stored.version += 1;
            state.wake_members(id);
            SessionUpdateOutcome::Done
        })
    }

    fn end<'a>(&'a self, id: &'a str) -> StoreOperation<'a, ()> {
        self.operation(move |state| {
            state.wake_members(id);
            state.sessions.remove(id);
        })
    }

    fn send<'a>(&'a self, recipient: MailRecipient<'a>, mail: &'a Mail) -> StoreOperation<'a, MailOutcome> {
        self.operation(move |state| {
            if let MailRecipient::Replica(replica) = recipient
                && !state.is_alive(replica)
            {
                return MailOutcome::Undelivered;
            }
            let mail = Mail::from_text(&mail.to_text()).expect("mail in its own format");
            let recipients: Vec<String> = match recipient {
                MailRecipient::Replica(replica) => vec![replica.as_str().to_owned()],
                MailRecipient::OtherMembers(own) => {
                    let members = state.sessions.get(&mail.session).map(|session| &session.members);
                    members.into_iter().flatten().filter(|member| *member != own.as_str()).cloned().collect()
                }
            };
            for recipient in recipients {
                state.inboxes.entry(recipient.clone()).or_default().push(mail.clone());
                state.wake(&recipient, WakeUp::Mail);
            }
            MailOutcome::Sent
        })
    }

    fn take_mail<'a>(
        &'a self,
        replica: &'a ReplicaId,
        handled: usize,
    ) -> StoreOperation<'a, Vec<Option<Mail>>> {
        self.operation(move |state| {
            let inbox = state.inboxes.entry(replica.as_str().to_owned()).or_default();
            inbox.drain(..handled);
            inbox.iter().take(1).cloned().map(Some).collect()
        })
    }

    fn renew_lease<'a>(&'a self, replica: &'a ReplicaId) -> StoreOperation<'a, ()> {
        self.operation(move |state| {
            state.leases.insert(replica.as_str().to_owned(), Instant::now() + REPLICA_LEASE);
        })
    }

    fn release_lease<'a>(&'a self, replica: &'a ReplicaId) -> StoreOperation<'a, ()> {
        self.operation(move |state| {
            state.leases.remove(replica.as_str());
        })
    }

    fn is_alive<'a>(&'a self, replica: &'a ReplicaId) -> StoreOperation<'a, bool> {
        self.operation(move |state| state.is_alive(replica))
    }

    fn take_notifications<'a>(
        &'a self,
        takeover: &'a NotificationTakeover,
    ) -> StoreOperation<'a, TakeoverOutcome> {
        self.operation(move |state| {
            let NotificationTakeover { id, stream, number: _, replica, resumes, rival } = takeover;
            let rival_lives =
                state.sessions.get(id).and_then(|session| session.notifier.as_ref()).is_some_and(
                    |(other, its)| other != stream && *rival == Rival::Kept && state.is_alive(its),
                );
            if rival_lives {
                return TakeoverOutcome::Refused;
            }
            let Some(session) = state.sessions.get_mut(id) else { return TakeoverOutcome::Ended };
            session.notifier = Some((stream.clone(), replica.clone()));
            let log =
                resumes.as_ref().and_then(|(name, after)| Some((name, session.logs.get(name)?, *after)));
            let events = log.map_or_else(Vec::new, |(name, log, after)| {
                let events = log.events.range(after + 1..);
                events.map(|(number, message)| (name.clone(), *number, message.clone())).collect()
            });
            TakeoverOutcome::Taken(NotificationState {
                known: session.known.iter().map(|(kind, digest)| (*kind, *digest)).collect(),
                subscriptions: session.subscriptions.clone(),
                events,
            })
        })
    }

    fn claim<'a>(&'a self, claim: &'a NotificationClaim) -> StoreOperation<'a, ClaimOutcome> {
        self.operation(move |state| {
            let NotificationClaim { id, stream, replica, number, message, told } = claim.clone();
            let Some(session) = state.sessions.get_mut(&id) else { return ClaimOutcome::Ended };
            if session.notifier.as_ref().is_none_or(|(notifier, _)| *notifier != stream) {
                return ClaimOutcome::Lost;
            }
            match told {
                ToldChange::List(kind, digest) => {
                    session.known.insert(kind, digest);
                }
                ToldChange::Update(uri, position) => {
                    for (subscribed, told) in &mut session.subscriptions {
                        if *subscribed == uri {
                            *told = position;
                        }
                    }
                }
            }
            let log = session.logs.entry(stream).or_insert_with(|| FakeLog {
                replica,
                request: None,
                events: BTreeMap::new(),
                end: StreamEnd::Open,
                watcher: None,
            });
            log.events.entry(number).or_insert(message);
            ClaimOutcome::Claimed
        })
    }

    fn release_notifications<'a>(&'a self, id: &'a str, stream: &'a StreamName) -> StoreOperation<'a, ()> {
        self.operation(move |state| {
            if let Some(session) = state.sessions.get_mut(id) {
                session.notifier.take_if(|(notifier, _)| notifier == stream);
            }
        })
    }

    fn append<'a>(&'a self, events: &'a NewEvents) -> StoreOperation<'a, ()> {
        let bytes: usize = events.events.iter().map(|(_, message)| message.len()).sum();
        let append = self.operation(move |state| {
            let NewEvents { id, stream, replica, request, events, end } = events.clone();
            let Some(session) = state.sessions.get_mut(&id) else { return };
            let log = session.logs.entry(stream.clone()).or_insert_with(|| FakeLog {
                replica: replica.clone(),
                request: Some(request),
                events: BTreeMap::new(),
                end: StreamEnd::Open,
                watcher: None,
            });
            if log.end == StreamEnd::Ended {
                return;
            }
            let is_owner = log.replica == replica;
            let is_last_new = events.last().is_some_and(|(number, _)| !log.events.contains_key(number));
            for (number, message) in events {
                log.events.entry(number).or_insert(message);
            }
            if is_last_new || is_owner {
                log.end = end;
            }
            if let Some(watcher) = log.watcher.clone() {
                state.wake(watcher.as_str(), WakeUp::Stream(id, stream));
            }
        });
        Box::pin(async move {
            self.lock().start_appending(bytes);
            let appended = append.await;
            self.lock().appending -= bytes;
            appended
        })
    }

    fn read<'a>(
        &'a self,
        id: &'a str,
        stream: &'a StreamName,
        after: u64,
        watcher: &'a ReplicaId,
    ) -> StoreOperation<'a, Option<StreamLog>> {
        self.operation(move |state| {
            let log = state.sessions.get_mut(id)?.logs.get_mut(stream)?;
            log.watcher = Some(watcher.clone());
            // One at a time, as if all were large.
            let mut events = log.events.range(after + 1..);
            let event = events.next();
            Some(StreamLog {
                replica: log.replica.clone(),
                request: log.request.clone(),
                events: event.into_iter().map(|(number, message)| (*number, message.clone())).collect(),
                has_more: events.next().is_some(),
                end: log.end,
            })
        })
    }

    fn report_updates<'a>(&'a self, uris: &'a [ResourceUri]) -> StoreOperation<'a, ()> {
        self.operation(move |state| {
            state.journal.extend_from_slice(uris);
            state.wake_ups.keys().for_each(|replica| state.wake(replica, WakeUp::Journal));
        })
    }

    fn updates_after(&self, position: Option<JournalPosition>) -> StoreOperation<'_, JournalPart> {
        self.operation(move |state| {
            let entries = state.journal.iter().enumerate();
            let entries = entries.map(|(index, uri)| (JournalPosition(index as u64 + 1, 0), uri.clone()));
            let entries = entries.filter(|(at, _)| position.is_some_and(|position| *at > position));
            JournalPart { entries: entries.collect(), position: state.position() }
        })
    }

    fn wake_ups<'a>(&'a self, replica: &'a ReplicaId) -> StoreOperation<'a, WakeUps> {
        self.operation(move |state| {
            let (out, wake_ups) = mpsc::unbounded_channel();
            state.wake_ups.insert(replica.as_str().to_owned(), out);
            let next = |mut wake_ups: mpsc::UnboundedReceiver<WakeUp>| async move {
                let wake_up = wake_ups.recv().await?;
                Some((wake_up, wake_ups))
            };
            stream::unfold(wake_ups, next).boxed() as WakeUps
        })
    }
}
