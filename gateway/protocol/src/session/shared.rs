//! Sessions that several gateways serve together, through a store that they share.
//!
//! Each gateway is a *replica*. A call runs on the replica that receives it, and requests are never forwarded. A replica
//! that serves a session has a copy of it, a [`Session`](super::Session), and the store has what must outlive the copy.
//! Without a store, nothing here is used.
//!
//! Wake-ups only say that something has changed. A replica also compares with the store at each heartbeat, so a lost
//! wake-up costs a delay and nothing else.

use std::fmt;
use std::pin::Pin;
use std::time::Duration;

use bytes::Bytes;
use futures_util::Stream;

use crate::call::LogLevel;
use crate::catalog::ListKind;
use crate::jsonrpc::Id;
use crate::names::{Digest, ResourceUri};

use super::SessionError;

mod copy;
mod event_writer;
mod mail;
mod record;
mod replica;
mod streams;

pub(super) use copy::SharedCopy;
pub use mail::{Mail, MailContent};
pub(crate) use replica::{NoSession, SharedLimits, SharedSessions};
pub(crate) use streams::{SharedEvents, SharedStreamError};

/// The time for which a replica counts as alive after its last heartbeat.
pub const REPLICA_LEASE: Duration = Duration::from_secs(10);

/// The time for which the log of a stream is kept after its last event or heartbeat.
pub const STREAM_LOG_TTL: Duration = Duration::from_secs(5 * 60);

/// The number of events to which the log of a stream may be cut. A replica keeps fewer of a stream whose client reads.
pub const MAX_LOGGED_EVENTS: usize = 512;

/// The maximum size of a message in the log of a stream, and of all messages that are written or read at once, in bytes:
/// it must be transferred within the store's `response_timeout`.
pub const MAX_LOGGED_MESSAGE_BYTES: usize = 1 << 20;

/// The size of the logs of a session's streams, in bytes, above which those that have ended are dropped, oldest first.
pub const MAX_LOGGED_BYTES: usize = 1 << 20;

/// The number of a session's streams with logs above which those that have ended are dropped, oldest first.
pub const MAX_LOGGED_STREAMS: usize = 32;

/// The number of entries to which the journal of resource updates may be cut.
pub const MAX_JOURNAL_ENTRIES: usize = 10_000;

/// A pending operation of the store.
pub type StoreOperation<'a, T> = Pin<Box<dyn Future<Output = Result<T, SharedStoreError>> + Send + 'a>>;

/// The wake-ups for one replica. The stream ends if no more can arrive.
pub type WakeUps = Pin<Box<dyn Stream<Item = WakeUp> + Send>>;

/// The store failed or didn't answer in time.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the shared store isn't available: {reason}")]
pub struct SharedStoreError {
    /// The reason.
    pub reason: String,
    /// True if the operation might have taken effect nevertheless.
    pub is_uncertain: bool,
}

impl SharedStoreError {
    /// An error of an operation that had no effect.
    #[must_use]
    pub fn without_effect(reason: &str) -> Self {
        Self { reason: reason.to_owned(), is_uncertain: false }
    }
}

/// Sessions, in a store that several gateways share.
///
/// Each operation takes effect as a whole or not at all. One that fails might have taken effect, see
/// [`SharedStoreError::is_uncertain`].
pub trait SharedSessionStore: fmt::Debug + Send + Sync {
    /// Stores a new session. If there are too many, the session of the caller with the most sessions that is the
    /// longest without activity is ended.
    fn create<'a>(&'a self, session: &'a NewSession) -> StoreOperation<'a, ()>;

