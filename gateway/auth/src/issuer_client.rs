//! HTTP requests to issuers.
//!
//! The operator names these addresses, so private ones are allowed, unlike for plugins' requests. They are `https`, or
//! `http` on this machine. Redirects aren't followed: an issuer has fixed addresses.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use bytes::Bytes;
use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderValue};
use http::{Request, StatusCode};
use http_body_util::{BodyExt as _, Full, Limited};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use moongate_config::is_secure_url;
use moongate_model::text;
use moongate_system::certificate_chain::client_config;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use rustls::{ClientConfig, RootCertStore};
use tokio::time::timeout;
use url::Url;

/// The time limit for a request, from connecting to the end of the response.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(5);

/// The largest response, in bytes. Key sets with certificates have some ten kilobytes.
pub(crate) const MAX_RESPONSE_BYTES: usize = 256 * 1024;

/// The time after which an idle connection is closed. Servers close theirs after a minute or more.
const IDLE_TIMEOUT: Duration = Duration::from_secs(30);

/// The longest part of an error in a log line, in characters.
const MAX_ERROR_CHARS: usize = 200;

/// Sends requests to issuers.
#[derive(Debug)]
pub(crate) struct IssuerClient(Client<HttpsConnector<HttpConnector>, Full<Bytes>>);

/// A request to an issuer that failed, in words for the log.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub(crate) struct IssuerRequestError(String);

impl IssuerRequestError {
    pub(crate) fn new(reason: impl Into<String>) -> Self {
        Self(reason.into())
    }
}

impl IssuerClient {
    /// A client that trusts the system's certificate authorities, and those of a bundle. Reads files.
    pub(crate) fn new(ca_file: Option<&Path>) -> Self {
        let mut connector = HttpConnector::new();
        connector.enforce_http(false); // `is_secure_url` allows it for this machine only
        let connector = HttpsConnectorBuilder::new()
            .with_tls_config(tls_config(ca_file))
            .https_or_http()
            .enable_http1()
            .wrap_connector(connector);
        let mut builder = Client::builder(TokioExecutor::new());
        builder.pool_timer(TokioTimer::new()).pool_idle_timeout(IDLE_TIMEOUT);
        Self(builder.build(connector))
    }

    /// The same client, created on a thread that is allowed to block.
    pub(crate) async fn start(ca_file: Option<PathBuf>) -> Self {
        let created = tokio::task::spawn_blocking(move || Self::new(ca_file.as_deref())).await;
        created.expect("creating a client doesn't panic")
    }

    /// The document at an address.
    ///
    /// # Errors
    /// The address isn't secure, or the server doesn't answer in time with a document of a reasonable size.
    pub(crate) async fn get(&self, url: &Url) -> Result<Bytes, IssuerRequestError> {
        let request = Request::get(url.as_str()).header(ACCEPT, "application/json");
        self.send(url, request.body(Full::default())).await
    }

    /// The answer to a form, sent with these credentials.
    ///
    /// # Errors
    /// The same as for [`IssuerClient::get`].
    pub(crate) async fn post_form(
        &self,
        url: &Url,
        authorization: HeaderValue,
        form: String,
    ) -> Result<Bytes, IssuerRequestError> {
        let request = Request::post(url.as_str())
            .header(ACCEPT, "application/json")
            .header(CONTENT_TYPE, "application/x-www-form-urlencoded")
            .header(AUTHORIZATION, authorization);
        self.send(url, request.body(Full::from(form))).await
    }

    async fn send(
        &self,
        url: &Url,
        request: Result<Request<Full<Bytes>>, http::Error>,
    ) -> Result<Bytes, IssuerRequestError> {
        let failed = |reason: &dyn std::fmt::Display| {
            let reason = text::blanked_line(&reason.to_string(), MAX_ERROR_CHARS);
            IssuerRequestError(format!("{url}: {reason}"))
        };
        if !is_secure_url(url.as_str()) {
            return Err(failed(&"the address must use https"));
        }
        let request = request.map_err(|error| failed(&error))?;
        let exchange = async {
            let response = self.0.request(request).await.map_err(|error| failed(&causes(&error)))?;
            let status = response.status();
            if status != StatusCode::OK {
                return Err(failed(&format_args!("HTTP status {status}")));
            }
            let body = Limited::new(response.into_body(), MAX_RESPONSE_BYTES).collect().await;
            Ok(body.map_err(|error| failed(&causes(&*error)))?.to_bytes())
        };
        timeout(REQUEST_TIMEOUT, exchange).await.unwrap_or_else(|_| Err(failed(&"timed out")))
    }
}

/// The last cause of an error, after the error itself: the outer ones name only the layer.
fn causes(error: &(dyn std::error::Error + 'static)) -> String {
    let mut message = error.to_string();
    let last = std::iter::successors(Some(error), |error| error.source()).last();
    if let Some(last) = last.map(ToString::to_string).filter(|last| *last != message) {
        let _ = write!(message, ": {last}");
    }
    message
}

fn tls_config(ca_file: Option<&Path>) -> ClientConfig {
    let mut roots = RootCertStore::empty();
    // System stores can contain invalid certificates. Plugins' HTTP client already logs them.
    let _ = roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    let bundle = ca_file.and_then(|file| fs::read(file).ok()).unwrap_or_default();
    let _ = roots.add_parsable_certificates(CertificateDer::pem_slice_iter(&bundle).filter_map(Result::ok));
    client_config(roots)
}
