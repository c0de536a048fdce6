//! Copies the events of streams into the store, so that other replicas can send them.
//!
//! The log in the session is the queue: only the names of streams with new events wait here. All events since the last
//! operation are written at once. If the store fails, they stay where they are and are written later.

use std::collections::{HashSet, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_util::future::join_all;
use tokio::sync::Notify;
use tokio::time::sleep;

use crate::session::Session;
use crate::session::streams::UnloggedEvents;

use super::{NewEvents, ReplicaId, SharedSessionStore, StreamEnd, StreamName};

/// The number of streams that are written at the same time.
const MAX_CONCURRENT_WRITES: usize = 64;

/// The delay after an error.
const RETRY_DELAY: Duration = Duration::from_millis(500);

/// The streams with events that aren't in the store.
#[derive(Debug, Default)]
pub(in crate::session) struct EventLogQueue {
    waiting: Mutex<WaitingStreams>,
    arrival: Notify,
    /// Notified whenever all streams are written.
    drained: Notify,
}

#[derive(Debug, Default)]
struct WaitingStreams {
    streams: VecDeque<(Arc<Session>, u64)>,
    /// The same streams, by the address of their session.
    keys: HashSet<(usize, u64)>,
    /// The number of streams that are being written.
    in_progress: usize,
}

impl EventLogQueue {
    /// Adds a stream of a session.
    pub(in crate::session) fn add(&self, session: &Arc<Session>, stream: u64) {
        self.lock().add(session, stream);
        self.arrival.notify_one();
    }

    /// Waits until all events are in the store.
    pub(super) async fn drain(&self) {
        loop {
            let drained = self.drained.notified();
            if self.is_drained() {
                return;
            }
            drained.await;
        }
    }

    fn is_drained(&self) -> bool {
        let waiting = self.lock();
        waiting.streams.is_empty() && waiting.in_progress == 0
    }

    /// Writes events for as long as it runs.
    pub(super) async fn run(&self, store: &dyn SharedSessionStore, replica: &ReplicaId) {
        loop {
            let batch = self.take_batch();
            if batch.is_empty() {
                self.drained.notify_waiters();
                self.arrival.notified().await;
                continue;
            }
            let writes = batch.iter().map(|(session, stream)| write(store, replica, session, *stream));
            let outcomes = join_all(writes).await;
            let failed = batch.into_iter().zip(outcomes);
            let failed = failed.filter(|(_, outcome)| *outcome == WriteOutcome::Failed);
            let failed: Vec<_> = failed.map(|(stream, _)| stream).collect();
            let has_failed = !failed.is_empty();
            self.end_batch(&failed);
            if has_failed {
                sleep(RETRY_DELAY).await;
            }
        }
    }

    fn take_batch(&self) -> Vec<(Arc<Session>, u64)> {
        let mut waiting = self.lock();
        let count = waiting.streams.len().min(MAX_CONCURRENT_WRITES);
        waiting.in_progress = count;
        let batch: Vec<_> = waiting.streams.drain(..count).collect();
        for (session, stream) in &batch {
            waiting.keys.remove(&stream_key(session, *stream));
        }
        batch
    }

    /// Ends a batch. Failed streams wait again.
    fn end_batch(&self, failed: &[(Arc<Session>, u64)]) {
        let mut waiting = self.lock();
        waiting.in_progress = 0;
        failed.iter().for_each(|(session, stream)| waiting.add(session, *stream));
    }

    fn lock(&self) -> MutexGuard<'_, WaitingStreams> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl WaitingStreams {
    fn add(&mut self, session: &Arc<Session>, stream: u64) {
        if self.keys.insert(stream_key(session, stream)) {
            self.streams.push_back((Arc::clone(session), stream));
        }
    }
}

/// Identifies a stream while its session is kept.
fn stream_key(session: &Arc<Session>, stream: u64) -> (usize, u64) {
    (Arc::as_ptr(session).addr(), stream)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum WriteOutcome {
    Written,
    Failed,
}

async fn write(
    store: &dyn SharedSessionStore,
    replica: &ReplicaId,
    session: &Arc<Session>,
    stream: u64,
) -> WriteOutcome {
    loop {
        let Some(unlogged) = session.streams.store().unlogged(stream) else { return WriteOutcome::Written };
        let UnloggedEvents { request, events, last, is_ended } = unlogged;
        let events = NewEvents {
            id: session.id.clone(),
            stream: session.response_stream_name(stream),
            replica: replica.clone(),
            request,
            events,
            end: if is_ended { StreamEnd::Ended } else { StreamEnd::Open },
        };
        if let Err(error) = store.append(&events).await {
            tracing::debug!(%error, "events not stored yet");
            return WriteOutcome::Failed;
        }
        session.streams.store().set_logged(stream, last, is_ended);
    }
}

impl Session {
    /// The name of a stream that answers a request.
    pub(super) fn response_stream_name(&self, stream: u64) -> StreamName {
        self.streams.response_name(stream)
    }
}
