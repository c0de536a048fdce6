//! The admin listener: the status page, liveness, readiness, metrics, status, calls, and reload.
//!
//! The admin listener has its own address and accept loop, so that it still responds while MCP clients use up the other
//! listener's connections, and during shutdown, when it ends last. Unless it requires a token or client certificates,
//! it listens on loopback only. It rejects requests from the web pages of other origins. `app` binds it before anything
//! is loaded and opens it when the gateway serves; until every plugin has been loaded or has failed, it reports that
//! the gateway isn't ready.

use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use moongate_config::AdminConfig;
use moongate_protocol::catalog::Catalog;
use moongate_protocol::server::RequestBodyMemory;
use moongate_protocol::unread_responses::{CountedMessage, UnreadResponses};
use moongate_store::StoreStatus;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::call_history::RecentCall;
use crate::metrics::MetricsFormat;
use crate::replicas::Replica;
use crate::supervisor::control::{AdminCredentials, Reloader};
use crate::supervisor::status::SupervisorStatus;
use crate::transport::http::listener::{HttpListener, ListenerLimits, ListenerPurpose, ListenerShutdown};
use crate::transport::http::tls::ListenerTls;
use crate::transport::http::{BindError, admin_connections, reserved_files};

pub mod activity;
mod authentication;
mod router;
mod health;
mod page;
mod page_events;
mod rejection;
mod report;
mod request_origin;
mod tool_form;
mod tool_trial;

pub use page::GatewaySnapshot;
pub use report::{format_time, plugin_documents};
pub use router::AdminRoute;
use router::AdminRouter;

/// The time after which an idle connection is closed: later than monitors close theirs.
const IDLE_TIMEOUT: Duration = Duration::from_secs(100);

/// The time limit for open requests after everything else has ended.
const SHUTDOWN_GRACE: Duration = Duration::from_secs(1);

/// The response to a request. `None` if the request was cancelled.
pub type OperatorCall = Pin<Box<dyn Future<Output = Option<CountedMessage>> + Send>>;

/// The state that the listener reports, and its controls.
pub struct AdminContext {
    /// Reads the current status of the supervisor.
    pub status: Box<dyn Fn() -> SupervisorStatus + Send + Sync>,
    /// Reads everything that the status page shows.
    pub snapshot: Box<dyn Fn() -> GatewaySnapshot + Send + Sync>,
    /// Reads the remembered calls with higher numbers than this one, oldest first.
    pub calls_after: Box<dyn Fn(u64) -> Vec<RecentCall> + Send + Sync>,
    /// Reads the current status of the shared store, if there is one.
    pub store: Box<dyn Fn() -> Option<StoreStatus> + Send + Sync>,
    /// Reads the gateways that share the store. `None` without a shared store.
    pub replicas: Box<dyn Fn() -> Option<Vec<Replica>> + Send + Sync>,
    /// The catalog, with all tools.
    pub catalog: watch::Receiver<Arc<Catalog>>,
    /// Starts to count the memory of a request that an operator at this address sends.
    pub request_memory: Box<dyn Fn(IpAddr) -> RequestBodyMemory + Send + Sync>,
    /// Sends a JSON-RPC request of an operator at this address, and waits for the response. The memory counts until the
    /// request no longer needs it. Dropping the future cancels the request.
    pub call: Box<dyn Fn(IpAddr, Vec<u8>, RequestBodyMemory) -> OperatorCall + Send + Sync>,
    /// Counts the pages with results that operators haven't read yet.
    pub unread: Arc<UnreadResponses>,
    /// Reports whether everyone on this machine may call everything without credentials.
    pub is_endpoint_open: Box<dyn Fn() -> bool + Send + Sync>,
    /// Requests reloads.
    pub reloader: Reloader,
    /// Renders the current metrics.
    pub metrics: Box<dyn Fn(MetricsFormat) -> String + Send + Sync>,
    /// Counts a request that was refused for this reason.
    pub refused: Box<dyn Fn(&'static str) + Send + Sync>,
    /// Records that a peer's credentials were missing or not accepted, or that its request came from another web
    /// page.
    pub peer_refused: Box<dyn Fn(IpAddr, &'static str) + Send + Sync>,
    /// Cancelled when every plugin has been loaded or has failed.
    pub loaded: CancellationToken,
    /// Cancelled as soon as new requests are rejected.
    pub draining: CancellationToken,
}

impl fmt::Debug for AdminContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Admin").field("draining", &self.draining.is_cancelled()).finish_non_exhaustive()
    }
}

