//! The client of the running gateway's admin listener, used by `reload`, `health` and `list plugins`.

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
use moongate_config::{LoadedConfig, ProcessEnvironment, admin_listener};
use serde_json::Value;
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::admin::AdminRoute;
use crate::cli::error::CommandError;
use crate::cli::{CommonOptions, ExitKind, configuration, serve};
use crate::transport::http::rejection::Rejection;

/// The time limit for connecting to the listener, which is on this machine.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// The time limit for responses that need no work.
const RESPONSE_TIMEOUT: Duration = Duration::from_secs(10);

/// The longest response, in bytes.
const MAX_RESPONSE_BYTES: usize = 16 * 1024 * 1024;

/// The options that select the gateway.
#[derive(Debug, Args)]
pub(super) struct AdminOptions {
    /// Admin listener of the gateway: `IP:PORT`, or a port on 127.0.0.1 [default: `listen` in `[admin]` of the
    /// configuration]
    #[arg(long, value_name = "ADDR", value_parser = serve::address)]
    admin: Option<SocketAddr>,
}

/// A client of one admin listener.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct AdminClient(SocketAddr);

/// An error of the client.
#[derive(Debug, thiserror::Error)]
pub(super) enum AdminClientError {
    /// Nothing listens at the address, or it doesn't respond.
    #[error("no gateway responds at {0}: {1}")]
    Unreachable(SocketAddr, String),
    /// The configuration has no admin listener.
    #[error("the configuration has no `[admin]` listener")]
    NoAdminListener,
    /// The configuration leaves the port to the system.
    #[error("the port of the admin listener is unknown: `listen` in `[admin]` is port 0")]
    UnknownPort,
}

impl AdminClientError {
    /// The hint for the error.
    fn hint(&self) -> &'static str {
        match self {
            Self::Unreachable(..) => {
                "start it with `moongate serve`, or pass its admin listener with `--admin`; changes of `[admin]` need a \
                 restart"
            }
            Self::NoAdminListener => {
                "add an `[admin]` table and restart the gateway; to reload without a listener, send SIGHUP"
            }
            Self::UnknownPort => {
                "pass the listener's address with `--admin`; the gateway prints it at startup"
            }
        }
    }
}

impl From<AdminClientError> for CommandError {
    fn from(silence: AdminClientError) -> Self {
        Self::new(ExitKind::Unreachable).message(&silence.to_string(), Some(silence.hint()))
    }
}

/// A response from the gateway.
#[derive(Debug)]
pub(super) struct AdminResponse {
    /// True if the request succeeded.
    pub(super) is_ok: bool,
    pub(super) body: String,
}

impl AdminResponse {
    /// The body as JSON.
    pub(super) fn json(&self) -> anyhow::Result<Value> {
        serde_json::from_str(&self.body).map_err(|_| self.unexpected_response())
    }

    /// The error for an unexpected response.
    pub(super) fn unexpected_response(&self) -> anyhow::Error {
        let document: Value = serde_json::from_str(&self.body).unwrap_or_default();
        match document["error"].as_str() {
            Some(error) => anyhow::anyhow!("the gateway reported an error: {error}"),
            None if document["error"]["message"] == Rejection::Path.message() => anyhow::anyhow!(
                "this is the address of the MCP endpoint; pass the address of the admin listener, which `moongate \
                 serve` prints, with `--admin`"
            ),
            None => {
                anyhow::anyhow!("the server at this address isn't a Moongate gateway, or is another version")
            }
        }
    }
}

impl AdminOptions {
    /// The client of the address given by `--admin`.
    pub(super) fn named(&self) -> Option<AdminClient> {
        self.admin.map(AdminClient)
    }

    /// The client of the selected gateway.
    ///
    /// # Errors
    /// Neither the command line nor the configuration has an address.
    pub(super) fn gateway(&self, common: &CommonOptions) -> Result<AdminClient, CommandError> {
        if let Some(gateway) = self.named() {
            return Ok(gateway);
        }
        let loaded = configuration::read(common.config.as_deref());
        match AdminClient::of(&loaded) {
            Err(AdminClientError::NoAdminListener) if loaded.config.is_none() => {
                let failure =
                    CommandError::new(ExitKind::Configuration).diagnostics(&loaded.problems, &loaded.source);
                Err(failure.notes(
                    "hint: to skip the configuration, pass the gateway's admin listener with `--admin`\n",
                ))
            }
            gateway => Ok(gateway?),
        }
    }
}

