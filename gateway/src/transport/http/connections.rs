//! Limits the number of open connections, per caller and in total.
//!
//! A connection belongs to a caller from its first authenticated request on. Before that, it takes one of a few places
//! of its own, so that peers without a token can't close the connections of others. Callers share the other places: at
//! its limit, a caller's quietest connection is closed for its next one.
//!
//! Incomplete request heads have a limit in bytes, over all connections. Above it, the peer or caller with the most loses
//! the connection with its largest one.

use std::cmp::Reverse;
use std::collections::{BTreeSet, HashMap};
use std::net::IpAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use moongate_model::caller::Caller;
use moongate_model::caller_budget::{BudgetShare, CallerBudget};
use moongate_model::log_field::milliseconds;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, sleep_until, timeout};
use tokio_util::sync::CancellationToken;

/// The maximum number of connections without an authenticated request. It is a quarter of all if that is less. If each
/// has its minimum time, ten thousand connections a second can be accepted.
const MAX_UNAUTHENTICATED: usize = 512;

/// The time limit for the first authenticated request, and between requests that aren't authenticated.
const UNAUTHENTICATED_TIMEOUT: Duration = Duration::from_secs(10);

/// The time that a connection has for its first request even if others need its place. It is enough for a request that
/// has already arrived.
const MIN_UNAUTHENTICATED_TIME: Duration = Duration::from_millis(50);

/// The maximum size of the request heads that a connection of HTTP/2 has at once before its first authenticated
/// request, in bytes. It is that of the head of a connection of HTTP/1.1.
const MAX_UNAUTHENTICATED_HEAD_BYTES: usize = 64 * 1024;

/// The maximum size of all that a connection of HTTP/2 receives before its first authenticated request, in bytes. Frames
/// that belong to no request cost work, too.
const MAX_UNAUTHENTICATED_BYTES: usize = 256 * 1024;

/// The minimum number of connections, whatever the configuration says: each kind needs some.
pub(super) const MIN_CONNECTIONS: usize = 16;

/// The maximum size of the incomplete request heads of all connections, in bytes. A head usually arrives at once, so
/// only few are incomplete.
const MAX_INCOMPLETE_HEAD_BYTES: usize = 8 * 1024 * 1024;

/// Hands out connection slots.
#[derive(Debug)]
pub(in crate::transport) struct ConnectionLimiter {
    unauthenticated: Arc<Semaphore>,
    /// The connections with an authenticated request.
    callers: Arc<CallerBudget>,
    connections: Mutex<Connections>,
    /// The bytes of incomplete request heads, without those of connections that are being closed.
    incomplete_heads: AtomicUsize,
}

#[derive(Debug, Default)]
struct Connections {
    open: HashMap<u64, Arc<Connection>>,
    /// The numbers of each peer's connections without an authenticated request, except those that are being closed.
    unauthenticated: HashMap<Caller, BTreeSet<u64>>,
    /// The number of slots ever acquired.
    count: u64,
}

/// An open connection.
#[derive(Debug)]
struct Connection {
    /// Earlier connections have lower numbers.
    number: u64,
    /// The anonymous caller at the peer's address, or the known caller.
    peer: Caller,
    accepted: Instant,
    state: Mutex<ConnectionState>,
    evicted: CancellationToken,
}

#[derive(Debug)]
struct ConnectionState {
    place: ConnectionPlace,
    /// The number of requests that are being answered.
    active_requests: usize,
    /// The time of the last activity: a request head arrived, an answer was ready, or a part of it was sent.
    last_activity: Instant,
    head: RequestHead,
    /// True if bytes arrived after the last complete request head.
    has_received: bool,
    /// The bytes that arrived before the first authenticated request.
    unauthenticated_bytes: usize,
    /// The streams of a connection of HTTP/2, of which a WebSocket has none. `None` for HTTP/1.1.
    streams: Option<OpenStreams>,
}

/// The open streams of a connection.
#[derive(Debug, Default)]
struct OpenStreams {
    count: usize,
    /// The size of their request heads.
    head_bytes: usize,
}

/// The state of the next request head.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RequestHead {
    /// This many of its bytes have arrived.
    Incomplete(usize),
    /// It is complete, and its request is being handled.
    Complete,
}

