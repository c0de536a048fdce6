//! Reload requests from operators, and the credentials of operators.

use moongate_config::{AdminConfig, Secret, TlsConfig};
use tokio::sync::{mpsc, oneshot, watch};

/// The credentials of the admin listener, which follow the configuration. Cheap to clone.
#[derive(Debug, Clone)]
pub struct AdminCredentials {
    /// The token of operators.
    pub token: watch::Sender<Option<Secret>>,
    /// The certificate of the listener, and the authority of client certificates.
    pub tls: watch::Sender<Option<TlsConfig>>,
}

impl Default for AdminCredentials {
    fn default() -> Self {
        Self::new(None)
    }
}

impl AdminCredentials {
    /// The credentials at the start.
    #[must_use]
    pub fn new(admin: Option<&AdminConfig>) -> Self {
        Self {
            token: watch::Sender::new(admin.and_then(|admin| admin.token.clone())),
            tls: watch::Sender::new(admin.and_then(|admin| admin.tls.clone())),
        }
    }

    /// Reports whether `new` accepts credentials that aren't accepted now. Without a token or an authority now,
    /// everyone who reaches the listener is accepted, or the change needs a restart.
    pub(super) fn admits_others(&self, new: &AdminConfig) -> bool {
        let has_other_token =
            matches!((&*self.token.borrow(), &new.token), (Some(now), Some(new)) if now != new);
        let authority = |tls: &Option<TlsConfig>| tls.as_ref().and_then(|tls| tls.client_authority.clone());
        let has_other_authority = matches!(
            (authority(&self.tls.borrow()), authority(&new.tls)),
            (Some(now), Some(new)) if !now.accepts_same(&new)
        );
        has_other_token || has_other_authority
    }
}

/// The source of a reload request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReloadCause {
    /// SIGHUP.
    Signal,
    /// The admin listener.
    Admin,
    /// `moongate dev`, after a build.
    Build,
}

impl ReloadCause {
    /// The source in log lines.
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Signal => "signal",
            Self::Admin => "admin",
            Self::Build => "build",
        }
    }
}

/// The number of a reload request, starting at one.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct RequestNumber(pub(super) u64);

/// The earlier of two requests: work for both is done for that one first.
pub(super) fn earlier(a: Option<RequestNumber>, b: Option<RequestNumber>) -> Option<RequestNumber> {
    a.into_iter().chain(b).min()
}

/// A request to re-read the configuration and all plugins' files, and to apply every change that waits for the
/// operator.
#[derive(Debug)]
pub struct ReloadRequest {
    /// The source.
    pub cause: ReloadCause,
    /// Receives the result when all work is done.
    pub done: oneshot::Sender<ReloadResult>,
}

/// The result of a reload request.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ReloadResult {
    /// Changes, one per line.
    pub changed: Vec<String>,
    /// Failures, one per line.
    pub failed: Vec<String>,
    /// Configuration keys that changed since the start and need a restart, such as `http.auth.tokens`, including those
    /// found by earlier reloads.
    pub needs_restart: Vec<String>,
}

/// The supervisor has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the gateway is stopping")]
pub struct SupervisorStopped;

/// Requests reloads. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Reloader(mpsc::Sender<ReloadRequest>);

impl Reloader {
    /// Sends its requests to `requests`.
    #[must_use]
    pub fn new(requests: mpsc::Sender<ReloadRequest>) -> Self {
        Self(requests)
    }

    /// Requests a reload and waits until every changed file is either compiled and activated, or rejected.
    ///
    /// # Errors
    /// The gateway is stopping.
    pub async fn reload(&self, cause: ReloadCause) -> Result<ReloadResult, SupervisorStopped> {
        let (done, result) = oneshot::channel();
        self.0.send(ReloadRequest { cause, done }).await.map_err(|_| SupervisorStopped)?;
        result.await.map_err(|_| SupervisorStopped)
    }
}
