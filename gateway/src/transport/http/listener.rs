//! An HTTP listener and its connections, for the MCP endpoint and for the admin listener.
//!
//! The accept loop is our own, because axum's limits neither the number of connections nor the time to send a request
//! head. Small responses are sent at once (TCP_NODELAY), head and body in one write.

use std::fmt;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::ConnectInfo;
use axum::http::header::CONNECTION;
use axum::http::{HeaderValue, StatusCode};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::{Service as _, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use moongate_model::caller::Caller;
use moongate_system::background::{self, MovableFuture, WorkOwner, move_to_background};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;

use crate::transport::http::client_identity::ClientIdentity;
use crate::transport::http::client_stream::{ClientStream, DecryptedStream};
use crate::transport::http::connections::{ConnectionLimiter, ConnectionSlot};
use crate::transport::http::http2::{self, StreamService};
use crate::transport::http::refusal_log::RefusalLog;
use crate::transport::http::tls::{AcceptedTls, ConnectionTls, ListenerTls};
use crate::transport::http::websocket_upgrade::ConnectionUpgrade;

/// The idle time after which a connection is closed during shutdown, because the rest of a request or response may be
/// in transit.
const IDLE_BEFORE_CLOSE: Duration = Duration::from_secs(5);

/// The minimum time that a connection stays open during shutdown, even if idle: its stream may end with a message.
const MIN_CLOSE_DELAY: Duration = Duration::from_secs(1);

/// The time for which a connection waits for a request that can be in transit, once the listener is closed.
pub(super) const LAST_REQUEST_TIME: Duration = Duration::from_secs(1);

/// The maximum size of a request head, in bytes.
const MAX_HEAD_BYTES: usize = 64 * 1024;

/// The size of a request head above which the connection is closed after the response, because an idle connection keeps
/// the buffer of its largest head.
const MAX_KEPT_HEAD_BYTES: usize = 16 * 1024;

/// The maximum amount of a response that Linux keeps for a connection before it is sent, in bytes. Its default is
/// megabytes, which no limit of the gateway counts, but the memory limit of its cgroup does. Connections inherit it.
#[cfg(target_os = "linux")]
const MAX_UNSENT_SYSTEM_BYTES: u32 = 64 * 1024;

/// The delay after a failed accept, for example when there are no file descriptors left.
const ACCEPT_RETRY_DELAY: Duration = Duration::from_millis(200);

/// The number of a peer's connections without an authenticated request above which their TLS handshakes make way for
/// other connections.
const MAX_HANDSHAKES: usize = 2;

/// The purpose of a listener.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ListenerPurpose {
    /// MCP clients.
    Mcp,
    /// The operator.
    Admin,
}

impl ListenerPurpose {
    /// A stable word for metrics and logs.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Mcp => "mcp",
            Self::Admin => "admin",
        }
    }
}

/// The limits on a listener's connections.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ListenerLimits {
    /// The maximum number of open connections.
    pub(crate) connections: usize,
    /// The time limit for a request head, including the idle time before it. A proxy must close an idle connection
    /// first, so that it sends no request to a closing server.
    pub(crate) idle: Duration,
}

/// The shutdown of a listener.
#[derive(Debug, Clone)]
pub(crate) struct ListenerShutdown {
    /// Cancelled when the gateway stops. From then on, responses close their connection.
    pub(crate) stop: CancellationToken,
    /// Cancelled once no load balancer sends requests here any more. The listener then accepts no connections.
    pub(crate) drained: CancellationToken,
    /// The time for which connections then still wait for a request.
    pub(crate) last_request: Duration,
}

impl ListenerShutdown {
    async fn drained(&self) {
        self.stop.cancelled().await;
        self.drained.cancelled().await;
    }

    /// Waits until no request can be in transit any more.
    pub(super) async fn last_request(&self) {
        self.drained().await;
        sleep(self.last_request).await;
    }
}

/// The error when an address can't be bound.
#[derive(Debug, thiserror::Error)]
#[error("can't listen on {address}: {}", reason(.source))]
pub struct BindError {
    /// The address.
    pub address: SocketAddr,
    /// The cause.
    pub source: io::Error,
    purpose: ListenerPurpose,
}

