//! This gateway as one of the replicas: its copies of sessions, its mail, and its heartbeat.

use std::collections::{BTreeSet, HashMap};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use futures_util::StreamExt as _;
use tokio::sync::{Notify, mpsc, watch};
use tokio::time::{Instant, MissedTickBehavior, interval, sleep, timeout};
use tokio_util::task::AbortOnDropHandle;

use crate::caller::Caller;
use crate::catalog::{Catalog, ListKind};
use crate::changes::{
    ChangeListener, MAX_SUBSCRIBED_URI_BYTES, MAX_SUBSCRIPTIONS, ResourceUpdates, SharedChange,
};
use crate::jsonrpc::{ErrorObject, INVALID_REQUEST, Id};
use crate::mcp::{InitializeParams, Protocol, QuestionError};
use crate::names::{Principal, ResourceUri};
use crate::session::client_requests::QuestionIds;
use crate::session::{ForeignAnswer, Session, SessionError, SessionStore, SharedPart};

use super::copy::SharedCopy;
use super::event_writer::EventLogQueue;
use super::record::{SessionContent, caller_digest, principal_digest};
use super::{
    BusySession, JournalPosition, MAX_JOURNAL_ENTRIES, MAX_LOGGED_MESSAGE_BYTES, Mail, MailContent,
    MailOutcome, MailRecipient, NewSession, ReplicaId, SessionUpdate, SessionUpdateOutcome,
    SharedSessionStore, SharedStoreError, StreamName, WakeUp,
};

/// The interval between heartbeats, well below [`REPLICA_LEASE`](super::REPLICA_LEASE).
const HEARTBEAT: Duration = Duration::from_secs(3);

/// The delay before a new attempt to receive wake-ups.
const RECONNECT_DELAY: Duration = Duration::from_millis(500);

/// The time for which a stopping gateway waits until its events are stored.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(5);

/// The number of resource updates that are written to the journal at once.
const MAX_UPDATE_BATCH: usize = 64;

/// The sessions of this gateway that other replicas serve as well.
#[derive(Debug)]
pub(crate) struct SharedSessions {
    pub(super) store: Arc<dyn SharedSessionStore>,
    pub(super) replica: ReplicaId,
    copies: Arc<SessionStore>,
    protocol: Arc<Protocol>,
    updates: Arc<ResourceUpdates>,
    max_sessions: usize,
    idle: Duration,
    queue: Arc<EventLogQueue>,
    questions: QuestionIds,
    /// True while wake-ups arrive.
    is_woken: AtomicBool,
    /// The position up to which the journal was read. `None` before the first time.
    journal: Mutex<Option<JournalPosition>>,
    /// Held while the journal is read and its entries are delivered: the position mustn't go back.
    reading_journal: tokio::sync::Mutex<()>,
    /// Held while mail is read and handled.
    reading_mail: tokio::sync::Mutex<()>,
    /// The readers of streams of other replicas.
    pub(super) watchers: Mutex<HashMap<(String, StreamName), Arc<Notify>>>,
    tasks: Mutex<Vec<AbortOnDropHandle<()>>>,
}

/// The reason why a request has no session.
#[derive(Debug)]
pub(crate) enum NoSession {
    /// There is no such session.
    NotFound,
    /// It belongs to another principal.
    Foreign,
    /// There is no room for a copy of it.
    NoRoom(SessionError),
    /// The store isn't available.
    Store(SharedStoreError),
}

impl From<SharedStoreError> for NoSession {
    fn from(error: SharedStoreError) -> Self {
        Self::Store(error)
    }
}

/// The limits on shared sessions.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SharedLimits {
    /// The maximum number of sessions, on all replicas together.
    pub(crate) max_sessions: usize,
    /// The time after which an idle session ends.
    pub(crate) idle: Duration,
}

