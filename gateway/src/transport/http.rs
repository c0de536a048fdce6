//! MCP over HTTP: where it listens. How connections are taken is in `listener`, what is answered in `endpoint`.

use std::net::SocketAddr;
use std::sync::Arc;

use axum::Router;
use axum::routing::any;
use moongate_core::config::HttpConfig;

use crate::transport::trace::Trace;
use crate::transport::{Ending, Protocol};

mod auth;
pub(crate) mod body;
mod endpoint;
mod events;
mod legacy;
pub(crate) mod listener;
pub(crate) mod origin;
pub(crate) mod refusal;
pub(crate) mod seats;

use endpoint::Endpoint;
pub use listener::BindError;
use listener::{Listener, Purpose};

/// Where MCP is spoken.
pub const PATH: &str = "/mcp";

/// How many connections may be open at once; for one more, the one that was quiet longest is closed. Far above what
/// hosts open, and below the usual limit of 1,024 open files together with what plugins hold.
const CONNECTIONS: usize = 768;

/// An address that is listened on. Connections wait until [`Bound::serve`].
#[derive(Debug)]
pub struct Bound(Listener);

impl Bound {
    /// Listens on `address`; port 0 takes any free one.
    ///
    /// # Errors
    /// The address is in use, not ours, or not permitted.
    pub async fn new(address: SocketAddr) -> Result<Self, BindError> {
        Listener::bind(address, Purpose::Mcp).await.map(Self)
    }

    /// The address, with the port that it got.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.0.address()
    }

    /// Serves until it is to stop, then lets requests end until time is up; connections on which nothing happens are
    /// closed before. Gives how many connections were still busy then and were dropped. `trace` is told of every message.
    pub async fn serve<P: Protocol>(
        self,
        protocol: Arc<P>,
        config: &HttpConfig,
        trace: Option<Trace>,
        ending: Ending,
    ) -> usize {
        let endpoint = Arc::new(Endpoint::new(protocol, config, self.address(), trace));
        let mut router = Router::new().route(PATH, any(endpoint::mcp::<P>));
        if config.legacy_sse {
            router = router.route(legacy::STREAM, any(legacy::stream::<P>));
            router = router.route(legacy::MESSAGES, any(legacy::messages::<P>));
        }
        let router = router.fallback(endpoint::elsewhere::<P>).with_state(endpoint);
        let Ending { stop, over, .. } = ending;
        self.0.serve(router, CONNECTIONS, stop, over.cancelled_owned()).await
    }
}

#[cfg(test)]
mod tests;