    /// Reads a session, extends it, and makes `replica` a member of it, which is notified of changes.
    fn load<'a>(&'a self, id: &'a str, replica: &'a ReplicaId) -> StoreOperation<'a, Option<StoredSession>>;

    /// Extends sessions and the logs of their streams, and makes `replica` a member of each. Returns the version of each
    /// session, or `None` if it has ended.
    fn touch<'a>(
        &'a self,
        sessions: &'a [BusySession],
        replica: &'a ReplicaId,
    ) -> StoreOperation<'a, Vec<Option<u64>>>;

    /// Changes a session, increments its version, wakes its members and removes those that aren't alive.
    fn update<'a>(
        &'a self,
        id: &'a str,
        update: &'a SessionUpdate,
    ) -> StoreOperation<'a, SessionUpdateOutcome>;

    /// Ends a session and wakes its members.
    fn end<'a>(&'a self, id: &'a str) -> StoreOperation<'a, ()>;

    /// Puts mail into the inbox of each recipient and wakes them. Mail to a replica that isn't a member of the session is
    /// discarded.
    fn send<'a>(&'a self, recipient: MailRecipient<'a>, mail: &'a Mail) -> StoreOperation<'a, MailOutcome>;

    /// Removes the first `handled` messages from a replica's inbox and reads some of the next, in the order of arrival, of
    /// [`MAX_LOGGED_MESSAGE_BYTES`] in total at most, or one. `None` is mail in an unknown format. Only one task at a time
    /// may take mail.
    fn take_mail<'a>(
        &'a self,
        replica: &'a ReplicaId,
        handled: usize,
    ) -> StoreOperation<'a, Vec<Option<Mail>>>;

    /// Makes a replica count as alive for [`REPLICA_LEASE`].
    fn renew_lease<'a>(&'a self, replica: &'a ReplicaId) -> StoreOperation<'a, ()>;

    /// Ends a replica's lease and discards its inbox.
    fn release_lease<'a>(&'a self, replica: &'a ReplicaId) -> StoreOperation<'a, ()>;

    /// Reports whether a replica is alive.
    fn is_alive<'a>(&'a self, replica: &'a ReplicaId) -> StoreOperation<'a, bool>;

    /// Makes a stream the one on which the session's notifications are sent.
    fn take_notifications<'a>(
        &'a self,
        takeover: &'a NotificationTakeover,
    ) -> StoreOperation<'a, TakeoverOutcome>;

    /// Records that the client is told of a change and logs the event, if the session's notifications are still sent on
    /// this stream.
    fn claim<'a>(&'a self, claim: &'a NotificationClaim) -> StoreOperation<'a, ClaimOutcome>;

    /// Lets another stream have the session's notifications, if this one has them.
    fn release_notifications<'a>(&'a self, id: &'a str, stream: &'a StreamName) -> StoreOperation<'a, ()>;

    /// Adds events to the log of a stream and wakes its watcher. Events that the log has already are skipped. If the last
    /// one is skipped, only the replica that opened the stream ends it. Above [`MAX_LOGGED_BYTES`] or [`MAX_LOGGED_STREAMS`], the logs of streams that have ended are dropped.
    fn append<'a>(&'a self, events: &'a NewEvents) -> StoreOperation<'a, ()>;

    /// Reads a part of the log of a stream after an event, with messages of [`MAX_LOGGED_MESSAGE_BYTES`] in total at most,
    /// and makes `watcher` the replica that new events wake.
    fn read<'a>(
        &'a self,
        id: &'a str,
        stream: &'a StreamName,
        after: u64,
        watcher: &'a ReplicaId,
    ) -> StoreOperation<'a, Option<StreamLog>>;

    /// Adds resources with new content to the journal and wakes all replicas.
    fn report_updates<'a>(&'a self, uris: &'a [ResourceUri]) -> StoreOperation<'a, ()>;

    /// The entries of the journal after a position, and its last position. Without a position, no entries.
    fn updates_after(&self, position: Option<JournalPosition>) -> StoreOperation<'_, JournalPart>;

    /// The wake-ups for a replica from now on. It waits until they can arrive.
    fn wake_ups<'a>(&'a self, replica: &'a ReplicaId) -> StoreOperation<'a, WakeUps>;
}

/// One run of a gateway: 16 hexadecimal digits.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ReplicaId(String);

impl ReplicaId {
    /// A new id.
    ///
    /// # Errors
    /// The system provides no random bytes.
    pub fn random() -> Result<Self, SessionError> {
        let mut id = super::random_id()?;
        id.truncate(16);
        Ok(Self(id))
    }

    /// Reads an id. `None` if it is invalid.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let is_digit = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
        (text.len() == 16 && text.bytes().all(is_digit)).then(|| Self(text.to_owned()))
    }

    /// The digits.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// The name of a stream within its session, such as `5f3a9c01p2`: its event ids without the number of the event.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct StreamName(pub String);

/// The lists that a client knows.
pub type KnownLists = Vec<(ListKind, Digest)>;

/// A session to store.
#[derive(Debug, Clone)]
pub struct NewSession {
    /// The id.
    pub id: String,
    /// The part that never changes, as text that only replicas read.
    pub content: String,
    /// The caller that the session counts for.
    pub caller: Digest,
    /// The replica that opens it, its first member.
    pub replica: ReplicaId,
    /// The lists that the client knows.
    pub known: KnownLists,
    /// The maximum number of sessions.
    pub max_sessions: usize,
    /// The time after which it ends without activity.
    pub idle: Duration,
}

/// A stored session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredSession {
    /// [`NewSession::content`].
    pub content: String,
    /// The minimum level of log messages.
    pub level: Option<LogLevel>,
    /// The number of changes so far.
    pub version: u64,
}

/// A session that a replica is busy with.
#[derive(Debug, Clone)]
pub struct BusySession {
    /// The id.
    pub id: String,
    /// Its streams that the replica writes.
    pub streams: Vec<StreamName>,
}

/// A change of a session.
#[derive(Debug, Clone)]
pub enum SessionUpdate {
    /// Sets the minimum level of log messages.
    Level(LogLevel),
    /// Subscribes to a resource, unless the session has `max_count` subscriptions or URIs of `max_bytes` in total.
    Subscribe {
        /// The resource.
        uri: ResourceUri,
        /// The maximum number of subscriptions.
        max_count: usize,
        /// The maximum total length of their URIs, in bytes.
        max_bytes: usize,
    },
    /// Ends a subscription.
    Unsubscribe(ResourceUri),
}

