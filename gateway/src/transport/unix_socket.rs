//! MCP over a Unix socket: one JSON-RPC message per line, as over stdio, for several clients at once.
//!
//! The system reports the user at the other end, who is the caller. Each connection is a session of its own, and has the
//! limits of a caller over HTTP.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use moongate_config::UnixSocketLimits;
use moongate_model::caller::Caller;
use moongate_model::names::LocalUser;
use moongate_protocol::dispatch::NetworkTransport;
use moongate_protocol::jsonrpc::{MissingId, write_error};
use moongate_protocol::mcp::ProtocolError;
use moongate_protocol::server::{Server, StdioConnection};
use moongate_system::background::MovableFuture;
use moongate_system::log_interval::LogInterval;
use tokio::net::{UnixListener, UnixStream};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, timeout};
use tokio_util::sync::CancellationToken;

use crate::transport::http::caller_load::CallerLoad;
use crate::transport::http::client_stream::ClientStream;
use crate::transport::http::connections::{ConnectionLimiter, ConnectionSlot, TooManyConnections};
use crate::transport::http::unix_socket_connections;
use crate::transport::stdio::{StreamPeer, serve_stream};
use crate::transport::trace::{Tap, Trace};
use crate::transport::{GRACE_WITHOUT_CLIENT, TransportShutdown};

mod socket_file;

use socket_file::SocketFile;
pub use socket_file::UnixSocketError;

/// The start of a Unix socket's address on the command line and in messages.
pub const ADDRESS_PREFIX: &str = "unix:";

/// The buffer of the system for unread responses, in bytes. Linux doubles it, for its own data.
const SEND_BUFFER_BYTES: usize = 32 * 1024;

/// The delay after a failed accept, for example when there are no file descriptors left.
const ACCEPT_RETRY_DELAY: Duration = Duration::from_millis(200);

/// A bound socket. Connections wait until [`BoundUnixSocket::serve`].
#[derive(Debug)]
pub struct BoundUnixSocket {
    path: PathBuf,
    /// Removes the socket's file at the end. `None` if the service manager does that. Dropped before the listener: while
    /// it is open, no other gateway replaces the socket, and no other file has its inode.
    file: Option<SocketFile>,
    listener: UnixListener,
}

impl BoundUnixSocket {
    /// Creates the socket, which only this user can connect to. Replaces one that nobody listens on.
    ///
    /// # Errors
    /// Another program listens there, others could replace the socket, or it can't be created.
    pub async fn bind(path: &Path) -> Result<Self, UnixSocketError> {
        let (listener, file) = socket_file::bind(path).await?;
        Ok(Self { listener, path: path.to_owned(), file: Some(file) })
    }

    /// A socket that already listens. Its creator decides who can connect.
    ///
    /// # Errors
    /// The socket can't be used.
    pub fn from_listener(
        listener: std::os::unix::net::UnixListener,
        path: PathBuf,
    ) -> Result<Self, UnixSocketError> {
        let usable = || {
            listener.set_nonblocking(true)?;
            UnixListener::from_std(listener)
        };
        match usable() {
            Ok(listener) => Ok(Self { listener, path, file: None }),
            Err(reason) => Err(UnixSocketError::Io { path, reason }),
        }
    }

    /// The path of the socket.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Serves until shutdown, then lets requests finish until the time is up. Returns the number of calls that were
    /// dropped then. `trace` records every message.
    pub async fn serve(
        self,
        server: Arc<Server>,
        limits: UnixSocketLimits,
        trace: Option<Trace>,
        ending: TransportShutdown,
    ) -> usize {
        let Self { listener, path: _, file } = self;
        let UnixSocketLimits { max_connections: _, idle_timeout } = limits;
        let limiter = ConnectionLimiter::of_known_callers(unix_socket_connections(limits));
        let mut connections = JoinSet::new();
        let mut count = 0;
        let mut failures = LogInterval::default();
        while let Some((stream, user)) = accept(&listener, &mut failures, &ending.stop_accepting).await {
            while connections.try_join_next().is_some() {}
            let caller = Caller::User(user.clone());
            match limiter.acquire_for(&caller) {
                Ok(slot) => {
                    count += 1;
                    let connection = SocketConnection {
                        server: Arc::clone(&server),
                        stream,
                        caller,
                        slot,
                        tap: trace.as_ref().map(|trace| Tap::unix(trace, &user, count)).unwrap_or_default(),
                        idle_timeout,
                    };
                    connections.spawn(MovableFuture::new(connection.serve(ending.clone())));
                }
                Err(TooManyConnections) => refuse(&stream, &user),
            }
        }
        drop(file); // before the listener, as above
        drop(listener);
        let mut abandoned = 0;
        while let Some(ended) = connections.join_next().await {
            match ended {
                Ok(calls) => abandoned += calls,
                Err(error) => tracing::error!(%error, "internal error: a connection failed"),
            }
        }
        abandoned
    }
}

