//! How others ask the supervisor to look at everything anew.

use tokio::sync::{mpsc, oneshot};

/// Who asks for a reload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cause {
    /// SIGHUP.
    Signal,
    /// The admin listener.
    Admin,
}

/// Which request it is that something is done for. They are counted from one.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Turn(pub(super) u64);

/// The earlier of two turns: what is done for both is done for that one first.
pub(super) fn earlier(a: Option<Turn>, b: Option<Turn>) -> Option<Turn> {
    a.into_iter().chain(b).min()
}

/// A request to read the configuration and all plugins' files, and to take what waits for the operator.
#[derive(Debug)]
pub struct Request {
    /// Who asks.
    pub cause: Cause,
    /// Gets the answer when all of it is done.
    pub done: oneshot::Sender<Reloaded>,
}

/// What came of a reload that somebody asked for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Reloaded {
    /// What changed, a line each; empty: nothing did.
    pub changed: Vec<String>,
    /// What couldn't be used, a line each.
    pub failed: Vec<String>,
    /// Keys of the configuration that changed and that only a restart takes into use, such as `http.auth.tokens`; as long
    /// as they wait, whether or not this reload found them.
    pub needs_restart: Vec<String>,
}

/// The supervisor has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the gateway is stopping")]
pub struct Ended;

/// Asks for reloads. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Reloader(mpsc::Sender<Request>);

impl Reloader {
    /// One that asks through `requests`.
    #[must_use]
    pub fn new(requests: mpsc::Sender<Request>) -> Self {
        Self(requests)
    }

    /// Asks, and waits until it is done: until every file that changed was compiled and serves, or was refused.
    ///
    /// # Errors
    /// The gateway stops.
    pub async fn reload(&self, cause: Cause) -> Result<Reloaded, Ended> {
        let (done, answer) = oneshot::channel();
        self.0.send(Request { cause, done }).await.map_err(|_| Ended)?;
        answer.await.map_err(|_| Ended)
    }
}
