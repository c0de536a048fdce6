//! MCP over HTTP: the listener and its connections. What is answered is decided in [`endpoint`].
//!
//! The accept loop is our own, because axum's has no limit on connections and none on how long a request's head may
//! take. Small answers leave at once (TCP_NODELAY), head and body in one write.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::routing::any;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::{Service as _, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use moongate_core::config::HttpConfig;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::transport::Protocol;

mod auth;
mod body;
mod endpoint;
mod events;
mod legacy;
mod origin;
mod refusal;
mod seats;

use endpoint::Endpoint;
use seats::{Seat, Seats};

/// Where MCP is spoken.
pub const PATH: &str = "/mcp";

/// How many connections may be open at once; for one more, the one that was quiet longest is closed. Far above what
/// hosts open, and below the usual limit of 1,024 open files together with what plugins hold.
const CONNECTIONS: usize = 768;

/// How long a connection may take to send a request's head, also when it is idle before. Longer than clients keep
/// idle connections, so that it is they who close them and no request meets a closing server.
const HEAD_TIMEOUT: Duration = Duration::from_secs(100);

/// For how long a connection must have been quiet before it is closed when the gateway stops: the end of a request
/// may be on its way, or the end of an answer.
const QUIET: Duration = Duration::from_secs(5);

/// How long a connection has at least when the gateway stops, however quiet it was: its stream may end with a message.
const LAST_WORDS: Duration = Duration::from_secs(1);

/// How much room a request's head has, in bytes.
const HEAD_SIZE: usize = 64 * 1024;

/// How long to wait after accepting failed, as it does when there are no more file descriptors.
const ACCEPT_PAUSE: Duration = Duration::from_millis(200);

/// An address could not be listened on.
#[derive(Debug, thiserror::Error)]
#[error("can't listen on {address}: {}", reason(.source))]
pub struct BindError {
    /// The address.
    pub address: SocketAddr,
    /// Why not.
    pub source: io::Error,
}

impl BindError {
    /// What to do about it.
    #[must_use]
    pub fn hint(&self) -> String {
        match self.source.kind() {
            io::ErrorKind::AddrInUse => {
                "stop the other program, or choose another port with `--http 127.0.0.1:PORT` or `listen` under `[http]`"
                    .to_owned()
            }
            io::ErrorKind::PermissionDenied => "ports below 1024 are for root: choose a higher one".to_owned(),
            io::ErrorKind::AddrNotAvailable => {
                format!("{} is no address of this machine; `127.0.0.1` always is", self.address.ip())
            }
            _ => "choose another address with `--http` or `listen` under `[http]`".to_owned(),
        }
    }
}

fn reason(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::AddrInUse => "another program listens there already".to_owned(),
        io::ErrorKind::PermissionDenied => "not permitted".to_owned(),
        io::ErrorKind::AddrNotAvailable => "it isn't an address of this machine".to_owned(),
        _ => error.to_string(),
    }
}

/// An address that is listened on. Connections wait until [`Bound::serve`].
#[derive(Debug)]
pub struct Bound {
    listener: TcpListener,
    address: SocketAddr,
}

impl Bound {
    /// Listens on `address`; port 0 takes any free one.
    ///
    /// # Errors
    /// The address is in use, not ours, or not permitted.
    pub async fn new(address: SocketAddr) -> Result<Self, BindError> {
        let bad = |source| BindError { address, source };
        let listener = TcpListener::bind(address).await.map_err(bad)?;
        let address = listener.local_addr().map_err(bad)?;
        Ok(Self { listener, address })
    }

    /// The address, with the port that it got.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Serves until `stop` is cancelled, then lets requests end for `grace`; connections on which nothing happens are
    /// closed before. Gives how many connections were still
    /// busy after that and were dropped.
    pub async fn serve<P: Protocol>(
        self,
        protocol: Arc<P>,
        config: &HttpConfig,
        stop: CancellationToken,
        grace: Duration,
    ) -> usize {
        let endpoint = Arc::new(Endpoint::new(protocol, config, self.address));
        let mut router = Router::new().route(PATH, any(endpoint::mcp::<P>));
        if config.legacy_sse {
            router = router.route(legacy::STREAM, any(legacy::stream::<P>));
            router = router.route(legacy::MESSAGES, any(legacy::messages::<P>));
        }
        let router = router.fallback(endpoint::elsewhere::<P>).with_state(endpoint);
        let mut connections = JoinSet::new();
        accept(&self.listener, &router, &mut connections, &stop).await;
        drop(self.listener);
        let all = async { while connections.join_next().await.is_some() {} };
        let _ = tokio::time::timeout(grace, all).await;
        let left = connections.len();
        connections.shutdown().await;
        left
    }
}

/// Takes connections until `stop` is cancelled.
async fn accept(
    listener: &TcpListener,
    router: &Router,
    connections: &mut JoinSet<()>,
    stop: &CancellationToken,
) {
    let seats = Seats::new(CONNECTIONS);
    loop {
        let next = async {
            let (stream, _) = listener.accept().await?;
            Ok((stream, seats.take().await))
        };
        let accepted = tokio::select! {
            () = stop.cancelled() => return,
            accepted = next => accepted,
        };
        while connections.try_join_next().is_some() {}
        match accepted {
            Ok((stream, seat)) => {
                connections.spawn(serve_connection(stream, router.clone(), seat, stop.clone()));
            }
            Err(error) if of_the_connection(&error) => {}
            Err(error) => {
                tracing::warn!(%error, "accepting a connection failed");
                tokio::select! {
                    () = stop.cancelled() => return,
                    () = tokio::time::sleep(ACCEPT_PAUSE) => {}
                }
            }
        }
    }
}

/// Did the one connection fail that was to be accepted, and not the listener?
fn of_the_connection(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::ConnectionRefused | io::ErrorKind::ConnectionAborted | io::ErrorKind::ConnectionReset
    )
}

async fn serve_connection(stream: TcpStream, router: Router, seat: Seat, stop: CancellationToken) {
    if let Err(error) = stream.set_nodelay(true) {
        tracing::debug!(%error, "TCP_NODELAY can't be set");
    }
    let (occupant, router) = (seat.occupant(), TowerToHyperService::new(router));
    let service = service_fn(move |mut request: hyper::Request<Incoming>| {
        occupant.touch();
        request.extensions_mut().insert(occupant.clone());
        router.call(request)
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_TIMEOUT)
        .max_buf_size(HEAD_SIZE)
        .serve_connection(TokioIo::new(stream), service);
    let mut connection = std::pin::pin!(connection);
    let served = tokio::select! {
        served = connection.as_mut() => served,
        () = stop.cancelled() => {
            connection.as_mut().graceful_shutdown();
            tokio::select! {
                served = connection => served,
                () = said_and_quiet(&seat) => Ok(()),
            }
        }
        () = seat.cleared() => Ok(()),
    };
    if let Err(error) = served {
        // Clients come and go as they like: no reason to worry an operator.
        tracing::debug!(%error, "a connection ended early");
    }
}

/// Waits until a connection has had time for its last words, and nothing has happened on it for long.
async fn said_and_quiet(seat: &Seat) {
    tokio::time::sleep(LAST_WORDS).await;
    seat.quiet_for(QUIET).await;
}

#[cfg(test)]
mod tests;
