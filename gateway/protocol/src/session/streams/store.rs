//! The kept events of a session's streams, and their readers.
//!
//! Plain state behind one lock. Timers and waiting are in [`EventReader`](super::EventReader).

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use tokio::sync::Notify;
use tokio::time::Instant;

use crate::jsonrpc::Id;
use crate::session::shared::MAX_LOGGED_MESSAGE_BYTES;
use crate::unread_responses::{CountedMessage, UnreadResponse};

use super::memory::SessionMemory;

/// The maximum number of kept events of one stream, except required ones.
pub(super) const MAX_STREAM_EVENTS: usize = 256;
/// The memory that an event takes in addition to its message.
pub(super) const EVENT_OVERHEAD_BYTES: usize = 192;
/// The maximum size of the kept events of one stream, except required ones.
const MAX_STREAM_BYTES: usize = 256 * 1024;
/// The maximum number of kept streams of one session without a reader.
pub(super) const MAX_UNREAD_STREAMS: usize = 32;
/// The size of all streams of one session above which the oldest ended stream is removed.
pub(super) const MAX_SESSION_BYTES: usize = 1024 * 1024;
/// The share of a session. Above it, ended streams are removed even if they weren't delivered.
pub(super) const SESSION_SHARE_BYTES: usize = 64 * 1024;
/// The time for which a delivered stream without a reader is kept, in case its connection broke.
pub(super) const DELIVERED_STREAM_TTL: Duration = Duration::from_secs(60);
/// The time for which a stream without a reader is kept.
pub(super) const UNREAD_STREAM_TTL: Duration = Duration::from_secs(5 * 60);

/// The purpose of a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StreamKind {
    /// The messages and the response of one request.
    Response,
    /// Notifications that belong to no request.
    Notifications,
}

/// Permission to drop an event if the stream is full.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Retention {
    /// The event may be dropped: progress, log messages.
    Droppable,
    /// The event is never dropped: responses, questions.
    Required,
}

/// A kept event.
#[derive(Debug)]
struct LoggedEvent {
    number: u64,
    message: Bytes,
    retention: Retention,
    /// Set while a reader can still read it for the first time. Without a reader, the limits of streams apply instead.
    unread: Option<UnreadResponse>,
}

/// The memory that an event takes.
fn event_size(message: &[u8]) -> usize {
    message.len() + EVENT_OVERHEAD_BYTES
}

/// A stream and its kept events.
#[derive(Debug)]
struct EventLog {
    kind: StreamKind,
    events: VecDeque<LoggedEvent>,
    bytes: usize,
    /// The number of the newest event. 0 before the first one.
    last_number: u64,
    /// The newest event that a reader has taken.
    delivered_to: u64,
    /// Nothing follows.
    finished: bool,
    /// A reader has taken everything, including the end.
    delivered: bool,
    /// The current reader. A newer one replaces it.
    reader: Option<u64>,
    /// The time since which the stream has no reader, or nothing follows.
    unused_since: Instant,
    wake: Arc<Notify>,
    /// What the shared store has of the stream. `None` if the session isn't shared.
    shared: Option<SharedLog>,
}

/// The part of a stream that is in the shared store.
#[derive(Debug)]
struct SharedLog {
    /// The request that the stream answers.
    request: Id,
    /// The newest event in the store.
    logged_to: u64,
    /// The store has the start of the stream.
    is_started: bool,
    /// The store has the end of the stream.
    is_ended: bool,
}

/// Events of a stream that aren't in the shared store yet.
#[derive(Debug)]
pub(in crate::session) struct UnloggedEvents {
    /// The request that the stream answers.
    pub(in crate::session) request: Id,
    /// The events, each with its number.
    pub(in crate::session) events: Vec<(u64, Bytes)>,
    /// The number of the last event that needn't be considered again.
    pub(in crate::session) last: u64,
    /// A message that is too long for the store and is required, in whose place the log ends.
    pub(in crate::session) too_long: Option<u64>,
    /// More events follow, for which there is no room.
    pub(in crate::session) is_cut: bool,
    /// Nothing follows.
    pub(in crate::session) is_ended: bool,
}