/// The next connection, and the user at its other end. `None` once `stop` is cancelled.
async fn accept(
    listener: &UnixListener,
    failures: &mut LogInterval,
    stop: &CancellationToken,
) -> Option<(UnixStream, LocalUser)> {
    loop {
        let accepted = tokio::select! {
            () = stop.cancelled() => return None,
            accepted = listener.accept() => accepted,
        };
        let usable = |(stream, _): (UnixStream, _)| {
            socket2::SockRef::from(&stream).set_send_buffer_size(SEND_BUFFER_BYTES)?;
            Ok((stream.peer_cred()?.uid(), stream))
        };
        match accepted.and_then(usable) {
            Ok((uid, stream)) => return Some((stream, LocalUser::new(uid))),
            Err(error) => {
                if let Some(failed) = failures.record(Instant::now(), 1) {
                    tracing::warn!(%error, failed, "can't accept a connection to the Unix socket");
                }
                tokio::select! {
                    () = stop.cancelled() => return None,
                    () = sleep(ACCEPT_RETRY_DELAY) => {}
                }
            }
        }
    }
}

/// Closes a connection of a user that has too many, with an error.
fn refuse(stream: &UnixStream, user: &LocalUser) {
    tracing::debug!(?user, "refusing a connection: the user has too many, and all of them are busy");
    let why = "too many connections of this user are busy; close some, or try again later";
    let mut line = Vec::new();
    write_error(&mut line, None, MissingId::Null, &ProtocolError::internal(why).error);
    line.push(b'\n');
    let _ = stream.try_write(&line); // the buffer of a new connection is empty
}

/// A connection to the socket.
struct SocketConnection {
    server: Arc<Server>,
    stream: UnixStream,
    caller: Caller,
    slot: ConnectionSlot,
    tap: Tap,
    idle_timeout: Duration,
}

impl SocketConnection {
    /// Serves until the client disconnects, the connection has been idle, its place is needed, or the gateway stops.
    /// Returns the number of calls that were dropped because the gateway stopped.
    async fn serve(self, gateway: TransportShutdown) -> usize {
        let Self { server, stream, caller, slot, tap, idle_timeout } = self;
        let ending = TransportShutdown {
            stop_accepting: gateway.stop_accepting.child_token(),
            drained: gateway.drained.clone(),
            time_up: gateway.time_up.child_token(),
            peer_gone: CancellationToken::new(),
        };
        let (input, output) = stream.into_split();
        let output = ClientStream::new(output, slot.handle());
        let connection = StdioConnection::with_transport(caller, NetworkTransport::Unix);
        let load = Some(CallerLoad::of_process());
        let peer = StreamPeer { connection, handle: Some(slot.handle()), load };
        let mut served = Box::pin(serve_stream(server, peer, input, output, tap, ending.clone()));
        tokio::select! {
            outcome = &mut served => return abandoned(&gateway, outcome.abandoned_calls),
            () = ending.peer_gone.cancelled() => {
                if timeout(GRACE_WITHOUT_CLIENT, &mut served).await.is_ok() {
                    return 0;
                }
                ending.time_up.cancel();
            }
            // Its place is taken, so it ends at once, even if its client hasn't read the last answers.
            () = slot.evicted() => return 0,
            () = slot.idle_for(idle_timeout) => {
                tracing::debug!("closing an idle connection to the Unix socket");
                return 0;
            }
        }
        abandoned(&gateway, served.await.abandoned_calls)
    }
}

/// The number of calls that were dropped because the gateway stopped, not because their client was gone.
fn abandoned(gateway: &TransportShutdown, calls: usize) -> usize {
    if gateway.time_up.is_cancelled() { calls } else { 0 }
}

#[cfg(test)]
mod tests;
