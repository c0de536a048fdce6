//! Resumable event streams of a session over HTTP (2025-11-25, basic/transports, "Resumability and Redelivery").
//!
//! Each request whose answer is upgraded to an event stream has one, and so has each plain GET. Events have ids and are
//! kept within limits; a client that sends the last id that it received gets the following events. Streams of requests
//! continue without a reader. Notifications that belong to no request are sent on the newest stream of a GET; without
//! one they stay pending in the session, which tracks what was sent to the client.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;

use crate::caller::Caller;
use crate::jsonrpc::Id;
use crate::mcp::Feature;
use crate::unread_responses::{CountedMessage, UnreadResponses};

use super::Session;
use super::shared::StreamName;

#[cfg(any(test, feature = "fuzz"))]
mod fuzz;
mod id;
mod memory;
mod store;

pub(crate) use id::EventId;
use memory::SessionMemory;
pub(super) use memory::StreamMemory;
pub(crate) use store::StreamKind;
pub(super) use store::UnloggedEvents;
use store::{NextEvent, ResumePoint, Retention, StreamStore};

#[cfg(any(test, feature = "fuzz"))]
pub use fuzz::fuzz_event_id;

/// The time after which a client should reconnect.
pub(super) const RECONNECT_DELAY: Duration = Duration::from_secs(1);

/// An event of a stream.
#[derive(Debug, PartialEq, Eq)]
pub enum SseEvent {
    /// An id without a message, so that a client can resume from there (from 2025-11-25 on).
    Priming {
        /// The event id.
        id: String,
        /// The time to wait before reconnecting.
        retry: Duration,
    },
    /// A message.
    Message {
        /// The event id within the session. `None` if the stream can't be resumed.
        id: Option<String>,
        /// The JSON-RPC message.
        message: CountedMessage,
    },
}

/// The reason why a stream can't be resumed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ResumeError {
    /// The stream has ended, and the client received all of it.
    Ended,
    /// The event is unknown in this session, or no longer kept.
    Unknown,
}

/// The streams of one session.
pub(super) struct SessionStreams {
    /// Distinguishes this session's event ids from those of other sessions.
    tag: u32,
    store: Mutex<StreamStore>,
    memory: Arc<StreamMemory>,
    /// Set when the session ends, and with it all its streams.
    ended: CancellationToken,
    /// Set when the gateway stops, and with it the notification streams.
    stop: CancellationToken,
}

impl fmt::Debug for SessionStreams {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SessionStreams").field("tag", &self.tag).finish_non_exhaustive()
    }
}

impl SessionStreams {
    /// No streams yet. `memory` counts the kept events of all sessions.
    pub(super) fn new(tag: u32, caller: Caller, memory: Arc<StreamMemory>, stop: CancellationToken) -> Self {
        let store = Mutex::new(StreamStore::new(SessionMemory::new(caller, Arc::clone(&memory))));
        Self { tag, store, memory, ended: CancellationToken::new(), stop }
    }

    /// Ends all streams.
    pub(super) fn end(&self) {
        self.ended.cancel();
    }

    /// Reports whether a stream has a reader. If so, the client is connected, even if it sends no requests.
    pub(super) fn are_read(&self) -> bool {
        self.store().is_read()
    }

    /// The name of a stream that answers a request.
    pub(super) fn response_name(&self, stream: u64) -> StreamName {
        EventId { tag: self.tag, kind: StreamKind::Response, stream, event: 0 }.stream_name()
    }

    /// Distinguishes the event ids of these streams from others.
    pub(super) fn tag(&self) -> u32 {
        self.tag
    }

    /// Set when the session ends.
    pub(super) fn ended(&self) -> &CancellationToken {
        &self.ended
    }

    /// Set when the gateway stops.
    pub(super) fn stop(&self) -> &CancellationToken {
        &self.stop
    }

    pub(super) fn store(&self) -> MutexGuard<'_, StreamStore> {
        self.store.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Session {
    /// Opens a stream for the answer to a request. At `closes_at` the reader is disconnected and has to resume.
    #[must_use]
    pub fn open_stream(self: &Arc<Self>, closes_at: Option<Instant>) -> (EventWriter, EventReader) {
        let stream = self.streams.store().open(StreamKind::Response);
        let writer = EventWriter { session: Arc::clone(self), stream };
        (writer, self.reader(stream, 0, StreamKind::Response, closes_at))
    }

    /// Opens a notification stream.
    #[must_use]
    pub fn open_notification_stream(self: &Arc<Self>, closes_at: Option<Instant>) -> EventReader {
        let stream = self.streams.store().open(StreamKind::Notifications);
        self.reader(stream, 0, StreamKind::Notifications, closes_at)
    }

    /// Resumes a stream after an event. A notification stream that is no longer kept starts again, because the session
    /// knows which changes weren't sent to the client.
    ///
    /// Kept events are counted in `unread` again until this reader has sent them.
    ///
    /// # Errors
    /// The stream has ended and was read to its end, or it is unknown.
    pub fn resume(
        self: &Arc<Self>,
        last: &str,
        closes_at: Option<Instant>,
        unread: &Arc<UnreadResponses>,
    ) -> Result<EventReader, ResumeError> {
        let id = EventId::parse(last).ok_or(ResumeError::Unknown)?;
        let place = if id.tag == self.streams.tag {
            self.streams.store().resume_point(id.stream, id.event)
        } else {
            ResumePoint::Unknown
        };
        match (place, id.kind) {
            (ResumePoint::Open(kind), _) => {
                let mut reader = self.reader(id.stream, id.event, kind, closes_at);
                reader.redelivered = Some(Arc::clone(unread));
                Ok(reader)
            }
            (ResumePoint::Ended, _) => Err(ResumeError::Ended),
            (ResumePoint::Unknown, StreamKind::Notifications) => Ok(self.open_notification_stream(closes_at)),
            (ResumePoint::Unknown, StreamKind::Response) => Err(ResumeError::Unknown),
        }
    }

    /// Copies new events of a stream to the shared store, if there is one.
    fn log_stream(self: &Arc<Self>, stream: u64) {
        if let Some(shared) = &self.shared {
            shared.log(self, stream);
        }
    }

    /// Makes sure that streams end in time if they have neither a reader nor a writer.
    pub(super) fn sweep_streams(self: &Arc<Self>) {
        let SessionStreams { memory, .. } = &self.streams;
        let starts = self.streams.store().starts_sweeping();
        if starts {
            memory.add_unused(self);
        }
        if memory.is_full() {
            memory.sweep();
        }
    }

    fn reader(
        self: &Arc<Self>,
        stream: u64,
        after: u64,
        kind: StreamKind,
        closes_at: Option<Instant>,
    ) -> EventReader {
        let (reader, wake) = self.streams.store().attach(stream);
        let send_priming = self.greeting.revision.has(Feature::Priming);
        EventReader {
            session: Arc::clone(self),
            stream,
            reader,
            after,
            kind,
            wake,
            send_priming,
            closes_at,
            redelivered: None,
        }
    }
}

/// Writes the messages of one request. Dropping it ends the stream.
#[derive(Debug)]
pub struct EventWriter {
    session: Arc<Session>,
    stream: u64,
}

impl EventWriter {
    /// Lets other replicas send the messages, if the session is shared. They answer this request.
    pub fn share(&self, request: &Id) {
        if self.session.shared.is_some() {
            self.session.streams.store().share(self.stream, request.clone());
            self.session.log_stream(self.stream);
        }
    }

