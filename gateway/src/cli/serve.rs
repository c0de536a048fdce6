//! `serve`: runs the gateway until a signal arrives or its host exits.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::time::SystemTime;

use anyhow::{Context as _, Result};
use clap::Args;
use moongate_config::{AdminConfig, Config, Loaded, Problem, Source};

use crate::admin::AdminError;
use crate::app::{App, Options, Reason, Service, Signals, StartError, Stopped, Stops};
use crate::cli::{CommonOptions, ExitKind, check, configuration, print, version};
use crate::supervisor::{self, Totals};
use crate::transport::http::PATH;
use crate::transport::stdio::fds::Stdio;
use crate::transport::trace::TraceError;

mod example;

use example::example;

/// Serve the plugins over HTTP, or with --stdio to the host that started the process
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  moongate serve                           serve HTTP at `listen` in `[http]`
  moongate serve --http 127.0.0.1:8080     serve HTTP at this address
  moongate serve --stdio                   serve a host such as Claude Desktop
  moongate serve --stdio --http            serve both
  moongate serve --stdio --trace t.jsonl   serve a host, and record all messages")]
pub(super) struct Serve {
    /// Serve MCP over stdin and stdout, and exit with the host
    #[arg(long)]
    stdio: bool,
    /// Serve MCP over HTTP at ADDR: `IP:PORT`, or a port of 127.0.0.1 [default: `listen` in `[http]`]. On by default
    /// without --stdio
    #[arg(long, value_name = "ADDR", num_args = 0..=1, value_parser = address)]
    http: Option<Option<SocketAddr>>,
    /// Serve health, metrics, status and reload requests at ADDR, a local address [default: `listen` in `[admin]`]. On
    /// by default if `[admin]` is configured and MCP is served over HTTP
    #[arg(long, value_name = "ADDR", num_args = 0..=1, value_parser = address)]
    admin: Option<Option<SocketAddr>>,
    /// Record every message in FILE, one JSON object per line, with time, direction, client and request id. Secrets of the
    /// configuration are redacted; other content isn't
    #[arg(long, value_name = "FILE")]
    trace: Option<PathBuf>,
}

/// The addresses to listen on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct ListenAddresses {
    http: Option<SocketAddr>,
    admin: Option<SocketAddr>,
}

/// Parses `IP:PORT`, or a port of 127.0.0.1.
pub(super) fn address(text: &str) -> Result<SocketAddr, String> {
    let text = text.strip_prefix("localhost").map_or(text.to_owned(), |port| format!("127.0.0.1{port}"));
    if let Ok(port) = text.trim_start_matches(':').parse() {
        return Ok(SocketAddr::from((Ipv4Addr::LOCALHOST, port)));
    }
    text.parse().map_err(|_| "expected an IP address and a port, such as 127.0.0.1:8931".to_owned())
}

impl Serve {
    pub(super) async fn run(self, common: &CommonOptions) -> Result<ExitKind> {
        let since = SystemTime::now();
        let loaded = configuration::read(common.config.as_deref());
        let loaded = if self.serves_http() { loaded.for_http() } else { loaded };
        let Loaded { source, config, mut problems, files, .. } = loaded;
        let Some(config) = config else {
            print::diagnostics(&problems, &source);
            return Ok(ExitKind::Configuration);
        };
        let addresses = match self.addresses(&config) {
            Ok(addresses) => addresses,
            Err(same) => {
                let error = format!("MCP and the admin listener can't both listen on {same}");
                print::error(&error, Some("use another port for one of them"));
                return Ok(ExitKind::Usage);
            }
        };
        let Signals { mut stops, hangups } = Signals::listen().context("can't handle signals")?;
        let service = Service::find();
        service.loading(config.plugins.len()).await;
        let ListenAddresses { http, admin } = addresses;
        let plugins = supervisor::Options::watching(files, since);
        let trace = self.trace.clone();
        let options = Options { http, admin, stdio: self.stdio.then(Stdio::open), trace, plugins };
        let started = tokio::select! {
            started = App::start(&config, options) => started,
            signal = stops.next() => {
                tracing::info!(signal, "gateway stopped before it was ready");
                return Ok(ExitKind::Success);
            }
        };
        let mut app = match started {
            Ok(app) => app,
            Err(error) => return Ok(start_error(&error, problems, &source)),
        };
        problems.extend_from_slice(app.supervisor().problems());
        print::diagnostics(&problems, &source);
        print::stderr_lines(&self.banner(&config, &app));
        service.ready(app.supervisor().status()).await;
        app.reload_on(hangups, service.teller());
        run_until_shutdown(app, &mut stops, service).await;
        Ok(ExitKind::Success)
    }