impl SharedSessions {
    /// Starts serving the sessions in `store`. `copies` are those of this replica. Must be called within a runtime.
    pub(crate) fn start(
        store: Arc<dyn SharedSessionStore>,
        replica: ReplicaId,
        copies: Arc<SessionStore>,
        protocol: Arc<Protocol>,
        updates: Arc<ResourceUpdates>,
        limits: SharedLimits,
    ) -> Arc<Self> {
        let SharedLimits { max_sessions, idle } = limits;
        let (journal, reports) = mpsc::unbounded_channel();
        updates.set_journal(journal);
        let shared = Arc::new(Self {
            store,
            questions: QuestionIds::of_replica(&replica),
            replica,
            copies,
            protocol,
            updates,
            max_sessions,
            idle,
            queue: Arc::default(),
            is_woken: AtomicBool::new(false),
            journal: Mutex::default(),
            reading_journal: tokio::sync::Mutex::default(),
            reading_mail: tokio::sync::Mutex::default(),
            watchers: Mutex::default(),
            tasks: Mutex::default(),
        });
        let (queue, store, replica) =
            (Arc::clone(&shared.queue), Arc::clone(&shared.store), shared.replica.clone());
        let tasks = [
            tokio::spawn(heartbeats(Arc::downgrade(&shared))),
            tokio::spawn(receive_wake_ups(Arc::downgrade(&shared))),
            tokio::spawn(write_journal(Arc::downgrade(&shared), reports)),
            tokio::spawn(share_lists(Arc::downgrade(&shared), shared.protocol.watch_catalog())),
            tokio::spawn(async move { queue.run(&*store, &replica).await }),
        ];
        let tasks = tasks.into_iter().map(AbortOnDropHandle::new).collect();
        *shared.tasks.lock().unwrap_or_else(PoisonError::into_inner) = tasks;
        shared
    }

    /// Opens a session.
    pub(crate) async fn open(
        &self,
        caller: &Caller,
        greeting: InitializeParams,
        listener: ChangeListener,
    ) -> Result<Arc<Session>, NoSession> {
        let known = ListKind::ALL.into_iter().filter_map(|kind| Some((kind, listener.known(kind)?)));
        let content = SessionContent { owner: principal_digest(&caller.principal()), greeting };
        let new = NewSession {
            id: crate::session::random_id().map_err(NoSession::NoRoom)?,
            content: content.to_text(),
            caller: caller_digest(caller),
            replica: self.replica.clone(),
            known: known.collect(),
            max_sessions: self.max_sessions,
            idle: self.idle,
        };
        let started_at = Instant::now();
        self.store.create(&new).await?;
        self.add_copy(new.id, caller, content.greeting, listener, started_at)
    }

    fn add_copy(
        &self,
        id: String,
        caller: &Caller,
        greeting: InitializeParams,
        listener: ChangeListener,
        checked_at: Instant,
    ) -> Result<Arc<Session>, NoSession> {
        let part = SharedPart::Copy(SharedCopy::new(&self.queue), self.questions.clone());
        let session = self.copies.insert(id, caller.without_facts(), greeting, listener, part);
        let session = session.map_err(NoSession::NoRoom)?;
        if let Some(copy) = &session.shared {
            copy.set_checked(0, checked_at);
        }
        Ok(session)
    }

    /// Finds the caller's session with this id and marks it as used. A copy that was compared with the store a short
    /// time ago is used without asking it again.
    pub(crate) async fn find(&self, id: &str, caller: &Caller) -> Result<Arc<Session>, NoSession> {
        let principal = caller.principal();
        if self.is_woken.load(Ordering::Relaxed)
            && let Some(session) = self.copies.find(id, &principal)
            && session.shared.as_ref().is_some_and(SharedCopy::is_fresh)
        {
            return Ok(session);
        }
        if !is_session_id(id) {
            return Err(NoSession::NotFound);
        }
        Box::pin(self.load(id, caller, &principal)).await
    }

