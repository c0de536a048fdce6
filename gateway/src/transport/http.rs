//! MCP over HTTP: the bound address. `listener` accepts connections, `endpoint` answers requests.

use std::net::SocketAddr;
use std::sync::Arc;

use axum::Router;
use axum::routing::any;
use moongate_auth::Authenticator;
use moongate_config::{HttpConfig, TlsConfig, UnixSocketLimits};
use moongate_protocol::server::Server;
use tokio::sync::watch;

use crate::metrics::Metrics;
use crate::transport::TransportShutdown;
use crate::transport::trace::Trace;

pub(crate) mod accept;
pub(crate) mod auth;
pub(crate) mod body;
pub(in crate::transport) mod caller_load;
pub(crate) mod client_identity;
pub(in crate::transport) mod client_stream;
pub(crate) mod connections;
mod endpoint;
pub(crate) mod failed_tokens;
mod forwarded;
mod health_probes;
mod http2;
mod legacy_sse;
pub(crate) mod listener;
pub(crate) mod origin;
pub(crate) mod refusal_log;
pub(crate) mod rejection;
mod sse;
pub(crate) mod tls;
mod websocket_upgrade;

use endpoint::Endpoint;
pub use health_probes::EndpointHealth;
pub use listener::BindError;
use listener::{HttpListener, LAST_REQUEST_TIME, ListenerLimits, ListenerPurpose, ListenerShutdown};
use tls::ListenerTls;

/// The path of the MCP endpoint.
pub const MCP_PATH: &str = "/mcp";

/// The minimum number of connections to the Unix socket.
const MIN_SOCKET_CONNECTIONS: usize = 8;

/// The number of files that the gateway opens itself, with some in reserve.
const OWN_FILES: usize = 32;

/// The divisor that gives the part of the reserved files that the admin listener can use.
const ADMIN_FILES_DIVISOR: usize = 16;

/// The maximum number of connections of the admin listener: enough for a few monitors and an operator.
const MAX_ADMIN_CONNECTIONS: usize = 64;

/// The maximum number of connections to the MCP endpoint, if the process can have `reserved` files open in addition to
/// those of plugins.
fn connections_within(reserved: usize) -> usize {
    reserved.saturating_sub(OWN_FILES + admin_connections(reserved))
}

/// The maximum number of connections to the admin listener.
pub(crate) fn admin_connections(reserved: usize) -> usize {
    (reserved / ADMIN_FILES_DIVISOR).clamp(connections::MIN_CONNECTIONS, MAX_ADMIN_CONNECTIONS)
}

/// The number of files that plugins leave to connections and the gateway itself.
pub(crate) fn reserved_files() -> usize {
    usize::try_from(moongate_host::reserved_files()).unwrap_or(usize::MAX)
}

/// The maximum number of connections to the Unix socket: as configured, but not more than a quarter of those that the limit
/// on open files allows.
pub(crate) fn unix_socket_connections(limits: UnixSocketLimits) -> usize {
    (limits.max_connections as usize)
        .min(connections_within(reserved_files()) / 4)
        .max(MIN_SOCKET_CONNECTIONS)
}

/// The maximum number of connections to the MCP endpoint: as configured, but not more than the limit on open files
/// allows, with those to the Unix socket, and than the memory allows.
fn max_connections(config: &HttpConfig, socket_connections: usize, memory_connections: u64) -> usize {
    let open_files = connections_within(reserved_files()).saturating_sub(socket_connections);
    let in_memory = usize::try_from(memory_connections).unwrap_or(usize::MAX);
    let most = open_files.min(in_memory);
    match config.max_connections.map(|configured| configured as usize) {
        Some(configured) if configured > most => {
            let (limit, fix) = if open_files <= in_memory {
                ("the limit on open files allows", "raise `ulimit -n`")
            } else {
                ("the memory allows", "raise `memory` in `[gateway]`")
            };
            tracing::warn!(configured, most, "`max_connections` in `[http]` is more than {limit}; {fix}");
            most
        }
        Some(configured) => configured,
        None => most,
    }
}

/// The parts of the gateway that an endpoint uses.
#[derive(Debug)]
pub struct EndpointContext {
    /// The certificate, with updates.
    pub tls: watch::Receiver<Option<TlsConfig>>,
    /// Verifies the tokens of requests.
    pub authenticator: Arc<Authenticator>,
    /// The state for health probes.
    pub health: EndpointHealth,
    /// The maximum number of connections to the Unix socket, which are subtracted from those of the endpoint.
    pub socket_connections: usize,
    /// The number of connections that have room in memory.
    pub memory_connections: u64,
}

/// A bound address. Connections wait until [`BoundEndpoint::serve`].
#[derive(Debug)]
pub struct BoundEndpoint(HttpListener);

impl BoundEndpoint {
    /// Binds `address`. Port 0 takes any free port.
    ///
    /// # Errors
    /// The address is in use, isn't an address of this machine, or isn't permitted.
    pub async fn bind(address: SocketAddr) -> Result<Self, BindError> {
        HttpListener::bind(address, ListenerPurpose::Mcp).await.map(Self)
    }

    /// A socket that already listens.
    ///
    /// # Errors
    /// The socket can't be used.
    pub fn from_listener(listener: std::net::TcpListener) -> Result<Self, BindError> {
        HttpListener::from_listener(listener, ListenerPurpose::Mcp).map(Self)
    }

    /// The address, with the actual port.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.0.address()
    }

    /// Serves until shutdown, then lets requests finish until the time is up; idle connections are closed earlier.
    /// Returns the number of busy connections that were dropped. `trace` records every message.
    pub async fn serve(
        self,
        server: Arc<Server>,
        config: &HttpConfig,
        context: EndpointContext,
        trace: Option<Trace>,
        metrics: Arc<Metrics>,
        ending: TransportShutdown,
    ) -> usize {
        let EndpointContext { tls, authenticator, health, socket_connections, memory_connections } = context;
        let tls =
            ListenerTls::new(tls, ListenerPurpose::Mcp).map(|tls| tls.reporting_to(Arc::clone(&server)));
        let endpoint =
            Arc::new(Endpoint::new(server, config, authenticator, health, self.address(), trace, metrics));
        let mut router = Router::new();
        // Some clients and proxies add a slash.
        for slash in ["", "/"] {
            router = router.route(&format!("{MCP_PATH}{slash}"), any(endpoint::mcp));
            if config.legacy_sse {
                router =
                    router.route(&format!("{}{slash}", legacy_sse::STREAM_PATH), any(legacy_sse::stream));
                let messages = format!("{}{slash}", legacy_sse::MESSAGES_PATH);
                router = router.route(&messages, any(legacy_sse::messages));
            }
        }
        if config.health {
            for path in [health_probes::LIVENESS_PATH, health_probes::READINESS_PATH] {
                router = router.route(path, any(endpoint::health));
            }
        }
        let router = router.fallback(endpoint::not_found).with_state(endpoint);
        let TransportShutdown { stop_accepting: stop, drained, time_up: over, .. } = ending;
        let limits = ListenerLimits {
            connections: max_connections(config, socket_connections, memory_connections),
            idle: config.idle_timeout,
        };
        let drained = if config.health { drained } else { stop.clone() };
        let shutdown = ListenerShutdown { stop, drained, last_request: LAST_REQUEST_TIME };
        self.0.serve(router, tls, limits, shutdown, over.cancelled_owned()).await
    }
}

#[cfg(test)]
mod tests;