/// All streams of a session.
#[derive(Debug)]
pub(in crate::session) struct StreamStore {
    logs: BTreeMap<u64, EventLog>,
    memory: SessionMemory,
    /// The number of streams ever opened.
    opened_streams: u64,
    /// The number of readers ever attached.
    attached_readers: u64,
    /// The number of current readers.
    reader_count: usize,
    /// The notification streams with a reader, the newest last. Notifications are sent on that one.
    notification_streams: Vec<u64>,
    /// True while the session is among those with unused streams.
    is_swept: bool,
}

/// The next step of a reader.
#[derive(Debug)]
pub(super) enum NextEvent {
    /// An event and its number.
    Event(u64, CountedMessage),
    /// Nothing yet.
    Nothing {
        /// True if this reader's stream is the newest notification stream.
        is_newest: bool,
    },
    /// The stream has ended, was removed, or has another reader.
    End,
}

/// The state of a stream at the event from which a client resumes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ResumePoint {
    /// Events follow, or can still follow.
    Open(StreamKind),
    /// The stream has ended with this event.
    Ended,
    /// There is no such event.
    Unknown,
}

impl StreamStore {
    /// No streams yet.
    pub(super) fn new(memory: SessionMemory) -> Self {
        Self {
            logs: BTreeMap::new(),
            memory,
            opened_streams: 0,
            attached_readers: 0,
            reader_count: 0,
            notification_streams: Vec::new(),
            is_swept: false,
        }
    }

    /// Opens a stream and returns its number.
    pub(super) fn open(&mut self, kind: StreamKind) -> u64 {
        self.evict();
        self.opened_streams += 1;
        let log = EventLog {
            kind,
            events: VecDeque::new(),
            bytes: 0,
            last_number: 0,
            delivered_to: 0,
            finished: false,
            delivered: false,
            reader: None,
            unused_since: Instant::now(),
            wake: Arc::default(),
            shared: None,
        };
        self.logs.insert(self.opened_streams, log);
        self.opened_streams
    }

    /// Adds an event. A droppable event is dropped if too many are unread, or if the streams of the caller are too large.
    pub(super) fn push(&mut self, stream: u64, message: CountedMessage, retention: Retention) {
        let Some(log) = self.logs.get_mut(&stream) else { return };
        let before = log.bytes;
        let is_over = self.memory.is_over();
        let has_room = log.make_room(is_over);
        if retention == Retention::Required || (has_room && !is_over) {
            log.last_number += 1;
            log.bytes += event_size(&message);
            let (message, unread) = message.into_parts();
            let unread = unread.filter(|_| log.reader.is_some());
            log.events.push_back(LoggedEvent { number: log.last_number, message, retention, unread });
            log.wake.notify_waiters();
        } else {
            tracing::debug!("notification dropped: the client reads too slowly");
        }
        let after = log.bytes;
        self.memory.replace(before, after);
        self.evict();
    }

    /// Makes a stream one whose events go to the shared store. It answers this request.
    pub(super) fn share(&mut self, stream: u64, request: Id) {
        if let Some(log) = self.logs.get_mut(&stream) {
            log.shared = Some(SharedLog { request, logged_to: 0, is_started: false, is_ended: false });
        }
    }

    /// The number of a stream whose events are only in the shared store.
    pub(in crate::session) fn open_elsewhere(&mut self) -> u64 {
        self.opened_streams += 1;
        self.opened_streams
    }

    /// The next events of a stream that aren't in the shared store, with messages of at most `max_bytes` in total. `None`
    /// if the store has all of them.
    pub(in crate::session) fn unlogged(&self, stream: u64, max_bytes: usize) -> Option<UnloggedEvents> {
        let log = self.logs.get(&stream)?;
        let SharedLog { request, logged_to, is_started, is_ended } = log.shared.as_ref()?;
        if *is_started && *logged_to == log.last_number && *is_ended == log.finished {
            return None;
        }
        let mut unlogged = UnloggedEvents {
            request: request.clone(),
            events: Vec::new(),
            last: log.last_number,
            too_long: None,
            is_cut: false,
            is_ended: log.finished,
        };
        let first = log.events.partition_point(|kept| kept.number <= *logged_to);
        let mut bytes = 0;
        for kept in log.events.range(first..) {
            let size = kept.message.len();
            match kept.retention {
                Retention::Droppable if size > MAX_LOGGED_MESSAGE_BYTES => continue,
                Retention::Required if size > MAX_LOGGED_MESSAGE_BYTES => {
                    unlogged.too_long = Some(kept.number);
                    break;
                }
                Retention::Droppable | Retention::Required => {}
            }
            bytes += size;
            if bytes > max_bytes {
                unlogged.last = unlogged.events.last().map_or(*logged_to, |(number, _)| *number);
                unlogged.is_cut = true;
                unlogged.is_ended = false;
                break;
            }
            unlogged.events.push((kept.number, kept.message.clone()));
        }
        Some(unlogged)
    }