    async fn load(
        &self,
        id: &str,
        caller: &Caller,
        principal: &Principal,
    ) -> Result<Arc<Session>, NoSession> {
        let started_at = Instant::now();
        let Some(stored) = self.store.load(id, &self.replica).await? else {
            self.copies.remove(id);
            return Err(NoSession::NotFound);
        };
        let Some(content) = SessionContent::from_text(&stored.content) else {
            tracing::warn!("session in an unknown format; its client must start again");
            return Err(NoSession::NotFound);
        };
        if content.owner != principal_digest(principal) {
            return Err(NoSession::Foreign);
        }
        let session = match self.copies.get(id) {
            Some(session) => session,
            None => {
                let listener = self.protocol.listener(&self.updates, principal);
                self.add_copy(id.to_owned(), caller, content.greeting, listener, started_at)?
            }
        };
        session.set_ready(); // its client has sent a message after `initialize`
        session.in_flight.touch();
        session.listener.set_viewer(principal);
        if let Some(level) = stored.level {
            session.set_log_level(level);
        }
        if let Some(copy) = &session.shared {
            copy.set_checked(stored.version, started_at);
        }
        Ok(session)
    }

    /// Ends a session on all replicas.
    pub(crate) async fn end(&self, id: &str) -> Result<(), SharedStoreError> {
        self.store.end(id).await?;
        self.copies.remove(id);
        Ok(())
    }

    /// Changes a session on all replicas.
    pub(crate) async fn update(
        &self,
        session: &Session,
        update: &SessionUpdate,
    ) -> Result<SessionUpdateOutcome, SharedStoreError> {
        let outcome = self.store.update(&session.id, update).await?;
        if let Some(copy) = &session.shared {
            copy.expire();
        }
        Ok(outcome)
    }

    /// Subscribes a session to a resource.
    pub(crate) async fn subscribe(
        &self,
        session: &Session,
        uri: ResourceUri,
    ) -> Result<SessionUpdateOutcome, SharedStoreError> {
        let update = SessionUpdate::Subscribe {
            uri,
            max_count: MAX_SUBSCRIPTIONS,
            max_bytes: MAX_SUBSCRIBED_URI_BYTES,
        };
        self.update(session, &update).await
    }

    /// Forwards an answer to the replica that asked.
    pub(crate) async fn forward(
        &self,
        session: &Session,
        answer: ForeignAnswer,
    ) -> Result<(), SharedStoreError> {
        let ForeignAnswer { replica, id, answer } = answer;
        let answer = answer.and_then(|answer| {
            if answer.get().len() <= MAX_LOGGED_MESSAGE_BYTES { Ok(answer) } else { Err(answer_too_long()) }
        });
        let mail = Mail { session: session.id.clone(), content: MailContent::Answer(id, answer) };
        match self.store.send(MailRecipient::Replica(&replica), &mail).await? {
            MailOutcome::Sent => Ok(()),
            MailOutcome::Undelivered => {
                Err(SharedStoreError::without_effect("the gateway that asked can't be reached"))
            }
        }
    }

    /// Cancels a request that doesn't run here.
    pub(crate) async fn cancel(&self, session: &Session, request: &Id) -> Result<(), SharedStoreError> {
        let mail = Mail { session: session.id.clone(), content: MailContent::Cancel(request.clone()) };
        // Members that are gone run no requests.
        self.store.send(MailRecipient::OtherMembers(&self.replica), &mail).await.map(drop)
    }

    /// Stores all events, and lets other replicas know that this one serves no more.
    pub(crate) async fn leave(&self) {
        if timeout(DRAIN_TIMEOUT, self.queue.drain()).await.is_err() {
            tracing::warn!("some events of open streams couldn't be stored");
        }
        self.tasks.lock().unwrap_or_else(PoisonError::into_inner).clear();
        if let Err(error) = self.store.release_lease(&self.replica).await {
            tracing::debug!(%error, "lease not released");
        }
    }

    /// The position up to which the journal was read.
    pub(super) fn journal_position(&self) -> JournalPosition {
        self.journal.lock().unwrap_or_else(PoisonError::into_inner).unwrap_or_default()
    }

    async fn beat(&self) -> Result<(), SharedStoreError> {
        self.store.renew_lease(&self.replica).await?;
        self.check(&self.copies.busy()).await?; // first, because only members of a session get its mail
        self.read_mail().await?;
        self.read_journal().await
    }

