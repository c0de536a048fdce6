//! HTTP requests to issuers.
//!
//! The operator names these addresses, so private ones are allowed, unlike for plugins' requests. They are `https`, or
//! `http` on this machine. Redirects aren't followed: an issuer has fixed addresses.

use std::path::{Path, PathBuf};
use std::time::Duration;

use bytes::Bytes;
use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderValue};
use http::{Request, StatusCode};
use http_body_util::{BodyExt as _, Full, Limited};
use moongate_config::is_secure_url;
use moongate_model::text;
use moongate_system::https_client::{HttpsClient, error_with_cause, https_client};
use tokio::time::timeout;
use url::Url;

/// The time limit for a request, from connecting to the end of the response.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(5);

/// The largest response, in bytes. Key sets with certificates have some ten kilobytes.
pub(crate) const MAX_RESPONSE_BYTES: usize = 256 * 1024;

/// The longest part of an error in a log line, in characters.
const MAX_ERROR_CHARS: usize = 200;

/// Sends requests to issuers.
#[derive(Debug)]
pub(crate) struct IssuerClient(HttpsClient);

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
        Self(https_client(ca_file))
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
            let response =
                self.0.request(request).await.map_err(|error| failed(&error_with_cause(&error)))?;
            let status = response.status();
            if status != StatusCode::OK {
                return Err(failed(&format_args!("HTTP status {status}")));
            }
            let body = Limited::new(response.into_body(), MAX_RESPONSE_BYTES).collect().await;
            Ok(body.map_err(|error| failed(&error_with_cause(&*error)))?.to_bytes())
        };
        timeout(REQUEST_TIMEOUT, exchange).await.unwrap_or_else(|_| Err(failed(&"timed out")))
    }
}
