//! Event streams of shared sessions: notifications, and streams that another replica writes.
//!
//! Each stream is served by a task, so that a step isn't interrupted when the client disconnects: an event that was
//! claimed is in the store's log, where the client's next connection finds it.

use std::sync::{Arc, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use serde_json::json;
use tokio::sync::{Notify, mpsc, oneshot, watch};
use tokio::time::{Instant, sleep, sleep_until, timeout};

use crate::changes::{ChangeEvent, ChangeListener};
use crate::json::Json;
use crate::jsonrpc::{self, ErrorObject, INTERNAL_ERROR, Id, MissingId};
use crate::mcp::{Feature, session_notification};
use crate::session::streams::{EventId, RECONNECT_DELAY, StreamKind};
use crate::session::{ResumeError, Session, SseEvent};
use crate::unread_responses::{CountedMessage, UnreadResponses};

use super::copy::SharedReader;
use super::replica::{NoSession, SharedSessions};
use super::{
    ClaimOutcome, NewEvents, NotificationClaim, NotificationState, NotificationTakeover, Rival,
    SharedStoreError, StreamEnd, StreamLog, StreamName, TakeoverOutcome, ToldChange,
};

/// The interval between attempts of an older stream to get the notifications.
const RIVAL_INTERVAL: Duration = Duration::from_secs(5);

/// The delay before an operation is repeated.
const RETRY_DELAY: Duration = Duration::from_millis(500);

/// The interval between reads of a stream that another replica writes, in case a wake-up is lost.
const POLL_INTERVAL: Duration = Duration::from_secs(1);

/// The time after which a replica without a lease is lost. After an outage of the store, none has one.
const LOST_AFTER: Duration = Duration::from_secs(6);

/// The time for which the log of a stream can be missing: another replica has just opened it.
const LOG_DELAY: Duration = Duration::from_millis(1500);

/// The events of a stream.
pub(crate) type SharedEvents = mpsc::Receiver<SseEvent>;

/// The reason why a stream can't be served.
#[derive(Debug)]
pub(crate) enum SharedStreamError {
    /// It can't be resumed.
    Resume(ResumeError),
    /// Its session has ended, or the store isn't available.
    NoSession(NoSession),
}

impl From<SharedStoreError> for SharedStreamError {
    fn from(error: SharedStoreError) -> Self {
        Self::NoSession(NoSession::Store(error))
    }
}

impl SharedSessions {
    /// Opens a notification stream, which can continue an earlier one.
    pub(crate) async fn open_notifications(
        self: &Arc<Self>,
        session: &Arc<Session>,
        resumes: Option<EventId>,
        closes_at: Option<Instant>,
    ) -> Result<SharedEvents, SharedStreamError> {
        session.set_ready();
        let stream = session.streams.store().open_elsewhere();
        let start = EventId { tag: session.streams.tag(), kind: StreamKind::Notifications, stream, event: 0 };
        let mut versions = session.shared.as_ref().map(super::copy::SharedCopy::versions);
        if let Some(versions) = &mut versions {
            versions.borrow_and_update();
        }
        let takeover = NotificationTakeover {
            id: session.id.clone(),
            stream: start.stream_name(),
            number: 0,
            replica: self.replica.clone(),
            resumes: resumes.map(|id| (id.stream_name(), id.event)),
            rival: Rival::Replaced,
        };
        let (out, events) = mpsc::channel(1);
        let (opened, outcome) = oneshot::channel();
        let (shared, session) = (Arc::clone(self), Arc::clone(session));
        // From here on the store can have made this stream the one with the notifications, even if the client disconnects.
        tokio::spawn(async move {
            let reader = SharedReader::new(&session);
            let (outcome, state, can_have_taken) = match shared.store.take_notifications(&takeover).await {
                Ok(TakeoverOutcome::Taken(state)) => (Ok(()), Some(state), true),
                Ok(TakeoverOutcome::Refused | TakeoverOutcome::Ended) => {
                    (Err(SharedStreamError::NoSession(NoSession::NotFound)), None, false)
                }
                Err(error) => {
                    let is_uncertain = error.is_uncertain;
                    (Err(error.into()), None, is_uncertain)
                }
            };
            let _ = opened.send(outcome);
            let stream = takeover.stream.clone();
            if let Some(state) = state {
                let task = NotificationStreamTask {
                    shared: Arc::clone(&shared),
                    session: Arc::clone(&session),
                    listener: session.listener.another(),
                    sent: (takeover.stream.clone(), 0),
                    takeover: NotificationTakeover { rival: Rival::Kept, ..takeover },
                    id: start,
                    versions,
                    out: out.clone(),
                };
                tokio::select! {
                    biased;
                    () = closed(&session, closes_at, &out) => {}
                    () = session.streams.stop().cancelled() => {}
                    () = task.serve(state) => {}
                }
            }
            drop((out, reader));
            if can_have_taken {
                shared.release_notifications(&session, &stream).await;
            }
        });
        let stopped = || SharedStoreError::without_effect("the gateway is stopping");
        outcome.await.unwrap_or_else(|_| Err(stopped().into()))?;
        Ok(events)
    }

    /// Lets another stream have the notifications of a session.
    async fn release_notifications(&self, session: &Session, stream: &StreamName) {
        while let Err(error) = self.store.release_notifications(&session.id, stream).await {
            tracing::debug!(%error, "an older stream can't have the notifications yet");
            tokio::select! {
                () = session.streams.ended().cancelled() => return,
                () = session.streams.stop().cancelled() => return, // the lease of this replica ends
                () = sleep(RIVAL_INTERVAL) => {}
            }
        }
    }

    /// Resumes a stream that another replica writes, or wrote.
    pub(crate) async fn resume(
        self: &Arc<Self>,
        session: &Arc<Session>,
        last: EventId,
        closes_at: Option<Instant>,
        unread: &Arc<UnreadResponses>,
    ) -> Result<SharedEvents, SharedStreamError> {
        let name = last.stream_name();
        let deadline = Instant::now() + LOG_DELAY;
        let log = loop {
            match self.store.read(&session.id, &name, last.event, &self.replica).await? {
                Some(log) => break log,
                None if Instant::now() >= deadline => {
                    return Err(SharedStreamError::Resume(ResumeError::Unknown));
                }
                None => sleep(LOG_DELAY / 10).await,
            }
        };
        if log.end == StreamEnd::Ended && log.events.is_empty() {
            return Err(SharedStreamError::Resume(ResumeError::Ended));
        }
        let (out, events) = mpsc::channel(1);
        let reader = ForeignStreamTask {
            shared: Arc::clone(self),
            session: Arc::clone(session),
            name,
            last,
            unread: Arc::clone(unread),
            out: out.clone(),
        };
        let session = Arc::clone(session);
        tokio::spawn(async move {
            let _reader = SharedReader::new(&session);
            tokio::select! {
                biased;
                () = closed(&session, closes_at, &out) => {}
                () = session.streams.stop().cancelled() => {} // another replica can continue
                () = reader.serve(log) => {}
            }
        });
        Ok(events)
    }
}

/// Completes when a connection must be closed.
async fn closed(session: &Session, closes_at: Option<Instant>, out: &mpsc::Sender<SseEvent>) {
    let due = async {
        match closes_at {
            Some(at) => sleep_until(at).await,
            None => std::future::pending().await,
        }
    };
    tokio::select! {
        () = session.streams.ended().cancelled() => {}
        () = due => {}
        () = out.closed() => {}
    }
}

/// Sends notifications that belong to no request.
struct NotificationStreamTask {
    shared: Arc<SharedSessions>,
    session: Arc<Session>,
    /// A listener of its own: the stored state says what the client knows, and an older stream here must take nothing.
    listener: ChangeListener,
    takeover: NotificationTakeover,
    /// The id of the stream's last event.
    id: EventId,
    /// The last event that was sent to the client: its stream and its number.
    sent: (StreamName, u64),
    versions: Option<watch::Receiver<u64>>,
    out: mpsc::Sender<SseEvent>,
}

/// The reason why a stream sends no more notifications.
enum ToldOutcome {
    /// Another stream has them.
    Lost,
    /// The session has ended, or the client is gone.
    Ended,
}

impl NotificationStreamTask {
    async fn serve(mut self, mut state: NotificationState) {
        if self.send_missed(&mut state).await.is_err() {
            return;
        }
        if self.session.greeting.revision.has(Feature::Priming) {
            let event = SseEvent::Priming { id: self.id.to_string(), retry: RECONNECT_DELAY };
            if self.out.send(event).await.is_err() {
                return;
            }
        }
        self.sent = (self.takeover.stream.clone(), self.id.event);
        loop {
            let told = self.tell(state).await;
            self.listener.subscriptions().iter().for_each(|uri| self.listener.unsubscribe(uri));
            match told {
                ToldOutcome::Ended => return,
                ToldOutcome::Lost => {}
            }
            state = loop {
                match self.take_again().await {
                    Ok(TakeoverOutcome::Taken(state)) => break state,
                    Ok(TakeoverOutcome::Ended) => return,
                    Ok(TakeoverOutcome::Refused) | Err(_) => sleep(RIVAL_INTERVAL).await,
                }
            };
        }
    }

    /// Takes the notifications again, unless another stream has them. Events that were sent there since may have reached
    /// nobody, so the client gets them here.
    async fn take_again(&self) -> Result<TakeoverOutcome, SharedStoreError> {
        let takeover = NotificationTakeover {
            number: self.id.event,
            resumes: Some(self.sent.clone()),
            ..self.takeover.clone()
        };
        self.shared.store.take_notifications(&takeover).await
    }

    /// Sends the events that the client hasn't received.
    async fn send_missed(&mut self, state: &mut NotificationState) -> Result<(), ToldOutcome> {
        for (stream, number, message) in std::mem::take(&mut state.events) {
            if stream == self.takeover.stream {
                self.id.event = number; // claimed, but the store's answer was lost
            }
            self.send(stream, number, message).await?;
        }
        Ok(())
    }

    async fn send(&mut self, stream: StreamName, number: u64, message: Bytes) -> Result<(), ToldOutcome> {
        let id = Some(format!("{}-{number}", stream.0));
        self.sent = (stream, number);
        let event = SseEvent::Message { id, message: CountedMessage::from_parts(message, None) };
        self.out.send(event).await.map_err(|_| ToldOutcome::Ended)
    }

    /// Tells the client of changes while this stream has the notifications.
    async fn tell(&mut self, mut state: NotificationState) -> ToldOutcome {
        self.listener.set_known(state.known.iter().copied());
        loop {
            if let Err(outcome) = self.send_missed(&mut state).await {
                return outcome;
            }
            let mut subscribed = self.subscribe(&state).await;
            while subscribed.is_err() {
                sleep(RETRY_DELAY).await;
                subscribed = self.subscribe(&state).await;
            }
            loop {
                tokio::select! {
                    biased;
                    () = next_version(&mut self.versions) => break,
                    change = self.listener.next() => match self.claim(change).await {
                        Ok(()) => {}
                        Err(outcome) => return outcome,
                    },
                }
            }
            state = loop {
                match self.take_again().await {
                    Ok(TakeoverOutcome::Taken(state)) => break state,
                    Ok(TakeoverOutcome::Refused) => return ToldOutcome::Lost,
                    Ok(TakeoverOutcome::Ended) => return ToldOutcome::Ended,
                    Err(_) => sleep(RETRY_DELAY).await,
                }
            };
        }
    }

    /// Makes the subscriptions here those of the session. Updates since a new one are pending.
    async fn subscribe(&self, state: &NotificationState) -> Result<(), SharedStoreError> {
        let listener = &self.listener;
        let here = listener.subscriptions();
        let is_stored = |uri: &_| state.subscriptions.iter().any(|(stored, _)| stored == uri);
        here.iter().filter(|uri| !is_stored(uri)).for_each(|uri| listener.unsubscribe(uri));
        let new: Vec<_> = state.subscriptions.iter().filter(|(uri, _)| !here.contains(uri)).collect();
        let Some(first) = new.iter().map(|(_, position)| *position).min() else { return Ok(()) };
        for (uri, _) in &new {
            if let Err(error) = listener.subscribe(self.session.caller(), uri) {
                tracing::debug!(%error, "no notifications of updates");
            }
        }
        let part = self.shared.store.updates_after(Some(first)).await;
        if part.is_err() {
            new.iter().for_each(|(uri, _)| listener.unsubscribe(uri)); // they are new again at the next attempt
        }
        for (at, uri) in part?.entries {
            if new.iter().any(|(subscribed, told)| *subscribed == uri && *told < at) {
                listener.add_update(&uri);
            }
        }
        Ok(())
    }

    async fn claim(&mut self, change: ChangeEvent) -> Result<(), ToldOutcome> {
        let message: Bytes = session_notification(&change).into();
        let told = match change {
            ChangeEvent::ListChanged(kind) => match self.listener.known(kind) {
                Some(digest) => ToldChange::List(kind, digest),
                None => return Ok(()),
            },
            ChangeEvent::Updated(uri) => ToldChange::Update(uri, self.shared.journal_position()),
        };
        let number = self.id.event + 1;
        let NotificationTakeover { id, stream, number: _, replica, resumes: _, rival: _ } =
            self.takeover.clone();
        let claim =
            NotificationClaim { id, stream: stream.clone(), replica, number, message: message.clone(), told };
        loop {
            match self.shared.store.claim(&claim).await {
                Ok(ClaimOutcome::Claimed) => break,
                Ok(ClaimOutcome::Lost) => return Err(ToldOutcome::Lost),
                Ok(ClaimOutcome::Ended) => return Err(ToldOutcome::Ended),
                Err(_) => sleep(RETRY_DELAY).await,
            }
        }
        self.id.event = number;
        self.send(stream, number, message).await
    }
}

/// Completes when the session has a new version.
async fn next_version(versions: &mut Option<watch::Receiver<u64>>) {
    let changed = match versions {
        Some(versions) => versions.changed().await.is_ok(),
        None => false,
    };
    if !changed {
        std::future::pending::<()>().await;
    }
}

/// Sends the events of a stream that another replica writes.
struct ForeignStreamTask {
    shared: Arc<SharedSessions>,
    session: Arc<Session>,
    name: StreamName,
    /// The id of the last event.
    last: EventId,
    unread: Arc<UnreadResponses>,
    out: mpsc::Sender<SseEvent>,
}

/// Receives the wake-ups of a stream until this is dropped.
struct StreamWatch {
    shared: Arc<SharedSessions>,
    key: (String, StreamName),
    wake: Arc<Notify>,
}

impl StreamWatch {
    fn new(shared: &Arc<SharedSessions>, session: &Session, name: &StreamName) -> Self {
        let key = (session.id.clone(), name.clone());
        let mut watchers = shared.watchers.lock().unwrap_or_else(PoisonError::into_inner);
        let wake = Arc::clone(watchers.entry(key.clone()).or_default());
        drop(watchers);
        Self { shared: Arc::clone(shared), key, wake }
    }
}

impl Drop for StreamWatch {
    fn drop(&mut self) {
        let mut watchers = self.shared.watchers.lock().unwrap_or_else(PoisonError::into_inner);
        // This one and the map.
        if Arc::strong_count(&self.wake) <= 2 {
            watchers.remove(&self.key);
        }
    }
}

impl ForeignStreamTask {
    async fn serve(mut self, mut log: StreamLog) {
        let watch = StreamWatch::new(&self.shared, &self.session, &self.name);
        if self.session.greeting.revision.has(Feature::Priming) {
            let event = SseEvent::Priming { id: self.last.to_string(), retry: RECONNECT_DELAY };
            if self.out.send(event).await.is_err() {
                return;
            }
        }
        let mut missing_since = None;
        loop {
            if !log.events.is_empty() {
                missing_since = None;
            }
            for (event, message) in std::mem::take(&mut log.events) {
                let message = CountedMessage::from_parts(message, None);
                // If it doesn't fit now, the client can resume again after it has read other responses.
                let Ok(message) = message.reserved(&self.unread, self.session.caller()) else { return };
                self.last.event = event;
                let event = SseEvent::Message { id: Some(self.last.to_string()), message };
                if self.out.send(event).await.is_err() {
                    return;
                }
            }
            if log.end == StreamEnd::Ended && !log.has_more {
                return;
            }
            if !log.has_more {
                match self.shared.store.is_alive(&log.replica).await {
                    Ok(true) | Err(_) => missing_since = None,
                    Ok(false) => {
                        let since = *missing_since.get_or_insert_with(Instant::now);
                        if since.elapsed() >= LOST_AFTER {
                            self.end_lost_stream(&log).await;
                        }
                    }
                }
                let _ = timeout(POLL_INTERVAL, watch.wake.notified()).await;
            }
            let (id, replica) = (&self.session.id, &self.shared.replica);
            log = loop {
                match self.shared.store.read(id, &self.name, self.last.event, replica).await {
                    Ok(Some(log)) => break log,
                    Ok(None) => return, // the client can't resume any more, and sends its request again
                    Err(_) => sleep(RETRY_DELAY).await,
                }
            };
        }
    }

    /// Ends a stream whose replica is gone with an error. If another replica does the same, the log has only one. If the
    /// stream's replica has written more meanwhile, nothing changes.
    async fn end_lost_stream(&self, log: &StreamLog) {
        let Some(request) = &log.request else { return };
        let events = NewEvents {
            id: self.session.id.clone(),
            stream: self.name.clone(),
            replica: self.shared.replica.clone(),
            request: request.clone(),
            events: vec![(self.last.event + 1, replica_lost(request).into())],
            end: StreamEnd::Ended,
        };
        if let Err(error) = self.shared.store.append(&events).await {
            tracing::debug!(%error, "stream of a lost replica not ended yet");
        }
    }
}

/// The response to a request whose replica is gone.
fn replica_lost(request: &Id) -> Vec<u8> {
    let error = ErrorObject {
        code: INTERNAL_ERROR,
        message: "the gateway that ran this request has stopped; send the request again".to_owned(),
        data: Some(Json::from_value(&json!({ "reason": "replica_lost", "retry": true }))),
    };
    let mut out = Vec::with_capacity(256);
    jsonrpc::write_error(&mut out, Some(request), MissingId::Null, &error);
    out
}
