//! Transports: stdio, HTTP with WebSockets, and a Unix socket.
//!
//! A transport frames and limits messages; over HTTP and a Unix socket, it also authenticates callers. The [`Server`] answers the
//! messages. `app` starts the transports and ends them.
//!
//! [`Server`]: moongate_protocol::server::Server

use std::time::Duration;

use tokio_util::sync::CancellationToken;

#[cfg(test)]
mod fake;
mod frame_budget;
pub mod http;
pub mod stdio;
pub mod trace;
pub mod unix_socket;
pub(crate) mod websocket;

/// The time limit for the running calls of a client that has closed its byte stream. Hosts kill a server that takes longer
/// to exit.
pub(crate) const GRACE_WITHOUT_CLIENT: Duration = Duration::from_secs(2);

/// The shutdown of a transport. `app` enforces the time limit.
#[derive(Debug, Clone, Default)]
pub struct TransportShutdown {
    /// Cancelled when the transport must not accept any new requests. Running ones continue.
    pub stop_accepting: CancellationToken,
    /// Cancelled after `stop_accepting`, once load balancers have noticed it: an HTTP listener with health probes accepts
    /// connections until then.
    pub drained: CancellationToken,
    /// Cancelled when the time is up: running requests are dropped.
    pub time_up: CancellationToken,
    /// Cancelled by the transport when its only peer has disconnected. Running requests continue until the time is up.
    pub peer_gone: CancellationToken,
}
