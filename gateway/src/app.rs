//! Starts and shuts down the gateway.
//!
//! Ports are bound before anything is loaded, so a gateway that can't serve exits at once. Plugins whose code is cached
//! are loaded before the first request is read. The others are compiled while the gateway serves: lists and calls of
//! their items wait for them, but not for long. Tests run an [`App`] in their own process; the command line adds
//! signals.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use moongate_config::{Config, Diagnostic, LoadedConfig, WiderGrantsPolicy, protected_paths};
use moongate_model::shared_store::SharedOnce;
use moongate_model::trace_context::OutgoingRequestObserver;
use moongate_otlp::{OtlpExporter, OtlpStartError};
use moongate_protocol::dispatch::StartupWait;
use moongate_protocol::mcp::{CacheScope, Identity, ProtocolOptions, RandomnessError, SealingKey};
use moongate_protocol::server::{Server, ServerOptions, SharedServing};
use moongate_protocol::session::shared::ReplicaId;
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;

use crate::admin::{self, AdminError};
use crate::audit::{AuditStartError, Auditor};
use crate::call_history::CallHistory;
use crate::metrics::Metrics;
use crate::replicas::Replicas;
use crate::shared_sessions::StoredSessions;
use crate::supervisor::control::AdminCredentials;
use crate::supervisor::memory_shares::MemoryShares;
use crate::supervisor::{self, Supervisor};
use crate::transport::TransportShutdown;
use crate::transport::http::{BindError, BoundEndpoint};
use crate::transport::stdio::fds::{Restore, StdioStreams};
use crate::transport::trace::{Trace, TraceError};
use crate::transport::unix_socket::UnixSocketError;

mod admin_listener;
mod passed_sockets;
mod signals;
mod stop;
mod systemd;
mod transports;

pub use passed_sockets::{PassedSockets, PassedSocketsError, PassedUnixSocket};
pub use signals::{ReloadSignal, ShutdownSignals, SystemSignals};
pub use stop::{AbandonedWork, StopOutcome, StopReason};
pub use systemd::{ReloadNotifier, SystemdNotifier};

use admin_listener::{AdminListener, CallObservers, PageSources};
use signals::SignalReloader;
use stop::TransportTasks;
use transports::{TransportContext, bind_http, bind_unix_socket};

/// Options of an [`App`].
#[derive(Debug, Default)]
pub struct AppOptions {
    /// The address of the HTTP endpoint. `None` turns HTTP off.
    pub http: Option<SocketAddr>,
    /// The path of the Unix socket. `None` turns it off.
    pub unix_socket: Option<PathBuf>,
    /// Sockets that the service manager passed, which are served instead of `http` and `unix_socket`.
    pub passed: PassedSockets,
    /// The address of the admin listener. `None` turns it off.
    pub admin: Option<SocketAddr>,
    /// The streams of a stdio client. `None` turns stdio off.
    pub stdio: Option<StdioStreams>,
    /// The file that records every message. `None` records nothing.
    pub trace: Option<PathBuf>,
    /// Options of the supervisor.
    pub plugins: supervisor::SupervisorOptions,
}

