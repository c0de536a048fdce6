//! `serve`: runs the gateway until a signal arrives or its host exits.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use anyhow::{Context as _, Result};
use clap::Args;
use moongate_config::{AdminConfig, Config, ConfigSource, Diagnostic, LoadedConfig};
use serde_json::{Map, json};
use tokio::time::timeout;

use crate::admin::AdminError;
use crate::app::{
    App, AppOptions, AppStartError, PassedSockets, ShutdownSignals, StopOutcome, StopReason, SystemSignals,
    SystemdNotifier,
};
use crate::cli::stderr::StderrMessages;
use crate::cli::{CommonOptions, ExitKind, check, configuration, print, version};
use crate::supervisor::{self, CatalogTotals};
use crate::transport::http::MCP_PATH;
use crate::transport::stdio::fds::StdioStreams;
use crate::transport::trace::TraceError;
use crate::transport::unix_socket::ADDRESS_PREFIX;

mod compile_progress;
mod example;

use compile_progress::CompileProgress;
use example::example;

/// Serve the plugins over HTTP and a Unix socket, or with --stdio to the host that started the process
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  moongate serve                           serve HTTP at `listen` in `[http]`
  moongate serve --http 127.0.0.1:8080     serve HTTP at this address
  moongate serve --listen unix:mcp.sock    serve a Unix socket
  moongate serve --stdio                   serve a host such as Claude Desktop
  moongate serve --stdio --http            serve both
  moongate serve --stdio --trace t.jsonl   serve a host, and record all messages")]
pub(super) struct Serve {
    /// Serve MCP over stdin and stdout, and exit when the host closes stdin
    #[arg(long)]
    stdio: bool,
    /// Serve MCP over HTTP at ADDR: `IP:PORT`, or a port on 127.0.0.1 [default: `listen` in `[http]`]. On by default
    /// without --stdio and --listen
    #[arg(long, value_name = "ADDR", num_args = 0..=1, value_parser = address)]
    http: Option<Option<SocketAddr>>,
    /// Serve MCP over the Unix socket at unix:PATH, one message per line [default: `path` in `[unix_socket]`]. On by
    /// default if `[unix_socket]` is configured and MCP is served over HTTP
    #[arg(long, value_name = "unix:PATH", num_args = 0..=1, value_parser = socket_path)]
    listen: Option<Option<PathBuf>>,
    /// Serve health, metrics, status and reload requests at ADDR [default: `listen` in `[admin]`]. An address that
    /// other machines can reach needs a token or client certificates in `[admin]`. On by default if `[admin]` is
    /// configured and MCP is served over HTTP or a Unix socket
    #[arg(long, value_name = "ADDR", num_args = 0..=1, value_parser = address)]
    admin: Option<Option<SocketAddr>>,
    /// Record every message in FILE, one JSON object per line, with time, direction, client and request id.
    /// Configured secrets are redacted; other content isn't
    #[arg(long, value_name = "FILE")]
    trace: Option<PathBuf>,
    /// The sockets that the service manager passed.
    #[arg(skip)]
    passed: PassedSockets,
    /// For the author of a plugin.
    #[arg(skip)]
    is_development: bool,
}

/// A gateway that serves until it is shut down.
pub(super) struct ServingGateway {
    pub(super) app: App,
    pub(super) stops: ShutdownSignals,
    service: SystemdNotifier,
    _progress: CompileProgress,
}

/// The addresses to listen on.
#[derive(Debug, Clone, PartialEq, Eq)]
struct ListenAddresses {
    http: Option<SocketAddr>,
    unix_socket: Option<PathBuf>,
    admin: Option<SocketAddr>,
}

/// The reason that the addresses can't be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum AddressProblem {
    /// Two listeners would share this address.
    Shared(SocketAddr),
    /// The Unix socket has no path.
    NoSocketPath,
    /// The service manager passes a socket instead of the one that this option names.
    Passed(&'static str),
}

/// Parses the address of a Unix socket, `unix:PATH`. The path is relative to the current directory.
pub(super) fn socket_path(text: &str) -> Result<PathBuf, String> {
    match text.strip_prefix(ADDRESS_PREFIX).map(|path| path.strip_prefix("//").unwrap_or(path)) {
        Some(path) if !path.is_empty() => {
            std::path::absolute(Path::new(path)).map_err(|error| error.to_string())
        }
        Some(_) => Err("the path is missing after `unix:`".to_owned()),
        None if address(text).is_ok() => Err("use `--http` for an IP address and a port".to_owned()),
        None => Err("expected `unix:` and a path, such as unix:/run/moongate/mcp.sock".to_owned()),
    }
}

