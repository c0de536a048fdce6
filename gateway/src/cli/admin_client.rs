//! The client of the running gateway's admin listener, used by `reload`, `health`, `logs`, `top` and `list plugins`.
//!
//! The token comes from a variable or from the configuration. The configured one is sent only to this machine and to
//! the configured address.

use std::fmt;
use std::future::poll_fn;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use hyper::body::{Body as _, Incoming};
use hyper::client::conn::http1;
use hyper::header::{AUTHORIZATION, CONTENT_TYPE, HOST, HeaderValue};
use hyper::{Method, Request, StatusCode};
use hyper_util::rt::TokioIo;
use moongate_config::{AdminConfig, ListenerKind, LoadedConfig, ProcessEnvironment, admin_listener};
use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use serde_json::Value;
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tokio_util::either::Either;
use url::{Host, Url};

use crate::admin::AdminRoute;
use crate::cli::client_tls::ClientTlsOptions;
use crate::cli::connection_failure::{ConnectionFailure, tls_error};
use crate::cli::error::CommandError;
use crate::cli::{CommonOptions, ExitKind, configuration, print, serve};
use crate::transport::http::rejection::Rejection;
use crate::transport::http::tls::PLAIN_HTTP_ANSWER;

/// The variable with the token of the admin listener.
const ADMIN_TOKEN_VARIABLE: &str = "MOONGATE_ADMIN_TOKEN";

/// The hint if no gateway responds.
const SILENCE_HINT: &str = "start it with `moongate serve`, or pass its admin listener with `--admin`; a changed `listen` \
                            in `[admin]` needs a restart";

/// The time limit for connecting to the listener, and for its TLS handshake.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// The time limit for responses that need no work.
const RESPONSE_TIMEOUT: Duration = Duration::from_secs(10);

/// The longest response, in bytes.
const MAX_RESPONSE_BYTES: usize = 16 * 1024 * 1024;

/// The options that select the gateway.
#[derive(Debug, Args)]
pub(super) struct AdminOptions {
    /// Admin listener of the gateway: `IP:PORT`, a port on 127.0.0.1, or `https://HOST:PORT` [default: `listen` in
    /// `[admin]` of the configuration]. For a gateway other than the configured one, set MOONGATE_ADMIN_TOKEN to its
    /// token
    #[arg(long, value_name = "ADDR", value_parser = admin_address)]
    admin: Option<AdminAddress>,
    #[command(flatten)]
    pub(super) tls: ClientTlsOptions,
}

/// The address of an admin listener.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct AdminAddress {
    scheme: &'static str,
    host: Host<String>,
    port: u16,
}

impl AdminAddress {
    fn new(scheme: &'static str, address: SocketAddr) -> Self {
        let host = match address.ip() {
            IpAddr::V4(ip) => Host::Ipv4(ip),
            IpAddr::V6(ip) => Host::Ipv6(ip),
        };
        Self { scheme, host, port: address.port() }
    }

    /// The address at which a configured listener can be reached from this machine.
    fn configured(admin: &AdminConfig) -> Self {
        let ip = match admin.listen.ip() {
            ip if !ip.is_unspecified() => ip,
            IpAddr::V4(_) => IpAddr::V4(Ipv4Addr::LOCALHOST),
            IpAddr::V6(_) => IpAddr::V6(Ipv6Addr::LOCALHOST),
        };
        Self::new(admin.scheme(), SocketAddr::new(ip, admin.listen.port()))
    }

    /// True if no other machine receives what is sent there.
    fn is_here(&self) -> bool {
        match &self.host {
            Host::Domain(name) => name == "localhost",
            Host::Ipv4(ip) => ip.is_loopback(),
            Host::Ipv6(ip) => ip.to_canonical().is_loopback(),
        }
    }
}

impl fmt::Display for AdminAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { scheme, host, port } = self;
        match *scheme {
            "https" => write!(f, "https://{host}:{port}"),
            _ => write!(f, "{host}:{port}"),
        }
    }
}

