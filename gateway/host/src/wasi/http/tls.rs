//! Trusted TLS certificates: the system's, and those of `gateway.ca_file`.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use moongate_config::{HttpOrigin, certificate_problem};
use moongate_model::names::PluginId;
use moongate_system::certificate_chain;
use tokio::sync::watch;
use tokio_rustls::rustls::client::Resumption;
use tokio_rustls::rustls::pki_types::CertificateDer;
use tokio_rustls::rustls::pki_types::pem::PemObject as _;
use tokio_rustls::rustls::{self, CertificateError, ClientConfig, RootCertStore};
use wasmtime_wasi_http::Error;

use crate::diagnostics::log_once::{FirstTime, LogOnce};
use crate::diagnostics::text;

/// The number of servers with which a plugin can resume TLS sessions.
const MAX_RESUMED_SESSIONS: usize = 32;

/// The maximum size of the CA file, in bytes. The bundles of browsers are less than a tenth of it.
const MAX_CA_FILE_BYTES: u64 = 4 << 20;

/// The CA file can't be used.
#[derive(Debug, thiserror::Error)]
#[error("can't use `{}` (`ca_file` in `[gateway]`): {reason}", path.display())]
pub struct CaError {
    path: PathBuf,
    reason: String,
}

/// The shared TLS configuration, created on first use, because reading the system's certificates takes a while.
pub(super) struct TrustRoots {
    additional: Arc<[CertificateDer<'static>]>,
    shared: OnceLock<watch::Receiver<Option<SharedConfig>>>,
}

/// `None` if it can't be created.
type SharedConfig = Option<Arc<ClientConfig>>;

impl TrustRoots {
    /// Reads the CA file.
    ///
    /// # Errors
    /// The file can't be read, or contains no CA certificate.
    pub(super) fn new(file: Option<&Path>) -> Result<Self, CaError> {
        let additional = file.map_or(Ok(Vec::new()), |path| {
            let failed = |reason: String| CaError {
                path: path.to_owned(),
                reason: text::clean_line(&reason, text::MAX_SENTENCE_BYTES),
            };
            read(path).map_err(failed)
        })?;
        Ok(Self { additional: additional.into(), shared: OnceLock::new() })
    }

    /// The configuration of one plugin, which shares no TLS sessions. If the future is dropped, the work continues for
    /// the next caller.
    ///
    /// # Errors
    /// There is no trusted certificate, neither in the system nor in a CA file.
    pub(super) async fn client_config(&self) -> Result<Arc<ClientConfig>, Error> {
        let mut shared = self.shared.get_or_init(|| start(Arc::clone(&self.additional))).clone();
        let shared = shared.wait_for(Option::is_some).await.map_err(|_| Error::ConfigurationError)?.clone();
        let shared = shared.flatten().ok_or(Error::ConfigurationError)?;
        let mut own = ClientConfig::clone(&shared);
        own.resumption = Resumption::in_memory_sessions(MAX_RESUMED_SESSIONS);
        Ok(Arc::new(own))
    }
}

/// Creates the configuration on a thread that is allowed to block.
fn start(additional: Arc<[CertificateDer<'static>]>) -> watch::Receiver<Option<SharedConfig>> {
    let (sender, receiver) = watch::channel(None);
    tokio::task::spawn_blocking(move || sender.send_replace(Some(make(&additional))));
    receiver
}

fn make(additional: &[CertificateDer<'static>]) -> SharedConfig {
    let mut roots = RootCertStore::empty();
    let found = rustls_native_certs::load_native_certs();
    for error in &found.errors {
        let error = text::clean_line(&error.to_string(), text::MAX_SENTENCE_BYTES);
        tracing::debug!("some system certificates can't be read: {error}");
    }
    // Systems have invalid certificates among the valid ones.
    let _ = roots.add_parsable_certificates(found.certs);
    let _ = roots.add_parsable_certificates(additional.iter().cloned());
    if roots.is_empty() {
        tracing::error!(
            "plugins can't send https requests: the system has no CA certificates; install `ca-certificates`, or set `ca_file` \
             in `[gateway]`"
        );
        return None;
    }
    let mut config = certificate_chain::client_config(roots);
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Some(Arc::new(config))
}

fn read(path: &Path) -> Result<Vec<CertificateDer<'static>>, String> {
    let metadata = fs::metadata(path).map_err(|error| error.to_string())?;
    if !metadata.is_file() {
        return Err("not a file".to_owned());
    }
    if metadata.len() > MAX_CA_FILE_BYTES {
        return Err("larger than 4 MiB".to_owned());
    }
    let bytes = fs::read(path).map_err(|error| error.to_string())?;
    let all = CertificateDer::pem_slice_iter(&bytes);
    let all = all.collect::<Result<Vec<_>, _>>().map_err(|error| error.to_string())?;
    let mut roots = RootCertStore::empty();
    for certificate in &all {
        roots.add(certificate.clone()).map_err(|error| error.to_string())?;
    }
    if all.is_empty() { Err("contains no PEM certificate".to_owned()) } else { Ok(all) }
}

/// Logs that a server's certificate isn't trusted, once for each server.
pub(super) fn log_untrusted(
    logged: &LogOnce<HttpOrigin>,
    plugin: &PluginId,
    origin: &HttpOrigin,
    error: &rustls::Error,
) {
    match logged.insert(origin.clone()) {
        FirstTime::Yes => {
            let (problem, hint) = match error {
                rustls::Error::InvalidCertificate(
                    problem @ (CertificateError::UnknownIssuer | CertificateError::BadSignature),
                ) => (
                    certificate_problem(problem),
                    "; to trust another authority, set `ca_file` in `[gateway]`",
                ),
                rustls::Error::InvalidCertificate(problem) => (certificate_problem(problem), ""),
                other => (other.to_string(), ""),
            };
            // The error quotes the certificate, which the server chose.
            let problem = text::clean_line(&problem, text::MAX_SENTENCE_BYTES);
            tracing::warn!(%plugin, "TLS certificate of {origin} is not trusted: {problem}{hint}");
        }
        FirstTime::LimitReached => tracing::warn!(
            %plugin,
            "further untrusted TLS certificates aren't logged"
        ),
        FirstTime::No => {}
    }
}
