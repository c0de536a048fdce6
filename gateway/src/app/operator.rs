//! The operator's listener, from before anything is loaded until after everything else has ended.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use moongate_core::server::Server;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;

use crate::admin::{Admin, AdminError, Opener};
use crate::metrics::{Metrics, Snapshot};
use crate::supervisor::Supervisor;

/// How long the last answers may take.
const LAST: Duration = Duration::from_secs(2);

/// The listener at work.
#[derive(Debug)]
pub(super) struct Operator {
    address: SocketAddr,
    opener: Opener,
    stop: CancellationToken,
    task: AbortOnDropHandle<()>,
}

/// What the listener tells of.
pub(super) struct Told<'a> {
    pub(super) supervisor: &'a Arc<Supervisor>,
    pub(super) server: &'a Arc<Server>,
    pub(super) metrics: &'a Arc<Metrics>,
    pub(super) draining: &'a CancellationToken,
}

impl Operator {
    /// Listens at `address` and says that the gateway is starting.
    ///
    /// # Errors
    /// The address can't be listened on, or others could reach it.
    pub(super) async fn start(address: SocketAddr) -> Result<Self, AdminError> {
        let bound = Admin::bind(address).await?;
        let (address, opener, stop) = (bound.address(), bound.opener(), CancellationToken::new());
        let task = AbortOnDropHandle::new(tokio::spawn(bound.serve(stop.clone())));
        Ok(Self { address, opener, stop, task })
    }

    pub(super) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Says that the gateway serves.
    pub(super) fn open(&self, told: &Told<'_>) {
        let Told { supervisor, server, metrics, draining } = told;
        let status = supervisor.status();
        let metrics = {
            let (supervisor, server, metrics) =
                (Arc::clone(supervisor), Arc::clone(server), Arc::clone(metrics));
            move || {
                let status = Arc::clone(&supervisor.status().borrow());
                metrics.render(&Snapshot {
                    status: &status,
                    gauges: supervisor.gauges(),
                    generations: supervisor.generations(),
                    idle: supervisor.idle(),
                    requests: supervisor.requests(),
                    loads: supervisor.gate().loads(),
                    clients: server.gauges(),
                })
            }
        };
        self.opener.open(Admin {
            status,
            reloader: supervisor.reloader(),
            metrics: Box::new(metrics),
            draining: (*draining).clone(),
        });
    }

    /// Ends it, once it has said what it is saying.
    pub(super) async fn end(self) {
        self.stop.cancel();
        if timeout(LAST, self.task).await.is_err() {
            tracing::debug!("the admin listener was cut off");
        }
    }
}
