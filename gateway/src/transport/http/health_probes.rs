//! Health probes on the endpoint's own port, for load balancers that can't reach the admin listener.
//!
//! They need no token, so their answers contain nothing but the state: the admin listener gives the reasons.

use axum::body::Body;
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderValue, Method, StatusCode, request};
use axum::response::Response;
use tokio_util::sync::CancellationToken;

use crate::transport::http::rejection::Rejection;

/// The paths, as on the admin listener.
pub(super) const LIVENESS_PATH: &str = "/livez";
pub(super) const READINESS_PATH: &str = "/readyz";

/// The methods of both.
const PROBE_METHODS: &str = "GET, HEAD";

/// The state that the probes report.
#[derive(Debug, Clone)]
pub struct EndpointHealth {
    /// Cancelled when every plugin has been loaded or has failed.
    pub loaded: CancellationToken,
    /// Cancelled as soon as new requests are rejected.
    pub draining: CancellationToken,
}

impl EndpointHealth {
    /// The answer to a probe.
    ///
    /// # Errors
    /// The method isn't supported.
    pub(super) fn answer(&self, head: &request::Parts) -> Result<Response, Rejection> {
        if head.method != Method::GET && head.method != Method::HEAD {
            return Err(Rejection::Method(PROBE_METHODS));
        }
        let is_ready = self.loaded.is_cancelled() && !self.draining.is_cancelled();
        let (status, text) = match head.uri.path() {
            LIVENESS_PATH => (StatusCode::OK, "alive\n"),
            _ if is_ready => (StatusCode::OK, "ready\n"),
            _ => (StatusCode::SERVICE_UNAVAILABLE, "not ready\n"),
        };
        let mut response = Response::new(Body::from(text));
        *response.status_mut() = status;
        response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
        Ok(response)
    }
}
