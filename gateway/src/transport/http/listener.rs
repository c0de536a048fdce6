//! A listener for HTTP and its connections, whoever answers what comes over them: MCP's endpoint, and the operator's.
//!
//! The accept loop is our own, because axum's has no limit on connections and none on how long a request's head may
//! take. Small answers leave at once (TCP_NODELAY), head and body in one write.

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

use crate::transport::http::seats::{Seat, Seats};

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

/// What is listened for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// Clients of MCP.
    Mcp,
    /// The operator.
    Admin,
}

/// An address could not be listened on.
#[derive(Debug, thiserror::Error)]
#[error("can't listen on {address}: {}", reason(.source))]
pub struct BindError {
    /// The address.
    pub address: SocketAddr,
    /// Why not.
    pub source: io::Error,
    purpose: Purpose,
}

impl BindError {
    /// What to do about it.
    #[must_use]
    pub fn hint(&self) -> String {
        match (self.source.kind(), self.purpose) {
            (io::ErrorKind::AddrInUse, Purpose::Mcp) => {
                "stop the other program, or choose another port with `--http 127.0.0.1:PORT` or `listen` under `[http]`"
                    .to_owned()
            }
            (io::ErrorKind::AddrInUse, Purpose::Admin) => {
                "another gateway may run with this configuration: stop it, or choose another port for `listen` under \
                 `[admin]`; 0 takes any free one"
                    .to_owned()
            }
            (io::ErrorKind::PermissionDenied, _) => "ports below 1024 are for root: choose a higher one".to_owned(),
            (io::ErrorKind::AddrNotAvailable, _) => {
                format!("{} is no address of this machine; `127.0.0.1` always is", self.address.ip())
            }
            (_, Purpose::Mcp) => "choose another address with `--http` or `listen` under `[http]`".to_owned(),
            (_, Purpose::Admin) => "choose another address for `listen` under `[admin]`".to_owned(),
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

/// An address that is listened on. Connections wait until [`Listener::serve`].
#[derive(Debug)]
pub(crate) struct Listener {
    listener: TcpListener,
    address: SocketAddr,
}

impl Listener {
    /// Listens on `address`; port 0 takes any free one.
    ///
    /// # Errors
    /// The address is in use, not ours, or not permitted.
    pub(crate) async fn bind(address: SocketAddr, purpose: Purpose) -> Result<Self, BindError> {
        let bad = |source| BindError { address, source, purpose };
        let listener = TcpListener::bind(address).await.map_err(bad)?;
        let address = listener.local_addr().map_err(bad)?;
        Ok(Self { listener, address })
    }

    /// The address, with the port that it got.
    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Serves at most so many `connections` at once until `stop` is cancelled, then lets requests end until time is
    /// `over`; connections on which nothing happens are closed before. Gives how many connections were still busy then
    /// and were dropped.
    pub(crate) async fn serve(
        self,
        router: Router,
        connections: usize,
        stop: CancellationToken,
        over: impl Future<Output = ()>,
    ) -> usize {
        let seats = Seats::new(connections);
        let mut connections = JoinSet::new();
        accept(&self.listener, &router, &seats, &mut connections, &stop).await;
        drop(self.listener);
        let all = async { while connections.join_next().await.is_some() {} };
        tokio::select! {
            () = all => {}
            () = over => {}
        }
        let left = connections.len();
        connections.shutdown().await;
        left
    }
}

/// Takes connections until `stop` is cancelled.
async fn accept(
    listener: &TcpListener,
    router: &Router,
    seats: &Arc<Seats>,
    connections: &mut JoinSet<()>,
    stop: &CancellationToken,
) {
    loop {
        let next = async {
            let (stream, client) = listener.accept().await?;
            Ok((stream, client, seats.take().await))
        };
        let accepted = tokio::select! {
            () = stop.cancelled() => return,
            accepted = next => accepted,
        };
        while connections.try_join_next().is_some() {}
        match accepted {
            Ok((stream, client, seat)) => {
                connections.spawn(serve_connection(stream, client, router.clone(), seat, stop.clone()));
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

async fn serve_connection(
    stream: TcpStream,
    client: SocketAddr,
    router: Router,
    seat: Seat,
    stop: CancellationToken,
) {
    if let Err(error) = stream.set_nodelay(true) {
        tracing::debug!(%error, "TCP_NODELAY can't be set");
    }
    let (occupant, router) = (seat.occupant(), TowerToHyperService::new(router));
    let service = service_fn(move |mut request: hyper::Request<Incoming>| {
        occupant.touch();
        request.extensions_mut().insert(occupant.clone());
        request.extensions_mut().insert(ConnectInfo(client));
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
