//! An HTTP listener and its connections, for the MCP endpoint and for the admin listener.
//!
//! The accept loop is our own, because axum's limits neither the number of connections nor the time to send a request
//! head. Small responses are sent at once (TCP_NODELAY), head and body in one write.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::ConnectInfo;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::{Service as _, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::transport::http::connections::{ConnectionLimiter, ConnectionSlot};
use crate::transport::http::timed_writes::TimedWrites;

/// The idle time after which a connection is closed during shutdown, because the rest of a request or response may be
/// in transit.
const IDLE_BEFORE_CLOSE: Duration = Duration::from_secs(5);

/// The minimum time that a connection stays open during shutdown, even if idle: its stream may end with a message.
const MIN_CLOSE_DELAY: Duration = Duration::from_secs(1);

/// The maximum size of a request head, in bytes.
const MAX_HEAD_BYTES: usize = 64 * 1024;

/// The delay after a failed accept, for example when there are no file descriptors left.
const ACCEPT_RETRY_DELAY: Duration = Duration::from_millis(200);

/// The purpose of a listener.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ListenerPurpose {
    /// MCP clients.
    Mcp,
    /// The operator.
    Admin,
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
}

impl HttpListener {
    /// Binds `address`. Port 0 takes any free port.
    ///
    /// # Errors
    /// The address is in use, isn't an address of this machine, or isn't permitted.
    pub(crate) async fn bind(address: SocketAddr, purpose: ListenerPurpose) -> Result<Self, BindError> {
        let bad = |source| BindError { address, source, purpose };
        let listener = TcpListener::bind(address).await.map_err(bad)?;
        let address = listener.local_addr().map_err(bad)?;
        Ok(Self { listener, address })
    }

    /// The address, with the actual port.
    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Serves until `stop` is cancelled, then lets requests finish until `over` completes; idle connections are closed
    /// earlier. Returns the number of busy connections that were dropped.
    pub(crate) async fn serve(
        self,
        router: Router,
        limits: ListenerLimits,
        stop: CancellationToken,
        over: impl Future<Output = ()>,
    ) -> usize {
        let limiter = ConnectionLimiter::new(limits.connections);
        let mut connections = JoinSet::new();
        accept(&self.listener, &router, &limiter, limits.idle, &mut connections, &stop).await;
        drop(self.listener);
        let all = async { while connections.join_next().await.is_some() {} };
        tokio::select! {
            () = all => {}
            () = over => {}
        }
        let remaining = connections.len();
        connections.shutdown().await;
        remaining
    }
}

/// Accepts connections until `stop` is cancelled.
async fn accept(
    listener: &TcpListener,
    router: &Router,
    limiter: &Arc<ConnectionLimiter>,
    idle: Duration,
    connections: &mut JoinSet<()>,
    stop: &CancellationToken,
) {
    loop {
        let next = async {
            let (stream, client) = listener.accept().await?;
            Ok((stream, client, limiter.acquire(client.ip()).await))
        };
        let accepted = tokio::select! {
            () = stop.cancelled() => return,
            accepted = next => accepted,
        };
        while connections.try_join_next().is_some() {}
        match accepted {
            Ok((stream, client, slot)) => {
                let served = serve_connection(stream, client, router.clone(), slot, idle, stop.clone());
                connections.spawn(served);
            }
            Err(error) if is_connection_error(&error) => {}
            Err(error) => {
                tracing::warn!(%error, "can't accept a connection");
                tokio::select! {
                    () = stop.cancelled() => return,
                    () = tokio::time::sleep(ACCEPT_RETRY_DELAY) => {}
                }
            }
        }
    }
}

/// True if only this connection failed, not the listener.
fn is_connection_error(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::ConnectionRefused | io::ErrorKind::ConnectionAborted | io::ErrorKind::ConnectionReset
    )
}

async fn serve_connection(
    stream: TcpStream,
    client: SocketAddr,
    router: Router,
    slot: ConnectionSlot,
    idle: Duration,
    stop: CancellationToken,
) {
    if let Err(error) = stream.set_nodelay(true) {
        tracing::debug!(%error, "can't set TCP_NODELAY");
    }
    let handle = slot.handle();
    let stream = TimedWrites::new(stream, slot.handle());
    let router = TowerToHyperService::new(router);
    let service = service_fn(move |mut request: hyper::Request<Incoming>| {
        handle.touch();
        request.extensions_mut().insert(handle.clone());
        request.extensions_mut().insert(ConnectInfo(client));
        router.call(request)
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(idle)
        .max_buf_size(MAX_HEAD_BYTES)
        .serve_connection(TokioIo::new(stream), service);
    let mut connection = std::pin::pin!(connection);
    let served = tokio::select! {
        served = connection.as_mut() => served,
        () = stop.cancelled() => {
            connection.as_mut().graceful_shutdown();
            tokio::select! {
                served = connection => served,
                () = wait_until_idle(&slot) => Ok(()),
            }
        }
        () = slot.evicted() => Ok(()),
    };
    if let Err(error) = served {
        // Clients disconnect at any time, so this isn't a warning.
        tracing::debug!(%error, "connection ended early");
    }
}

/// Waits until a connection has been open for the minimum time and is idle.
async fn wait_until_idle(slot: &ConnectionSlot) {
    tokio::time::sleep(MIN_CLOSE_DELAY).await;
    slot.idle_for(IDLE_BEFORE_CLOSE).await;
}

#[cfg(test)]
mod tests;
