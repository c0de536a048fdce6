//! Copies the events of streams into the store, so that other replicas can send them.
//!
//! The log in the session is the queue: only the names of streams with new events wait here. All events since the last
//! operation are written at once, up to a limit. If the store fails, they stay where they are and are written later.

use std::collections::{HashSet, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_util::future::join_all;
use serde_json::json;
use tokio::sync::Notify;
use tokio::time::sleep;

use crate::json::Json;
use crate::jsonrpc::{self, ErrorObject, INTERNAL_ERROR, Id, MissingId};
use crate::session::Session;
use crate::session::streams::UnloggedEvents;

use super::{MAX_LOGGED_MESSAGE_BYTES, NewEvents, ReplicaId, SharedSessionStore, StreamEnd, StreamName};

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
            let mut room = MAX_LOGGED_MESSAGE_BYTES;
            let parts = batch.into_iter().filter_map(|(session, stream)| {
                let unlogged = session.streams.store().unlogged(stream, room)?;
                room -= unlogged.events.iter().map(|(_, message)| message.len()).sum::<usize>();
                Some((session, stream, unlogged))
            });
            let parts: Vec<_> = parts.collect();
            let writes = parts.iter().map(|(session, stream, unlogged)| async move {
                let outcome = write(store, replica, session, *stream, unlogged).await;
                (session, *stream, outcome)
            });
            let outcomes = join_all(writes).await;
            let has_failed = outcomes.iter().any(|(_, _, outcome)| *outcome == WriteOutcome::Failed);
            self.end_batch(&outcomes);
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

    /// Ends a batch. Streams with more events wait again: first those for which there was no room.
    fn end_batch(&self, outcomes: &[(&Arc<Session>, u64, WriteOutcome)]) {
        let mut waiting = self.lock();
        waiting.in_progress = 0;
        for (session, stream, outcome) in outcomes.iter().rev() {
            match outcome {
                WriteOutcome::NoRoom => waiting.add_first(session, *stream),
                WriteOutcome::Written | WriteOutcome::Failed => {}
            }
        }
        for (session, stream, outcome) in outcomes {
            match outcome {
                WriteOutcome::Written | WriteOutcome::Failed => waiting.add(session, *stream),
                WriteOutcome::NoRoom => {}
            }
        }
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

    fn add_first(&mut self, session: &Arc<Session>, stream: u64) {
        if self.keys.insert(stream_key(session, stream)) {
            self.streams.push_front((Arc::clone(session), stream));
        }
    }
}

/// Identifies a stream while its session is kept.
fn stream_key(session: &Arc<Session>, stream: u64) -> (usize, u64) {
    (Arc::as_ptr(session).addr(), stream)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum WriteOutcome {
    /// The stream can have more events.
    Written,
    /// No event fitted into the batch.
    NoRoom,
    Failed,
}

async fn write(
    store: &dyn SharedSessionStore,
    replica: &ReplicaId,
    session: &Arc<Session>,
    stream: u64,
    unlogged: &UnloggedEvents,
) -> WriteOutcome {
    let UnloggedEvents { request, events, last, too_long, is_cut, is_ended } = unlogged;
    if *is_cut && events.is_empty() {
        return WriteOutcome::NoRoom;
    }
    let mut events = NewEvents {
        id: session.id.clone(),
        stream: session.response_stream_name(stream),
        replica: replica.clone(),
        request: request.clone(),
        events: events.clone(),
        end: if *is_ended || too_long.is_some() { StreamEnd::Ended } else { StreamEnd::Open },
    };
    events.events.extend(too_long.map(|number| (number, message_too_long(request).into())));
    if let Err(error) = store.append(&events).await {
        tracing::debug!(%error, "events not stored yet");
        return WriteOutcome::Failed;
    }
    session.streams.store().set_logged(stream, *last, *is_ended);
    if *is_ended {
        session.sweep_streams();
    }
    WriteOutcome::Written
}

/// The response in place of a message that isn't logged. A client that continues the stream on another replica gets it.
fn message_too_long(request: &Id) -> Vec<u8> {
    let most = MAX_LOGGED_MESSAGE_BYTES >> 20;
    let error = ErrorObject {
        code: INTERNAL_ERROR,
        message: format!("this response can't be resumed here: a message is longer than {most} MiB"),
        data: Some(Json::from_value(&json!({ "reason": "too_large_to_resume" }))),
    };
    let mut out = Vec::with_capacity(256);
    jsonrpc::write_error(&mut out, Some(request), MissingId::Null, &error);
    out
}

impl Session {
    /// The name of a stream that answers a request.
    pub(super) fn response_stream_name(&self, stream: u64) -> StreamName {
        self.streams.response_name(stream)
    }
}
