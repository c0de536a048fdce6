//! TLS of the HTTP endpoint.
//!
//! A handshake is part of the time before the first authenticated request: it has that time limit, and its bytes count
//! as an incomplete request head. Session tickets aren't used, and resumed sessions end with the certificate that they
//! began with, because each certificate has a server configuration of its own.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use moongate_config::{ClientCertificatePolicy, TlsConfig, certificate_problem};
use moongate_protocol::server::Server;
use moongate_system::certificate_chain::ShortChainVerifier;
use rustls::crypto::ring;
use rustls::server::WebPkiClientVerifier;
use rustls::server::danger::ClientCertVerifier;
use rustls::sign::SingleCertAndKey;
use rustls::{CertificateError, ServerConfig};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::sync::watch;
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

use crate::transport::http::client_identity::ClientIdentity;
use crate::transport::http::client_stream::ClientStream;
use crate::transport::http::connections::ConnectionHandle;
use crate::transport::http::http2;
use crate::transport::http::listener::ListenerPurpose;
use crate::transport::http::refusal_log::RefusalLog;

/// The maximum size of encrypted data that waits for a client, in bytes, in addition to that of the system.
const MAX_UNSENT_BYTES: usize = 32 * 1024;

/// The reason to refuse a certificate without a name for its holder.
const UNNAMED_CERTIFICATE: &str = "unnamed_certificate";

/// The body of the response to a request without TLS.
pub(crate) const PLAIN_HTTP_ANSWER: &str = "this port needs TLS: use https\n";

/// The limits for reading the rest of such a request, so that the client can read the response: closing a connection
/// with unread bytes discards the response.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(1);
const MAX_DRAINED_BYTES: u64 = 64 * 1024;

/// The TLS of a listener, with the newest certificate.
#[derive(Debug)]
pub(crate) struct ListenerTls {
    purpose: ListenerPurpose,
    newest: watch::Receiver<Option<TlsConfig>>,
    current: ConnectionTls,
}

impl ListenerTls {
    /// `None` means that the endpoint uses plain HTTP. That changes only with a restart.
    pub(crate) fn new(
        mut newest: watch::Receiver<Option<TlsConfig>>,
        purpose: ListenerPurpose,
    ) -> Option<Self> {
        let server = server_config(newest.borrow_and_update().as_ref()?, purpose);
        Some(Self { purpose, newest, current: ConnectionTls { server, reported_to: None } })
    }

    /// Reports refused client certificates to `server`.
    #[must_use]
    pub(super) fn reporting_to(mut self, server: Arc<Server>) -> Self {
        self.current.reported_to = Some(server);
        self
    }

    /// The TLS for the next connection.
    pub(super) fn next(&mut self) -> ConnectionTls {
        if self.newest.has_changed().unwrap_or(false)
            && let Some(config) = &*self.newest.borrow_and_update()
        {
            self.current.server = server_config(config, self.purpose);
        }
        self.current.clone()
    }
}

fn server_config(config: &TlsConfig, purpose: ListenerPurpose) -> Arc<ServerConfig> {
    let provider = Arc::new(ring::default_provider());
    let verifier = match &config.client_authority {
        None => WebPkiClientVerifier::no_client_auth(),
        Some(authority) => {
            let roots = Arc::clone(&authority.roots);
            let verifier = WebPkiClientVerifier::builder_with_provider(roots, Arc::clone(&provider));
            let verifier = match authority.policy {
                ClientCertificatePolicy::Required => verifier,
                ClientCertificatePolicy::Optional => verifier.allow_unauthenticated(),
            };
            let verifier = verifier.build().expect("the authority has a certificate");
            ShortChainVerifier::<dyn ClientCertVerifier>::new(verifier)
        }
    };
    let mut server = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("ring supports TLS 1.2 and 1.3")
        .with_client_cert_verifier(verifier)
        .with_cert_resolver(Arc::new(SingleCertAndKey::from(Arc::clone(&config.certified_key))));
    server.alpn_protocols = match purpose {
        ListenerPurpose::Mcp => vec![http2::ALPN_NAME.to_vec(), b"http/1.1".to_vec()],
        ListenerPurpose::Admin => vec![b"http/1.1".to_vec()],
    };
    Arc::new(server)
}

/// A connection after its handshake.
pub(super) struct AcceptedTls {
    pub(super) stream: TlsStream<ClientStream<TcpStream>>,
    /// The holder of the client certificate.
    pub(super) identity: Option<ClientIdentity>,
    /// True if the client chose HTTP/2.
    pub(super) is_http2: bool,
}

