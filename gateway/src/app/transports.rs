//! Binds the listeners for MCP clients, and starts their transports.

use std::net::{SocketAddr, TcpListener};
use std::path::PathBuf;
use std::sync::Arc;

use moongate_auth::{Authenticator, WallClock};
use moongate_config::{BearerToken, Config, UnixSocketLimits, protected_paths};
use moongate_model::names::{LocalUser, Principal};
use moongate_protocol::server::Server;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;

use crate::app::{AppStartError, PassedUnixSocket};
use crate::metrics::Metrics;
use crate::supervisor::Supervisor;
use crate::supervisor::memory_shares::MemoryShares;
use crate::transport::TransportShutdown;
use crate::transport::http::{BoundEndpoint, EndpointContext, EndpointHealth, unix_socket_connections};
use crate::transport::stdio::fds::{Input, Output};
use crate::transport::stdio::{self, StdioOutcome};
use crate::transport::trace::{Tap, Trace};
use crate::transport::unix_socket::BoundUnixSocket;

/// Binds the address of the HTTP endpoint, unless a socket was passed for it.
///
/// # Errors
/// The address can't be bound, or needs authentication or better tokens.
pub(super) async fn bind_http(
    config: &Config,
    address: Option<SocketAddr>,
    passed: Option<TcpListener>,
) -> Result<Option<BoundEndpoint>, AppStartError> {
    let bound = match passed {
        Some(listener) => Some(BoundEndpoint::from_listener(listener)?),
        None => None,
    };
    let Some(address) = bound.as_ref().map(BoundEndpoint::address).or(address) else { return Ok(None) };
    if config.http.is_open_without_tokens(address) {
        return Err(AppStartError::Unauthenticated(address));
    }
    if config.http.unreadable_tokens > 0 {
        return Err(AppStartError::UnreadableTokens);
    }
    if let Some(token) = config.http.weak_token(address) {
        return Err(AppStartError::WeakToken { address, principal: Arc::clone(&token.principal) });
    }
    Ok(Some(match bound {
        Some(bound) => bound,
        None => BoundEndpoint::bind(address).await?,
    }))
}

/// Creates the Unix socket, unless one was passed.
///
/// # Errors
/// It can't be created or used, or a plugin could change it.
pub(super) async fn bind_unix_socket(
    config: &Config,
    path: Option<PathBuf>,
    passed: Option<PassedUnixSocket>,
) -> Result<Option<BoundUnixSocket>, AppStartError> {
    let used = passed.as_ref().map(|socket| &socket.path).or(path.as_ref());
    if let Some(problem) = used.and_then(|path| protected_paths::check_unix_socket(path, &config.plugins)) {
        return Err(AppStartError::SocketReachable(Box::new(problem)));
    }
    Ok(match (passed, path) {
        (Some(PassedUnixSocket { listener, path }), _) => {
            Some(BoundUnixSocket::from_listener(listener, path)?)
        }
        (None, Some(path)) => Some(BoundUnixSocket::bind(&path).await?),
        (None, None) => None,
    })
}

/// The parts of the gateway that transports use.
pub(super) struct TransportContext<'a> {
    pub(super) config: &'a Config,
    pub(super) supervisor: &'a Arc<Supervisor>,
    pub(super) server: &'a Arc<Server>,
    pub(super) metrics: &'a Arc<Metrics>,
    pub(super) trace: Option<&'a Trace>,
    /// Cancelled first when the gateway stops.
    pub(super) draining: &'a CancellationToken,
    pub(super) ending: &'a TransportShutdown,
}

impl TransportContext<'_> {
    /// Serves HTTP. `has_socket` is true if the Unix socket is served too.
    pub(super) fn serve_http(&self, bound: BoundEndpoint, has_socket: bool) -> JoinHandle<usize> {
        let server = Arc::clone(self.server);
        let http = self.config.http.clone();
        let ca_file = self.config.ca_file.clone();
        let metrics = Arc::clone(self.metrics);
        let trace = self.trace.cloned();
        let ending = self.ending.clone();
        let tls = self.supervisor.tls();
        let tokens = self.supervisor.tokens();
        let supervisor = Arc::clone(self.supervisor);
        let loaded = supervisor.startup_stages().loaded.clone();
        let health = EndpointHealth { loaded, draining: self.draining.clone() };
        let socket_connections = if has_socket { unix_socket_connections(self.socket_limits()) } else { 0 };
        let memory_connections = MemoryShares::of(self.config).http_connections;
        tokio::spawn(async move {
            let authenticator = Authenticator::start(&http, ca_file, WallClock::default()).await;
            let authenticator = Arc::new(authenticator);
            let replaced =
                replace_tokens(tokens, Arc::clone(&authenticator), Arc::clone(&server), supervisor);
            let _replacing = AbortOnDropHandle::new(tokio::spawn(replaced));
            let context =
                EndpointContext { tls, authenticator, health, socket_connections, memory_connections };
            bound.serve(server, &http, context, trace, metrics, ending).await
        })
    }

    /// Serves the process that started the gateway.
    pub(super) fn serve_stdio(&self, input: Input, output: Output) -> JoinHandle<StdioOutcome> {
        let add = "{ caller = \"stdio\" }";
        self.warn_without_role(&Principal::Local, "the client over stdio", add);
        let tap = Tap::stdio(self.trace);
        tokio::spawn(stdio::serve(Arc::clone(self.server), input, output, tap, self.ending.clone()))
    }

    /// Serves the Unix socket.
    pub(super) fn serve_unix_socket(&self, bound: BoundUnixSocket) -> JoinHandle<usize> {
        let own = LocalUser::new(rustix::process::geteuid().as_raw());
        let add = format!("{{ uid = {} }}", own.uid());
        self.warn_without_role(&Principal::User(own), "the gateway's user, over the Unix socket,", &add);
        let (server, limits) = (Arc::clone(self.server), self.socket_limits());
        tokio::spawn(bound.serve(server, limits, self.trace.cloned(), self.ending.clone()))
    }

    fn socket_limits(&self) -> UnixSocketLimits {
        self.config.unix_socket.as_ref().map(|socket| socket.limits).unwrap_or_default()
    }

    /// Warns that a caller sees nothing.
    fn warn_without_role(&self, principal: &Principal, caller: &str, member: &str) {
        if self.config.roles.as_ref().is_some_and(|roles| roles.of(principal).is_empty()) {
            tracing::warn!(
                "{caller} has no role and sees nothing; to change that, add `{member}` to the `members` of a role"
            );
        }
    }
}

/// Replaces static tokens whenever they change, and ends everything that callers with revoked tokens have open.
async fn replace_tokens(
    mut tokens: watch::Receiver<Vec<BearerToken>>,
    authenticator: Arc<Authenticator>,
    server: Arc<Server>,
    supervisor: Arc<Supervisor>,
) {
    loop {
        let revoked = authenticator.replace_static_tokens(&tokens.borrow_and_update());
        if !revoked.is_empty() {
            server.end_sessions(&revoked);
            // They contain data of their callers. A new token with the same name may have another holder.
            supervisor.host().drop_idle_instances();
        }
        if tokens.changed().await.is_err() {
            return;
        }
    }
}