/// Parses `IP:PORT`, a port on 127.0.0.1, or a URL.
fn admin_address(text: &str) -> Result<AdminAddress, String> {
    if !text.contains("://") {
        return serve::address(text).map(|address| AdminAddress::new("http", address));
    }
    let url = Url::parse(text).ok().filter(|url| url.username().is_empty() && url.password().is_none());
    let scheme = match url.as_ref().map(Url::scheme) {
        Some("https") => "https",
        Some("http") => "http",
        Some(_) | None => {
            return Err("expected an address such as https://gateway.example.com:8932".to_owned());
        }
    };
    let place = url.as_ref().and_then(|url| Some((url.host()?.to_owned(), url.port_or_known_default()?)));
    let (host, port) = place.ok_or("expected an address such as https://gateway.example.com:8932")?;
    Ok(AdminAddress { scheme, host, port })
}

/// A client of one admin listener.
#[derive(Debug, Clone)]
pub(super) struct AdminClient {
    address: AdminAddress,
    token: Option<HeaderValue>,
    /// `None` means plain HTTP.
    tls: Option<Arc<ClientConfig>>,
}

/// An error of the client.
#[derive(Debug, thiserror::Error)]
pub(super) enum AdminClientError {
    /// Nothing listens at the address, or it doesn't respond.
    #[error("no gateway responds at {0}: {1}")]
    Unreachable(AdminAddress, String),
    /// One side refused the other's certificate, or the connection ended.
    #[error("{}", .1.message(.0))]
    Connection(AdminAddress, ConnectionFailure),
    /// The configuration has no admin listener.
    #[error("the configuration has no `[admin]` listener")]
    NoAdminListener,
    /// The configuration leaves the port to the system.
    #[error("the port of the admin listener is unknown: `listen` in `[admin]` is port 0")]
    UnknownPort,
    /// The token or a certificate of this command can't be used.
    #[error("{0}")]
    Credentials(String),
    /// The gateway requires other credentials.
    #[error("the gateway reported an error: {0}")]
    Unauthorized(String),
}

impl AdminClientError {
    /// The hint for the error.
    fn hint(&self) -> &'static str {
        match self {
            Self::Connection(_, failure) => failure.hint().unwrap_or(SILENCE_HINT),
            Self::Unreachable(..) => SILENCE_HINT,
            Self::NoAdminListener => {
                "add an `[admin]` table and restart the gateway; to reload without a listener, send SIGHUP"
            }
            Self::UnknownPort => {
                "pass the listener's address with `--admin`; the gateway prints it at startup"
            }
            Self::Credentials(_) => "check MOONGATE_ADMIN_TOKEN, `--cert`, `--key` and `--ca`",
            Self::Unauthorized(_) => {
                "set the variable MOONGATE_ADMIN_TOKEN to the token in `[admin]`, or use `--cert` and `--key`"
            }
        }
    }
}