    /// True if MCP is served over HTTP.
    fn serves_http(&self) -> bool {
        self.http.is_some() || !self.stdio
    }

    /// The addresses to listen on, or the one that two listeners share. With stdio only, no port is opened by default,
    /// because many such processes can use the same configuration.
    fn addresses(&self, config: &Config) -> Result<ListenAddresses, SocketAddr> {
        let http = self.serves_http().then(|| self.http.flatten().unwrap_or(config.http.listen));
        let admin = match (self.admin, config.admin) {
            (Some(Some(listen)), _) => Some(AdminConfig { listen }),
            (Some(None), configured) => Some(configured.unwrap_or_default()),
            (None, configured) => configured.filter(|_| http.is_some()),
        };
        if let (Some(http), Some(admin)) = (http, admin)
            && admin.collides_with(http)
        {
            return Err(admin.listen);
        }
        Ok(ListenAddresses { http, admin: admin.map(|admin| admin.listen) })
    }

    /// The banner, in at most six lines.
    fn banner(&self, config: &Config, app: &App) -> String {
        let file = print::inline(&config.file.to_string_lossy());
        let mut lines = vec![format!("moongate {}", version::SHORT), format!("config    {file}")];
        if let Some(address) = app.address() {
            lines.push(format!("endpoint  http://{address}{PATH}"));
        }
        if self.stdio {
            lines.push("endpoint  stdio".to_owned());
        }
        if let Some(address) = app.admin_address() {
            lines.push(format!("admin     http://{address}"));
        }
        let totals = app.supervisor().totals();
        let Totals { refused, .. } = totals;
        let failed = if refused == 0 {
            String::new()
        } else {
            format!("; {} failed", print::count(refused, "plugin"))
        };
        lines.push(format!("serving   {}{failed}", check::summary(totals)));
        if !self.stdio
            && let Some(address) = app.address()
            && let Some(call) = example(&app.supervisor().catalog().borrow(), &print::program_name(), address)
        {
            lines.push(format!("try       {call}"));
        }
        lines.join("\n") + "\n"
    }
}

/// Waits for a signal or the end of the host, and shuts down.
async fn run_until_shutdown(app: App, stops: &mut Stops, service: Service) {
    let reason = tokio::select! {
        () = app.ended() => {
            tracing::debug!("stdin was closed");
            Reason::PeerGone
        }
        signal = stops.next() => {
            tracing::info!(signal, "shutting down (send the signal again to stop immediately)");
            Reason::Asked
        }
    };
    service.stopping().await;
    let hurry = async {
        match reason {
            Reason::Asked => {}
            // Hosts that closed stdin send a signal if the process doesn't exit soon, so the first one is ignored.
            Reason::PeerGone => drop(stops.next().await),
        }
        stops.next().await
    };
    match app.stop(reason, hurry).await {
        Stopped::Clean => tracing::info!("stopped"),
        Stopped::TimeUp(left) => {
            tracing::warn!(requests = left.requests, calls = %left, "gateway stopped; unfinished calls were aborted");
        }
        Stopped::AtOnce(left) => {
            tracing::warn!(calls = %left, "gateway stopped immediately; running calls were aborted")
        }
    }
    service.finish().await;
}

/// Prints the error that keeps the gateway from starting; returns the exit code.
fn start_error(error: &StartError, mut problems: Vec<Problem>, source: &Source) -> ExitKind {
    let exit = match error {
        StartError::Plugins(supervisor::StartError::Required { problems: more, .. }) => {
            problems.extend_from_slice(more);
            ExitKind::Configuration
        }
        StartError::Trace(TraceError::Granted(problem)) => {
            problems.push((**problem).clone());
            ExitKind::Configuration
        }
        StartError::Open(_) | StartError::Tokens | StartError::Admin(AdminError::Open(_)) => {
            ExitKind::Configuration
        }
        StartError::Trace(
            TraceError::Io { .. }
            | TraceError::NoFile(_)
            | TraceError::Link(_)
            | TraceError::Linked(_)
            | TraceError::Own(_)
            | TraceError::Foreign(_)
            | TraceError::Shared { .. },
        )
        | StartError::Bind(_)
        | StartError::Admin(AdminError::Bind(_))
        | StartError::Plugins(supervisor::StartError::Host(_))
        | StartError::Sealing(_) => ExitKind::Failure,
    };
    if exit == ExitKind::Configuration {
        print::diagnostics(&problems, source);
    }
    print::error(&error.to_string(), error.hint().as_deref());
    exit
}

#[cfg(test)]
mod tests;