    /// Notes that the shared store has the events of a stream up to this one, and perhaps its end.
    pub(in crate::session) fn set_logged(&mut self, stream: u64, last: u64, ended: bool) {
        let log = self.logs.get_mut(&stream).and_then(|log| log.shared.as_mut());
        if let Some(SharedLog { request: _, logged_to, is_started, is_ended }) = log {
            *logged_to = last;
            *is_started = true;
            *is_ended = ended;
        }
        self.evict();
    }

    /// The streams that are still written to and go to the shared store.
    pub(in crate::session) fn open_shared(&self) -> Vec<u64> {
        let is_open = |log: &EventLog| log.shared.is_some() && !log.finished;
        self.logs.iter().filter(|(_, log)| is_open(log)).map(|(stream, _)| *stream).collect()
    }

    /// Marks the end of a stream.
    pub(super) fn finish(&mut self, stream: u64) {
        if let Some(log) = self.logs.get_mut(&stream) {
            log.finished = true;
            log.unused_since = Instant::now();
            log.wake.notify_waiters();
        }
        self.evict();
    }

    /// The state of a stream at this event.
    pub(super) fn resume_point(&self, stream: u64, event: u64) -> ResumePoint {
        match self.logs.get(&stream) {
            None => ResumePoint::Unknown,
            Some(log) if event > log.last_number => ResumePoint::Unknown,
            Some(log) if log.finished && log.events.back().is_none_or(|kept| kept.number <= event) => {
                ResumePoint::Ended
            }
            Some(log) => ResumePoint::Open(log.kind),
        }
    }

    /// Attaches a reader in place of the current one. Returns its number and its wake-up.
    pub(super) fn attach(&mut self, stream: u64) -> (u64, Arc<Notify>) {
        self.attached_readers += 1;
        self.reader_count += 1;
        let reader = self.attached_readers;
        let Some(log) = self.logs.get_mut(&stream) else { return (reader, Arc::default()) };
        log.reader = Some(reader);
        log.wake.notify_waiters();
        let wake = Arc::clone(&log.wake);
        if log.kind == StreamKind::Notifications {
            self.notification_streams.retain(|other| *other != stream);
            self.notification_streams.push(stream);
            self.wake_notification_readers();
        }
        (reader, wake)
    }

    /// Detaches a reader.
    pub(super) fn detach(&mut self, stream: u64, reader: u64) {
        self.reader_count -= 1;
        if let Some(log) = self.logs.get_mut(&stream).filter(|log| log.reader == Some(reader)) {
            log.reader = None;
            log.unused_since = Instant::now();
            log.events.iter_mut().for_each(|kept| kept.unread = None);
            self.notification_streams.retain(|other| *other != stream);
            self.wake_notification_readers();
        }
        self.evict();
    }

    /// The event after this number.
    pub(super) fn take(&mut self, stream: u64, reader: u64, after: u64) -> NextEvent {
        let is_newest = self.notification_streams.last() == Some(&stream);
        let Some(log) = self.logs.get_mut(&stream).filter(|log| log.reader == Some(reader)) else {
            return NextEvent::End;
        };
        let next = log.events.partition_point(|kept| kept.number <= after);
        match log.events.get_mut(next) {
            Some(kept) => {
                log.delivered_to = log.delivered_to.max(kept.number);
                let message = CountedMessage::from_parts(kept.message.clone(), kept.unread.take());
                NextEvent::Event(kept.number, message)
            }
            None if log.finished => {
                log.delivered = true;
                NextEvent::End
            }
            None => NextEvent::Nothing { is_newest },
        }
    }