/// Parses `IP:PORT`, or a port on 127.0.0.1.
pub(super) fn address(text: &str) -> Result<SocketAddr, String> {
    const LOCAL: &str = "localhost";
    let port = text.split_at_checked(LOCAL.len()).filter(|(host, _)| host.eq_ignore_ascii_case(LOCAL));
    let text = port.map_or(text.to_owned(), |(_, port)| format!("127.0.0.1{port}"));
    if let Ok(port) = text.trim_start_matches(':').parse() {
        return Ok(SocketAddr::from((Ipv4Addr::LOCALHOST, port)));
    }
    text.parse().map_err(|_| "expected an IP address and a port, such as 127.0.0.1:8931".to_owned())
}

impl Serve {
    /// Serves a plugin to its author over HTTP at `http`, by default the configured address, and with an admin listener at
    /// `admin`.
    pub(super) fn for_development(http: Option<SocketAddr>, admin: Option<SocketAddr>) -> Self {
        Self {
            stdio: false,
            http: Some(http),
            listen: None,
            admin: admin.map(Some),
            trace: None,
            passed: PassedSockets::default(),
            is_development: true,
        }
    }

    /// Serves these sockets instead of listening itself.
    pub(super) fn use_sockets(&mut self, passed: PassedSockets) {
        self.passed = passed;
    }

    pub(super) async fn run(self, common: &CommonOptions) -> Result<ExitKind> {
        let since = SystemTime::now();
        let loaded = configuration::read(common.config.as_deref());
        let SystemSignals { shutdown: stops, reload: hangups } =
            SystemSignals::listen().context("can't handle signals")?;
        let mut gateway = match Box::pin(self.start(loaded, since, stops)).await {
            Ok(gateway) => gateway,
            Err(exit) => return Ok(exit),
        };
        gateway.app.reload_on_signal(hangups, gateway.service.reload_notifier());
        gateway.run_until_shutdown().await;
        Ok(ExitKind::Success)
    }

    /// Starts to serve this configuration, which was read from `since` on, and prints the banner.
    ///
    /// # Errors
    /// The gateway can't serve, which was printed, or a signal ended it: the exit code.
    pub(super) async fn start(
        mut self,
        loaded: LoadedConfig,
        since: SystemTime,
        mut stops: ShutdownSignals,
    ) -> Result<ServingGateway, ExitKind> {
        let loaded = if self.serves_http() { loaded.require_http() } else { loaded };
        let LoadedConfig { source, config, mut problems, files, .. } = loaded;
        let Some(config) = config else {
            print::diagnostics(&problems, &source);
            return Err(ExitKind::Configuration);
        };
        let addresses = match self.addresses(&config) {
            Ok(addresses) => addresses,
            Err(problem) => {
                problem.print();
                return Err(ExitKind::Usage);
            }
        };
        let service = SystemdNotifier::find();
        service.loading(config.plugins.len()).await;
        let ListenAddresses { http, unix_socket, admin } = addresses;
        let plugins = supervisor::SupervisorOptions::watching(files, since);
        let plugins = if self.is_development { plugins.developing() } else { plugins };
        let trace = self.trace.clone();
        let stdio = self.stdio.then(StdioStreams::open);
        let passed = std::mem::take(&mut self.passed);
        let options = AppOptions { http, unix_socket, passed, admin, stdio, trace, plugins };
        let started = tokio::select! {
            started = App::start(&config, options) => started,
            signal = stops.next() => {
                tracing::info!(signal, "gateway stopped before it was ready");
                return Err(ExitKind::Success);
            }
        };
        let app = match started {
            Ok(app) => app,
            Err(error) => return Err(start_error(&error, problems, &source)),
        };
        let progress = CompileProgress::show(app.supervisor().status());
        if !app.supervisor().is_loaded() {
            tracing::info!("{}", answers_meanwhile(&app, &config));
        }
        let loaded = tokio::select! {
            biased;
            loaded = loaded_while_connected(&app, &config) => loaded,
            signal = stops.next() => {
                tracing::info!(signal, "gateway stopped before it was ready");
                service.stopping().await;
                app.stop(StopReason::Requested, stops.next()).await;
                service.finish().await;
                return Err(ExitKind::Success);
            }
        };
        if let Err(error) = loaded {
            return Err(start_error(&error, problems, &source));
        }
        // Otherwise, the stdio client has disconnected before everything was loaded.
        if app.supervisor().is_loaded() {
            problems.extend_from_slice(app.supervisor().problems());
            print::diagnostics(&problems, &source);
            self.banner(&config, &app).print();
            service.ready(app.supervisor().status()).await;
        }
        Ok(ServingGateway { app, stops, service, _progress: progress })
    }

    /// True if MCP is served over HTTP.
    fn serves_http(&self) -> bool {
        let is_default = !self.stdio && self.listen.is_none() && self.passed.is_empty();
        self.http.is_some() || self.passed.http.is_some() || is_default
    }