/// The place of a connection.
#[derive(Debug)]
enum ConnectionPlace {
    /// One of the few before the first authenticated request.
    Unauthenticated(#[expect(dead_code, reason = "dropping it frees the place")] OwnedSemaphorePermit),
    /// One of the caller whose request was the first to be authenticated.
    Caller(BudgetShare),
    /// Another connection has taken it, and this one is being closed.
    Taken,
}

/// The slot of one connection. Dropping it frees the slot.
#[derive(Debug)]
pub(in crate::transport) struct ConnectionSlot {
    handle: ConnectionHandle,
}

/// The connection of a request, which carries it as an extension.
#[derive(Debug, Clone)]
pub(crate) struct ConnectionHandle {
    limiter: Arc<ConnectionLimiter>,
    connection: Arc<Connection>,
    /// The stream of the request. `None` for HTTP/1.1.
    stream: Option<Arc<StreamPlace>>,
}

/// A stream of a connection of HTTP/2. It is open until this is dropped.
#[derive(Debug)]
struct StreamPlace {
    connection: Arc<Connection>,
    head_bytes: usize,
    /// Its place among those of its caller, if it isn't the first stream of the connection.
    share: Mutex<Option<BudgetShare>>,
}

/// A request that is being answered. Its connection isn't idle until this is dropped.
#[derive(Debug)]
pub(crate) struct ActiveRequest(Arc<Connection>);

/// The error when a caller has too many connections, and all of them are busy, or there were too many connections before
/// this one was authenticated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TooManyConnections;

impl ConnectionLimiter {
    /// At most `max` connections.
    pub(super) fn new(max: usize) -> Arc<Self> {
        let max = max.clamp(MIN_CONNECTIONS, Semaphore::MAX_PERMITS);
        let unauthenticated = MAX_UNAUTHENTICATED.min(max / 4);
        Arc::new(Self {
            unauthenticated: Arc::new(Semaphore::new(unauthenticated)),
            callers: CallerBudget::new((max - unauthenticated) as u64),
            connections: Mutex::default(),
            incomplete_heads: AtomicUsize::new(0),
        })
    }

    /// Waits for a slot for a connection without an authenticated request. If too many of these are open, the oldest one
    /// of the peer with the most of them is evicted.
    pub(super) async fn acquire(self: &Arc<Self>, peer: IpAddr) -> ConnectionSlot {
        let permit = loop {
            let places = Arc::clone(&self.unauthenticated);
            if let Ok(permit) = Arc::clone(&places).try_acquire_owned() {
                break permit;
            }
            self.evict_unauthenticated();
            if let Ok(permit) = timeout(MIN_UNAUTHENTICATED_TIME, places.acquire_owned()).await {
                break permit.expect("the semaphore is never closed");
            }
        };
        let mut connections = self.lock();
        let place = ConnectionPlace::Unauthenticated(permit);
        let connection = connections.open(Caller::from_address(peer), place, RequestHead::Incomplete(0));
        connections.unauthenticated.entry(connection.peer.clone()).or_default().insert(connection.number);
        drop(connections);
        let limiter = Arc::clone(self);
        ConnectionSlot { handle: ConnectionHandle { limiter, connection, stream: None } }
    }

    /// At most `max` connections, all of callers that are known when they connect.
    pub(in crate::transport) fn of_known_callers(max: usize) -> Arc<Self> {
        Arc::new(Self {
            unauthenticated: Arc::new(Semaphore::new(0)),
            callers: CallerBudget::new(max as u64),
            connections: Mutex::default(),
            incomplete_heads: AtomicUsize::new(0),
        })
    }

    /// A slot for a connection of a caller that is known when it connects. There are no request heads on it.
    ///
    /// # Errors
    /// The caller has too many connections, and all of them are busy.
    pub(in crate::transport) fn acquire_for(
        self: &Arc<Self>,
        caller: &Caller,
    ) -> Result<ConnectionSlot, TooManyConnections> {
        let mut connections = self.lock();
        let place = ConnectionPlace::Caller(self.reserve(&mut connections, caller)?);
        let connection = connections.open(caller.clone(), place, RequestHead::Complete);
        drop(connections);
        let limiter = Arc::clone(self);
        Ok(ConnectionSlot { handle: ConnectionHandle { limiter, connection, stream: None } })
    }

    fn evict_unauthenticated(&self) {
        let mut connections = self.lock();
        let Some(victim) = connections.oldest_unauthenticated() else { return };
        if victim.accepted.elapsed() >= MIN_UNAUTHENTICATED_TIME {
            tracing::debug!(peer = ?victim.peer, "closing a connection without an authenticated request");
            self.evict(&mut connections, &victim);
        }
    }

