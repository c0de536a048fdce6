//! The trust in an endpoint's certificate: that of this machine, and exactly the certificate in the configuration.
//!
//! The certificate in the configuration is often from a private authority, or is valid only for the public name.

use std::path::Path;
use std::sync::Arc;

use anyhow::{Result, anyhow};
use moongate_config::{ProcessEnvironment, endpoint_certificate};
use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{CertificateError, ClientConfig, DigitallySignedStruct, Error, RootCertStore, SignatureScheme};

use crate::cli::configuration;

/// The TLS of a client that trusts this machine's authorities, and the certificate of the endpoint in the configuration
/// that `config` names or that is found.
///
/// # Errors
/// There are neither CA certificates nor a configured certificate.
pub(super) fn client_config(config: Option<&Path>) -> Result<ClientConfig> {
    let loaded = configuration::read(config);
    let configured = endpoint_certificate(&loaded.source, &ProcessEnvironment);
    let mut roots = RootCertStore::empty();
    let _ = roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    if roots.is_empty() && configured.is_none() {
        return Err(anyhow!("this machine has no CA certificates; install them (`ca-certificates`)"));
    }
    let provider = Arc::new(ring::default_provider());
    let authorities = if roots.is_empty() {
        None
    } else {
        Some(WebPkiServerVerifier::builder_with_provider(Arc::new(roots), Arc::clone(&provider)).build()?)
    };
    let verifier = EndpointVerifier { configured, authorities, provider: Arc::clone(&provider) };
    Ok(ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(verifier))
        .with_no_client_auth())
}

/// Accepts the configured certificate, and those from authorities that this machine trusts.
#[derive(Debug)]
struct EndpointVerifier {
    configured: Option<CertificateDer<'static>>,
    authorities: Option<Arc<WebPkiServerVerifier>>,
    provider: Arc<CryptoProvider>,
}

impl ServerCertVerifier for EndpointVerifier {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        // Only the gateway has the key of the configured certificate, so the name doesn't matter.
        if self.configured.as_ref() == Some(certificate) {
            return Ok(ServerCertVerified::assertion());
        }
        match &self.authorities {
            Some(authorities) => authorities.verify_server_cert(certificate, intermediates, name, ocsp, now),
            None => Err(CertificateError::UnknownIssuer.into()),
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls12_signature(message, certificate, signed, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls13_signature(message, certificate, signed, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}
