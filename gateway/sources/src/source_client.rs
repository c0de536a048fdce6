//! HTTP requests to web servers and registries: with limits on size and time, and with a few redirects.
//!
//! Credentials go only to the origin that they are for. A redirect never leads from `https` to `http`.

use std::time::Duration;

use bytes::{Bytes, BytesMut};
use bytesize::ByteSize;
use http::header::{
    ACCEPT, AUTHORIZATION, CONTENT_LENGTH, CONTENT_TYPE, HeaderMap, HeaderValue, LOCATION, USER_AGENT,
};
use http::{Method, Request, StatusCode};
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use moongate_config::{PlainHttpHosts, parse_web_address};
use moongate_system::https_client::{HttpsClient, error_with_cause};
use tokio::time::timeout;
use url::{Origin, Url};

use crate::error::{SourceError, foreign};

/// The maximum number of redirects of a request. Registries use one.
const MAX_REDIRECTS: usize = 5;

/// The time limit for a response's head, from connecting on.
const HEAD_TIMEOUT: Duration = Duration::from_secs(30);

/// The time limit for each part of a response's body.
const READ_TIMEOUT: Duration = Duration::from_secs(30);

/// The time limit for a request with its body, redirects included.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(15 * 60);

/// The largest body of an error response that is read, in bytes.
const MAX_ERROR_BYTES: u64 = 64 * 1024;

/// Sends requests.
#[derive(Debug)]
pub(crate) struct SourceClient {
    http: HttpsClient,
    plain_http: PlainHttpHosts,
}

/// A request.
#[derive(Debug, Clone)]
pub(crate) struct SourceRequest {
    pub(crate) method: Method,
    pub(crate) url: Url,
    pub(crate) accept: String,
    pub(crate) authorization: Option<HeaderValue>,
    pub(crate) content_type: Option<&'static str>,
    pub(crate) body: Bytes,
    /// The largest body of a successful response, in bytes.
    pub(crate) max_bytes: u64,
    /// The origin of the limit, for the message: a clause after the size.
    pub(crate) limit_origin: &'static str,
}

/// A response with its whole body.
#[derive(Debug)]
pub(crate) struct SourceResponse {
    /// The address that responded, after redirects.
    pub(crate) url: Url,
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

impl SourceRequest {
    /// A request for a document.
    pub(crate) fn get(url: Url, accept: &str, max_bytes: u64) -> Self {
        Self {
            method: Method::GET,
            url,
            accept: accept.to_owned(),
            authorization: None,
            content_type: None,
            body: Bytes::new(),
            max_bytes,
            limit_origin: "",
        }
    }
}

impl SourceClient {
    pub(crate) fn new(http: HttpsClient, plain_http: PlainHttpHosts) -> Self {
        Self { http, plain_http }
    }

    /// Reports whether this registry is contacted over plain HTTP.
    pub(crate) fn plain_http(&self) -> &PlainHttpHosts {
        &self.plain_http
    }

    /// Sends a request. Redirects of a `GET` are followed.
    ///
    /// # Errors
    /// The server doesn't answer in time, or its response is too large.
    pub(crate) async fn send(&self, request: SourceRequest) -> Result<SourceResponse, SourceError> {
        let url = request.url.clone();
        let exchange = timeout(REQUEST_TIMEOUT, self.exchange(request));
        exchange.await.unwrap_or_else(|_| Err(failed(&url, &"timed out")))
    }

    async fn exchange(&self, mut request: SourceRequest) -> Result<SourceResponse, SourceError> {
        for _ in 0..=MAX_REDIRECTS {
            let response = self.head(&request).await?;
            let status = response.status();
            let is_read = matches!(request.method, Method::GET | Method::HEAD);
            let location = response.headers().get(LOCATION).filter(|_| status.is_redirection() && is_read);
            let Some(location) = location else {
                return receive(&request, response).await;
            };
            let target = self.redirected(&request.url, location)?;
            if target.origin() != request.url.origin() {
                request.authorization = None; // for good: a later redirect could lead back
            }
            request.url = target;
        }
        Err(failed(&request.url, &format_args!("more than {MAX_REDIRECTS} redirects")))
    }