    /// The addresses to listen on. With stdio only, none is used by default, because many such processes can use the same
    /// configuration. Sockets that the service manager passes replace the defaults.
    fn addresses(&self, config: &Config) -> Result<ListenAddresses, AddressProblem> {
        let PassedSockets { http: passed_http, unix_socket: passed_socket } = &self.passed;
        let http = match (passed_http, self.http) {
            (Some(_), Some(Some(_))) => return Err(AddressProblem::Passed("--http")),
            (Some(listener), _) => listener.local_addr().ok(),
            (None, typed) => self.serves_http().then(|| typed.flatten().unwrap_or(config.http.listen)),
        };
        let configured = config.unix_socket.as_ref().map(|socket| socket.path.clone());
        let unix_socket = match (passed_socket, &self.listen) {
            (Some(_), Some(Some(_))) => return Err(AddressProblem::Passed("--listen")),
            (Some(socket), _) => Some(socket.path.clone()),
            (None, Some(path)) => Some(path.clone().or(configured).ok_or(AddressProblem::NoSocketPath)?),
            (None, None) => configured.filter(|_| http.is_some() && self.passed.is_empty()),
        };
        let admin = match (self.admin, config.admin.clone()) {
            (Some(Some(listen)), configured) => {
                Some(AdminConfig { listen, ..configured.unwrap_or_default() })
            }
            (Some(None), configured) => Some(configured.unwrap_or_default()),
            (None, configured) => configured.filter(|_| http.is_some() || unix_socket.is_some()),
        };
        if let (Some(http), Some(admin)) = (http, &admin)
            && admin.collides_with(http)
        {
            return Err(AddressProblem::Shared(admin.listen));
        }
        Ok(ListenAddresses { http, unix_socket, admin: admin.map(|admin| admin.listen) })
    }

    /// The banner, in at most eight lines.
    fn banner(&self, config: &Config, app: &App) -> StderrMessages {
        let file = config.file.to_string_lossy();
        let mut lines = vec![
            format!("moongate {}", version::GATEWAY_VERSION),
            format!("config    {}", print::inline(&file)),
        ];
        let mut members = Map::from_iter([
            ("version".to_owned(), json!(version::GATEWAY_VERSION)),
            ("config".to_owned(), json!(file)),
            ("stdio".to_owned(), json!(self.stdio)),
        ]);
        if let Some(address) = app.address() {
            let url = format!("{}://{address}{MCP_PATH}", config.http.scheme());
            lines.push(format!("endpoint  {url}"));
            members.insert("endpoint".to_owned(), json!(url));
        }
        if let Some(path) = app.socket_path() {
            let socket = format!("{ADDRESS_PREFIX}{}", path.to_string_lossy());
            lines.push(format!("endpoint  {}", print::inline(&socket)));
            members.insert("unix_socket".to_owned(), json!(socket));
        }
        if self.stdio {
            lines.push("endpoint  stdio".to_owned());
        }
        if let Some(address) = app.admin_address() {
            let url = format!("{}://{address}", admin_scheme(config));
            lines.push(format!("admin     {url}"));
            members.insert("admin".to_owned(), json!(url));
        }
        if let Some(collector) = app.collector() {
            lines.push(format!("telemetry {}", print::inline(collector)));
            members.insert("telemetry".to_owned(), json!(collector));
        }
        let totals = app.supervisor().totals();
        let CatalogTotals { failed: refused, .. } = totals;
        let failed = if refused == 0 {
            String::new()
        } else {
            format!("; {} failed", print::count(refused, "plugin"))
        };
        let serving = format!("{}{failed}", check::summary(totals));
        lines.push(format!("serving   {serving}"));
        if !self.stdio
            && let Some(address) = app.address()
            && let Some(call) =
                example(&app.supervisor().catalog().borrow(), &config.http, &print::program_name(), address)
        {
            lines.push(format!("try       {call}"));
        }
        StderrMessages::summary(&(lines.join("\n") + "\n"), &format!("serving {serving}"), members)
    }
}

/// Waits until every plugin has been loaded or has failed. If the stdio client disconnects before, it waits only as
/// long as that client's requests can.
async fn loaded_while_connected(app: &App, config: &Config) -> Result<(), AppStartError> {
    tokio::select! {
        biased;
        loaded = app.loaded() => loaded,
        () = app.stdio_client_gone() => timeout(config.startup_wait, app.loaded()).await.unwrap_or(Ok(())),
    }
}

