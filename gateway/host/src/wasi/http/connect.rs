//! New connections: resolves a host, and connects to an allowed address.

use std::io;
use std::net::{IpAddr, SocketAddr, ToSocketAddrs as _};
use std::pin::Pin;
use std::sync::Arc;

use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use moongate_config::{HttpOrigin, HttpScheme};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::{Instant, timeout_at};
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tokio_rustls::rustls;
use tokio_rustls::rustls::pki_types::ServerName;
use tokio_util::task::AbortOnDropHandle;
use url::Host;
use wasmtime_wasi_http::Error;

use super::check::{GrantedRequest, RequestRefusal};
use super::head_limit::LimitedStream;
use super::pool::Connection;
use super::{RequestSender, failure, tls};
use crate::wasi::grant_audit::GrantAudit;

/// The maximum number of names that are looked up at once for one plugin. A lookup can't be cancelled, and each
/// occupies one of the threads that files need, too.
pub(super) const MAX_CONCURRENT_LOOKUPS: usize = 8;

/// The maximum number of a host's addresses to try.
const MAX_ADDRESSES: usize = 8;

/// The maximum size of a response's head, in bytes.
const MAX_HEAD_BYTES: usize = 64 << 10;

/// The maximum number of headers in a response.
const MAX_HEADERS: usize = 128;

/// The future of a lookup.
pub(super) type Lookup<'a> = Pin<Box<dyn Future<Output = io::Result<Vec<IpAddr>>> + Send + 'a>>;

/// Resolves names, once for each connection.
pub(super) trait Resolver: Send + Sync {
    /// Returns all addresses of a name, in the order in which to try them. The permit is dropped when the lookup has
    /// ended, even if its future was dropped earlier.
    fn resolve<'a>(&'a self, name: &'a str, permit: OwnedSemaphorePermit) -> Lookup<'a>;
}

/// The system's resolver, with its files and name servers.
#[derive(Debug)]
pub(super) struct SystemResolver;

impl Resolver for SystemResolver {
    fn resolve<'a>(&'a self, name: &'a str, permit: OwnedSemaphorePermit) -> Lookup<'a> {
        let name = name.to_owned();
        Box::pin(async move {
            let lookup = tokio::task::spawn_blocking(move || {
                let _permit = permit;
                (name.as_str(), 0).to_socket_addrs().map(|all| all.map(|address| address.ip()).collect())
            });
            lookup.await.map_err(io::Error::other)?
        })
    }
}

impl RequestSender {
    /// Connects to an allowed address of the host.
    pub(super) async fn connect(
        &self,
        request: &GrantedRequest<'_>,
        until: Instant,
        audit: &GrantAudit,
    ) -> Result<Connection, Error> {
        let HttpOrigin { scheme, host, port } = &request.origin;
        let found = timeout_at(until, self.addresses(host)).await.map_err(|_| Error::DnsTimeout)??;
        let allowed = self.allowed(request, &found, *port).map_err(|refusal| refusal.report(audit))?;
        let (stream, address) = connect_to_any(&allowed, until).await?;
        let _ = stream.set_nodelay(true);
        match scheme {
            HttpScheme::Http => handshake(stream, address, until).await,
            HttpScheme::Https => {
                let stream = self.tls_handshake(stream, &request.origin, until).await?;
                handshake(stream, address, until).await
            }
        }
    }

    /// All addresses of a host, resolved once.
    async fn addresses(&self, host: &Host<String>) -> Result<Vec<IpAddr>, Error> {
        let name = match host {
            Host::Ipv4(address) => return Ok(vec![(*address).into()]),
            Host::Ipv6(address) => return Ok(vec![(*address).into()]),
            Host::Domain(name) => name,
        };
        let no_address = |error: io::Error| {
            tracing::debug!(plugin = %self.config.id, "can't resolve `{name}`: {error}");
            Error::DnsError { rcode: None, info_code: None }
        };
        let permit = Arc::clone(&self.lookups).acquire_owned().await;
        let permit = permit.map_err(|error| no_address(io::Error::other(error)))?;
        let found = self.outbound.resolver.resolve(name, permit).await.map_err(no_address)?;
        if found.is_empty() {
            return Err(no_address(io::Error::other("the resolver returned no addresses")));
        }
        // A connection to an IPv4-mapped IPv6 address goes to the IPv4 address.
        Ok(found.into_iter().map(|address| address.to_canonical()).collect())
    }