    /// Closes the connection with the largest incomplete head of the owner with the most of these bytes.
    fn evict_incomplete_head(&self) {
        let mut connections = self.lock();
        let mut sizes: HashMap<Caller, usize> = HashMap::new();
        let heads = connections.open.values().map(|connection| (connection, connection.incomplete_head()));
        let heads: Vec<_> = heads.filter(|(_, (_, bytes))| *bytes > 0).collect();
        for (_, (owner, bytes)) in &heads {
            *sizes.entry(owner.clone()).or_default() += bytes;
        }
        let largest = heads.into_iter().max_by_key(|(connection, (owner, bytes))| {
            (sizes.get(owner).copied(), *bytes, Reverse(connection.number))
        });
        if let Some((connection, (owner, bytes))) = largest {
            tracing::debug!(?owner, bytes, "closing a connection with an incomplete request head");
            let connection = Arc::clone(connection);
            self.evict(&mut connections, &connection);
        }
    }

    fn evict(&self, connections: &mut Connections, connection: &Connection) {
        connection.evicted.cancel();
        connections.remove_unauthenticated(connection);
        self.end_head(&mut connection.state());
    }

    /// Stops counting the bytes of a head.
    fn end_head(&self, state: &mut ConnectionState) {
        if let RequestHead::Incomplete(bytes) = state.head {
            self.incomplete_heads.fetch_sub(bytes, Ordering::Relaxed);
        }
        state.head = RequestHead::Complete;
    }

    /// Gives an unauthenticated connection a place of this caller.
    fn authenticate(&self, connection: &Connection, caller: &Caller) -> Result<(), TooManyConnections> {
        // Until the connection has its place, so that it isn't evicted meanwhile, and no other one gets the place.
        let mut connections = self.lock();
        if !connection.is_unauthenticated() {
            return Ok(());
        }
        if connection.evicted.is_cancelled() {
            return Err(TooManyConnections); // it is being closed
        }
        let share = self.reserve(&mut connections, caller)?;
        connections.remove_unauthenticated(connection);
        connection.state().place = ConnectionPlace::Caller(share);
        Ok(())
    }

    /// Takes a place for a connection of this caller. If the caller has as many as it may, the place of its quietest
    /// connection is used; if all places are taken, that of the caller with the most.
    fn reserve(
        &self,
        connections: &mut Connections,
        caller: &Caller,
    ) -> Result<BudgetShare, TooManyConnections> {
        if let Some(share) = self.callers.try_reserve(caller, 1) {
            return Ok(share);
        }
        let total = self.callers.total();
        let is_at_its_limit =
            self.callers.used() < total || self.callers.held_by(caller) >= total.div_ceil(2);
        let quietest = connections
            .open
            .values()
            .filter_map(|connection| {
                let (owner, idle_since) = connection.idle_owner()?;
                let is_candidate = !is_at_its_limit || owner == *caller;
                is_candidate.then(|| (connection, self.callers.held_by(&owner), idle_since))
            })
            .min_by_key(|(_, held, idle_since)| (Reverse(*held), *idle_since));
        if let Some((connection, _, idle_since)) = quietest {
            let idle_ms = milliseconds(idle_since.elapsed());
            tracing::debug!(idle_ms, "closing an idle connection for a new one");
            let connection = Arc::clone(connection);
            self.evict(connections, &connection);
            connection.state().place = ConnectionPlace::Taken;
        }
        self.callers.try_reserve(caller, 1).ok_or(TooManyConnections)
    }

    fn lock(&self) -> MutexGuard<'_, Connections> {
        self.connections.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Connections {
    /// Adds a connection.
    fn open(&mut self, peer: Caller, place: ConnectionPlace, head: RequestHead) -> Arc<Connection> {
        let now = Instant::now();
        self.count += 1;
        let connection = Arc::new(Connection {
            number: self.count,
            peer,
            accepted: now,
            state: Mutex::new(ConnectionState {
                place,
                active_requests: 0,
                last_activity: now,
                head,
                has_received: false,
                unauthenticated_bytes: 0,
                streams: None,
            }),
            evicted: CancellationToken::new(),
        });
        self.open.insert(connection.number, Arc::clone(&connection));
        connection
    }

    /// The oldest connection of the peer with the most connections without an authenticated request.
    fn oldest_unauthenticated(&self) -> Option<Arc<Connection>> {
        let numbers = self
            .unauthenticated
            .values()
            .max_by_key(|numbers| (numbers.len(), Reverse(numbers.first().copied())))?;
        self.open.get(numbers.first()?).cloned()
    }

    /// Its peer has one less of these connections.
    fn remove_unauthenticated(&mut self, connection: &Connection) {
        if let Some(numbers) = self.unauthenticated.get_mut(&connection.peer) {
            numbers.remove(&connection.number);
            if numbers.is_empty() {
                self.unauthenticated.remove(&connection.peer);
            }
        }
    }
}

impl ConnectionSlot {
    /// The connection, for its requests.
    pub(in crate::transport) fn handle(&self) -> ConnectionHandle {
        self.handle.clone()
    }

