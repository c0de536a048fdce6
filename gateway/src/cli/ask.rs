//! Asking the gateway that runs, at its admin listener. Used by `reload`, `health` and `list plugins`.

use std::future::poll_fn;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::time::Duration;

use clap::Args;
use hyper::body::{Body as _, Incoming};
use hyper::client::conn::http1;
use hyper::header::{CONTENT_TYPE, HOST};
use hyper::{Method, Request};
use hyper_util::rt::TokioIo;
use moongate_core::config::{Loaded, ProcessEnvironment, admin_listener};
use serde_json::Value;
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::admin::Route;
use crate::cli::failure::Failure;
use crate::cli::{Common, Exit, configuration, serve};
use crate::transport::http::rejection::Rejection;

/// How long connecting may take: the listener is on this machine.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// How long an answer may take that nothing has to be done for.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(10);

/// No answer is longer, in bytes.
const LONGEST: usize = 16 * 1024 * 1024;

/// Which gateway is asked.
#[derive(Debug, Args)]
pub(super) struct Where {
    /// The admin listener of the gateway to ask (`IP:PORT`, or a port of 127.0.0.1) [default: `listen` under
    /// `[admin]` in the configuration]
    #[arg(long, value_name = "ADDR", value_parser = serve::address)]
    admin: Option<SocketAddr>,
}

/// Where a gateway that runs can be asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Gateway(SocketAddr);

/// The gateway doesn't answer.
#[derive(Debug, thiserror::Error)]
pub(super) enum Silence {
    /// Nobody listens there.
    #[error("no gateway answers at {0}: {1}")]
    Unreachable(SocketAddr, String),
    /// Nobody is known to listen anywhere.
    #[error("the configuration has no `[admin]` listener, so the gateway can't be asked")]
    NoListener,
    /// It isn't known where.
    #[error("the port of the admin listener isn't known: `listen` under `[admin]` leaves it to the system")]
    AnyPort,
}

impl Silence {
    /// What to do about it.
    fn hint(&self) -> &'static str {
        match self {
            Self::Unreachable(..) => {
                "start it with `moongate serve`, or name its admin listener with `--admin`; a change of `[admin]` \
                 needs a restart"
            }
            Self::NoListener => {
                "add a table `[admin]` and restart the gateway; or send it SIGHUP to reload, which needs no listener"
            }
            Self::AnyPort => "name it with `--admin`; the gateway says where it listens when it starts",
        }
    }
}

impl From<Silence> for Failure {
    fn from(silence: Silence) -> Self {
        Self::new(Exit::Unreachable).says(&silence.to_string(), Some(silence.hint()))
    }
}

/// What the gateway answered.
#[derive(Debug)]
pub(super) struct Answer {
    /// Whether it did what it was asked for.
    pub(super) is_ok: bool,
    /// What it said.
    pub(super) body: String,
}

impl Answer {
    /// What it said, as a document.
    pub(super) fn json(&self) -> anyhow::Result<Value> {
        serde_json::from_str(&self.body).map_err(|_| self.complaint())
    }

    /// What it said, when it isn't what was asked for.
    pub(super) fn complaint(&self) -> anyhow::Error {
        let document: Value = serde_json::from_str(&self.body).unwrap_or_default();
        match document["error"].as_str() {
            Some(error) => anyhow::anyhow!("the gateway says: {error}"),
            None if document["error"]["message"] == Rejection::Path.message() => anyhow::anyhow!(
                "what listens there is the endpoint of MCP clients: `--admin` names the admin listener, which `moongate serve` \
                 tells of beside it"
            ),
            None => anyhow::anyhow!("what listens there is no gateway, or another version of it"),
        }
    }
}

impl Where {
    /// The address that was given.
    pub(super) fn named(&self) -> Option<Gateway> {
        self.admin.map(Gateway)
    }