    /// Compares copies with the store, and ends those whose session has ended.
    async fn check(&self, sessions: &[Arc<Session>]) -> Result<(), SharedStoreError> {
        if sessions.is_empty() {
            return Ok(());
        }
        let busy = sessions.iter().map(|session| {
            let streams = session.streams.store().open_shared();
            let streams = streams.into_iter().map(|stream| session.response_stream_name(stream)).collect();
            BusySession { id: session.id.clone(), streams }
        });
        let versions = self.store.touch(&busy.collect::<Vec<_>>(), &self.replica).await?;
        for (session, version) in sessions.iter().zip(versions) {
            match (version, &session.shared) {
                (Some(version), Some(copy)) => {
                    if copy.set_version(version) {
                        copy.expire();
                    }
                }
                (None, _) => self.copies.remove(&session.id),
                (Some(_), None) => {}
            }
        }
        Ok(())
    }

    /// Handles all mail. It is removed from the store afterwards, because handling it twice is harmless.
    async fn read_mail(&self) -> Result<(), SharedStoreError> {
        let _reading = self.reading_mail.lock().await;
        let mut handled = 0;
        loop {
            let mail = self.store.take_mail(&self.replica, handled).await?;
            if mail.is_empty() {
                return Ok(());
            }
            handled = mail.len();
            mail.into_iter().flatten().for_each(|mail| self.receive(mail));
        }
    }

    fn receive(&self, mail: Mail) {
        let Mail { session, content } = mail;
        let Some(session) = self.copies.get(&session) else { return };
        match content {
            MailContent::Answer(id, answer) => {
                if let Some(pending) = session.pending_requests() {
                    pending.receive_forwarded(&id, answer);
                }
            }
            MailContent::Cancel(id) => {
                session.in_flight.cancel(&id);
            }
        }
    }

    async fn read_journal(&self) -> Result<(), SharedStoreError> {
        let _reading = self.reading_journal.lock().await;
        let position = *self.journal.lock().unwrap_or_else(PoisonError::into_inner);
        let part = self.store.updates_after(position).await?;
        // First, so that a client that is told of these updates counts as told.
        *self.journal.lock().unwrap_or_else(PoisonError::into_inner) = Some(part.position);
        for (_, entry) in &part.entries {
            match SharedChange::from_entry(entry, self.replica.as_str()) {
                Some(SharedChange::Resource(uri)) => self.updates.deliver(&uri),
                Some(SharedChange::PluginLists(plugin)) => self.updates.deliver_lists(plugin),
                // Clients that were notified here may have got the earlier list there.
                Some(SharedChange::Lists(kind, digest))
                    if self.protocol.watch_catalog().borrow().digest(kind) == digest =>
                {
                    self.updates.repeat_lists(kind);
                }
                Some(SharedChange::Lists(..)) | None => {}
            }
        }
        Ok(())
    }

    async fn handle(&self, wake_up: WakeUp) {
        let handled = match wake_up {
            WakeUp::Mail => self.read_mail().await,
            WakeUp::Journal => self.read_journal().await,
            WakeUp::Stream(session, stream) => {
                let watchers = self.watchers.lock().unwrap_or_else(PoisonError::into_inner);
                if let Some(watcher) = watchers.get(&(session, stream)) {
                    watcher.notify_one();
                }
                Ok(())
            }
            WakeUp::Everything => {
                let sessions = self.copies.all();
                sessions.iter().filter_map(|session| session.shared.as_ref()).for_each(SharedCopy::expire);
                self.beat().await
            }
            WakeUp::Session(id) => match self.copies.get(&id) {
                Some(session) => {
                    if let Some(copy) = &session.shared {
                        copy.expire();
                    }
                    self.check(&[session]).await
                }
                None => Ok(()),
            },
        };
        if let Err(error) = handled {
            tracing::debug!(%error, "wake-up not handled; the next heartbeat compares again");
        }
    }
}