impl From<AdminClientError> for CommandError {
    fn from(silence: AdminClientError) -> Self {
        let exit = match &silence {
            AdminClientError::Connection(_, failure) => failure.exit(),
            AdminClientError::Unreachable(..)
            | AdminClientError::NoAdminListener
            | AdminClientError::UnknownPort => ExitKind::Unreachable,
            AdminClientError::Credentials(_) => ExitKind::Usage,
            AdminClientError::Unauthorized(_) => ExitKind::Unauthorized,
        };
        Self::new(exit).message(&silence.to_string(), Some(silence.hint()))
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

    /// The error that a gateway reports.
    fn error(&self) -> Option<String> {
        let document: Value = serde_json::from_str(&self.body).ok()?;
        document["error"].as_str().map(print::inline)
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
    /// Reports whether `--admin` names an address.
    pub(super) fn is_named(&self) -> bool {
        self.admin.is_some()
    }

    /// The client of the address given by `--admin`.
    ///
    /// # Errors
    /// The token or a certificate of this command can't be used.
    pub(super) fn named(&self, common: &CommonOptions) -> Result<Option<AdminClient>, AdminClientError> {
        let Some(address) = &self.admin else { return Ok(None) };
        let loaded = configuration::read(common.config.as_deref());
        let configured = admin_listener(&loaded.source, &ProcessEnvironment);
        AdminClient::new(address.clone(), configured.as_ref(), &loaded, &self.tls).map(Some)
    }

    /// The client of the selected gateway.
    ///
    /// # Errors
    /// Neither the command line nor the configuration has an address.
    pub(super) fn gateway(&self, common: &CommonOptions) -> Result<AdminClient, CommandError> {
        if let Some(gateway) = self.named(common)? {
            return Ok(gateway);
        }
        let loaded = configuration::read(common.config.as_deref());
        match AdminClient::of(&loaded, &self.tls) {
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
    /// # Errors
    /// The configuration has no known admin address, or the token or a certificate of this command can't be used.
    pub(super) fn of(loaded: &LoadedConfig, tls: &ClientTlsOptions) -> Result<Self, AdminClientError> {
        match admin_listener(&loaded.source, &ProcessEnvironment) {
            None => Err(AdminClientError::NoAdminListener),
            Some(admin) if admin.listen.port() == 0 => Err(AdminClientError::UnknownPort),
            Some(admin) => Self::new(AdminAddress::configured(&admin), Some(&admin), loaded, tls),
        }
    }

    /// The client of the listener at `address`, with the token of the configuration if it is for this address.
    fn new(
        address: AdminAddress,
        configured: Option<&AdminConfig>,
        loaded: &LoadedConfig,
        tls: &ClientTlsOptions,
    ) -> Result<Self, AdminClientError> {
        let typed = std::env::var(ADMIN_TOKEN_VARIABLE).ok().filter(|token| !token.is_empty());
        let own = configured.filter(|admin| address.is_here() || AdminAddress::configured(admin) == address);
        let own = own.and_then(|admin| Some(admin.token.as_ref()?.expose().to_owned()));
        let token = typed.or(own).map(|token| HeaderValue::try_from(format!("Bearer {token}")));
        let mut token = token
            .transpose()
            .map_err(|_| AdminClientError::Credentials("invalid token for the admin listener".to_owned()))?;
        token.iter_mut().for_each(|token| token.set_sensitive(true));
        let tls = match address.scheme {
            "https" => {
                let config = tls.client_config(loaded, ListenerKind::Admin);
                Some(Arc::new(config.map_err(|error| AdminClientError::Credentials(format!("{error:#}")))?))
            }
            _ => None,
        };
        if token.is_some() && tls.is_none() && !address.is_here() {
            print::note("the token is sent to another machine unencrypted; use https");
        }
        Ok(Self { address, token, tls })
    }

    /// The address of the listener.
    pub(super) fn address(&self) -> &AdminAddress {
        &self.address
    }

    /// Sends a request that is answered at once.
    ///
    /// # Errors
    /// The gateway doesn't respond.
    pub(super) async fn get(
        &self,
        route: AdminRoute,
        query: &str,
    ) -> Result<AdminResponse, AdminClientError> {
        let asked = self.send(Method::GET, format!("{}{query}", route.path()), String::new());
        match timeout(RESPONSE_TIMEOUT, asked).await {
            Ok(answer) => answer,
            Err(_) => Err(self.unreachable("timed out waiting for the response".to_owned())),
        }
    }

    /// Requests an action and waits until it is finished.
    ///
    /// # Errors
    /// The gateway doesn't respond.
    pub(super) async fn post(&self, route: AdminRoute) -> Result<AdminResponse, AdminClientError> {
        self.send(Method::POST, route.path().to_owned(), "{}".to_owned()).await
    }

    fn unreachable(&self, reason: String) -> AdminClientError {
        AdminClientError::Unreachable(self.address.clone(), reason)
    }

    fn connection_failure(&self, error: &(dyn std::error::Error + 'static)) -> AdminClientError {
        match tls_error(error) {
            Some(rustls::Error::InvalidMessage(rustls::InvalidMessage::InvalidContentType)) => {
                let AdminAddress { host, port, .. } = &self.address;
                self.unreachable(format!("it doesn't use TLS: write http://{host}:{port}"))
            }
            _ => {
                let failure = ConnectionFailure::of(error, self.tls.is_some());
                AdminClientError::Connection(self.address.clone(), failure)
            }
        }
    }

    /// Connects, and waits for the end of the TLS handshake.
    async fn connect(&self) -> io::Result<Either<TcpStream, TlsStream<TcpStream>>> {
        let AdminAddress { host, port, .. } = &self.address;
        let stream = match host {
            Host::Domain(name) => TcpStream::connect((name.as_str(), *port)).await?,
            Host::Ipv4(ip) => TcpStream::connect((*ip, *port)).await?,
            Host::Ipv6(ip) => TcpStream::connect((*ip, *port)).await?,
        };
        let Some(tls) = &self.tls else { return Ok(Either::Left(stream)) };
        let name = match host {
            Host::Domain(name) => ServerName::try_from(name.clone()).map_err(io::Error::other)?,
            Host::Ipv4(ip) => ServerName::from(IpAddr::V4(*ip)),
            Host::Ipv6(ip) => ServerName::from(IpAddr::V6(*ip)),
        };
        Ok(Either::Right(TlsConnector::from(Arc::clone(tls)).connect(name, stream).await?))
    }

    async fn send(
        &self,
        method: Method,
        path: String,
        body: String,
    ) -> Result<AdminResponse, AdminClientError> {
        let unreachable = |reason: String| self.unreachable(reason);
        let stream = match timeout(CONNECT_TIMEOUT, self.connect()).await {
            Ok(Ok(stream)) => stream,
            Ok(Err(error)) if error.kind() == io::ErrorKind::ConnectionRefused => {
                return Err(unreachable("nothing listens there".to_owned()));
            }
            Ok(Err(error)) => return Err(self.connection_failure(&error)),
            Err(_) => return Err(unreachable("timed out while connecting".to_owned())),
        };
        let broken = |error: hyper::Error| match (tls_error(&error), &self.tls) {
            (None, None) => unreachable(format!("invalid HTTP response: {error}")),
            (Some(_), _) | (None, Some(_)) => self.connection_failure(&error),
        };
        let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await.map_err(broken)?;
        let AdminAddress { host, port, .. } = &self.address;
        let mut request = Request::builder()
            .method(method)
            .uri(path)
            .header(HOST, format!("{host}:{port}"))
            .header(CONTENT_TYPE, "application/json");
        if let Some(token) = &self.token {
            request = request.header(AUTHORIZATION, token);
        }
        let request = request.body(body).expect("paths and addresses are valid in headers");
        let answered = async {
            let response = sender.send_request(request).await?;
            let status = response.status();
            let body = collect(response.into_body()).await?;
            let body = String::from_utf8_lossy(&body).into_owned();
            Ok((status, AdminResponse { is_ok: status.is_success(), body }))
        };
        let connection = async {
            // A failure of the connection fails the request, too.
            let _ = connection.await;
            std::future::pending().await
        };
        let (status, response) = tokio::select! {
            answered = answered => answered.map_err(broken)?,
            () = connection => unreachable!("this future never ends"),
        };
        if response.body == PLAIN_HTTP_ANSWER {
            return Err(unreachable(format!("it uses TLS: write https://{host}:{port}")));
        }
        match response.error() {
            Some(error) if status == StatusCode::UNAUTHORIZED => Err(AdminClientError::Unauthorized(error)),
            Some(_) | None => Ok(response),
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