/// An error when starting the admin listener.
#[derive(Debug, thiserror::Error)]
pub enum AdminError {
    /// Other machines can reach the address, and neither a token nor a client certificate is required.
    #[error("refusing to serve the admin listener on non-loopback address {0} without authentication")]
    Unauthenticated(SocketAddr),
    /// Other machines can reach the address, and the token could be guessed.
    #[error("refusing to serve the admin listener on non-loopback address {0}: the token is too short")]
    WeakToken(SocketAddr),
    /// The token or a file of the certificate can't be read.
    #[error("can't use the token in `[admin]` or the files in `[admin.tls]`")]
    UnreadableCredentials,
    /// The address can't be bound.
    #[error(transparent)]
    Bind(#[from] BindError),
}

impl AdminError {
    /// The hint for the operator.
    #[must_use]
    pub fn hint(&self) -> String {
        match self {
            Self::Unauthenticated(_) => {
                "set `listen` in `[admin]` to a loopback address, such as 127.0.0.1:8932; or add `token` to `[admin]`, \
                 or `client_ca` to `[admin.tls]`"
                    .to_owned()
            }
            Self::WeakToken(_) => "generate one with `openssl rand -hex 32`".to_owned(),
            Self::UnreadableCredentials => "run `moongate check` to see the reason".to_owned(),
            Self::Bind(error) => error.hint(),
        }
    }
}

impl AdminContext {
    /// Binds `address`. Port 0 takes any free port.
    ///
    /// # Errors
    /// Other machines can reach the address without valid credentials, or it can't be bound.
    pub async fn bind(
        address: SocketAddr,
        config: &AdminConfig,
        credentials: &AdminCredentials,
    ) -> Result<BoundAdminListener, AdminError> {
        check(address, config)?;
        if config.has_unreadable_token || config.has_broken_tls {
            return Err(AdminError::UnreadableCredentials);
        }
        if config.is_unencrypted(address) && address != config.listen {
            tracing::warn!(%address, "the admin listener sends and receives everything unencrypted");
        }
        let listener = HttpListener::bind(address, ListenerPurpose::Admin).await?;
        let router = Arc::new(AdminRouter::new(listener.address(), config));
        Ok(BoundAdminListener { listener, router, credentials: credentials.clone() })
    }
}

/// Checks that a configuration is safe for an address, which the command line may have set.
///
/// # Errors
/// Other machines can reach the address without valid credentials.
pub fn check(address: SocketAddr, config: &AdminConfig) -> Result<(), AdminError> {
    if config.is_open_without_credentials(address) {
        Err(AdminError::Unauthenticated(address))
    } else if config.has_weak_token(address) {
        Err(AdminError::WeakToken(address))
    } else {
        Ok(())
    }
}

/// A bound address. Connections wait until [`BoundAdminListener::serve`].
#[derive(Debug)]
pub struct BoundAdminListener {
    listener: HttpListener,
    router: Arc<AdminRouter>,
    credentials: AdminCredentials,
}

impl BoundAdminListener {
    /// The address, with the actual port.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.listener.address()
    }

    /// The handle that reports that the gateway has started.
    #[must_use]
    pub fn startup_handle(&self) -> StartupHandle {
        StartupHandle(Arc::clone(&self.router))
    }

    /// Serves until `stop` is cancelled.
    pub async fn serve(self, stop: CancellationToken) {
        let state = Arc::clone(&self.router);
        let router = Router::new().fallback(router::answer).with_state(self.router);
        let AdminCredentials { token, tls } = self.credentials;
        let tls = ListenerTls::new(tls.subscribe(), ListenerPurpose::Admin);
        let over = async { tokio::time::sleep(SHUTDOWN_GRACE).await }; // starts when it is first polled
        let connections = admin_connections(reserved_files());
        let limits = ListenerLimits { connections, idle: IDLE_TIMEOUT };
        // No load balancer sends requests here.
        let shutdown = ListenerShutdown { drained: stop.clone(), stop, last_request: Duration::ZERO };
        tokio::select! {
            _ = self.listener.serve(router, tls, limits, shutdown, over) => {}
            () = state.follow_token(token.subscribe()) => {}
        }
    }
}

/// Reports that the gateway has started. Before that, only `/livez` succeeds.
#[derive(Debug, Clone)]
pub struct StartupHandle(Arc<AdminRouter>);

impl StartupHandle {
    /// Reports that requests are accepted. Only the first call has an effect.
    pub fn set_started(&self, admin: AdminContext) {
        self.0.open(admin);
    }
}

#[cfg(test)]
mod tests;
