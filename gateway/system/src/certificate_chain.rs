//! A limit on the certificate chains that peers send.
//!
//! Finding a path from a peer's certificate to a trusted authority takes time exponential in the number of intermediate
//! certificates, on a thread that serves others. Real chains have at most four.

use std::fmt;
use std::sync::Arc;

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::ring;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, DistinguishedName, Error, OtherError,
    RootCertStore, SignatureScheme,
};

/// The maximum number of intermediate certificates. Six have some 2,000 paths, which take milliseconds to examine.
const MAX_INTERMEDIATES: usize = 6;

/// The TLS configuration of a client that trusts these authorities and accepts only short chains.
///
/// # Panics
/// Never: *ring* supports the default versions of TLS.
#[must_use]
pub fn client_config(roots: RootCertStore) -> ClientConfig {
    let provider = Arc::new(ring::default_provider());
    let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .expect("ring supports the default versions of TLS");
    match WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider).build() {
        Ok(verifier) => {
            let verifier = ShortChainVerifier::<dyn ServerCertVerifier>::new(verifier);
            builder.dangerous().with_custom_certificate_verifier(verifier).with_no_client_auth()
        }
        // Without an authority, no server is trusted.
        Err(_) => builder.with_root_certificates(RootCertStore::empty()).with_no_client_auth(),
    }
}

/// The maximum size of a client's chain, in bytes. It is kept as long as the connection.
const MAX_CLIENT_CHAIN_BYTES: usize = 16 * 1024;

/// A peer sent a chain that is too long.
#[derive(thiserror::Error)]
enum ChainTooLongError {
    #[error("the certificate chain has {intermediates} intermediate certificates; at most {max} are allowed")]
    Certificates { intermediates: usize, max: usize },
    #[error("the certificate chain is {bytes} bytes long; at most {max} are allowed")]
    Bytes { bytes: usize, max: usize },
}

impl fmt::Debug for ChainTooLongError {
    /// The message: rustls shows errors in this form.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl From<ChainTooLongError> for Error {
    fn from(error: ChainTooLongError) -> Self {
        Self::InvalidCertificate(CertificateError::Other(OtherError(Arc::new(error))))
    }
}

/// Verifies certificates, but only if they have a short chain.
#[derive(Debug)]
pub struct ShortChainVerifier<V: ?Sized>(Arc<V>);

impl<V: ?Sized> ShortChainVerifier<V> {
    /// Verifies short chains with this verifier.
    #[must_use]
    pub fn new(verifier: Arc<V>) -> Arc<Self> {
        Arc::new(Self(verifier))
    }
}

fn check_length(intermediates: &[CertificateDer<'_>]) -> Result<(), Error> {
    let (intermediates, max) = (intermediates.len(), MAX_INTERMEDIATES);
    if intermediates <= max {
        return Ok(());
    }
    Err(ChainTooLongError::Certificates { intermediates, max }.into())
}

impl ServerCertVerifier for ShortChainVerifier<dyn ServerCertVerifier> {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        check_length(intermediates)?;
        self.0.verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now)
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.0.verify_tls12_signature(message, certificate, signed)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.0.verify_tls13_signature(message, certificate, signed)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.supported_verify_schemes()
    }
}

impl ClientCertVerifier for ShortChainVerifier<dyn ClientCertVerifier> {
    fn offer_client_auth(&self) -> bool {
        self.0.offer_client_auth()
    }

    fn client_auth_mandatory(&self) -> bool {
        self.0.client_auth_mandatory()
    }

    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        self.0.root_hint_subjects()
    }

    fn verify_client_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        now: UnixTime,
    ) -> Result<ClientCertVerified, Error> {
        check_length(intermediates)?;
        let bytes = intermediates.iter().fold(end_entity.len(), |bytes, next| bytes + next.len());
        if bytes > MAX_CLIENT_CHAIN_BYTES {
            return Err(ChainTooLongError::Bytes { bytes, max: MAX_CLIENT_CHAIN_BYTES }.into());
        }
        self.0.verify_client_cert(end_entity, intermediates, now)
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.0.verify_tls12_signature(message, certificate, signed)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.0.verify_tls13_signature(message, certificate, signed)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.supported_verify_schemes()
    }
}