impl BindError {
    /// The hint for the operator.
    #[must_use]
    pub fn hint(&self) -> String {
        match (self.source.kind(), self.purpose) {
            (io::ErrorKind::AddrInUse, ListenerPurpose::Mcp) => {
                "stop the other program, or choose another port with `--http 127.0.0.1:PORT` or `listen` in `[http]`"
                    .to_owned()
            }
            (io::ErrorKind::AddrInUse, ListenerPurpose::Admin) => {
                "if another gateway runs with this configuration, stop it; or choose another port for `listen` in `[admin]` \
                 (0 for any free one)"
                    .to_owned()
            }
            (io::ErrorKind::PermissionDenied, _) => "choose a port above 1023; lower ones require root".to_owned(),
            (io::ErrorKind::AddrNotAvailable, _) => {
                format!("{} isn't an address of this machine; `127.0.0.1` always is", self.address.ip())
            }
            (_, ListenerPurpose::Mcp) => "choose another address with `--http` or `listen` in `[http]`".to_owned(),
            (_, ListenerPurpose::Admin) => "choose another address for `listen` in `[admin]`".to_owned(),
        }
    }
}

fn reason(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::AddrInUse => "the port is in use".to_owned(),
        io::ErrorKind::PermissionDenied => "not permitted".to_owned(),
        io::ErrorKind::AddrNotAvailable => "not an address of this machine".to_owned(),
        _ => error.to_string(),
    }
}

/// A bound address. Connections wait until [`HttpListener::serve`].
#[derive(Debug)]
pub(crate) struct HttpListener {
    listener: TcpListener,
    address: SocketAddr,
    purpose: ListenerPurpose,
}

impl HttpListener {
    /// Binds `address`. Port 0 takes any free port.
    ///
    /// # Errors
    /// The address is in use, isn't an address of this machine, or isn't permitted.
    pub(crate) async fn bind(address: SocketAddr, purpose: ListenerPurpose) -> Result<Self, BindError> {
        let bad = |source| BindError { address, source, purpose };
        Self::new(TcpListener::bind(address).await.map_err(bad)?, purpose).map_err(bad)
    }

    /// A socket that already listens.
    ///
    /// # Errors
    /// The socket can't be used.
    pub(crate) fn from_listener(
        listener: std::net::TcpListener,
        purpose: ListenerPurpose,
    ) -> Result<Self, BindError> {
        let address = listener.local_addr().unwrap_or_else(|_| (Ipv4Addr::UNSPECIFIED, 0).into());
        let usable = || {
            listener.set_nonblocking(true)?;
            Self::new(TcpListener::from_std(listener)?, purpose)
        };
        usable().map_err(|source| BindError { address, source, purpose })
    }

    fn new(listener: TcpListener, purpose: ListenerPurpose) -> io::Result<Self> {
        let address = listener.local_addr()?;
        #[cfg(target_os = "linux")]
        if let Err(error) = socket2::SockRef::from(&listener).set_tcp_notsent_lowat(MAX_UNSENT_SYSTEM_BYTES) {
            tracing::debug!(%error, "can't set TCP_NOTSENT_LOWAT");
        }
        Ok(Self { listener, address, purpose })
    }

    /// The address, with the actual port.
    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Serves until `shutdown` is drained, then lets requests finish; idle connections are closed earlier. `over` ends
    /// everything; it is first polled when the gateway stops. Without `tls`, it serves plain HTTP. Returns the number of
    /// busy connections that were dropped.
    pub(crate) async fn serve(
        self,
        router: Router,
        tls: Option<ListenerTls>,
        limits: ListenerLimits,
        shutdown: ListenerShutdown,
        over: impl Future<Output = ()>,
    ) -> usize {
        let refusals = Arc::new(RefusalLog::new(self.purpose));
        let service = ListenerService { router, idle: limits.idle, shutdown: shutdown.clone(), refusals };
        let mut connections = JoinSet::new();
        let served = async {
            let limiter = ConnectionLimiter::new(limits.connections);
            Acceptor { service, tls, limiter, connections: &mut connections }.accept(self.listener).await;
            while connections.join_next().await.is_some() {}
        };
        let over = async {
            shutdown.stop.cancelled().await;
            over.await;
        };
        tokio::select! {
            () = served => {}
            () = over => {}
        }
        let remaining = connections.len();
        connections.shutdown().await;
        remaining
    }
}