    async fn head(&self, request: &SourceRequest) -> Result<http::Response<Incoming>, SourceError> {
        let SourceRequest {
            method,
            url,
            accept,
            authorization,
            content_type,
            body,
            max_bytes: _,
            limit_origin: _,
        } = request;
        let mut head = Request::builder().method(method).uri(url.as_str()).header(ACCEPT, accept);
        head = head.header(USER_AGENT, concat!("moongate/", env!("CARGO_PKG_VERSION")));
        if let Some(authorization) = authorization {
            head = head.header(AUTHORIZATION, authorization);
        }
        if let Some(content_type) = content_type {
            head = head.header(CONTENT_TYPE, *content_type);
        }
        let request = head.body(Full::new(body.clone())).map_err(|error| failed(url, &error))?;
        // The time for sending a large body isn't limited here.
        let limit = if body.is_empty() { HEAD_TIMEOUT } else { REQUEST_TIMEOUT };
        let response =
            timeout(limit, self.http.request(request)).await.map_err(|_| failed(url, &"timed out"))?;
        response.map_err(|error| {
            let cause = error_with_cause(&error);
            let is_plain = cause.contains("InvalidContentType"); // rustls received something else than TLS
            let failure = failed(url, &cause);
            if !is_plain {
                return failure;
            }
            failure.with_hint("if the server uses plain HTTP, add its host to `plain_http` in `[sources]`")
        })
    }

    fn redirected(&self, from: &Url, location: &HeaderValue) -> Result<Url, SourceError> {
        let target = location.to_str().ok().and_then(|location| from.join(location).ok());
        let mut target = target.ok_or_else(|| failed(from, &"redirects to an invalid address"))?;
        target.set_fragment(None);
        let refused = |reason: &dyn std::fmt::Display| {
            let origin = match target.origin() {
                Origin::Opaque(_) => format!("{}:", target.scheme()),
                origin @ Origin::Tuple(..) => origin.ascii_serialization(),
            };
            failed(from, &format_args!("redirects to `{}`: {reason}", foreign(&origin)))
        };
        if from.scheme() == "https" && target.scheme() != "https" {
            return Err(refused(&"a redirect from https to another scheme isn't followed"));
        }
        parse_web_address(target.as_str(), &self.plain_http).map_err(|error| refused(&error))?;
        Ok(target)
    }
}

/// Receives the body of a response.
async fn receive(
    request: &SourceRequest,
    response: http::Response<Incoming>,
) -> Result<SourceResponse, SourceError> {
    let (head, mut body) = response.into_parts();
    let url = &request.url;
    let max_bytes = if head.status.is_success() { request.max_bytes } else { MAX_ERROR_BYTES };
    let announced =
        head.headers.get(CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse::<u64>().ok());
    let too_large = || {
        let size = ByteSize::b(max_bytes).display().iec();
        failed(url, &format_args!("larger than {size}{}", request.limit_origin))
    };
    if request.method != Method::HEAD && announced.is_some_and(|length| length > max_bytes) {
        return Err(too_large());
    }
    let mut bytes = BytesMut::new();
    while let Some(frame) =
        timeout(READ_TIMEOUT, body.frame()).await.map_err(|_| failed(url, &"timed out"))?
    {
        let frame =
            frame.map_err(|error| failed(url, &format_args!("incomplete: {}", error_with_cause(&error))))?;
        let Ok(data) = frame.into_data() else { continue };
        if bytes.len() as u64 + data.len() as u64 > max_bytes {
            return Err(too_large());
        }
        bytes.extend_from_slice(&data);
    }
    Ok(SourceResponse { url: url.clone(), status: head.status, headers: head.headers, body: bytes.freeze() })
}

/// The error of a request. The address is shown without its query, which can contain a key.
pub(crate) fn failed(url: &Url, reason: &dyn std::fmt::Display) -> SourceError {
    let mut shown = url.clone();
    shown.set_query(None);
    SourceError::new(format!("{}: {}", foreign(&shown), foreign(&reason)))
}

#[cfg(test)]
mod tests;