impl AdminClient {
    /// The client of a configuration's gateway. The configuration may be invalid, because the gateway keeps running
    /// with the last valid one.
    ///
    /// The configuration has no known admin address.
    pub(super) fn of(loaded: &LoadedConfig) -> Result<Self, AdminClientError> {
        let listen = admin_listener(&loaded.source, &ProcessEnvironment).map(|admin| admin.listen);
        match listen {
            None => Err(AdminClientError::NoAdminListener),
            Some(address) if address.port() == 0 => Err(AdminClientError::UnknownPort),
            Some(address) => Ok(Self(address)),
        }
    }

    /// The address of the listener.
    pub(super) fn address(self) -> SocketAddr {
        self.0
    }

    /// Sends a request that is answered at once.
    ///
    /// # Errors
    /// The gateway doesn't respond.
    pub(super) async fn get(self, route: AdminRoute, query: &str) -> Result<AdminResponse, AdminClientError> {
        let asked = self.send(Method::GET, format!("{}{query}", route.path()), String::new());
        match timeout(RESPONSE_TIMEOUT, asked).await {
            Ok(answer) => answer,
            Err(_) => {
                Err(AdminClientError::Unreachable(self.0, "timed out waiting for the response".to_owned()))
            }
        }
    }

    /// Requests an action and waits until it is finished.
    ///
    /// # Errors
    /// The gateway doesn't respond.
    pub(super) async fn post(self, route: AdminRoute) -> Result<AdminResponse, AdminClientError> {
        self.send(Method::POST, route.path().to_owned(), "{}".to_owned()).await
    }

    async fn send(
        self,
        method: Method,
        path: String,
        body: String,
    ) -> Result<AdminResponse, AdminClientError> {
        let unreachable = |reason: String| AdminClientError::Unreachable(self.0, reason);
        let stream = match timeout(CONNECT_TIMEOUT, TcpStream::connect(self.0)).await {
            Ok(Ok(stream)) => stream,
            Ok(Err(error)) if error.kind() == io::ErrorKind::ConnectionRefused => {
                return Err(unreachable("nothing listens there".to_owned()));
            }
            Ok(Err(error)) => return Err(unreachable(error.to_string())),
            Err(_) => return Err(unreachable("timed out while connecting".to_owned())),
        };
        let broken = |error: hyper::Error| unreachable(format!("invalid HTTP response: {error}"));
        let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await.map_err(broken)?;
        let request = Request::builder()
            .method(method)
            .uri(path)
            .header(HOST, self.0.to_string())
            .header(CONTENT_TYPE, "application/json")
            .body(body)
            .expect("paths and addresses are valid in headers");
        let answered = async {
            let response = sender.send_request(request).await?;
            let is_ok = response.status().is_success();
            let body = collect(response.into_body()).await?;
            Ok(AdminResponse { is_ok, body: String::from_utf8_lossy(&body).into_owned() })
        };
        let connection = async {
            // A failure of the connection fails the request, too.
            let _ = connection.await;
            std::future::pending().await
        };
        tokio::select! {
            answered = answered => answered.map_err(broken),
            () = connection => unreachable!("this future never ends"),
        }
    }
}

/// The whole body, up to the limit.
async fn collect(mut body: Incoming) -> Result<Vec<u8>, hyper::Error> {
    let mut whole = Vec::new();
    while let Some(frame) = poll_fn(|context| Pin::new(&mut body).poll_frame(context)).await {
        if let Ok(data) = frame?.into_data() {
            whole.extend_from_slice(&data);
        }
        if whole.len() > MAX_RESPONSE_BYTES {
            break;
        }
    }
    Ok(whole)
}

#[cfg(test)]
mod tests;