    /// Reports whether a stream has ended or was removed.
    pub(super) fn is_finished(&self, stream: u64) -> bool {
        self.logs.get(&stream).is_none_or(|log| log.finished)
    }

    /// Reports whether any stream has a reader.
    pub(super) fn is_read(&self) -> bool {
        self.reader_count > 0
    }

    /// Removes streams without reader and writer: expired ones, then the oldest while there are too many or they are
    /// too large. The last one is kept for its time, however large, unless it was delivered or the total of all
    /// sessions is too large and the caller uses more than its part.
    pub(super) fn evict(&mut self) {
        if self.logs.is_empty() {
            return;
        }
        let now = Instant::now();
        let expired = |log: &EventLog| {
            let kept = if log.delivered { DELIVERED_STREAM_TTL } else { UNREAD_STREAM_TTL };
            log.is_unused() && now.duration_since(log.unused_since) >= kept
        };
        let memory = &mut self.memory;
        self.logs.retain(|_, log| {
            let stays = !expired(log);
            if !stays {
                memory.replace(log.bytes, 0);
            }
            stays
        });
        loop {
            let mut left = self.logs.iter().filter(|(_, log)| log.is_unused());
            let Some((&oldest, log)) = left.next() else { return };
            let others = left.count();
            let too_large = (self.memory.bytes() > MAX_SESSION_BYTES && (others > 0 || log.delivered))
                || (self.memory.bytes() > SESSION_SHARE_BYTES && self.memory.is_over());
            if others < MAX_UNREAD_STREAMS && !too_large {
                return;
            }
            self.memory.replace(log.bytes, 0);
            self.logs.remove(&oldest);
        }
    }

    /// Reports whether the session must be added to those with unused streams, and counts it as added.
    pub(super) fn starts_sweeping(&mut self) -> bool {
        let starts = !self.is_swept && self.logs.values().any(EventLog::is_unused);
        self.is_swept |= starts;
        starts
    }

    /// Removes streams as in [`Self::evict`], and reports whether unused ones are left.
    pub(super) fn sweep(&mut self) -> bool {
        self.evict();
        self.is_swept = self.logs.values().any(EventLog::is_unused);
        self.is_swept
    }

    fn wake_notification_readers(&self) {
        for log in self.notification_streams.iter().filter_map(|stream| self.logs.get(stream)) {
            log.wake.notify_waiters();
        }
    }

    #[cfg(test)]
    pub(super) fn usage(&self) -> (usize, usize) {
        let events = || self.logs.values().flat_map(|log| &log.events);
        let counted: usize = events().map(|kept| event_size(&kept.message)).sum();
        assert_eq!(self.memory.bytes(), counted, "the byte count is wrong");
        (self.logs.len(), events().map(|kept| kept.message.len()).sum())
    }
}

impl EventLog {
    /// Removes taken events while the stream is full or the caller's streams are too large, and reports whether one
    /// more event fits. Taken notifications are removable even if they are required, because a client can keep a stream
    /// open for months.
    fn make_room(&mut self, is_over: bool) -> bool {
        loop {
            let is_full = self.events.len() >= MAX_STREAM_EVENTS || self.bytes >= MAX_STREAM_BYTES;
            if !is_full && !is_over {
                return true;
            }
            let spare = |kept: &LoggedEvent| {
                kept.number <= self.delivered_to
                    && (kept.retention == Retention::Droppable || self.kind == StreamKind::Notifications)
            };
            let Some(spare) = self.events.iter().position(spare) else { return !is_full };
            let gone = self.events.remove(spare);
            self.bytes -= gone.map_or(0, |kept| event_size(&kept.message));
        }
    }

    /// Reports whether the stream has neither a reader nor a writer, and the shared store has its end.
    fn is_unused(&self) -> bool {
        let is_logged = self.shared.as_ref().is_none_or(|shared| shared.is_ended);
        self.reader.is_none() && is_logged && (self.finished || self.kind == StreamKind::Notifications)
    }
}