    /// The addresses that the request can be sent to.
    ///
    /// # Errors
    /// No address is allowed, or the host has none.
    fn allowed(
        &self,
        request: &GrantedRequest<'_>,
        found: &[IpAddr],
        port: u16,
    ) -> Result<Vec<SocketAddr>, RequestRefusal> {
        let mut refusal = None;
        let mut allowed = Vec::new();
        for ip in found {
            let address = SocketAddr::new(*ip, port);
            if self.outbound.self_addresses.contain(address) {
                refusal = Some(request.gateway());
            } else if request.grant_for(*ip).is_none() {
                refusal.get_or_insert_with(|| request.not_public(*ip));
            } else if allowed.len() < MAX_ADDRESSES {
                allowed.push(address);
            }
        }
        if allowed.is_empty() {
            return Err(refusal.unwrap_or(RequestRefusal::Invalid(Error::DestinationNotFound)));
        }
        Ok(allowed)
    }

    async fn tls_handshake(
        &self,
        stream: TcpStream,
        origin: &HttpOrigin,
        until: Instant,
    ) -> Result<TlsStream<TcpStream>, Error> {
        let config = match self.tls.get() {
            Some(config) => Arc::clone(config),
            None => {
                let made = timeout_at(until, self.outbound.trust_roots.client_config()).await;
                let made = made.map_err(|_| Error::ConnectionTimeout)??;
                Arc::clone(self.tls.get_or_init(|| made))
            }
        };
        let name = match &origin.host {
            Host::Domain(name) => {
                ServerName::try_from(name.clone()).map_err(|_| Error::HttpRequestUriInvalid)?
            }
            Host::Ipv4(address) => IpAddr::from(*address).into(),
            Host::Ipv6(address) => IpAddr::from(*address).into(),
        };
        let secured = timeout_at(until, TlsConnector::from(config).connect(name, stream)).await;
        secured.map_err(|_| Error::ConnectionTimeout)?.map_err(|error| {
            let Some(error) = error.get_ref().and_then(|error| error.downcast_ref::<rustls::Error>()) else {
                return Error::ConnectionTerminated;
            };
            let failure = failure::of_tls(error);
            if matches!(failure, Error::TlsCertificateError) {
                tls::log_untrusted(&self.logged_untrusted, &self.config.id, origin, error);
            }
            failure
        })
    }
}

/// Connects to the first address that responds. Each address gets a share of the time, so that a dead one leaves some
/// for the others.
async fn connect_to_any(addresses: &[SocketAddr], until: Instant) -> Result<(TcpStream, IpAddr), Error> {
    let mut failed = Error::DestinationNotFound;
    for (at, address) in addresses.iter().enumerate() {
        let now = Instant::now();
        let left = u32::try_from(addresses.len() - at).unwrap_or(u32::MAX);
        let share = until.saturating_duration_since(now) / left;
        match timeout_at(now + share, TcpStream::connect(address)).await {
            Ok(Ok(stream)) => return Ok((stream, address.ip())),
            Ok(Err(error)) => failed = failure::of_connecting(&error),
            Err(_) => failed = Error::ConnectionTimeout,
        }
    }
    Err(failed)
}

/// Starts HTTP/1.1.
async fn handshake<S>(stream: S, address: IpAddr, until: Instant) -> Result<Connection, Error>
where
    S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
{
    let mut builder = http1::Builder::new();
    builder.max_buf_size(MAX_HEAD_BYTES).max_header_size(MAX_HEAD_BYTES).max_headers(MAX_HEADERS);
    let (stream, head_limit) = LimitedStream::new(stream);
    let started = timeout_at(until, builder.handshake(TokioIo::new(stream))).await;
    let started = started.map_err(|_| Error::ConnectionTimeout)?;
    let (sender, connection) = started.map_err(|error| failure::of_request(&error))?;
    // The connection's errors are reported to the task that waits for the response.
    let driver = tokio::spawn(async move { drop(connection.await) });
    Ok(Connection { sender, address, head_limit, _driver: AbortOnDropHandle::new(driver) })
}
