//! A new connection: the host's addresses, those of them that are allowed, and nothing else.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use moongate_core::config::{HttpOrigin, HttpScheme};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::time::{Instant, timeout_at};
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tokio_rustls::rustls;
use tokio_rustls::rustls::pki_types::ServerName;
use tokio_util::task::AbortOnDropHandle;
use url::Host;
use wasmtime_wasi_http::Error;

use super::check::{Permit, Refusal};
use super::pool::Connection;
use super::{Sender, failure, tls};
use crate::host::wasi::grant_audit::Uses;
use crate::host::wasi::http::informational::Counted;

/// So many addresses of a host are tried.
const TRIED: usize = 8;

/// The head of an answer: its size in bytes, and how many headers.
const HEAD: usize = 64 << 10;
const HEADERS: usize = 128;

impl Sender {
    /// Connects to an address of the host that is allowed.
    pub(super) async fn connect(
        &self,
        permit: &Permit<'_>,
        until: Instant,
        uses: &Uses,
    ) -> Result<Connection, Error> {
        let HttpOrigin { scheme, host, port } = &permit.origin;
        let found = timeout_at(until, self.addresses(host)).await.map_err(|_| Error::DnsTimeout)??;
        let allowed = self.allowed(permit, &found, *port).map_err(|refusal| refusal.told(uses))?;
        let (stream, address) = reach(&allowed, until).await?;
        let _ = stream.set_nodelay(true);
        match scheme {
            HttpScheme::Http => speak(stream, address, until).await,
            HttpScheme::Https => {
                let stream = self.secure(stream, &permit.origin, until).await?;
                speak(stream, address, until).await
            }
        }
    }

    /// Every address of a host, asked for once.
    async fn addresses(&self, host: &Host<String>) -> Result<Vec<IpAddr>, Error> {
        let name = match host {
            Host::Ipv4(address) => return Ok(vec![(*address).into()]),
            Host::Ipv6(address) => return Ok(vec![(*address).into()]),
            Host::Domain(name) => name,
        };
        let no_address = |error: io::Error| {
            tracing::debug!("`{name}` has no address: {error}");
            Error::DnsError { rcode: None, info_code: None }
        };
        let turn = Arc::clone(&self.lookups).acquire_owned().await;
        let turn = turn.map_err(|error| no_address(io::Error::other(error)))?;
        let found = self.outlet.resolver.resolve(name, turn).await.map_err(no_address)?;
        if found.is_empty() {
            return Err(no_address(io::Error::other("the resolver knows none")));
        }
        // What is mapped into IPv6 is the address of IPv4 that the connection goes to.
        Ok(found.into_iter().map(|address| address.to_canonical()).collect())
    }

    /// Those of the addresses that the request may go to; or what is wrong with the others.
    fn allowed(&self, permit: &Permit<'_>, found: &[IpAddr], port: u16) -> Result<Vec<SocketAddr>, Refusal> {
        let mut refusal = None;
        let mut allowed = Vec::new();
        for ip in found {
            let address = SocketAddr::new(*ip, port);
            if self.outlet.own.is(address) {
                refusal = Some(permit.own());
            } else if permit.by(*ip).is_none() {
                refusal.get_or_insert_with(|| permit.not_public(*ip));
            } else if allowed.len() < TRIED {
                allowed.push(address);
            }
        }
        if allowed.is_empty() {
            return Err(refusal.unwrap_or(Refusal::Never(Error::DestinationNotFound)));
        }
        Ok(allowed)
    }

    /// Speaks TLS with whoever can prove to be this host.
    async fn secure(
        &self,
        stream: TcpStream,
        origin: &HttpOrigin,
        until: Instant,
    ) -> Result<TlsStream<TcpStream>, Error> {
        let config = match self.tls.get() {
            Some(config) => Arc::clone(config),
            None => {
                let made = timeout_at(until, self.outlet.roots.config()).await;
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
            let told = failure::of_tls(error);
            if matches!(told, Error::TlsCertificateError) {
                tls::tell(&self.told, &self.config.id, origin, error);
            }
            told
        })
    }
}

/// Connects to the first address that answers. Each has its share of the time, so that a dead one leaves some for the
/// others.
async fn reach(addresses: &[SocketAddr], until: Instant) -> Result<(TcpStream, IpAddr), Error> {
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

/// Begins to speak HTTP/1.1.
async fn speak<S>(stream: S, address: IpAddr, until: Instant) -> Result<Connection, Error>
where
    S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
{
    let mut builder = http1::Builder::new();
    builder.max_buf_size(HEAD).max_header_size(HEAD).max_headers(HEADERS);
    let (stream, preface) = Counted::new(stream);
    let spoken = timeout_at(until, builder.handshake(TokioIo::new(stream))).await;
    let spoken = spoken.map_err(|_| Error::ConnectionTimeout)?;
    let (sender, connection) = spoken.map_err(|error| failure::of_request(&error))?;
    // What goes wrong is told to whoever waits for the answer.
    let driver = tokio::spawn(async move { drop(connection.await) });
    Ok(Connection { sender, address, preface, _driver: AbortOnDropHandle::new(driver) })
}
