//! Transports: lines over stdio, requests over HTTP.
//!
//! A transport frames and limits messages and, over HTTP, authenticates callers; the [`Server`] answers them. `app`
//! starts the transports and ends them.
//!
//! [`Server`]: moongate_protocol::server::Server

use tokio_util::sync::CancellationToken;

#[cfg(test)]
mod fake;
pub mod http;
pub mod stdio;
pub mod trace;

/// The shutdown of a transport. `app` keeps the time.
#[derive(Debug, Clone, Default)]
pub struct TransportShutdown {
    /// Set when the transport must not accept anything new. Running requests continue.
    pub stop_accepting: CancellationToken,
    /// Set when the time is up: running requests are dropped.
    pub time_up: CancellationToken,
    /// Set by the transport if its only peer has disconnected. Running requests continue until the time is up.
    pub peer_gone: CancellationToken,
}
