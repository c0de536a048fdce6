//! Whom TLS trusts: the machine's authorities, and those of `gateway.ca_file`.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use moongate_core::config::HttpOrigin;
use moongate_core::names::PluginId;
use tokio_rustls::rustls::client::Resumption;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::CertificateDer;
use tokio_rustls::rustls::pki_types::pem::PemObject as _;
use tokio_rustls::rustls::{self, ClientConfig, RootCertStore};
use wasmtime_wasi_http::Error;

/// How many servers a plugin may take up again where it left off, without a whole handshake.
const RESUMED: usize = 32;

/// So many servers with wrong certificates are told of, for each plugin under one table.
const MOST_TOLD: usize = 32;

/// The file of authorities can't be used.
#[derive(Debug, thiserror::Error)]
#[error("`{}`, which `ca_file` in `[gateway]` names, can't be used: {reason}", path.display())]
pub struct CaError {
    path: PathBuf,
    reason: String,
}

/// The one configuration of TLS, made when it is first needed: reading the machine's authorities takes a while.
pub(super) struct Roots {
    more: Vec<CertificateDer<'static>>,
    made: OnceLock<Option<Arc<ClientConfig>>>,
}

impl Roots {
    /// Reads the file of more authorities.
    ///
    /// # Errors
    /// It can't be read, or holds no certificate of an authority.
    pub(super) fn new(file: Option<&Path>) -> Result<Self, CaError> {
        let more = file.map_or(Ok(Vec::new()), |path| {
            read(path).map_err(|reason| CaError { path: path.to_owned(), reason })
        })?;
        Ok(Self { more, made: OnceLock::new() })
    }

    /// For one plugin: sessions with servers aren't shared.
    ///
    /// # Errors
    /// The machine trusts nobody, and no file says whom to trust.
    pub(super) fn config(&self) -> Result<Arc<ClientConfig>, Error> {
        let made = self.made.get_or_init(|| self.make()).as_ref().ok_or(Error::ConfigurationError)?;
        let mut own = ClientConfig::clone(made);
        own.resumption = Resumption::in_memory_sessions(RESUMED);
        Ok(Arc::new(own))
    }

    fn make(&self) -> Option<Arc<ClientConfig>> {
        let mut roots = RootCertStore::empty();
        let found = rustls_native_certs::load_native_certs();
        for error in &found.errors {
            tracing::debug!("some of the machine's certificates can't be read: {error}");
        }
        // Machines have odd certificates among the good ones.
        let _ = roots.add_parsable_certificates(found.certs);
        let _ = roots.add_parsable_certificates(self.more.iter().cloned());
        if roots.is_empty() {
            tracing::error!(
                "no request can be sent by https: this machine has no certificates of authorities; install them \
                 (`ca-certificates`), or name a file of them as `ca_file` in `[gateway]`"
            );
            return None;
        }
        let made = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .map_err(|error| tracing::error!("no request can be sent by https: {error}"))
            .ok()?;
        let mut made = made.with_root_certificates(roots).with_no_client_auth();
        made.alpn_protocols = vec![b"http/1.1".to_vec()];
        Some(Arc::new(made))
    }
}

fn read(path: &Path) -> Result<Vec<CertificateDer<'static>>, String> {
    let all = CertificateDer::pem_file_iter(path).map_err(|error| error.to_string())?;
    let all = all.collect::<Result<Vec<_>, _>>().map_err(|error| error.to_string())?;
    let mut roots = RootCertStore::empty();
    for certificate in &all {
        roots.add(certificate.clone()).map_err(|error| error.to_string())?;
    }
    if all.is_empty() { Err("it holds no certificate in PEM".to_owned()) } else { Ok(all) }
}

/// Servers of whose certificates the operator was told.
#[derive(Debug, Default)]
pub(super) struct Told(Mutex<BTreeSet<HttpOrigin>>);

impl Told {
    /// Tells, once.
    pub(super) fn tell(&self, plugin: &PluginId, origin: &HttpOrigin, error: &rustls::Error) {
        let mut told = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if told.len() < MOST_TOLD && told.insert(origin.clone()) {
            tracing::warn!(
                %plugin,
                "{origin} isn't who it says it is: {error}; `ca_file` in `[gateway]` names authorities to trust beside \
                 those of the machine"
            );
        }
    }
}
