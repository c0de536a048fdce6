//! A configuration becomes a running gateway, and a running gateway nothing again.
//!
//! Ports are taken before anything is loaded, so that a gateway that can't serve ends at once; what is served is
//! loaded before the first request is read, so that no client sees half a list. Tests run an [`App`] in their own
//! process; the command line wraps one in signals.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use moongate_core::config::Config;
use moongate_core::mcp::{CacheScope, Identity, NoRandomness, ProtocolOptions, SealingKey};
use moongate_core::server::{Server, ServerOptions};
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;

use crate::admin::AdminError;
use crate::metrics::Metrics;
use crate::supervisor::{self, Supervisor};
use crate::transport::Ending;
use crate::transport::http::{BindError, Bound};
use crate::transport::stdio;
use crate::transport::stdio::fds::{Restore, Stdio};
use crate::transport::trace::{Tap, Trace, TraceError};

mod operator;
mod reload;
mod service;
mod signals;
mod stop;

pub use service::{Service, Teller};
pub use signals::{Hangups, Signals, Stops};
pub use stop::{Abandoned, Reason, Stopped};

use operator::{Operator, Told};
use stop::Parts;

/// Where to serve.
#[derive(Debug, Default)]
pub struct Options {
    /// The address of the HTTP endpoint; none: no HTTP.
    pub http: Option<SocketAddr>,
    /// The address of the operator's listener; none: there is none.
    pub admin: Option<SocketAddr>,
    /// The streams of a peer over stdio; none: no stdio.
    pub stdio: Option<Stdio>,
    /// Where every message is recorded; none: nowhere.
    pub trace: Option<PathBuf>,
    /// How the plugins are supervised.
    pub plugins: supervisor::Options,
}