    /// Sends a message that is dropped if the client reads too slowly. It counts as one of the session from now on.
    pub fn send_droppable(&self, message: CountedMessage) {
        self.push(message.uncounted(), Retention::Droppable);
    }

    /// Sends a message that is never dropped.
    pub fn send(&self, message: CountedMessage) {
        self.push(message, Retention::Required);
    }

    fn push(&self, message: CountedMessage, keep: Retention) {
        self.session.streams.store().push(self.stream, message, keep);
        self.session.log_stream(self.stream);
    }
}

impl Drop for EventWriter {
    fn drop(&mut self) {
        self.session.streams.store().finish(self.stream);
        self.session.log_stream(self.stream);
        self.session.sweep_streams();
    }
}

/// A connection that reads a stream. A newer reader of the same stream replaces it.
pub struct EventReader {
    session: Arc<Session>,
    stream: u64,
    reader: u64,
    /// The last event that was read.
    after: u64,
    kind: StreamKind,
    wake: Arc<Notify>,
    /// True until the priming event is sent.
    send_priming: bool,
    closes_at: Option<Instant>,
    /// Counts events that were delivered before, or were kept without a reader. `None` for a stream's first reader.
    redelivered: Option<Arc<UnreadResponses>>,
}

impl fmt::Debug for EventReader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EventReader")
            .field("stream", &self.stream)
            .field("after", &self.after)
            .finish_non_exhaustive()
    }
}

impl EventReader {
    /// Reports whether the stream ends with a response.
    #[must_use]
    pub fn awaits_response(&self) -> bool {
        match self.kind {
            StreamKind::Response => true,
            StreamKind::Notifications => false,
        }
    }

    /// The next event. `None` if the connection must be closed. Cancel-safe.
    pub async fn next(&mut self) -> Option<SseEvent> {
        if std::mem::take(&mut self.send_priming) {
            return Some(SseEvent::Priming { id: self.id(self.after), retry: RECONNECT_DELAY });
        }
        let wake = Arc::clone(&self.wake);
        loop {
            let woken = wake.notified();
            let is_newest = match self.take() {
                NextEvent::Event(number, message) => {
                    self.after = number;
                    return Some(SseEvent::Message { id: Some(self.id(number)), message });
                }
                NextEvent::End => return None,
                NextEvent::Nothing { is_newest } => is_newest,
            };
            let streams = &self.session.streams;
            let closes_at = async {
                match self.closes_at {
                    Some(at) => sleep_until(at).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                biased;
                () = streams.ended.cancelled() => return None,
                () = streams.stop.cancelled(), if self.kind == StreamKind::Notifications => return None,
                () = closes_at => return None,
                () = woken => {}
                // From here on the notification counts as sent, so it is stored before anything else happens.
                notification = self.session.next_notification(), if is_newest => {
                    streams.store().push(self.stream, notification.into(), Retention::Required);
                }
            }
        }
    }

    fn take(&self) -> NextEvent {
        let mut store = self.session.streams.store();
        let is_due = self.closes_at.is_some_and(|at| at <= Instant::now());
        if is_due && !store.is_finished(self.stream) {
            return NextEvent::End;
        }
        match (store.take(self.stream, self.reader, self.after), &self.redelivered) {
            // If it doesn't fit now, the client can resume again after it has read other responses.
            (NextEvent::Event(number, message), Some(unread)) => message
                .reserved(unread, self.session.caller())
                .map_or(NextEvent::End, |message| NextEvent::Event(number, message)),
            (next, _) => next,
        }
    }

    fn id(&self, event: u64) -> String {
        EventId { tag: self.session.streams.tag, kind: self.kind, stream: self.stream, event }.to_string()
    }
}

impl Drop for EventReader {
    fn drop(&mut self) {
        self.session.in_flight.touch();
        self.session.streams.store().detach(self.stream, self.reader);
        self.session.sweep_streams();
    }
}

#[cfg(test)]
mod tests;
