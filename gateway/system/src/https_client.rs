//! The HTTP client for requests to addresses that the operator names: OAuth issuers, and the sources of plugins.
//!
//! Unlike plugins' requests, they can go to private addresses. The client follows no redirects.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::Full;
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use rustls::{ClientConfig, RootCertStore};

use crate::certificate_chain::client_config;

/// The time after which an idle connection is closed. Servers close theirs after a minute or more.
const IDLE_TIMEOUT: Duration = Duration::from_secs(30);

/// The time limit for a TCP connection.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// A client for HTTP and HTTPS.
pub type HttpsClient = Client<HttpsConnector<HttpConnector>, Full<Bytes>>;

/// A client that trusts the system's certificate authorities, and those of a bundle. Reads files. The caller decides
/// which addresses may use plain HTTP.
#[must_use]
pub fn https_client(ca_file: Option<&Path>) -> HttpsClient {
    let mut connector = HttpConnector::new();
    connector.enforce_http(false);
    connector.set_connect_timeout(Some(CONNECT_TIMEOUT));
    let connector = HttpsConnectorBuilder::new()
        .with_tls_config(tls_config(ca_file))
        .https_or_http()
        .enable_http1()
        .wrap_connector(connector);
    let mut builder = Client::builder(TokioExecutor::new());
    builder.pool_timer(TokioTimer::new()).pool_idle_timeout(IDLE_TIMEOUT);
    builder.build(connector)
}

/// The last cause of an error, after the error itself: the outer ones name only the layer.
#[must_use]
pub fn error_with_cause(error: &(dyn std::error::Error + 'static)) -> String {
    let mut message = error.to_string();
    let last = std::iter::successors(Some(error), |error| error.source()).last();
    if let Some(last) = last.map(ToString::to_string).filter(|last| *last != message) {
        let _ = write!(message, ": {last}");
    }
    message
}

/// A TLS configuration that trusts the system's certificate authorities, and those of a bundle. Reads files.
#[must_use]
pub fn tls_config(ca_file: Option<&Path>) -> ClientConfig {
    let mut roots = RootCertStore::empty();
    // System stores can contain invalid certificates. Plugins' HTTP client already logs them.
    let _ = roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    let bundle = ca_file.and_then(|file| fs::read(file).ok()).unwrap_or_default();
    let _ = roots.add_parsable_certificates(CertificateDer::pem_slice_iter(&bundle).filter_map(Result::ok));
    client_config(roots)
}
