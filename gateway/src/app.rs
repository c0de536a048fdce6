//! A configuration becomes a running gateway, and a running gateway nothing again.
//!
//! Ports are taken before anything is loaded, so that a gateway that can't serve ends at once; what is served is
//! loaded before the first request is read, so that no client sees half a list. Tests run an [`App`] in their own
//! process; the command line wraps one in signals.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use moongate_core::config::Config;
use moongate_core::mcp::{CacheScope, Identity, NoRandomness, ProtocolOptions, SealingKey};
use moongate_core::server::{Server, ServerOptions};
use tokio::task::{JoinError, JoinHandle};
use tokio_util::sync::CancellationToken;

use crate::host::{Gauges, HostError};
use crate::supervisor::Supervisor;
use crate::transport::http::{BindError, Bound};
use crate::transport::stdio::fds::{Restore, Stdio};
use crate::transport::stdio::{self, Served};

mod signals;

pub use signals::Signals;

/// How long requests over HTTP may go on after the gateway was asked to stop: as long as a call may take by default.
const GRACE: Duration = Duration::from_secs(30);

/// Where to serve.
#[derive(Debug, Default)]
pub struct Options {
    /// The address of the HTTP endpoint; none: no HTTP.
    pub http: Option<SocketAddr>,
    /// The streams of a peer over stdio; none: no stdio.
    pub stdio: Option<Stdio>,
}

/// Why nothing was started.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The address can't be listened on.
    #[error(transparent)]
    Bind(#[from] BindError),
    /// Others can reach the address, and nobody is asked for a token.
    #[error("others can reach {0}, and nobody is asked for a token")]
    Open(SocketAddr),
    /// There is no Wasm host.
    #[error(transparent)]
    Host(#[from] HostError),
    /// There is no key to seal with.
    #[error("no sealing key can be made: {0}")]
    Sealing(#[from] NoRandomness),
}

impl StartError {
    /// What to do about it.
    #[must_use]
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Bind(error) => Some(error.hint()),
            Self::Open(_) => Some("listen on 127.0.0.1, or give tokens under `[http.auth]`".to_owned()),
            Self::Host(_) => None,
            Self::Sealing(_) => Some("give one as `sealing_key` in `[gateway]`".to_owned()),
        }
    }
}

/// How a gateway stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stopped {
    /// Every request was answered.
    Clean,
    /// So many requests took too long and were dropped.
    Dropped(usize),
    /// Nobody wanted to wait.
    AtOnce,
}

/// A running gateway. Dropping it ends it at once.
#[derive(Debug)]
pub struct App {
    supervisor: Supervisor,
    server: Arc<Server>,
    address: Option<SocketAddr>,
    stop: CancellationToken,
    http: Option<JoinHandle<usize>>,
    stdio: Option<JoinHandle<Served>>,
    _restore: Option<Restore>,
}

impl App {
    /// Takes the address, loads the plugins and serves.
    ///
    /// # Errors
    /// The address can't be listened on, or there is no Wasm host. A plugin that can't be loaded is no error.
    pub async fn start(config: &Config, options: Options) -> Result<Self, StartError> {
        let Options { http, stdio } = options;
        let bound = match http {
            Some(address) if config.http.is_open_to_strangers(address) => {
                return Err(StartError::Open(address));
            }
            Some(address) => Some(Bound::new(address).await?),
            None => None,
        };
        let address = bound.as_ref().map(Bound::address);
        let supervisor = Supervisor::start(config).await?;
        let server = server(config, &supervisor)?;
        let stop = CancellationToken::new();
        let http = bound.map(|bound| {
            let (server, http, stop) = (Arc::clone(&server), config.http.clone(), stop.clone());
            tokio::spawn(async move { bound.serve(server, &http, stop, GRACE).await })
        });
        let mut restore = None;
        let stdio = stdio.map(|streams| {
            let Stdio { input, output, restore: after } = streams;
            restore = Some(after);
            tokio::spawn(stdio::serve(Arc::clone(&server), input, output, stop.clone()))
        });
        Ok(Self { supervisor, server, address, stop, http, stdio, _restore: restore })
    }

    /// Where the HTTP endpoint listens.
    #[must_use]
    pub fn address(&self) -> Option<SocketAddr> {
        self.address
    }

    /// The plugins, and what they offer.
    #[must_use]
    pub fn supervisor(&self) -> &Supervisor {
        &self.supervisor
    }

    /// Waits until the peer over stdio has gone, which is what the process lives for where there is one.
    pub async fn ended(&mut self) {
        match &mut self.stdio {
            Some(stdio) => {
                let ended = joined(stdio.await);
                self.stdio = None;
                if let Some(Served { ended, abandoned }) = ended {
                    tracing::debug!(?ended, abandoned, "the peer over stdio has gone");
                }
            }
            None => std::future::pending().await,
        }
    }

    /// Takes no more requests, and lets those that run end: for thirty seconds at most, and not after `hurry`.
    pub async fn stop(mut self, hurry: impl Future) -> Stopped {
        self.server.stop();
        self.stop.cancel();
        let (http, stdio) = (self.http.take(), self.stdio.take());
        let abort: Vec<_> = http
            .iter()
            .map(JoinHandle::abort_handle)
            .chain(stdio.iter().map(JoinHandle::abort_handle))
            .collect();
        let all = async {
            let over_http = match http {
                Some(http) => joined(http.await).unwrap_or(0),
                None => 0,
            };
            let over_stdio = match stdio {
                Some(stdio) => joined(stdio.await).map_or(0, |served| served.abandoned),
                None => 0,
            };
            over_http + over_stdio
        };
        let stopped = tokio::select! {
            dropped = all => if dropped == 0 { Stopped::Clean } else { Stopped::Dropped(dropped) },
            _ = hurry => {
                abort.iter().for_each(tokio::task::AbortHandle::abort);
                Stopped::AtOnce
            }
        };
        // Anything but zero after a clean stop is a leak.
        let Gauges { calls, generations: _, instances, memories, tables, stacks } = self.supervisor.gauges();
        tracing::debug!(calls, instances, memories, tables, stacks, "what the pool still holds");
        stopped
    }
}

/// The one endpoint of all transports.
fn server(config: &Config, supervisor: &Supervisor) -> Result<Arc<Server>, NoRandomness> {
    let http = &config.http;
    let options = ServerOptions {
        protocol: ProtocolOptions {
            identity: Identity::default(),
            cache_scope: if http.tokens.is_empty() { CacheScope::Public } else { CacheScope::Private },
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
    Ok(Server::new(supervisor.dispatcher(), options))
}

/// What a task came to; none if it panicked or was dropped.
fn joined<T>(joined: Result<T, JoinError>) -> Option<T> {
    match joined {
        Ok(value) => Some(value),
        Err(error) => {
            tracing::error!(%error, "a part of the gateway failed");
            None
        }
    }
}

impl Drop for App {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

#[cfg(test)]
mod tests;