/// The log line of a gateway that serves while plugins are being compiled.
fn answers_meanwhile(app: &App, config: &Config) -> String {
    let scheme = config.http.scheme();
    let endpoint = app.address().map(|address| format!(" at {scheme}://{address}{MCP_PATH}"));
    let socket = app.socket_path().map(|path| format!(" at {ADDRESS_PREFIX}{}", path.to_string_lossy()));
    let endpoint = endpoint.or(socket);
    let admin = app.admin_address();
    let admin = admin.map(|address| format!("; admin listener at {}://{address}", admin_scheme(config)));
    let (endpoint, admin) = (endpoint.unwrap_or_default(), admin.unwrap_or_default());
    format!("serving{endpoint} while plugins are being loaded{admin}")
}

/// The scheme of the admin listener's address.
fn admin_scheme(config: &Config) -> &'static str {
    config.admin.as_ref().map_or("http", AdminConfig::scheme)
}

impl ServingGateway {
    /// Waits for a signal or the end of the host, and shuts down.
    async fn run_until_shutdown(mut self) {
        let reason = tokio::select! {
            () = self.app.stdio_client_gone() => {
                tracing::debug!("stdin was closed");
                StopReason::StdioClientGone
            }
            signal = self.stops.next() => {
                tracing::info!(signal, "shutting down (send the signal again to stop immediately)");
                StopReason::Requested
            }
        };
        self.shut_down(reason).await;
    }

    /// Stops serving. Running calls can finish, unless another signal arrives.
    pub(super) async fn shut_down(self, reason: StopReason) {
        let Self { app, mut stops, service, _progress } = self;
        service.stopping().await;
        let hurry = async {
            match reason {
                StopReason::Requested => {}
                // Hosts that closed stdin send a signal if the process doesn't exit soon, so the first one is ignored.
                StopReason::StdioClientGone => drop(stops.next().await),
            }
            stops.next().await
        };
        match app.stop(reason, hurry).await {
            StopOutcome::Clean => tracing::info!("stopped"),
            StopOutcome::TimedOut(left) => {
                tracing::warn!(requests = left.requests, unfinished = %left, "gateway stopped; unfinished calls were aborted");
            }
            StopOutcome::CutShort(left) => {
                tracing::warn!(unfinished = %left, "gateway stopped immediately; running calls were aborted")
            }
        }
        service.finish().await;
    }
}

impl AddressProblem {
    fn print(self) {
        match self {
            Self::Shared(address) => {
                let error = format!("MCP and the admin listener can't both listen on {address}");
                print::error(&error, Some("use another port for one of them"));
            }
            Self::NoSocketPath => {
                let hint = "write `--listen unix:PATH`, or set `path` in `[unix_socket]`";
                print::error("the Unix socket has no path", Some(hint));
            }
            Self::Passed(option) => {
                let error = format!("the service manager passes a socket instead of the one in `{option}`");
                print::error(&error, Some("remove the option, or the socket from the unit"));
            }
        }
    }
}

/// Prints the error that keeps the gateway from starting; returns the exit code.
fn start_error(error: &AppStartError, mut problems: Vec<Diagnostic>, source: &ConfigSource) -> ExitKind {
    let exit = match error {
        AppStartError::Supervisor(supervisor::SupervisorStartError::RequiredPlugins {
            problems: more,
            ..
        }) => {
            problems.extend_from_slice(more);
            ExitKind::Configuration
        }
        AppStartError::Trace(TraceError::PluginHasAccess(problem)) => {
            problems.push((**problem).clone());
            ExitKind::Configuration
        }
        AppStartError::SocketReachable(problem) => {
            problems.push((**problem).clone());
            ExitKind::Configuration
        }
        AppStartError::Unauthenticated(_)
        | AppStartError::WeakToken { .. }
        | AppStartError::UnreadableTokens
        | AppStartError::Admin(
            AdminError::Unauthenticated(_) | AdminError::WeakToken(_) | AdminError::UnreadableCredentials,
        ) => ExitKind::Configuration,
        AppStartError::Trace(
            TraceError::Io { .. }
            | TraceError::NotRegularFile(_)
            | TraceError::Symlink(_)
            | TraceError::HardLinked(_)
            | TraceError::GatewayFile(_)
            | TraceError::OtherOwner(_)
            | TraceError::OtherUsersHaveAccess { .. },
        )
        | AppStartError::Audit(_)
        | AppStartError::Otlp(_)
        | AppStartError::Bind(_)
        | AppStartError::UnixSocket(_)
        | AppStartError::Admin(AdminError::Bind(_))
        | AppStartError::Supervisor(supervisor::SupervisorStartError::Host(_))
        | AppStartError::SealingKey(_) => ExitKind::Failure,
    };
    if exit == ExitKind::Configuration {
        print::diagnostics(&problems, source);
    }
    print::error(&error.to_string(), error.hint().as_deref());
    exit
}

#[cfg(test)]
mod tests;
