//! The admin listener: liveness, readiness, metrics, status and reload.
//!
//! The admin listener has its own address and accept loop, so that it still responds while MCP clients use up the other
//! listener's connections, and during shutdown, when it ends last. It has no authentication, so it listens on loopback
//! only and rejects requests from web pages. `app` binds it before anything is loaded and opens it
//! when the gateway serves; until every plugin has been loaded or has failed, it reports that the gateway isn't ready.

use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use tokio_util::sync::CancellationToken;

use crate::metrics::MetricsFormat;
use crate::supervisor::control::Reloader;
use crate::supervisor::status::SupervisorStatus;
use crate::transport::http::listener::{HttpListener, ListenerLimits, ListenerPurpose};
use crate::transport::http::{BindError, admin_connections, reserved_files};

mod router;
mod health;
mod rejection;
mod report;

pub use report::{format_time, plugin_documents};
pub use router::AdminRoute;
use router::AdminRouter;

/// The time after which an idle connection is closed: later than monitors close theirs.
const IDLE_TIMEOUT: Duration = Duration::from_secs(100);

/// The time limit for open requests after everything else has ended.
const SHUTDOWN_GRACE: Duration = Duration::from_secs(1);

/// The state that the listener reports, and its controls.
pub struct AdminContext {
    /// Reads the current status of the supervisor.
    pub status: Box<dyn Fn() -> SupervisorStatus + Send + Sync>,
    /// Requests reloads.
    pub reloader: Reloader,
    /// Renders the current metrics.
    pub metrics: Box<dyn Fn(MetricsFormat) -> String + Send + Sync>,
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
    /// The address isn't a loopback address.
    #[error("refusing to listen on non-loopback address {0}: the admin listener has no authentication")]
    NotLoopback(SocketAddr),
    /// The address can't be bound.
    #[error(transparent)]
    Bind(#[from] BindError),
}

impl AdminError {
    /// The hint for the operator.
    #[must_use]
    pub fn hint(&self) -> String {
        match self {
            Self::NotLoopback(_) => {
                "set `listen` in `[admin]` to a loopback address, such as 127.0.0.1:8932".to_owned()
            }
            Self::Bind(error) => error.hint(),
        }
    }
}

impl AdminContext {
    /// Binds `address`. Port 0 takes any free port.
    ///
    /// # Errors
    /// The address isn't a loopback address, or can't be bound.
    pub async fn bind(address: SocketAddr) -> Result<BoundAdminListener, AdminError> {
        if !address.ip().to_canonical().is_loopback() {
            return Err(AdminError::NotLoopback(address));
        }
        let listener = HttpListener::bind(address, ListenerPurpose::Admin).await?;
        let router = Arc::new(AdminRouter::new(listener.address()));
        Ok(BoundAdminListener { listener, router })
    }
}

/// A bound address. Connections wait until [`BoundAdminListener::serve`].
#[derive(Debug)]
pub struct BoundAdminListener {
    listener: HttpListener,
    router: Arc<AdminRouter>,
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
        let router = Router::new().fallback(router::answer).with_state(self.router);
        let over = async { tokio::time::sleep(SHUTDOWN_GRACE).await }; // starts when it is first polled
        let connections = admin_connections(reserved_files());
        let limits = ListenerLimits { connections, idle: IDLE_TIMEOUT };
        self.listener.serve(router, None, limits, stop, over).await;
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