async fn heartbeats(shared: Weak<SharedSessions>) {
    let mut beats = interval(HEARTBEAT);
    beats.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut is_reachable = true;
    loop {
        beats.tick().await;
        let Some(shared) = shared.upgrade() else { return };
        let beat = shared.beat().await;
        match (&beat, is_reachable) {
            (Err(error), true) => tracing::warn!(%error, "shared sessions are interrupted"),
            (Ok(()), false) => tracing::info!("shared sessions continue"),
            (Ok(()), true) | (Err(_), false) => {}
        }
        is_reachable = beat.is_ok();
    }
}

async fn receive_wake_ups(shared: Weak<SharedSessions>) {
    loop {
        let Some(this) = shared.upgrade() else { return };
        let wake_ups = this.store.wake_ups(&this.replica).await;
        if let Ok(mut wake_ups) = wake_ups {
            this.is_woken.store(true, Ordering::Relaxed);
            this.handle(WakeUp::Everything).await;
            drop(this);
            while let Some(wake_up) = wake_ups.next().await {
                let Some(this) = shared.upgrade() else { return };
                this.handle(wake_up).await;
            }
            let Some(this) = shared.upgrade() else { return };
            this.is_woken.store(false, Ordering::Relaxed);
        }
        sleep(RECONNECT_DELAY).await;
    }
}

/// Writes changes to the journal. While the store isn't available, they reach clients of this replica at once, and those of
/// others afterwards.
async fn write_journal(shared: Weak<SharedSessions>, mut reports: mpsc::UnboundedReceiver<SharedChange>) {
    let mut batch = Vec::new();
    let mut unwritten = BTreeSet::new();
    let mut has_failed = false;
    loop {
        if has_failed {
            sleep(RECONNECT_DELAY).await;
        }
        if unwritten.is_empty() && reports.recv_many(&mut batch, MAX_UPDATE_BATCH).await == 0 {
            return;
        }
        let Some(shared) = shared.upgrade() else { return };
        // All of them, so that they don't pile up during an outage.
        let waiting = reports.len();
        batch.extend(std::iter::from_fn(|| reports.try_recv().ok()).take(waiting));
        let replica = shared.replica.as_str();
        let new: Vec<ResourceUri> = batch.drain(..).filter_map(|change| change.to_entry(replica)).collect();
        for entry in &new {
            if unwritten.len() < MAX_JOURNAL_ENTRIES || unwritten.contains(entry) {
                unwritten.insert(entry.clone());
            } else {
                shared.updates.deliver(entry); // at least to clients of this replica
            }
        }
        let next: Vec<ResourceUri> = unwritten.iter().take(MAX_UPDATE_BATCH).cloned().collect();
        let written = shared.store.report_updates(&next).await;
        has_failed = written.is_err();
        match written {
            Ok(()) => next.iter().for_each(|entry| {
                unwritten.remove(entry);
            }),
            Err(error) => {
                tracing::debug!(%error, "changes reach clients of other replicas later");
                new.iter().for_each(|uri| shared.updates.deliver(uri));
            }
        }
    }
}

/// Tells other replicas whenever this one serves other lists.
async fn share_lists(shared: Weak<SharedSessions>, mut catalog: watch::Receiver<Arc<Catalog>>) {
    let mut known = Arc::clone(&catalog.borrow_and_update());
    while catalog.changed().await.is_ok() {
        let now = Arc::clone(&catalog.borrow_and_update());
        let Some(shared) = shared.upgrade() else { return };
        for kind in ListKind::ALL.into_iter().filter(|kind| known.digest(*kind) != now.digest(*kind)) {
            shared.updates.share(SharedChange::Lists(kind, now.digest(kind)));
        }
        known = now;
    }
}

/// An answer that is longer than any plugin gets.
fn answer_too_long() -> QuestionError {
    let message = format!("it is longer than {} MiB", MAX_LOGGED_MESSAGE_BYTES >> 20);
    QuestionError::Unreadable(ErrorObject { code: INVALID_REQUEST, message, data: None })
}

/// Reports whether a text has the form of a session id. Only such texts become part of keys in the store.
fn is_session_id(text: &str) -> bool {
    let is_digit = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
    text.len() == 32 && text.bytes().all(is_digit)
}
