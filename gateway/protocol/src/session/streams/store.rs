//! What was said on each stream of a session, within bounds, and who reads it now.
//!
//! Plain state behind one lock, without clocks that run and without waiting: [`Reader`](super::Reader) does that.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::Instant;

/// How many events of one stream are kept, but for those that may not be lost.
pub(super) const EVENTS: usize = 256;
/// How many bytes of one stream are kept, but for those that may not be lost.
const STREAM_BYTES: usize = 256 * 1024;
/// How many streams that nobody reads are kept in one session.
pub(super) const STREAMS: usize = 32;
/// How many bytes the streams of one session hold before the oldest that has ended is forgotten.
pub(super) const SESSION_BYTES: usize = 1024 * 1024;
/// How many bytes the streams of all sessions hold before each session is held to its share.
pub(super) const ALL_BYTES: usize = 64 * 1024 * 1024;
/// How many bytes the streams of one session hold then before those that have ended are forgotten, delivered or not.
pub(super) const SHARE: usize = 64 * 1024;
/// How long a stream that nobody reads is kept once its end was delivered: a connection may have broken all the same.
pub(super) const KEPT_DELIVERED: Duration = Duration::from_secs(60);
/// How long a stream that nobody reads is kept.
pub(super) const KEPT: Duration = Duration::from_secs(5 * 60);

/// What a stream is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// One request: what is said while it runs, and its response.
    Answer,
    /// What the client didn't ask for.
    News,
}

/// May an event be left out where there is no room for it?
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Keep {
    /// It may: a report of progress, a log message.
    IfRoom,
    /// Somebody waits for it: a response, a question.
    Always,
}

/// One event.
#[derive(Debug)]
struct Kept {
    number: u64,
    message: Arc<[u8]>,
    keep: Keep,
}

/// One stream.
#[derive(Debug)]
struct Log {
    kind: Kind,
    events: VecDeque<Kept>,
    bytes: usize,
    /// The number of the newest event; 0 before the first.
    last: u64,
    /// Up to which event somebody took them.
    taken: u64,
    /// Nothing will follow.
    over: bool,
    /// Somebody took all of it, and learnt that it is over.
    delivered: bool,
    /// Who reads it; the newest takes over from those before.
    reader: Option<u64>,
    /// Since when nobody reads it, or nothing follows.
    left: Instant,
    wake: Arc<Notify>,
}

/// What the streams of all sessions hold together.
#[derive(Debug, Default)]
pub(in crate::session) struct Pool(AtomicUsize);

/// How many bytes the streams of one session hold, which count for the pool too.
#[derive(Debug)]
struct Held {
    bytes: usize,
    pool: Arc<Pool>,
}

/// All streams of a session.
#[derive(Debug)]
pub(super) struct Store {
    logs: BTreeMap<u64, Log>,
    held: Held,
    /// How many streams there ever were.
    streams: u64,
    /// How many readers there ever were.
    readers: u64,
    /// How many there are.
    reading: usize,
    /// The streams of news that are read, the newest last: what is new goes there.
    listening: Vec<u64>,
}

/// What there is for a reader.
#[derive(Debug)]
pub(super) enum Taken {
    /// An event and its number.
    Event(u64, Arc<[u8]>),
    /// Nothing yet.
    Nothing {
        /// Whether what is new is this reader's to tell.
        newest: bool,
    },
    /// Nothing any more: the stream is over, forgotten, or read by somebody else.
    End,
}

/// Where a reader stands that came back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    /// There is more, or will be.
    Open(Kind),
    /// The stream is over, and that was its last event.
    Over,
    /// There is no such event.
    Unknown,
}

impl Pool {
    #[cfg(test)]
    pub(super) fn bytes(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }

    fn is_full(&self) -> bool {
        self.0.load(Ordering::Relaxed) > ALL_BYTES
    }
}

impl Held {
    fn add(&mut self, bytes: usize) {
        self.bytes += bytes;
        self.pool.0.fetch_add(bytes, Ordering::Relaxed);
    }

    fn take(&mut self, bytes: usize) {
        self.bytes -= bytes;
        self.pool.0.fetch_sub(bytes, Ordering::Relaxed);
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.take(self.bytes);
    }
}

impl Store {
    /// No streams yet.
    pub(super) fn new(pool: Arc<Pool>) -> Self {
        Self {
            logs: BTreeMap::new(),
            held: Held { bytes: 0, pool },
            streams: 0,
            readers: 0,
            reading: 0,
            listening: Vec::new(),
        }
    }

    /// Begins a stream and gives its number.
    pub(super) fn open(&mut self, kind: Kind) -> u64 {
        self.tidy();
        self.streams += 1;
        let log = Log {
            kind,
            events: VecDeque::new(),
            bytes: 0,
            last: 0,
            taken: 0,
            over: false,
            delivered: false,
            reader: None,
            left: Instant::now(),
            wake: Arc::default(),
        };
        self.logs.insert(self.streams, log);
        self.streams
    }

    /// Says something on a stream. What can be done without is left out where too much waits to be read.
    pub(super) fn push(&mut self, stream: u64, message: Vec<u8>, keep: Keep) {
        let Some(log) = self.logs.get_mut(&stream) else { return };
        let before = log.bytes;
        if log.has_room() || keep == Keep::Always {
            log.last += 1;
            log.bytes += message.len();
            log.events.push_back(Kept { number: log.last, message: message.into(), keep });
            log.wake.notify_waiters();
        } else {
            tracing::debug!("a notification was dropped: the client reads too slowly");
        }
        let after = log.bytes;
        self.held.take(before);
        self.held.add(after);
        self.tidy();
    }

