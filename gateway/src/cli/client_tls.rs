//! The TLS of commands that connect to a gateway: the certificates that they trust, and the one that they send.
//!
//! They trust the authorities of this machine, those in `--ca`, and exactly the certificate in the configuration. The
//! latter is often from a private authority, or is valid only for the public name.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context as _, Result, anyhow, bail};
use clap::Args;
use moongate_config::{
    ListenerKind, LoadedConfig, ProcessEnvironment, certificate_problem, listener_certificate,
};
use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::{CertificateError, ClientConfig, DigitallySignedStruct, Error, RootCertStore, SignatureScheme};

/// The TLS options of commands that connect to a gateway.
#[derive(Debug, Clone, Default, Args)]
pub(super) struct ClientTlsOptions {
    /// PEM file with the client certificate to send, followed by any intermediate certificates
    #[arg(long, value_name = "FILE", requires = "key")]
    cert: Option<PathBuf>,
    /// Private key of --cert, in PEM
    #[arg(long, value_name = "FILE", requires = "cert")]
    key: Option<PathBuf>,
    /// Also trust the authorities in this PEM file
    #[arg(long, value_name = "FILE")]
    ca: Option<PathBuf>,
}

impl ClientTlsOptions {
    /// The options with their values, as on the command line.
    pub(super) fn given(&self) -> [(&'static str, Option<&PathBuf>); 3] {
        [("--cert", self.cert.as_ref()), ("--key", self.key.as_ref()), ("--ca", self.ca.as_ref())]
    }

    /// Reports whether one of the options is given.
    pub(super) fn is_set(&self) -> bool {
        self.given().iter().any(|(_, value)| value.is_some())
    }

    /// The TLS of a client that also trusts the certificate of this listener in the configuration.
    ///
    /// # Errors
    /// A file can't be used, or there are no certificates to trust.
    pub(super) fn client_config(
        &self,
        loaded: &LoadedConfig,
        listener: ListenerKind,
    ) -> Result<ClientConfig> {
        let configured = listener_certificate(&loaded.source, &ProcessEnvironment, listener);
        let mut roots = RootCertStore::empty();
        let _ = roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        if let Some(file) = &self.ca {
            for certificate in certificates(file)? {
                roots.add(certificate).with_context(|| format!("can't use `{}`", file.display()))?;
            }
        }
        if roots.is_empty() && configured.is_none() {
            return Err(anyhow!(
                "this machine has no CA certificates; install them (`ca-certificates`) or use `--ca`"
            ));
        }
        let provider = Arc::new(ring::default_provider());
        let authorities = if roots.is_empty() {
            None
        } else {
            Some(
                WebPkiServerVerifier::builder_with_provider(Arc::new(roots), Arc::clone(&provider))
                    .build()?,
            )
        };
        let verifier = EndpointVerifier { configured, authorities, provider: Arc::clone(&provider) };
        let client = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()?
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(verifier));
        match (&self.cert, &self.key) {
            (Some(cert), Some(key)) => {
                let own = PrivateKeyDer::from_pem_file(key)
                    .with_context(|| format!("can't read a private key in PEM from `{}`", key.display()))?;
                client.with_client_auth_cert(certificates(cert)?, own).map_err(|error| match error {
                    Error::InvalidCertificate(problem) => {
                        let problem = certificate_problem(&problem);
                        anyhow!("can't use the certificate `{}`: {problem}", cert.display())
                    }
                    Error::InconsistentKeys(_) => {
                        anyhow!("the key `{}` doesn't belong to `{}`", key.display(), cert.display())
                    }
                    error => anyhow!("can't use the key `{}`: {error}", key.display()),
                })
            }
            (Some(_) | None, Some(_) | None) => Ok(client.with_no_client_auth()),
        }
    }
}

/// The certificates in a file, of which there is at least one.
fn certificates(file: &Path) -> Result<Vec<CertificateDer<'static>>> {
    let all = CertificateDer::pem_file_iter(file).and_then(Iterator::collect::<Result<Vec<_>, _>>);
    let all = all.with_context(|| format!("can't read certificates in PEM from `{}`", file.display()))?;
    if all.is_empty() {
        bail!("`{}` contains no certificate in PEM", file.display());
    }
    Ok(all)
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
