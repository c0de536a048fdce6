//! Streams of a session over HTTP, for clients whose connections break (2025-11-25, basic/transports, "Resumability
//! and Redelivery").
//!
//! Each request whose answer is lifted to events is a stream, and so is each plain GET. Events have ids, what was said
//! is kept within bounds, and a client that names the last event it saw gets what followed, then what comes. Streams
//! of requests go on without anybody who reads them. What is new, and belongs to no request, goes to the stream that
//! was opened last; while there is none it stays with the session, which knows what the client was told.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;

use crate::mcp::Feature;

use super::Session;

mod fuzz;
mod id;
mod store;

use id::EventId;
pub(super) use store::Pool;
use store::{Keep, Kind, Place, Store, Taken};

pub use fuzz::fuzz_event_id;

/// How long a client waits before it comes back, if it does as it is told.
const RETRY: Duration = Duration::from_secs(1);

/// One event of a stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// Says where the stream stands, so that a client can come back to it (from 2025-11-25 on).
    Place {
        /// The place, to be named when coming back.
        id: String,
        /// How long to wait before that.
        retry: Duration,
    },
    /// A message.
    Message {
        /// The event's name in its session; none where nobody can come back.
        id: Option<String>,
        /// The message.
        message: Arc<[u8]>,
    },
}

/// Why a stream can't be gone on with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoMore {
    /// All of it was said before.
    Over,
    /// The event isn't known in this session, or not any more.
    Unknown,
}

/// The streams of one session.
pub(super) struct Streams {
    /// Tells this session's event ids from those of others.
    tag: u32,
    store: Mutex<Store>,
    /// Set when the session ends, and with it all its streams.
    ended: CancellationToken,
    /// Set when the gateway stops, and with it the streams that don't end by themselves.
    stop: CancellationToken,
}

impl fmt::Debug for Streams {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Streams").field("tag", &self.tag).finish_non_exhaustive()
    }
}

impl Streams {
    /// `pool` counts what the streams of all sessions hold.
    pub(super) fn new(tag: u32, pool: Arc<Pool>, stop: CancellationToken) -> Self {
        Self { tag, store: Mutex::new(Store::new(pool)), ended: CancellationToken::new(), stop }
    }

    /// Ends all of them.
    pub(super) fn end(&self) {
        self.ended.cancel();
    }

    /// Does anybody read one? Then the client is there, though it may ask for nothing.
    pub(super) fn are_read(&self) -> bool {
        self.store().is_read()
    }

    /// Forgets what was kept for long enough.
    pub(super) fn tidy(&self) {
        self.store().tidy();
    }

    fn store(&self) -> MutexGuard<'_, Store> {
        self.store.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Session {
    /// Makes a stream of the answer to a request. A reader that is still there at `closes` goes, and is to come back.
    #[must_use]
    pub fn lift(self: &Arc<Self>, closes: Option<Instant>) -> (Writer, Reader) {
        let stream = self.streams.store().open(Kind::Answer);
        let writer = Writer { session: Arc::clone(self), stream };
        (writer, self.reader(stream, 0, Kind::Answer, closes))
    }

    /// Opens a stream of news.
    #[must_use]
    pub fn listen(self: &Arc<Self>, closes: Option<Instant>) -> Reader {
        let stream = self.streams.store().open(Kind::News);
        self.reader(stream, 0, Kind::News, closes)
    }

    /// Goes on with a stream after the event of that name. A stream of news that was forgotten is begun anew: the
    /// session knows what the client wasn't told.
    ///
    /// # Errors
    /// The stream is over and was read to its end, or it isn't known.
    pub fn resume(self: &Arc<Self>, last: &str, closes: Option<Instant>) -> Result<Reader, NoMore> {
        let id = EventId::parse(last).ok_or(NoMore::Unknown)?;
        let place = if id.tag == self.streams.tag {
            self.streams.store().place(id.stream, id.event)
        } else {
            Place::Unknown
        };
        match (place, id.kind) {
            (Place::Open(kind), _) => Ok(self.reader(id.stream, id.event, kind, closes)),
            (Place::Over, _) => Err(NoMore::Over),
            (Place::Unknown, Kind::News) => Ok(self.listen(closes)),
            (Place::Unknown, Kind::Answer) => Err(NoMore::Unknown),
        }
    }

    fn reader(self: &Arc<Self>, stream: u64, after: u64, kind: Kind, closes: Option<Instant>) -> Reader {
        let (reader, wake) = self.streams.store().attach(stream);
        let priming = self.greeting.revision.has(Feature::Priming);
        Reader { session: Arc::clone(self), stream, reader, after, kind, wake, priming, closes }
    }
}

/// Says what belongs to one request. The stream is over when this is dropped.
#[derive(Debug)]
pub struct Writer {
    session: Arc<Session>,
    stream: u64,
}

impl Writer {
    /// A report that is left out where the client reads too slowly.
    pub fn note(&self, message: Vec<u8>) {
        self.push(message, Keep::IfRoom);
    }

