//! MCP over HTTP: the bound address. `listener` accepts connections, `endpoint` answers requests.

use std::net::SocketAddr;
use std::sync::Arc;

use axum::Router;
use axum::routing::any;
use moongate_config::HttpConfig;
use moongate_protocol::server::Server;

use crate::transport::TransportShutdown;
use crate::transport::trace::Trace;

pub(crate) mod accept;
mod auth;
pub(crate) mod body;
mod endpoint;
mod sse;
mod legacy_sse;
pub(crate) mod listener;
pub(crate) mod origin;
pub(crate) mod rejection;
pub(crate) mod connections;

use endpoint::Endpoint;
pub use listener::BindError;
use listener::{HttpListener, ListenerLimits, ListenerPurpose};

/// The path of the MCP endpoint.
pub const MCP_PATH: &str = "/mcp";

/// The maximum number of open connections. At the limit, the connection that has been idle longest is closed. Far more
/// than hosts open; together with plugins' descriptors, below the usual limit of 1,024 open files.
const MAX_CONNECTIONS: usize = 768;

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
        trace: Option<Trace>,
        ending: TransportShutdown,
    ) -> usize {
        let endpoint = Arc::new(Endpoint::new(server, config, self.address(), trace));
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
        let router = router.fallback(endpoint::not_found).with_state(endpoint);
        let TransportShutdown { stop_accepting: stop, time_up: over, .. } = ending;
        let limits = ListenerLimits { connections: MAX_CONNECTIONS, idle: config.idle_timeout };
        self.0.serve(router, limits, stop, over.cancelled_owned()).await
    }
}

#[cfg(test)]
mod tests;
