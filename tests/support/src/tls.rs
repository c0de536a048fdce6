//! A certificate authority for tests, and a client that sends requests over TLS.

use std::fmt::Write as _;
use std::io::{self, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::Duration;

use rcgen::{
    BasicConstraints, CertificateParams, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair, KeyUsagePurpose,
    SanType, date_time_ymd,
};
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::version::{TLS12, TLS13};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};

use crate::WAIT_TIMEOUT;
use crate::http::{Reply, parse};

/// A certificate authority.
#[derive(Debug)]
pub struct TestAuthority {
    issuer: Issuer<'static, KeyPair>,
    certificate: String,
}

/// A certificate and its key, in PEM.
#[derive(Debug, Clone)]
pub struct IssuedCertificate {
    /// The certificate, and those of a chain that follow it.
    pub certificate: String,
    /// The key.
    pub key: String,
}

/// The time for which a certificate is valid.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Validity {
    /// It is valid now.
    Now,
    /// It has expired.
    Expired,
}

impl Default for TestAuthority {
    fn default() -> Self {
        Self::new()
    }
}

impl TestAuthority {
    /// A new authority.
    ///
    /// # Panics
    /// If no key can be generated.
    #[must_use]
    pub fn new() -> Self {
        let mut authority = CertificateParams::new([]).expect("no names");
        authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        authority.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        let key = KeyPair::generate().expect("a key");
        let certificate = authority.self_signed(&key).expect("a certificate").pem();
        Self { issuer: Issuer::new(authority, key), certificate }
    }

    /// Its certificate in PEM.
    #[must_use]
    pub fn certificate(&self) -> &str {
        &self.certificate
    }

    /// A certificate for servers on this machine.
    #[must_use]
    pub fn server(&self) -> IssuedCertificate {
        self.server_named("localhost")
    }

    /// A certificate for a server with this name.
    ///
    /// # Panics
    /// If the name isn't valid.
    #[must_use]
    pub fn server_named(&self, name: &str) -> IssuedCertificate {
        let names = CertificateParams::new([name.to_owned(), "127.0.0.1".to_owned()]).expect("names");
        self.issue(names.subject_alt_names, Validity::Now)
    }

    /// A certificate with these names.
    ///
    /// # Panics
    /// If a name can't be part of a certificate.
    #[must_use]
    pub fn issue(&self, names: Vec<SanType>, validity: Validity) -> IssuedCertificate {
        match validity {
            Validity::Now => self.issue_until(names, Duration::from_secs(4_000_000_000)),
            Validity::Expired => self.issue_until(names, Duration::from_secs(1_612_310_400)), // 2021-02-03
        }
    }

    /// A certificate with these names that is valid until a time since 1970.
    ///
    /// # Panics
    /// If a name can't be part of a certificate.
    #[must_use]
    pub fn issue_until(&self, names: Vec<SanType>, end: Duration) -> IssuedCertificate {
        let mut params = CertificateParams::new([]).expect("no names");
        params.subject_alt_names = names;
        params.extended_key_usages =
            vec![ExtendedKeyUsagePurpose::ServerAuth, ExtendedKeyUsagePurpose::ClientAuth];
        params.not_before = date_time_ymd(2020, 1, 1);
        params.not_after = date_time_ymd(1970, 1, 1) + end;
        let key = KeyPair::generate().expect("a key");
        let certificate = params.signed_by(&key, &self.issuer).expect("a certificate").pem();
        IssuedCertificate { certificate, key: key.serialize_pem() }
    }
}

/// A client that sends each request on a new connection.
#[derive(Debug, Clone)]
pub struct TlsClient {
    config: Arc<ClientConfig>,
    /// The name that the server must have.
    host: String,
}

/// The version of TLS that a client uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TlsVersion {
    /// TLS 1.2.
    Tls12,
    /// TLS 1.3.
    Tls13,
}

impl TlsClient {
    /// A client of `localhost` that trusts an authority, and sends a certificate of its own if the server asks for one.
    ///
    /// # Panics
    /// If a certificate isn't valid.
    #[must_use]
    pub fn new(authority: &str, version: TlsVersion, own: Option<&IssuedCertificate>) -> Self {
        let mut roots = RootCertStore::empty();
        let root = CertificateDer::from_pem_slice(authority.as_bytes()).expect("a certificate");
        roots.add(root).expect("a certificate of an authority");
        let version = match version {
            TlsVersion::Tls12 => &TLS12,
            TlsVersion::Tls13 => &TLS13,
        };
        let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_protocol_versions(&[version])
            .expect("a version of TLS")
            .with_root_certificates(roots);
        let config = match own {
            None => config.with_no_client_auth(),
            Some(own) => {
                let chain = CertificateDer::pem_slice_iter(own.certificate.as_bytes());
                let chain = chain.collect::<Result<Vec<_>, _>>().expect("certificates");
                let key = PrivateKeyDer::from_pem_slice(own.key.as_bytes()).expect("a key");
                config.with_client_auth_cert(chain, key).expect("a key for the certificate")
            }
        };
        Self { config: Arc::new(config), host: "localhost".to_owned() }
    }

    /// The same client of another host. Connections go to this machine nevertheless.
    #[must_use]
    pub fn of_host(self, host: &str) -> Self {
        Self { host: host.to_owned(), ..self }
    }

    /// Connects to a server on this machine.
    ///
    /// # Errors
    /// The server refuses the connection.
    ///
    /// # Panics
    /// If there is no such server.
    pub fn connect(&self, address: SocketAddr) -> io::Result<StreamOwned<ClientConnection, TcpStream>> {
        let name = ServerName::try_from(self.host.clone()).expect("a host name");
        let connection = ClientConnection::new(Arc::clone(&self.config), name).map_err(io::Error::other)?;
        let stream = TcpStream::connect(address)?;
        stream.set_read_timeout(Some(WAIT_TIMEOUT))?;
        let mut stream = StreamOwned::new(connection, stream);
        while stream.conn.is_handshaking() {
            stream.conn.complete_io(&mut stream.sock)?;
        }
        Ok(stream)
    }

    /// Sends a request.
    ///
    /// # Errors
    /// The server refuses the connection.
    ///
    /// # Panics
    /// If the response isn't valid.
    pub fn send(
        &self,
        address: SocketAddr,
        start: &str,
        headers: &[(&str, &str)],
        body: &str,
    ) -> io::Result<Reply> {
        let host = &self.host;
        let length = body.len();
        let mut head =
            format!("{start} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\nContent-Length: {length}\r\n");
        for (name, value) in headers {
            let _ = write!(head, "{name}: {value}\r\n");
        }
        let mut stream = self.connect(address)?;
        stream.write_all(format!("{head}\r\n{body}").as_bytes())?;
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer)?;
        Ok(parse(&answer))
    }
}