    /// The gateway that is meant.
    ///
    /// # Errors
    /// Nothing says where to ask.
    pub(super) fn gateway(&self, common: &Common) -> Result<Gateway, Failure> {
        if let Some(gateway) = self.named() {
            return Ok(gateway);
        }
        let loaded = configuration::read(common.config.as_deref());
        match Gateway::of(&loaded) {
            Err(Silence::NoListener) if loaded.config.is_none() => {
                let failure = Failure::new(Exit::Configuration).problems(&loaded.problems, &loaded.source);
                Err(failure.notes("hint: `--admin` names the gateway's listener without the configuration\n"))
            }
            gateway => Ok(gateway?),
        }
    }
}

impl Gateway {
    /// The one that a configuration belongs to, also where that can't be used: the gateway goes on with the last good
    /// one.
    ///
    /// # Errors
    /// Nobody knows where it listens.
    pub(super) fn of(loaded: &Loaded) -> Result<Self, Silence> {
        let listen = admin_listener(&loaded.source, &ProcessEnvironment).map(|admin| admin.listen);
        match listen {
            None => Err(Silence::NoListener),
            Some(address) if address.port() == 0 => Err(Silence::AnyPort),
            Some(address) => Ok(Self(address)),
        }
    }

    /// Where it is asked.
    pub(super) fn address(self) -> SocketAddr {
        self.0
    }

    /// Asks for what is known at once.
    ///
    /// # Errors
    /// It doesn't answer.
    pub(super) async fn get(self, route: Route, query: &str) -> Result<Answer, Silence> {
        let asked = self.send(Method::GET, format!("{}{query}", route.path()), String::new());
        match timeout(ANSWER_TIMEOUT, asked).await {
            Ok(answer) => answer,
            Err(_) => Err(Silence::Unreachable(self.0, "it takes too long to answer".to_owned())),
        }
    }

    /// Asks for something to be done, and waits for as long as it takes.
    ///
    /// # Errors
    /// It doesn't answer.
    pub(super) async fn post(self, route: Route) -> Result<Answer, Silence> {
        self.send(Method::POST, route.path().to_owned(), "{}".to_owned()).await
    }

    async fn send(self, method: Method, path: String, body: String) -> Result<Answer, Silence> {
        let unreachable = |reason: String| Silence::Unreachable(self.0, reason);
        let stream = match timeout(CONNECT_TIMEOUT, TcpStream::connect(self.0)).await {
            Ok(Ok(stream)) => stream,
            Ok(Err(error)) if error.kind() == io::ErrorKind::ConnectionRefused => {
                return Err(unreachable("nothing listens there".to_owned()));
            }
            Ok(Err(error)) => return Err(unreachable(error.to_string())),
            Err(_) => return Err(unreachable("connecting takes too long".to_owned())),
        };
        let broken =
            |error: hyper::Error| unreachable(format!("it doesn't speak HTTP as a gateway does: {error}"));
        let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await.map_err(broken)?;
        let request = Request::builder()
            .method(method)
            .uri(path)
            .header(HOST, self.0.to_string())
            .header(CONTENT_TYPE, "application/json")
            .body(body)
            .expect("paths and addresses are fit for a head");
        let answered = async {
            let response = sender.send_request(request).await?;
            let is_ok = response.status().is_success();
            let body = collect(response.into_body()).await?;
            Ok(Answer { is_ok, body: String::from_utf8_lossy(&body).into_owned() })
        };
        let connection = async {
            // Its failure is the request's, too.
            let _ = connection.await;
            std::future::pending().await
        };
        tokio::select! {
            answered = answered => answered.map_err(broken),
            () = connection => unreachable!("it never ends"),
        }
    }
}

/// The whole body, or as much of it as any gateway says.
async fn collect(mut body: Incoming) -> Result<Vec<u8>, hyper::Error> {
    let mut whole = Vec::new();
    while let Some(frame) = poll_fn(|context| Pin::new(&mut body).poll_frame(context)).await {
        if let Ok(data) = frame?.into_data() {
            whole.extend_from_slice(&data);
        }
        if whole.len() > LONGEST {
            break;
        }
    }
    Ok(whole)
}

#[cfg(test)]
mod tests;
