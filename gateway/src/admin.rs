//! The operator's listener: whether the gateway lives, whether it serves, what it does, and reloading it.
//!
//! It has an address and an accept loop of its own, so that it answers while clients of MCP take all that the other
//! listener has, and while the gateway stops; it ends last. Whoever may connect may ask for a reload and read what is
//! served, so it listens on loopback only, and refuses what a web page sends. `app` binds it before anything is
//! loaded and [opens](Opener::open) it afterwards; until then it says that the gateway is starting.

use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::supervisor::control::Reloader;
use crate::supervisor::status::Status;
use crate::transport::http::BindError;
use crate::transport::http::listener::{Listener, Purpose};

mod desk;
mod health;
mod refusal;
mod report;

use desk::Desk;
pub use desk::Route;
pub use report::{plugins, time};

/// How many connections may be open at once: some monitors and an operator. For one more, the one that was quiet
/// longest is closed.
const CONNECTIONS: usize = 64;

/// How long a request may go on after everything else has ended: none has anything left to wait for.
const GRACE: Duration = Duration::from_secs(1);

/// What the listener tells of, and what it asks.
pub struct Admin {
    /// What the supervisor does.
    pub status: watch::Receiver<Arc<Status>>,
    /// Reloads.
    pub reloader: Reloader,
    /// Writes all metrics, as they are now.
    pub metrics: Box<dyn Fn() -> String + Send + Sync>,
    /// Cancelled as soon as no new request is taken.
    pub draining: CancellationToken,
}

impl fmt::Debug for Admin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Admin").field("draining", &self.draining.is_cancelled()).finish_non_exhaustive()
    }
}

/// There is no listener for the operator.
#[derive(Debug, thiserror::Error)]
pub enum AdminError {
    /// Others could reach it.
    #[error("others can reach {0}, and the admin listener asks nobody for a token")]
    Open(SocketAddr),
    /// The address can't be listened on.
    #[error(transparent)]
    Bind(#[from] BindError),
}

impl AdminError {
    /// What to do about it.
    #[must_use]
    pub fn hint(&self) -> String {
        match self {
            Self::Open(_) => "let `listen` under `[admin]` be an address of 127.0.0.1".to_owned(),
            Self::Bind(error) => error.hint(),
        }
    }
}

impl Admin {
    /// Listens on `address`; port 0 takes any free one.
    ///
    /// # Errors
    /// The address isn't a loopback one, or can't be listened on.
    pub async fn bind(address: SocketAddr) -> Result<BoundAdmin, AdminError> {
        if !address.ip().to_canonical().is_loopback() {
            return Err(AdminError::Open(address));
        }
        let listener = Listener::bind(address, Purpose::Admin).await?;
        let desk = Arc::new(Desk::new(listener.address()));
        Ok(BoundAdmin { listener, desk })
    }
}

/// An address that is listened on for the operator. Connections wait until [`BoundAdmin::serve`].
#[derive(Debug)]
pub struct BoundAdmin {
    listener: Listener,
    desk: Arc<Desk>,
}

impl BoundAdmin {
    /// The address, with the port that it got.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.listener.address()
    }

    /// What says that the gateway has started.
    #[must_use]
    pub fn opener(&self) -> Opener {
        Opener(Arc::clone(&self.desk))
    }

    /// Serves until `stop` is cancelled.
    pub async fn serve(self, stop: CancellationToken) {
        let router = Router::new().fallback(desk::answer).with_state(self.desk);
        let over = async { tokio::time::sleep(GRACE).await }; // which begins when it is first asked
        self.listener.serve(router, CONNECTIONS, stop, over).await;
    }
}

/// Says that the gateway has started: before that only `/livez` is well.
#[derive(Debug, Clone)]
pub struct Opener(Arc<Desk>);

impl Opener {
    /// Everything was loaded for the first time, and requests are taken. The first call counts.
    pub fn open(&self, admin: Admin) {
        self.0.open(admin);
    }
}

#[cfg(test)]
mod tests;