    /// Nothing will follow on a stream.
    pub(super) fn finish(&mut self, stream: u64) {
        if let Some(log) = self.logs.get_mut(&stream) {
            log.over = true;
            log.left = Instant::now();
            log.wake.notify_waiters();
        }
        self.tidy();
    }

    /// Where the event of that number stands.
    pub(super) fn place(&self, stream: u64, event: u64) -> Place {
        match self.logs.get(&stream) {
            None => Place::Unknown,
            Some(log) if event > log.last => Place::Unknown,
            Some(log) if log.over && log.events.back().is_none_or(|kept| kept.number <= event) => Place::Over,
            Some(log) => Place::Open(log.kind),
        }
    }

    /// Somebody reads a stream from now on, and whoever did so before no longer does. Gives the reader's number, and
    /// what wakes it.
    pub(super) fn attach(&mut self, stream: u64) -> (u64, Arc<Notify>) {
        self.readers += 1;
        self.reading += 1;
        let reader = self.readers;
        let Some(log) = self.logs.get_mut(&stream) else { return (reader, Arc::default()) };
        log.reader = Some(reader);
        log.wake.notify_waiters();
        let wake = Arc::clone(&log.wake);
        if log.kind == Kind::News {
            self.listening.retain(|other| *other != stream);
            self.listening.push(stream);
            self.wake_listeners();
        }
        (reader, wake)
    }

    /// A reader has gone.
    pub(super) fn detach(&mut self, stream: u64, reader: u64) {
        self.reading -= 1;
        if let Some(log) = self.logs.get_mut(&stream).filter(|log| log.reader == Some(reader)) {
            log.reader = None;
            log.left = Instant::now();
            self.listening.retain(|other| *other != stream);
            self.wake_listeners();
        }
        self.tidy();
    }

    /// What comes after the event of that number.
    pub(super) fn take(&mut self, stream: u64, reader: u64, after: u64) -> Taken {
        let newest = self.listening.last() == Some(&stream);
        let Some(log) = self.logs.get_mut(&stream).filter(|log| log.reader == Some(reader)) else {
            return Taken::End;
        };
        let next = log.events.partition_point(|kept| kept.number <= after);
        match log.events.get(next) {
            Some(kept) => {
                log.taken = log.taken.max(kept.number);
                Taken::Event(kept.number, Arc::clone(&kept.message))
            }
            None if log.over => {
                log.delivered = true;
                Taken::End
            }
            None => Taken::Nothing { newest },
        }
    }

    /// Is a stream over? One that was forgotten is.
    pub(super) fn is_over(&self, stream: u64) -> bool {
        self.logs.get(&stream).is_none_or(|log| log.over)
    }

    /// Does anybody read any of them?
    pub(super) fn is_read(&self) -> bool {
        self.reading > 0
    }

    /// Forgets streams that nobody reads or writes: those kept for long enough, then the oldest while there are too
    /// many or they are too large. The last one stays for its time, however large, unless it was delivered or all
    /// sessions hold too much together.
    pub(super) fn tidy(&mut self) {
        if self.logs.is_empty() {
            return;
        }
        let now = Instant::now();
        let expired = |log: &Log| {
            let kept = if log.delivered { KEPT_DELIVERED } else { KEPT };
            log.is_left() && now.duration_since(log.left) >= kept
        };
        let held = &mut self.held;
        self.logs.retain(|_, log| {
            let stays = !expired(log);
            if !stays {
                held.take(log.bytes);
            }
            stays
        });
        loop {
            let mut left = self.logs.iter().filter(|(_, log)| log.is_left());
            let Some((&oldest, log)) = left.next() else { return };
            let others = left.count();
            let too_large = (self.held.bytes > SESSION_BYTES && (others > 0 || log.delivered))
                || (self.held.bytes > SHARE && self.held.pool.is_full());
            if others < STREAMS && !too_large {
                return;
            }
            self.held.take(log.bytes);
            self.logs.remove(&oldest);
        }
    }

    fn wake_listeners(&self) {
        for log in self.listening.iter().filter_map(|stream| self.logs.get(stream)) {
            log.wake.notify_waiters();
        }
    }

    #[cfg(test)]
    pub(super) fn held(&self) -> (usize, usize) {
        let bytes = self.logs.values().flat_map(|log| &log.events).map(|kept| kept.message.len()).sum();
        assert_eq!(self.held.bytes, bytes, "the count of bytes went wrong");
        (self.logs.len(), bytes)
    }
}

impl Log {
    /// Is there room for one more event, once those that were taken have made some? News that was taken is told:
    /// a client may listen for months.
    fn has_room(&mut self) -> bool {
        while self.events.len() >= EVENTS || self.bytes >= STREAM_BYTES {
            let spare = |kept: &Kept| {
                kept.number <= self.taken && (kept.keep == Keep::IfRoom || self.kind == Kind::News)
            };
            let Some(spare) = self.events.iter().position(spare) else { return false };
            let gone = self.events.remove(spare);
            self.bytes -= gone.map_or(0, |kept| kept.message.len());
        }
        true
    }

    /// Does nobody read it, and nobody write it either?
    fn is_left(&self) -> bool {
        self.reader.is_none() && (self.over || self.kind == Kind::News)
    }
}