/// An error when starting the gateway.
#[derive(Debug, thiserror::Error)]
pub enum AppStartError {
    /// The audit log can't be used.
    #[error(transparent)]
    Audit(#[from] AuditStartError),
    /// The trace file can't be used.
    #[error(transparent)]
    Trace(#[from] TraceError),
    /// Traces and metrics can't be exported.
    #[error(transparent)]
    Otlp(#[from] OtlpStartError),
    /// The address can't be bound.
    #[error(transparent)]
    Bind(#[from] BindError),
    /// The Unix socket can't be created.
    #[error(transparent)]
    UnixSocket(#[from] UnixSocketError),
    /// A plugin could change the Unix socket.
    #[error("refusing to serve a Unix socket that a plugin could change")]
    SocketReachable(Box<Diagnostic>),
    /// The admin listener can't be started.
    #[error(transparent)]
    Admin(#[from] AdminError),
    /// Other machines can reach the address, and neither a token nor a client certificate is required.
    #[error("refusing to listen on non-loopback address {0} without authentication")]
    Unauthenticated(SocketAddr),
    /// Other machines can reach the address, and a token could be guessed.
    #[error("refusing to listen on non-loopback address {address}: the token `{principal}` is too short")]
    WeakToken {
        /// The address.
        address: SocketAddr,
        /// The name of the token.
        principal: Arc<str>,
    },
    /// A configured token can't be read, so no caller could present it.
    #[error("can't use the secrets in `[http.auth]` or the files in `[http.tls]`")]
    UnreadableTokens,
    /// The Wasm host can't be started, or a required plugin can't be loaded.
    #[error(transparent)]
    Supervisor(#[from] supervisor::SupervisorStartError),
    /// No sealing key can be generated.
    #[error("can't generate a sealing key: {0}")]
    SealingKey(#[from] RandomnessError),
}

impl AppStartError {
    /// The hint for the operator.
    #[must_use]
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Audit(error) => Some(error.hint().to_owned()),
            Self::Trace(error) => Some(error.hint()),
            Self::Otlp(_) => Some("check `[telemetry]` and the variables that start with `OTEL_`".to_owned()),
            Self::Bind(error) => Some(error.hint()),
            Self::UnixSocket(error) => Some(error.hint()),
            Self::Admin(error) => Some(error.hint()),
            Self::Unauthenticated(address) => Some(format!(
                "set `listen = \"127.0.0.1:{}\"` in `[http]`, or configure tokens or issuers in `[http.auth]` or \
                 `client_ca` in `[http.tls]`",
                address.port()
            )),
            Self::WeakToken { .. } => Some("generate one with `openssl rand -hex 32`".to_owned()),
            Self::Supervisor(_) | Self::UnreadableTokens | Self::SocketReachable(_) => None,
            Self::SealingKey(_) => Some("set `sealing_key` in `[gateway]`".to_owned()),
        }
    }
}

/// A running gateway. Dropping it ends it at once.
#[derive(Debug)]
pub struct App {
    supervisor: Arc<Supervisor>,
    server: Arc<Server>,
    address: Option<SocketAddr>,
    socket_path: Option<PathBuf>,
    admin: Option<AdminListener>,
    /// Cancelled first when the gateway stops.
    draining: CancellationToken,
    ending: TransportShutdown,
    transports: TransportTasks,
    /// True if load balancers can ask the endpoint whether the gateway stops.
    has_health_probes: bool,
    trace: Option<Trace>,
    audit: Option<Arc<Auditor>>,
    otlp: Option<Arc<OtlpExporter>>,
    /// The gateways that share the store.
    replicas: Option<Arc<Replicas>>,
    /// Reloads on signals.
    reloading: Option<AbortOnDropHandle<()>>,
    _restore: Option<Restore>,
}

impl App {
    /// Binds the addresses, loads the plugins that needn't be compiled, and serves. [`Self::loaded`] waits for the other
    /// plugins. The admin listener responds from the beginning.
    ///
    /// # Errors
    /// The trace can't be written, an address can't be bound, the Wasm host can't be started, or a required plugin
    /// can't be loaded.
    pub async fn start(config: &Config, options: AppOptions) -> Result<Self, AppStartError> {
        let AppOptions { http, unix_socket, passed, admin, stdio, trace, plugins } = options;
        let trace = trace.map(|file| open_trace(&file, config)).transpose()?;
        let bound = bind_http(config, http, passed.http).await?;
        let socket = bind_unix_socket(config, unix_socket, passed.unix_socket).await?;
        let socket_path = socket.as_ref().map(|socket| socket.path().to_owned());
        let address = bound.as_ref().map(BoundEndpoint::address);
        let admin_config = config.admin.clone().unwrap_or_default();
        let credentials = AdminCredentials::new(config.admin.as_ref());
        let admin = match admin {
            Some(address) => Some(AdminListener::start(address, &admin_config, &credentials).await?),
            None => None,
        };
        let admin_address = admin.as_ref().map(AdminListener::address);
        let default_wider_grants = default_wider_grants(stdio.is_some());
        let checks = ReloadChecks {
            http: address,
            unix_socket: socket_path.clone(),
            admin: admin_address,
            default_wider_grants,
            trace: trace.clone(),
        };
        let plugins = plugins.config_hook(move |loaded| checks.check(loaded));
        let own = [address, admin_address].into_iter().flatten();
        let audit = config.audit.as_ref().map(|audit| Auditor::open(audit, config)).transpose()?;
        let plugins = match &audit {
            Some(audit) => plugins.observer(Arc::<Auditor>::clone(audit)),
            None => plugins,
        };
        let otlp = OtlpExporter::start(config.telemetry.as_ref(), config.ca_file.as_deref())?;
        let traced =
            otlp.as_ref().map(|otlp| Arc::<OtlpExporter>::clone(otlp) as Arc<dyn OutgoingRequestObserver>);
        let plugins = plugins.outgoing_requests(traced);
        let mut started = config.clone();
        started.wider_grants.get_or_insert(default_wider_grants);
        let supervisor = Arc::new(
            Supervisor::start(started, plugins.own_addresses(own).admin_credentials(credentials)).await?,
        );
        let metrics = Metrics::new(supervisor.catalog(), supervisor.tokens());
        let history = admin.as_ref().map(|_| CallHistory::new(supervisor.catalog()));
        let observers = CallObservers {
            metrics: &metrics,
            history: history.as_ref(),
            audit: audit.as_ref(),
            otlp: otlp.as_ref(),
        };
        let replica = ReplicaId::random().map_err(|_| RandomnessError)?;
        let server = server(config, &supervisor, observers, &replica)?;
        let ending = TransportShutdown::default();
        let draining = CancellationToken::new();
        let context = TransportContext {
            config,
            supervisor: &supervisor,
            server: &server,
            metrics: &metrics,
            trace: trace.as_ref(),
            draining: &draining,
            ending: &ending,
        };
        let http = bound.map(|bound| context.serve_http(bound, socket.is_some()));
        let socket = socket.map(|bound| context.serve_unix_socket(bound));
        let mut restore = None;
        let stdio = stdio.map(|streams| {
            let StdioStreams { input, output, restore: after } = streams;
            restore = Some(after);
            context.serve_stdio(input, output)
        });
        let replicas = supervisor.shared_store().map(|store| {
            let status = supervisor.status();
            let endpoint = address.map(|address| address.to_string());
            Replicas::start(store.clone(), replica, endpoint, move || Arc::clone(&status.borrow()))
        });
        if let (Some(admin), Some(history)) = (&admin, &history) {
            let is_open = address.is_some() && !config.http.requires_authentication();
            let sources = PageSources {
                supervisor: &supervisor,
                server: &server,
                history,
                replicas: replicas.as_ref(),
            };
            admin.open(sources, observers, is_open, &draining);
        }
        Ok(Self {
            has_health_probes: address.is_some() && config.http.health,
            supervisor,
            server,
            address,
            socket_path,
            admin,
            draining,
            ending,
            transports: TransportTasks::new(http, stdio, socket),
            trace,
            audit,
            otlp,
            replicas,
            reloading: None,
            _restore: restore,
        })
    }

    /// Waits until every plugin has been loaded or has failed. From then on, the gateway is ready.
    ///
    /// # Errors
    /// A required plugin can't be loaded.
    pub async fn loaded(&self) -> Result<(), AppStartError> {
        Ok(self.supervisor.loaded().await?)
    }

    /// The address of the HTTP endpoint.
    #[must_use]
    pub fn address(&self) -> Option<SocketAddr> {
        self.address
    }

    /// The path of the Unix socket.
    #[must_use]
    pub fn socket_path(&self) -> Option<&Path> {
        self.socket_path.as_deref()
    }

    /// The address of the admin listener.
    #[must_use]
    pub fn admin_address(&self) -> Option<SocketAddr> {
        self.admin.as_ref().map(AdminListener::address)
    }

    /// The collector that traces and metrics are exported to.
    #[must_use]
    pub fn collector(&self) -> Option<&str> {
        self.otlp.as_deref().map(OtlpExporter::collector)
    }

    /// Loads and reloads the plugins.
    #[must_use]
    pub fn supervisor(&self) -> &Arc<Supervisor> {
        &self.supervisor
    }

    /// Reloads on each signal from now on, until the gateway stops.
    pub fn reload_on_signal(&mut self, hangups: ReloadSignal, teller: ReloadNotifier) {
        let reloader = self.supervisor.reloader();
        let task = SignalReloader { hangups, reloader, teller, stop: self.draining.clone() };
        self.reloading = Some(AbortOnDropHandle::new(tokio::spawn(task.run())));
    }

    /// The current value of `stop_grace`.
    fn grace(&self) -> Duration {
        self.supervisor.status().borrow().config.stop_grace
    }

    /// Waits until the stdio client has disconnected. Never returns if there is no stdio client.
    pub async fn stdio_client_gone(&self) {
        if self.transports.has_stdio() {
            self.ending.peer_gone.cancelled().await;
        } else {
            std::future::pending().await
        }
    }
}

/// The time at which wider grants take effect, if the file doesn't say. A host that starts the gateway often lets its
/// model edit files.
fn default_wider_grants(serves_stdio: bool) -> WiderGrantsPolicy {
    if serves_stdio { WiderGrantsPolicy::Wait } else { WiderGrantsPolicy::Live }
}

/// Starts recording messages.
fn open_trace(file: &Path, config: &Config) -> Result<Trace, TraceError> {
    let trace = Trace::open(file, config)?;
    tracing::info!(file = %trace.path().display(), "the trace records every message, including the content of calls");
    Ok(trace)
}

/// The checks of a changed configuration that depend on how the gateway was started.
struct ReloadChecks {
    /// The address of the HTTP endpoint.
    http: Option<SocketAddr>,
    /// The path of the Unix socket.
    unix_socket: Option<PathBuf>,
    /// The address of the admin listener.
    admin: Option<SocketAddr>,
    default_wider_grants: WiderGrantsPolicy,
    trace: Option<Trace>,
}

impl ReloadChecks {
    fn check(&self, mut loaded: LoadedConfig) -> LoadedConfig {
        loaded = match self.http {
            Some(address) => check_tokens(loaded.require_http_except_credentials(), address),
            None => {
                loaded.token_problems.clear();
                loaded
            }
        };
        if let Some(address) = self.admin {
            loaded = check_admin(loaded, address);
        } else if self.http.is_none() {
            loaded.tls_problems.clear();
        }
        if let Some(config) = &mut loaded.config {
            config.wider_grants.get_or_insert(self.default_wider_grants);
        }
        if let Some(path) = &self.unix_socket {
            loaded = check_socket(loaded, path);
        }
        match &self.trace {
            Some(trace) => trace.check_config(loaded),
            None => loaded,
        }
    }
}

/// Rejects a configuration whose static tokens aren't enough for the address in use, which the command line may have set.
fn check_tokens(loaded: LoadedConfig, address: SocketAddr) -> LoadedConfig {
    let problem = loaded.config.as_ref().and_then(|config| {
        let http = &config.http;
        let error = if http.is_open_without_tokens(address) {
            AppStartError::Unauthenticated(address)
        } else {
            let principal = Arc::clone(&http.weak_token(address)?.principal);
            AppStartError::WeakToken { address, principal }
        };
        let problem = Diagnostic::error(error.to_string());
        Some(error.hint().into_iter().fold(problem, Diagnostic::with_hint))
    });
    loaded.with_problem(problem)
}

/// Rejects a configuration with a plugin that could change the Unix socket, whose path the command line may have set.
fn check_socket(loaded: LoadedConfig, path: &Path) -> LoadedConfig {
    let plugins = loaded.config.as_ref().map(|config| config.plugins.as_slice()).unwrap_or_default();
    let problem = protected_paths::check_unix_socket(path, plugins);
    loaded.with_problem(problem)
}

/// Rejects a configuration whose credentials aren't enough for the admin listener's address, which the command line may
/// have set.
fn check_admin(loaded: LoadedConfig, address: SocketAddr) -> LoadedConfig {
    let config = loaded.config.as_ref().and_then(|config| config.admin.as_ref());
    let error = config.and_then(|admin| admin::check(address, admin).err());
    let problem = error.map(|error| Diagnostic::error(error.to_string()).with_hint(error.hint()));
    loaded.with_problem(problem)
}

/// The MCP server behind all transports.
fn server(
    config: &Config,
    supervisor: &Supervisor,
    observers: CallObservers<'_>,
    replica: &ReplicaId,
) -> Result<Arc<Server>, RandomnessError> {
    let http = &config.http;
    let options = ServerOptions {
        protocol: ProtocolOptions {
            identity: Identity::default(),
            cache_scope: if http.requires_authentication() {
                CacheScope::Private
            } else {
                CacheScope::Public
            },
            page_size: config.page_size,
            sealing_key: match &config.sealing_key {
                Some(secret) => SealingKey::shared(secret.expose()),
                None => SealingKey::random()?,
            },
            used_states: supervisor
                .shared_store()
                .map(|store| Arc::new(store.clone()) as Arc<dyn SharedOnce>),
        },
        max_sessions: http.max_sessions as usize,
        session_idle: http.session_idle,
        updates: Arc::clone(supervisor.updates()),
        close_streams_after: http.close_streams_after,
        shared: supervisor.shared_store().map(|store| SharedServing {
            replica: replica.clone(),
            store: StoredSessions::new(store.clone()),
        }),
        memory: MemoryShares::of(config).server,
    };
    // With `require_all`, lists and calls to unknown names wait without a limit.
    let max_wait = (!config.require_all).then_some(config.startup_wait);
    let startup_wait = StartupWait::new(supervisor.startup_stages().clone(), max_wait);
    let dispatcher = supervisor.dispatcher().with_startup_wait(startup_wait);
    Ok(Server::new(dispatcher.with_observer(observers.all()), options))
}

impl Drop for App {
    fn drop(&mut self) {
        self.draining.cancel();
        self.ending.stop_accepting.cancel();
        self.ending.drained.cancel();
        self.ending.time_up.cancel();
    }
}

#[cfg(test)]
mod tests;