    /// Waits until the connection is evicted, or has taken too long to authenticate.
    pub(in crate::transport) async fn evicted(&self) {
        let connection = &self.handle.connection;
        tokio::select! {
            () = connection.evicted.cancelled() => {}
            () = self.unauthenticated_for(UNAUTHENTICATED_TIMEOUT) => {}
        }
    }

    /// Waits until the connection has been idle for `duration` without an authenticated request.
    async fn unauthenticated_for(&self, duration: Duration) {
        self.idle_for(duration).await;
        if !self.handle.connection.is_unauthenticated() {
            std::future::pending().await
        }
    }

    /// Waits until the connection has been idle for `duration`.
    pub(in crate::transport) async fn idle_for(&self, duration: Duration) {
        self.handle.idle_for(duration).await;
    }
}

impl Drop for ConnectionSlot {
    fn drop(&mut self) {
        let ConnectionHandle { limiter, connection, stream: _ } = &self.handle;
        let mut connections = limiter.lock();
        connections.open.remove(&connection.number);
        connections.remove_unauthenticated(connection);
        drop(connections);
        let mut state = connection.state();
        limiter.end_head(&mut state);
        // A request that still runs keeps the connection in memory, but not its place.
        let place = std::mem::replace(&mut state.place, ConnectionPlace::Taken);
        drop(state);
        drop(place);
    }
}

impl ConnectionHandle {
    /// Waits until the connection has been idle for `duration`.
    pub(super) async fn idle_for(&self, duration: Duration) {
        loop {
            let end = self.connection.idle_since().unwrap_or_else(Instant::now) + duration;
            if end <= Instant::now() {
                return;
            }
            sleep_until(end).await;
        }
    }

    /// The number of the peer's connections without an authenticated request.
    pub(super) fn unauthenticated_of_peer(&self) -> usize {
        self.limiter.lock().unauthenticated.get(&self.connection.peer).map_or(0, BTreeSet::len)
    }

    /// Records activity. Before the first authenticated request, only request heads count: a client must not stay by
    /// letting the gateway answer messages of TLS or HTTP/2.
    pub(super) fn touch(&self) {
        let mut state = self.connection.state();
        if !matches!(state.place, ConnectionPlace::Unauthenticated(_)) {
            state.last_activity = Instant::now();
        }
    }

    /// Records that bytes were sent. Over HTTP/2, only parts of responses count, because a client can request answers
    /// of other kinds, and on a WebSocket, only received messages, because pings are sent, too.
    pub(super) fn wrote(&self) {
        if self.connection.state().streams.is_none() {
            self.touch();
        }
    }

    /// Records that the connection uses HTTP/2 or is a WebSocket. Its heads no longer count by the bytes that arrive,
    /// which are those of all streams or messages.
    pub(super) fn begin_streams(&self) {
        let mut state = self.connection.state();
        state.streams = Some(OpenStreams::default());
        self.limiter.end_head(&mut state);
    }

    /// The handle for a request on a stream of its own, whose head has this size.
    ///
    /// # Errors
    /// The connection has no authenticated request yet, and too many others.
    pub(super) fn open_stream(&self, head_bytes: usize) -> Result<Self, TooManyConnections> {
        let mut state = self.connection.state();
        let is_unauthenticated = matches!(state.place, ConnectionPlace::Unauthenticated(_));
        if let Some(streams) = &mut state.streams {
            let all = streams.head_bytes + head_bytes;
            if is_unauthenticated && all > MAX_UNAUTHENTICATED_HEAD_BYTES {
                return Err(TooManyConnections);
            }
            streams.count += 1;
            streams.head_bytes = all;
        }
        drop(state);
        let connection = Arc::clone(&self.connection);
        let stream = StreamPlace { connection, head_bytes, share: Mutex::default() };
        Ok(Self { stream: Some(Arc::new(stream)), ..self.clone() })
    }