/// The common state of a listener's connections.
#[derive(Debug, Clone)]
struct ListenerService {
    router: Router,
    idle: Duration,
    shutdown: ListenerShutdown,
    refusals: Arc<RefusalLog>,
}

/// The peer of a connection.
#[derive(Debug)]
struct ConnectionPeer {
    address: SocketAddr,
    /// The holder of its client certificate.
    identity: Option<ClientIdentity>,
}

/// Starts serving the connections of a listener.
struct Acceptor<'a> {
    service: ListenerService,
    tls: Option<ListenerTls>,
    limiter: Arc<ConnectionLimiter>,
    connections: &'a mut JoinSet<()>,
}

impl Acceptor<'_> {
    /// Accepts connections until the shutdown is drained, and then closes the listener.
    async fn accept(mut self, listener: TcpListener) {
        let shutdown = self.service.shutdown.clone();
        let mut closing = pin!(shutdown.drained());
        loop {
            let accepted = tokio::select! {
                biased;
                () = &mut closing => break,
                accepted = listener.accept() => accepted,
            };
            match accepted {
                Ok((stream, client)) => self.serve(stream, client).await,
                Err(error) if is_connection_error(&error) => {}
                Err(error) => {
                    tracing::warn!(%error, "can't accept a connection");
                    tokio::select! {
                        () = &mut closing => break,
                        () = sleep(ACCEPT_RETRY_DELAY) => {}
                    }
                }
            }
        }
        if let Err(error) = self.serve_queued(listener).await {
            tracing::debug!(%error, "connections were reset");
        }
    }

    /// Serves the connections in the listen queue, because closing the listener would reset them.
    async fn serve_queued(&mut self, listener: TcpListener) -> io::Result<()> {
        let listener = listener.into_std()?;
        let deadline = Instant::now() + LAST_REQUEST_TIME; // connections can arrive faster than they get slots
        while Instant::now() < deadline {
            match listener.accept() {
                Ok((stream, client)) => {
                    stream.set_nonblocking(true)?;
                    self.serve(TcpStream::from_std(stream)?, client).await;
                    tokio::task::yield_now().await;
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) if is_connection_error(&error) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Waits for a slot and serves a connection.
    async fn serve(&mut self, stream: TcpStream, client: SocketAddr) {
        let slot = self.limiter.acquire(client.ip()).await;
        while self.connections.try_join_next().is_some() {}
        if let Err(error) = stream.set_nodelay(true) {
            tracing::debug!(%error, "can't set TCP_NODELAY");
        }
        let service = self.service.clone();
        match self.tls.as_mut().map(ListenerTls::next) {
            None => self.connections.spawn(MovableFuture::new(async move {
                let stream = ClientStream::new(stream, slot.handle());
                let peer = ConnectionPeer { address: client, identity: None };
                serve_connection(stream, peer, service, slot).await;
            })),
            Some(tls) => self
                .connections
                .spawn(MovableFuture::new(serve_tls_connection(stream, tls, client, service, slot))),
        };
    }
}

/// True if only this connection failed, not the listener.
fn is_connection_error(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::ConnectionRefused | io::ErrorKind::ConnectionAborted | io::ErrorKind::ConnectionReset
    )
}

/// Serves a connection once its TLS handshake is done.
async fn serve_tls_connection(
    stream: TcpStream,
    tls: ConnectionTls,
    client: SocketAddr,
    service: ListenerService,
    slot: ConnectionSlot,
) {
    if slot.handle().unauthenticated_of_peer() > MAX_HANDSHAKES {
        // A handshake takes up to a millisecond, and costs a client that repeats another one's bytes nothing.
        let peer = Caller::from_address(client.ip());
        move_to_background(WorkOwner { plugin: None, caller: Some(&peer) }).await;
    }
    let accepted = tokio::select! {
        accepted = tls.accept(stream, slot.handle(), client, &service.refusals) => accepted,
        () = service.shutdown.last_request() => None,
        () = slot.evicted() => None,
    };
    let Some(AcceptedTls { stream, identity, is_http2 }) = accepted else { return };
    background::request_return();
    let stream = DecryptedStream::new(stream);
    if !is_http2 {
        let peer = ConnectionPeer { address: client, identity };
        return serve_connection(stream, peer, service, slot).await;
    }
    let ListenerService { router, idle, shutdown, refusals } = service;
    let service = StreamService { router, peer: client, identity };
    let drained = wait_until_idle(&slot);
    match http2::serve(stream, service, &slot, idle, &shutdown, drained).await {
        // Errors that h2 itself found are those of the client.
        Err(error) if error.is_library() => log_invalid_http(&refusals, client, &error),
        Err(error) => tracing::debug!(%error, "connection ended early"),
        Ok(()) => {}
    }
}

async fn serve_connection(
    stream: impl AsyncRead + AsyncWrite + Send + Unpin + 'static,
    peer: ConnectionPeer,
    service: ListenerService,
    slot: ConnectionSlot,
) {
    let ListenerService { router, idle, shutdown, refusals } = service;
    let (handle, client) = (slot.handle(), peer.address);
    let router = TowerToHyperService::new(router);
    let upgrade = ConnectionUpgrade::new(shutdown.stop.clone());
    let (upgraded, stopping) = (upgrade.clone(), shutdown.stop.clone());
    let service = service_fn(move |mut request: hyper::Request<Incoming>| {
        let is_pipelined = handle.head_completed();
        let (handle, stopping) = (handle.clone(), stopping.clone());
        let is_large = head_bytes(&request) > MAX_KEPT_HEAD_BYTES;
        request.extensions_mut().insert(handle.clone());
        request.extensions_mut().insert(upgrade.clone());
        request.extensions_mut().insert(ConnectInfo(peer.address));
        if let Some(identity) = &peer.identity {
            request.extensions_mut().insert(identity.clone());
        }
        let answer = router.call(request);
        async move {
            if is_pipelined {
                tokio::task::yield_now().await; // else a client with many requests is served many times in a row
            }
            let mut response = answer.await;
            handle.await_head();
            if (is_large || stopping.is_cancelled())
                && let Ok(response) = &mut response
                && response.status() != StatusCode::SWITCHING_PROTOCOLS
            {
                response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
            }
            response
        }
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(idle)
        .max_buf_size(MAX_HEAD_BYTES)
        .serve_connection(TokioIo::new(stream), service)
        .with_upgrades();
    let mut connection = pin!(connection);
    let served = tokio::select! {
        served = connection.as_mut() => served,
        () = shutdown.last_request() => {
            connection.as_mut().graceful_shutdown();
            tokio::select! {
                served = connection => served,
                () = wait_until_idle(&slot) => Ok(()),
            }
        }
        () = slot.evicted() => Ok(()),
    };
    match served {
        Err(error) if error.is_parse() => log_invalid_http(&refusals, client, &error),
        // Clients disconnect at any time, so this isn't a warning.
        Err(error) => tracing::debug!(%error, "connection ended early"),
        Ok(()) => {
            if let Some(task) = upgraded.take() {
                tokio::select! {
                    () = task => {}
                    () = slot.evicted() => {} // its place is taken, so it ends at once
                }
            }
        }
    }
}

/// Logs a request that isn't valid HTTP. The text of such an error contains nothing that the client sent.
fn log_invalid_http(refusals: &RefusalLog, client: SocketAddr, error: &dyn fmt::Display) {
    refusals.record_invalid(client.ip(), "invalid_http", error);
}

/// The approximate size of a request head.
fn head_bytes<B>(request: &hyper::Request<B>) -> usize {
    let path = request.uri().path().len() + request.uri().query().map_or(0, str::len);
    request.headers().iter().fold(path, |bytes, (name, value)| bytes + name.as_str().len() + value.len())
}

/// Waits until a connection has been open for the minimum time and is idle.
async fn wait_until_idle(slot: &ConnectionSlot) {
    sleep(MIN_CLOSE_DELAY).await;
    slot.idle_for(IDLE_BEFORE_CLOSE).await;
}

#[cfg(test)]
mod tests;
