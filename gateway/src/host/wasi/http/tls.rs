//! Whom TLS trusts: the machine's authorities, and those of `gateway.ca_file`.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use moongate_core::config::HttpOrigin;
use moongate_core::names::PluginId;
use tokio::sync::watch;
use tokio_rustls::rustls::client::Resumption;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::CertificateDer;
use tokio_rustls::rustls::pki_types::pem::PemObject as _;
use tokio_rustls::rustls::{self, ClientConfig, RootCertStore};
use wasmtime_wasi_http::Error;

use crate::host::diagnostics::log_once::{News, Once};
use crate::host::diagnostics::text;

/// How many servers a plugin may take up again where it left off, without a whole handshake.
const RESUMED: usize = 32;

/// The largest file of authorities, in bytes; all that browsers trust together are less than a tenth of it.
const FILE: u64 = 4 << 20;

/// The file of authorities can't be used.
#[derive(Debug, thiserror::Error)]
#[error("`{}`, which `ca_file` in `[gateway]` names, can't be used: {reason}", path.display())]
pub struct CaError {
    path: PathBuf,
    reason: String,
}

/// The one configuration of TLS, made when it is first needed: reading the machine's authorities takes a while.
pub(super) struct Roots {
    more: Arc<[CertificateDer<'static>]>,
    made: OnceLock<watch::Receiver<Option<Made>>>,
}

/// None: it can't be made.
type Made = Option<Arc<ClientConfig>>;

impl Roots {
    /// Reads the file of more authorities.
    ///
    /// # Errors
    /// It can't be read, or holds no certificate of an authority.
    pub(super) fn new(file: Option<&Path>) -> Result<Self, CaError> {
        let more = file.map_or(Ok(Vec::new()), |path| {
            let failed = |reason: String| CaError {
                path: path.to_owned(),
                reason: text::line(&reason, text::SENTENCE),
            };
            read(path).map_err(failed)
        })?;
        Ok(Self { more: more.into(), made: OnceLock::new() })
    }

    /// For one plugin: sessions with servers aren't shared. Whoever stops waiting leaves the work to the next one.
    ///
    /// # Errors
    /// The machine trusts nobody, and no file says whom to trust.
    pub(super) async fn config(&self) -> Result<Arc<ClientConfig>, Error> {
        let mut made = self.made.get_or_init(|| begin(Arc::clone(&self.more))).clone();
        let made = made.wait_for(Option::is_some).await.map_err(|_| Error::ConfigurationError)?.clone();
        let made = made.flatten().ok_or(Error::ConfigurationError)?;
        let mut own = ClientConfig::clone(&made);
        own.resumption = Resumption::in_memory_sessions(RESUMED);
        Ok(Arc::new(own))
    }
}

/// Makes it on a thread where reading files holds up nobody.
fn begin(more: Arc<[CertificateDer<'static>]>) -> watch::Receiver<Option<Made>> {
    let (tell, told) = watch::channel(None);
    tokio::task::spawn_blocking(move || tell.send_replace(Some(make(&more))));
    told
}

fn make(more: &[CertificateDer<'static>]) -> Made {
    let mut roots = RootCertStore::empty();
    let found = rustls_native_certs::load_native_certs();
    for error in &found.errors {
        let error = text::line(&error.to_string(), text::SENTENCE);
        tracing::debug!("some of the machine's certificates can't be read: {error}");
    }
    // Machines have odd certificates among the good ones.
    let _ = roots.add_parsable_certificates(found.certs);
    let _ = roots.add_parsable_certificates(more.iter().cloned());
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

fn read(path: &Path) -> Result<Vec<CertificateDer<'static>>, String> {
    let about = fs::metadata(path).map_err(|error| error.to_string())?;
    if !about.is_file() {
        return Err("it is no file".to_owned());
    }
    if about.len() > FILE {
        return Err("it is larger than 4 MiB".to_owned());
    }
    let bytes = fs::read(path).map_err(|error| error.to_string())?;
    let all = CertificateDer::pem_slice_iter(&bytes);
    let all = all.collect::<Result<Vec<_>, _>>().map_err(|error| error.to_string())?;
    let mut roots = RootCertStore::empty();
    for certificate in &all {
        roots.add(certificate.clone()).map_err(|error| error.to_string())?;
    }
    if all.is_empty() { Err("it holds no certificate in PEM".to_owned()) } else { Ok(all) }
}

/// Tells the operator of a server's certificate, once for each server.
pub(super) fn tell(told: &Once<HttpOrigin>, plugin: &PluginId, origin: &HttpOrigin, error: &rustls::Error) {
    match told.hear(origin.clone()) {
        News::Yes => {
            // It tells what stands in the certificate, which the server wrote.
            let error = text::line(&error.to_string(), text::SENTENCE);
            tracing::warn!(
                %plugin,
                "{origin} isn't who it says it is: {error}; `ca_file` in `[gateway]` names authorities to trust beside \
                 those of the machine"
            );
        }
        News::More => tracing::warn!(
            %plugin,
            "more servers aren't who they say they are, which aren't logged any more"
        ),
        News::No => {}
    }
}
