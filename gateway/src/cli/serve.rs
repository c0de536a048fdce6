//! `serve`: the gateway at work, until a signal or the end of its host.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::time::SystemTime;

use anyhow::{Context as _, Result};
use clap::Args;
use moongate_core::config::{AdminConfig, Config, Loaded, Problem, Source};

use crate::admin::AdminError;
use crate::app::{App, Options, Reason, Service, Signals, StartError, Stopped, Stops};
use crate::cli::{Common, Exit, check, configuration, print, version};
use crate::supervisor::{self, Totals};
use crate::transport::http::PATH;
use crate::transport::stdio::fds::Stdio;
use crate::transport::trace::TraceError;

mod example;

use example::example;

/// Serve the plugins: over HTTP, or with --stdio to the host that started the process
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  moongate serve                           over HTTP, at `listen` under `[http]`
  moongate serve --http 127.0.0.1:8080     over HTTP, at this address
  moongate serve --stdio                   to a host such as Claude Desktop
  moongate serve --stdio --http            both
  moongate serve --stdio --trace t.jsonl   to a host, and write down what both say")]
pub(super) struct Serve {
    /// Serve MCP over stdin and stdout, and end with the host
    #[arg(long)]
    stdio: bool,
    /// Serve MCP over HTTP: at ADDR (`IP:PORT`, or a port of 127.0.0.1), or at `listen` under `[http]`. On by
    /// default without --stdio
    #[arg(long, value_name = "ADDR", num_args = 0..=1, value_parser = address)]
    http: Option<Option<SocketAddr>>,
    /// Answer operators (health, metrics, status, reloading) at ADDR, which only this machine may reach, or at `listen`
    /// under `[admin]`. On by default where `[admin]` is configured and MCP is served over HTTP
    #[arg(long, value_name = "ADDR", num_args = 0..=1, value_parser = address)]
    admin: Option<Option<SocketAddr>>,
    /// Record every message, in and out, in FILE: one JSON object a line, with time, direction, client and request id.
    /// Secrets of the configuration are blotted out; what people and plugins say isn't
    #[arg(long, value_name = "FILE")]
    trace: Option<PathBuf>,
}

/// Where to listen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Addresses {
    http: Option<SocketAddr>,
    admin: Option<SocketAddr>,
}

/// `IP:PORT`, or the port alone.
pub(super) fn address(text: &str) -> Result<SocketAddr, String> {
    let text = text.strip_prefix("localhost").map_or(text.to_owned(), |port| format!("127.0.0.1{port}"));
    if let Ok(port) = text.trim_start_matches(':').parse() {
        return Ok(SocketAddr::from((Ipv4Addr::LOCALHOST, port)));
    }
    text.parse().map_err(|_| "write an IP address and a port, such as 127.0.0.1:8931".to_owned())
}

impl Serve {
    pub(super) async fn run(self, common: &Common) -> Result<Exit> {
        let since = SystemTime::now();
        let loaded = configuration::read(common.config.as_deref());
        let loaded = if self.serves_http() { loaded.for_http() } else { loaded };
        let Loaded { source, config, mut problems, files, .. } = loaded;
        let Some(config) = config else {
            print::problems(&problems, &source);
            return Ok(Exit::Configuration);
        };
        let addresses = match self.addresses(&config) {
            Ok(addresses) => addresses,
            Err(same) => {
                let error = format!("MCP and the admin listener can't both have {same}");
                print::error(&error, Some("give each a port of its own"));
                return Ok(Exit::Usage);
            }
        };
        let Signals { mut stops, hangups } = Signals::listen().context("signals can't be taken over")?;
        let service = Service::find();
        service.loading(config.plugins.len()).await;
        let Addresses { http, admin } = addresses;
        let plugins = supervisor::Options::watching(files, since);
        let trace = self.trace.clone();
        let options = Options { http, admin, stdio: self.stdio.then(Stdio::open), trace, plugins };
        let started = tokio::select! {
            started = App::start(&config, options) => started,
            signal = stops.next() => {
                tracing::info!(signal, "stopped before it served");
                return Ok(Exit::Success);
            }
        };
        let mut app = match started {
            Ok(app) => app,
            Err(error) => return Ok(refused(&error, problems, &source)),
        };
        problems.extend_from_slice(app.supervisor().problems());
        print::problems(&problems, &source);
        print::note(&self.banner(&config, &app));
        service.ready(app.supervisor().status()).await;
        app.reload_on(hangups, service.teller());
        attend(app, &mut stops, service).await;
        Ok(Exit::Success)
    }

    /// Does it take the port for MCP?
    fn serves_http(&self) -> bool {
        self.http.is_some() || !self.stdio
    }

    /// Where to listen; or what two listeners would share. A process that only serves stdio takes no port unless it is
    /// asked to: many of them run on one configuration.
    fn addresses(&self, config: &Config) -> Result<Addresses, SocketAddr> {
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
        Ok(Addresses { http, admin: admin.map(|admin| admin.listen) })
    }

    /// What was started, in at most six lines.
    fn banner(&self, config: &Config, app: &App) -> String {
        let file = print::said(&config.file.to_string_lossy());
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
            format!("; {} refused", print::count(refused, "plugin"))
        };
        lines.push(format!("serving   {}{failed}", check::summary(totals)));
        if !self.stdio
            && let Some(address) = app.address()
            && let Some(call) = example(&app.supervisor().catalog().borrow(), &print::program(), address)
        {
            lines.push(format!("try       {call}"));
        }
        lines.join("\n") + "\n"
    }
}

/// Waits until somebody asks for the end, and brings it about.
async fn attend(app: App, stops: &mut Stops, service: Service) {
    let reason = tokio::select! {
        () = app.ended() => {
            tracing::debug!("the peer over stdio has gone");
            Reason::PeerGone
        }
        signal = stops.next() => {
            tracing::info!(signal, "stopping; once more to stop at once");
            Reason::Asked
        }
    };
    service.stopping().await;
    let hurry = async {
        match reason {
            Reason::Asked => {}
            // Hosts that closed the input send a signal to whatever needs more than a moment: it has been heard.
            Reason::PeerGone => drop(stops.next().await),
        }
        stops.next().await
    };
    match app.stop(reason, hurry).await {
        Stopped::Clean => tracing::info!("stopped"),
        Stopped::TimeUp(left) => {
            tracing::warn!(requests = left.requests, calls = %left, "stopped; what took too long was abandoned");
        }
        Stopped::AtOnce(left) => tracing::warn!(calls = %left, "stopped at once; what ran was abandoned"),
    }
    service.finish().await;
}

/// Says why nothing was started.
fn refused(error: &StartError, mut problems: Vec<Problem>, source: &Source) -> Exit {
    let exit = match error {
        StartError::Plugins(supervisor::StartError::Required { problems: more, .. }) => {
            problems.extend_from_slice(more);
            Exit::Configuration
        }
        StartError::Trace(TraceError::Granted(problem)) => {
            problems.push((**problem).clone());
            Exit::Configuration
        }
        StartError::Open(_) | StartError::Tokens | StartError::Admin(AdminError::Open(_)) => {
            Exit::Configuration
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
        | StartError::Sealing(_) => Exit::Failure,
    };
    if exit == Exit::Configuration {
        print::problems(&problems, source);
    }
    print::error(&error.to_string(), error.hint().as_deref());
    exit
}

#[cfg(test)]
mod tests;