/// The TLS of a connection.
#[derive(Debug, Clone)]
pub(super) struct ConnectionTls {
    server: Arc<ServerConfig>,
    /// Receives client certificates that don't authenticate.
    reported_to: Option<Arc<Server>>,
}

impl ConnectionTls {
    /// Waits for the end of the handshake. `None` means that it failed and the connection is closed.
    pub(super) async fn accept(
        self,
        mut stream: TcpStream,
        handle: ConnectionHandle,
        client: SocketAddr,
        refusals: &RefusalLog,
    ) -> Option<AcceptedTls> {
        let mut first = [0];
        match stream.peek(&mut first).await {
            // A handshake starts with a control character, and a request with its method.
            Ok(1) if first[0].is_ascii_uppercase() => {
                let message = "the client sent plain HTTP; it must use https";
                refusals.record_handshake(client.ip(), "plain_http", &message);
                refuse_plain_http(&mut stream).await;
                return None;
            }
            Ok(1..) => {}
            Ok(0) | Err(_) => return None,
        }
        let stream = ClientStream::new(stream, handle);
        let accepted = TlsAcceptor::from(Arc::clone(&self.server))
            .accept_with(stream, |connection| connection.set_buffer_limit(Some(MAX_UNSENT_BYTES)))
            .await;
        match accepted {
            Ok(stream) => {
                let certificate = stream.get_ref().1.peer_certificates().and_then(<[_]>::first);
                let identity = certificate.map(|certificate| ClientIdentity::of_certificate(certificate));
                if matches!(identity, Some(None)) {
                    let message = "the client certificate has no host name, URI or e-mail address";
                    refusals.record_handshake(client.ip(), UNNAMED_CERTIFICATE, &message);
                    self.report(client, UNNAMED_CERTIFICATE);
                    return None;
                }
                let is_http2 = stream.get_ref().1.alpn_protocol() == Some(http2::ALPN_NAME);
                Some(AcceptedTls { stream, identity: identity.flatten(), is_http2 })
            }
            Err(error) => {
                match tls_error(&error) {
                    Some(error) => self.refuse(client, error, refusals),
                    // Clients disconnect at any time, and port scanners always do.
                    None => tracing::debug!(%client, %error, "TLS handshake ended early"),
                }
                None
            }
        }
    }
}

impl ConnectionTls {
    /// Logs and reports a handshake that failed.
    fn refuse(&self, client: SocketAddr, error: &rustls::Error, refusals: &RefusalLog) {
        let address = client.ip();
        match error {
            rustls::Error::InvalidCertificate(problem) => {
                let reason = match problem {
                    CertificateError::Expired | CertificateError::ExpiredContext { .. } => {
                        "expired_certificate"
                    }
                    // Another authority can have the same name.
                    CertificateError::UnknownIssuer | CertificateError::BadSignature => "unknown_authority",
                    _ => "invalid_certificate",
                };
                let problem = certificate_problem(problem);
                refusals.record_handshake(address, reason, &format!("invalid client certificate: {problem}"));
                self.report(client, "invalid_certificate");
            }
            rustls::Error::NoCertificatesPresented => {
                refusals.record_handshake(address, "missing_certificate", error);
                self.report(client, "missing_certificate");
            }
            rustls::Error::AlertReceived(_) => refusals.record_handshake(address, "client_alert", error),
            _ => refusals.record_handshake(address, "handshake", error),
        }
    }

    /// Reports a client certificate that doesn't authenticate.
    fn report(&self, client: SocketAddr, reason: &'static str) {
        if let Some(server) = &self.reported_to {
            server.authentication_failed(client.ip(), reason);
        }
    }
}

/// The reason that a handshake failed, unless the connection did.
fn tls_error(error: &io::Error) -> Option<&rustls::Error> {
    error.get_ref()?.downcast_ref()
}

async fn refuse_plain_http(stream: &mut TcpStream) {
    let response = format!(
        "HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain\r\nContent-Length: {}\r\nConnection: close\r\n\r\n\
         {PLAIN_HTTP_ANSWER}",
        PLAIN_HTTP_ANSWER.len()
    );
    let refuse = async {
        stream.write_all(response.as_bytes()).await?;
        stream.shutdown().await?;
        let mut rest = stream.take(MAX_DRAINED_BYTES);
        tokio::io::copy(&mut rest, &mut tokio::io::sink()).await
    };
    let _ = timeout(DRAIN_TIMEOUT, refuse).await;
}