    /// Records that bytes arrived. They count towards the next request head if it isn't complete.
    pub(super) fn received(&self, bytes: usize) {
        let mut state = self.connection.state();
        state.has_received = true;
        if state.streams.is_some() && matches!(state.place, ConnectionPlace::Unauthenticated(_)) {
            state.unauthenticated_bytes += bytes;
            if state.unauthenticated_bytes > MAX_UNAUTHENTICATED_BYTES {
                drop(state);
                let mut connections = self.limiter.lock();
                self.limiter.evict(&mut connections, &self.connection);
                return;
            }
        }
        let RequestHead::Incomplete(before) = state.head else { return };
        if self.connection.evicted.is_cancelled() {
            return;
        }
        state.head = RequestHead::Incomplete(before + bytes);
        // Counted with the lock, so that an eviction can't subtract what isn't added yet.
        let all = self.limiter.incomplete_heads.fetch_add(bytes, Ordering::Relaxed) + bytes;
        drop(state);
        if all > MAX_INCOMPLETE_HEAD_BYTES {
            self.limiter.evict_incomplete_head();
        }
    }

    /// Records that a request head is complete. True if it had arrived together with the one before.
    pub(in crate::transport) fn head_completed(&self) -> bool {
        let mut state = self.connection.state();
        state.last_activity = Instant::now();
        self.limiter.end_head(&mut state);
        !std::mem::replace(&mut state.has_received, false)
    }

    /// Records that a request was handled, so the next bytes are those of a head.
    pub(super) fn await_head(&self) {
        let mut state = self.connection.state();
        if state.streams.is_none() {
            state.head = RequestHead::Incomplete(0);
        }
    }

    /// Records that a request of this caller was authenticated. The connection counts for the first one.
    ///
    /// # Errors
    /// The caller has too many connections, and all of them are busy; or this one is being closed for another one.
    pub(crate) fn authenticate(&self, caller: &Caller) -> Result<(), TooManyConnections> {
        if self.connection.is_unauthenticated() {
            return self.limiter.authenticate(&self.connection, caller);
        }
        match &self.stream {
            Some(stream) => stream.count_for(&self.limiter, caller),
            None => Ok(()),
        }
    }

    /// Marks the connection as busy. Until then, while the body of the request is being read, it counts as idle.
    pub(crate) fn begin_request(&self) -> ActiveRequest {
        self.connection.state().active_requests += 1;
        ActiveRequest(Arc::clone(&self.connection))
    }
}

impl StreamPlace {
    /// Counts a stream in addition to others of its connection like a connection of its own.
    fn count_for(&self, limiter: &ConnectionLimiter, caller: &Caller) -> Result<(), TooManyConnections> {
        let is_only_one = self.connection.state().streams.as_ref().is_none_or(|streams| streams.count <= 1);
        if !is_only_one {
            let share = limiter.callers.try_reserve(caller, 1).ok_or(TooManyConnections)?;
            *self.share.lock().unwrap_or_else(PoisonError::into_inner) = Some(share);
        }
        Ok(())
    }
}

impl Drop for StreamPlace {
    fn drop(&mut self) {
        if let Some(streams) = &mut self.connection.state().streams {
            streams.count -= 1;
            streams.head_bytes -= self.head_bytes;
        }
    }
}

impl Drop for ActiveRequest {
    fn drop(&mut self) {
        let mut state = self.0.state();
        state.active_requests -= 1;
        state.last_activity = Instant::now();
    }
}

impl Connection {
    fn state(&self) -> MutexGuard<'_, ConnectionState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_unauthenticated(&self) -> bool {
        matches!(self.state().place, ConnectionPlace::Unauthenticated(_))
    }

    /// The time of the last activity. `None` while a request is being answered.
    fn idle_since(&self) -> Option<Instant> {
        let state = self.state();
        (state.active_requests == 0).then_some(state.last_activity)
    }

    /// The owner and the size of its incomplete head.
    fn incomplete_head(&self) -> (Caller, usize) {
        let state = self.state();
        let owner = match &state.place {
            ConnectionPlace::Caller(share) => share.caller().clone(),
            ConnectionPlace::Unauthenticated(_) | ConnectionPlace::Taken => self.peer.clone(),
        };
        match state.head {
            RequestHead::Incomplete(bytes) => (owner, bytes),
            RequestHead::Complete => (owner, 0),
        }
    }

    /// The caller and the time of the last activity, if the connection has a place and is idle.
    fn idle_owner(&self) -> Option<(Caller, Instant)> {
        let state = self.state();
        match &state.place {
            ConnectionPlace::Caller(share) if state.active_requests == 0 => {
                Some((share.caller().clone(), state.last_activity))
            }
            ConnectionPlace::Caller(_) | ConnectionPlace::Unauthenticated(_) | ConnectionPlace::Taken => None,
        }
    }
}

#[cfg(test)]
mod tests;