    /// A message that somebody waits for.
    pub fn say(&self, message: Vec<u8>) {
        self.push(message, Keep::Always);
    }

    fn push(&self, message: Vec<u8>, keep: Keep) {
        self.session.streams.store().push(self.stream, message, keep);
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.session.streams.store().finish(self.stream);
    }
}

/// A connection that reads a stream. A newer one of the same stream takes over.
pub struct Reader {
    session: Arc<Session>,
    stream: u64,
    reader: u64,
    /// The last event that was read.
    after: u64,
    kind: Kind,
    wake: Arc<Notify>,
    /// Whether the place is still to be said.
    priming: bool,
    closes: Option<Instant>,
}

impl fmt::Debug for Reader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reader")
            .field("stream", &self.stream)
            .field("after", &self.after)
            .finish_non_exhaustive()
    }
}

impl Reader {
    /// Does the connection wait for something that comes for certain?
    #[must_use]
    pub fn awaits_answer(&self) -> bool {
        match self.kind {
            Kind::Answer => true,
            Kind::News => false,
        }
    }

    /// The next event; none where the connection is to be closed. Cancel-safe.
    pub async fn next(&mut self) -> Option<Event> {
        if std::mem::take(&mut self.priming) {
            return Some(Event::Place { id: self.id(self.after), retry: RETRY });
        }
        let wake = Arc::clone(&self.wake);
        loop {
            let woken = wake.notified();
            let newest = match self.take() {
                Taken::Event(number, message) => {
                    self.after = number;
                    return Some(Event::Message { id: Some(self.id(number)), message });
                }
                Taken::End => return None,
                Taken::Nothing { newest } => newest,
            };
            let streams = &self.session.streams;
            let closes = async {
                match self.closes {
                    Some(at) => sleep_until(at).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                biased;
                () = streams.ended.cancelled() => return None,
                () = streams.stop.cancelled(), if self.kind == Kind::News => return None,
                () = closes => return None,
                () = woken => {}
                // From here on the client counts as told, so it goes into the log before anything else.
                news = self.session.next_news(), if newest => {
                    streams.store().push(self.stream, news, Keep::Always);
                }
            }
        }
    }

    fn take(&self) -> Taken {
        let mut store = self.session.streams.store();
        let late = self.closes.is_some_and(|at| at <= Instant::now());
        if late && !store.is_over(self.stream) {
            return Taken::End;
        }
        store.take(self.stream, self.reader, self.after)
    }

    fn id(&self, event: u64) -> String {
        EventId { tag: self.session.streams.tag, kind: self.kind, stream: self.stream, event }.to_string()
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        self.session.in_flight.touch();
        self.session.streams.store().detach(self.stream, self.reader);
    }
}

#[cfg(test)]
mod tests;