/// Why nothing was started.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// Messages can't be recorded.
    #[error(transparent)]
    Trace(#[from] TraceError),
    /// The address can't be listened on.
    #[error(transparent)]
    Bind(#[from] BindError),
    /// There is no listener for the operator.
    #[error(transparent)]
    Admin(#[from] AdminError),
    /// Others can reach the address, and nobody is asked for a token.
    #[error("others can reach {0}, and nobody is asked for a token")]
    Open(SocketAddr),
    /// Callers can't show a token that this process doesn't know either.
    #[error("tokens under `[http.auth]` can't be read")]
    Tokens,
    /// There is no Wasm host, or not all plugins that there should be.
    #[error(transparent)]
    Plugins(#[from] supervisor::StartError),
    /// There is no key to seal with.
    #[error("no sealing key can be made: {0}")]
    Sealing(#[from] NoRandomness),
}

impl StartError {
    /// What to do about it.
    #[must_use]
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Trace(error) => Some(error.hint()),
            Self::Bind(error) => Some(error.hint()),
            Self::Admin(error) => Some(error.hint()),
            Self::Open(address) => Some(format!(
                "write `listen = \"127.0.0.1:{}\"` in `[http]`, or give tokens under `[http.auth]`",
                address.port()
            )),
            Self::Plugins(_) | Self::Tokens => None,
            Self::Sealing(_) => Some("give one as `sealing_key` in `[gateway]`".to_owned()),
        }
    }
}

/// A running gateway. Dropping it ends it at once.
#[derive(Debug)]
pub struct App {
    supervisor: Arc<Supervisor>,
    server: Arc<Server>,
    address: Option<SocketAddr>,
    operator: Option<Operator>,
    /// Set when the gateway stops, before it does anything else about it.
    draining: CancellationToken,
    ending: Ending,
    parts: Parts,
    trace: Option<Trace>,
    reloading: Option<AbortOnDropHandle<()>>,
    _restore: Option<Restore>,
}

impl App {
    /// Takes the addresses, loads the plugins and serves. The operator's listener answers meanwhile.
    ///
    /// # Errors
    /// The trace can't be written, an address can't be listened on, there is no Wasm host, or a plugin can't be used where
    /// all of them have to be.
    pub async fn start(config: &Config, options: Options) -> Result<Self, StartError> {
        let Options { http, admin, stdio, trace, plugins } = options;
        let trace = trace.map(|file| traced(&file, config)).transpose()?;
        let bound = match http {
            Some(address) if config.http.is_open_to_strangers(address) => {
                return Err(StartError::Open(address));
            }
            Some(_) if config.http.unread_tokens > 0 => return Err(StartError::Tokens),
            Some(address) => Some(Bound::new(address).await?),
            None => None,
        };
        let address = bound.as_ref().map(Bound::address);
        let operator = match admin {
            Some(address) => Some(Operator::start(address).await?),
            None => None,
        };
        let (recorded, serves_http) = (trace.clone(), address.is_some());
        let plugins = plugins.shown_to(move |loaded| {
            let loaded = if serves_http { loaded.for_http() } else { loaded };
            match &recorded {
                Some(trace) => trace.look_at(loaded),
                None => loaded,
            }
        });
        let own = [address, operator.as_ref().map(Operator::address)].into_iter().flatten();
        let supervisor = Arc::new(Supervisor::start(config.clone(), plugins.listening_at(own)).await?);
        let metrics = Metrics::new(supervisor.catalog());
        let server = server(config, &supervisor, &metrics)?;
        let ending = Ending::default();
        let http = bound.map(|bound| {
            let (server, http, ending) = (Arc::clone(&server), config.http.clone(), ending.clone());
            let trace = trace.clone();
            tokio::spawn(async move { bound.serve(server, &http, trace, ending).await })
        });
        let mut restore = None;
        let stdio = stdio.map(|streams| {
            let Stdio { input, output, restore: after } = streams;
            restore = Some(after);
            let tap = Tap::stdio(trace.as_ref());
            tokio::spawn(stdio::serve(Arc::clone(&server), input, output, tap, ending.clone()))
        });
        let draining = CancellationToken::new();
        if let Some(operator) = &operator {
            let (supervisor, server, metrics, draining) = (&supervisor, &server, &metrics, &draining);
            operator.open(&Told { supervisor, server, metrics, draining });
        }
        Ok(Self {
            supervisor,
            server,
            address,
            operator,
            draining,
            ending,
            parts: Parts::new(http, stdio),
            trace,
            reloading: None,
            _restore: restore,
        })
    }

    /// Where the HTTP endpoint listens.
    #[must_use]
    pub fn address(&self) -> Option<SocketAddr> {
        self.address
    }

    /// Where the operator's listener listens.
    #[must_use]
    pub fn admin_address(&self) -> Option<SocketAddr> {
        self.operator.as_ref().map(Operator::address)
    }

    /// The plugins, and what they offer.
    #[must_use]
    pub fn supervisor(&self) -> &Supervisor {
        &self.supervisor
    }

    /// How long calls may go on when the gateway stops, as the configuration has it now.
    fn grace(&self) -> Duration {
        self.supervisor.status().borrow().config.stop_grace
    }

    /// Waits until the peer over stdio has gone, which is what the process lives for where there is one.
    pub async fn ended(&self) {
        match self.parts.stdio {
            Some(_) => self.ending.gone.cancelled().await,
            None => std::future::pending().await,
        }
    }
}

/// Begins to record messages.
fn traced(file: &Path, config: &Config) -> Result<Trace, TraceError> {
    let trace = Trace::open(file, config)?;
    tracing::info!(file = %trace.path().display(), "every message is recorded, with what people and plugins say");
    Ok(trace)
}

/// The one endpoint of all transports.
fn server(
    config: &Config,
    supervisor: &Supervisor,
    metrics: &Arc<Metrics>,
) -> Result<Arc<Server>, NoRandomness> {
    let http = &config.http;
    let options = ServerOptions {
        protocol: ProtocolOptions {
            identity: Identity::default(),
            cache_scope: if http.asks_for_tokens() { CacheScope::Private } else { CacheScope::Public },
            page_size: config.page_size,
            sealing_key: match &config.sealing_key {
                Some(secret) => SealingKey::shared(secret.expose()),
                None => SealingKey::random()?,
            },
        },
        max_sessions: http.max_sessions as usize,
        session_idle: http.session_idle,
        updates: Arc::clone(supervisor.updates()),
        close_streams_after: http.close_streams_after,
    };
    Ok(Server::new(supervisor.dispatcher().observed_by(Arc::<Metrics>::clone(metrics)), options))
}

impl Drop for App {
    fn drop(&mut self) {
        self.draining.cancel();
        self.ending.stop.cancel();
        self.ending.over.cancel();
    }
}

#[cfg(test)]
mod tests;