/// The outcome of a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SessionUpdateOutcome {
    /// The session is changed.
    Done,
    /// There is no such session.
    Ended,
    /// The session has too many subscriptions.
    TooMany,
}

/// The recipients of mail.
#[derive(Debug, Clone, Copy)]
pub enum MailRecipient<'a> {
    /// One replica.
    Replica(&'a ReplicaId),
    /// The members of the mail's session, except one.
    OtherMembers(&'a ReplicaId),
}

/// The outcome of sending mail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MailOutcome {
    /// All recipients that are members of the session have it.
    Sent,
    /// A recipient isn't alive, or has a full inbox. After an outage of the store, no replica is alive for a moment.
    Undelivered,
}

/// A stream that should have the notifications of a session.
#[derive(Debug, Clone)]
pub struct NotificationTakeover {
    /// The session.
    pub id: String,
    /// The stream.
    pub stream: StreamName,
    /// The number of its last event.
    pub number: u64,
    /// Its replica.
    pub replica: ReplicaId,
    /// The last event that the client has received: its stream and its number. `None` if the stream continues no other.
    pub resumes: Option<(StreamName, u64)>,
    /// The effect on another stream that has them.
    pub rival: Rival,
}

/// The effect on another stream that has the notifications.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rival {
    /// It loses them.
    Replaced,
    /// It keeps them if its replica is alive.
    Kept,
}

/// The outcome of a takeover.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TakeoverOutcome {
    /// The stream has the notifications.
    Taken(NotificationState),
    /// Another stream keeps them.
    Refused,
    /// There is no such session.
    Ended,
}

/// The state that the client of a session knows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotificationState {
    /// The lists that it knows.
    pub known: KnownLists,
    /// Its subscriptions, each with the position in the journal up to which it knows the updates.
    pub subscriptions: Vec<(ResourceUri, JournalPosition)>,
    /// The events that it hasn't received, each with its stream and its number: those after the event that the takeover
    /// resumes, and those of all streams that have had the notifications since then. The client has received nothing of
    /// these streams, for example because a gateway served its request only after it had connected to another one.
    pub events: Vec<(StreamName, u64, Bytes)>,
}

/// A notification to send.
#[derive(Debug, Clone)]
pub struct NotificationClaim {
    /// The session.
    pub id: String,
    /// The stream.
    pub stream: StreamName,
    /// Its replica.
    pub replica: ReplicaId,
    /// The number of the event.
    pub number: u64,
    /// The message.
    pub message: Bytes,
    /// The change that the client knows then.
    pub told: ToldChange,
}

/// A change that a client is told of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ToldChange {
    /// It knows this list.
    List(ListKind, Digest),
    /// It knows the updates of this resource up to this position in the journal.
    Update(ResourceUri, JournalPosition),
}

/// The outcome of a claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClaimOutcome {
    /// The event is logged and must be sent.
    Claimed,
    /// Another stream has the notifications.
    Lost,
    /// There is no such session.
    Ended,
}

/// Events to log.
#[derive(Debug, Clone)]
pub struct NewEvents {
    /// The session.
    pub id: String,
    /// The stream.
    pub stream: StreamName,
    /// Its replica.
    pub replica: ReplicaId,
    /// The request that it answers.
    pub request: Id,
    /// The events, each with its number.
    pub events: Vec<(u64, Bytes)>,
    /// The end, if nothing follows.
    pub end: StreamEnd,
}

/// The end of a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StreamEnd {
    /// More can follow.
    Open,
    /// Nothing follows.
    Ended,
}

/// A part of the log of a stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StreamLog {
    /// The replica that writes the stream.
    pub replica: ReplicaId,
    /// The request that it answers. `None` for notifications.
    pub request: Option<Id>,
    /// The events, each with its number.
    pub events: Vec<(u64, Bytes)>,
    /// True if the log has more events than these.
    pub has_more: bool,
    /// The end, if nothing follows.
    pub end: StreamEnd,
}

/// A position in the journal of resource updates. Later positions are greater.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct JournalPosition(pub u64, pub u64);

/// A part of the journal of resource updates.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct JournalPart {
    /// The entries, oldest first.
    pub entries: Vec<(JournalPosition, ResourceUri)>,
    /// The position of the last entry of the journal.
    pub position: JournalPosition,
}

/// Something has changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WakeUp {
    /// This session.
    Session(String),
    /// The log of this stream of a session.
    Stream(String, StreamName),
    /// The replica's inbox.
    Mail,
    /// The journal of resource updates.
    Journal,
    /// Anything: wake-ups were lost.
    Everything,
}

#[cfg(test)]
mod fake;
#[cfg(test)]
pub(crate) use fake::FakeSharedStore;
