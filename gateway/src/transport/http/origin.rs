//! The `Host` and `Origin` checks, and CORS headers.
//!
//! A web page can make the browser send requests to this machine, with the page's own origin (`Origin`), or with the
//! page's host name after DNS rebinding (`Host`). Both are checked before anything else.

use std::net::{IpAddr, SocketAddr};

use axum::body::Body;
use axum::http::header::{
    ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN,
    ACCESS_CONTROL_EXPOSE_HEADERS, ACCESS_CONTROL_MAX_AGE, ACCESS_CONTROL_REQUEST_HEADERS,
    ACCESS_CONTROL_REQUEST_METHOD, ALLOW, HOST, ORIGIN, VARY,
};
use axum::http::uri::Scheme;
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, request};
use axum::response::Response;
use moongate_config::{WebOrigin, is_loopback_host, parse_host_and_port};
use url::Host;

use crate::transport::http::rejection::Rejection;

/// The headers that a page can send if its preflight doesn't name any.
const ALLOWED_HEADERS: &str = "content-type, authorization, accept, mcp-session-id, mcp-protocol-version, \
                               mcp-method, mcp-name, last-event-id";

/// The response headers that a page can read.
const EXPOSED_HEADERS: &str = "mcp-session-id, retry-after, www-authenticate";

/// The ports of a `Host` header without one.
const HTTP_PORT: u16 = 80;
const HTTPS_PORT: u16 = 443;

/// The time for which a browser can cache a preflight, in seconds.
const PREFLIGHT_AGE: &str = "600";

/// The allowed hosts and origins.
#[derive(Debug)]
pub(crate) struct OriginPolicy {
    address: IpAddr,
    hosts: Vec<Host<String>>,
    origins: Vec<WebOrigin>,
}

impl OriginPolicy {
    /// The policy of a listener at `address`.
    pub(crate) fn new(address: SocketAddr, hosts: &[Host<String>], origins: &[WebOrigin]) -> Self {
        Self { address: address.ip().to_canonical(), hosts: hosts.to_vec(), origins: origins.to_vec() }
    }

    /// # Errors
    /// The request is addressed to another host, or comes from a blocked web page.
    pub(crate) fn check(&self, head: &request::Parts) -> Result<(), Rejection> {
        if !self.knows_host(head) {
            return Err(Rejection::Host);
        }
        if head.headers.contains_key(ORIGIN) && self.allowed_origin(&head.headers).is_none() {
            return Err(Rejection::Origin);
        }
        Ok(())
    }

    /// The origin of the web page that sent the request, if it is allowed.
    fn allowed_origin<'h>(&self, headers: &'h HeaderMap) -> Option<&'h HeaderValue> {
        let mut origins = headers.get_all(ORIGIN).iter();
        let (Some(value), None) = (origins.next(), origins.next()) else { return None };
        let origin = WebOrigin::parse(value.to_str().ok()?)?;
        (origin.is_loopback() || self.origins.contains(&origin)).then_some(value)
    }

    fn knows_host(&self, head: &request::Parts) -> bool {
        let mut hosts = head.headers.get_all(HOST).iter();
        let (Some(host), None) = (hosts.next(), hosts.next()) else { return false };
        let Some((host, port)) = host.to_str().ok().and_then(parse_host_and_port) else { return false };
        let default_port = if head.uri.scheme() == Some(&Scheme::HTTPS) { HTTPS_PORT } else { HTTP_PORT };
        // An absolute request URI repeats the host, and so does the `:authority` of HTTP/2.
        let is_same = head.uri.authority().is_none_or(|authority| {
            parse_host_and_port(authority.as_str()).is_some_and(|(repeated, repeated_port)| {
                repeated == host && repeated_port.unwrap_or(default_port) == port.unwrap_or(default_port)
            })
        });
        is_same && self.is_ours(&host)
    }

    fn is_ours(&self, host: &Host<String>) -> bool {
        let address = match host {
            Host::Domain(_) => None,
            Host::Ipv4(address) => Some(IpAddr::from(*address)),
            Host::Ipv6(address) => Some(IpAddr::from(*address)),
        };
        // DNS rebinding needs a name: an IP address in `Host` is the one that the client connected to.
        let is_listening =
            address.is_some_and(|address| self.address.is_unspecified() || self.address == address);
        is_loopback_host(host) || is_listening || self.hosts.contains(host)
    }

    /// Allows the page that sent the request to read the response, if its origin is allowed.
    pub(super) fn add_cors_headers(&self, request: &HeaderMap, response: &mut Response) {
        let Some(origin) = self.allowed_origin(request) else { return };
        let headers_out = response.headers_mut();
        headers_out.insert(ACCESS_CONTROL_ALLOW_ORIGIN, origin.clone());
        headers_out.insert(ACCESS_CONTROL_EXPOSE_HEADERS, HeaderValue::from_static(EXPOSED_HEADERS));
        headers_out.append(VARY, HeaderValue::from_static("origin"));
    }
}

/// True if a browser asks whether a web page may send a request.
pub(super) fn is_preflight(head: &request::Parts) -> bool {
    head.method == Method::OPTIONS
        && head.headers.contains_key(ORIGIN)
        && head.headers.contains_key(ACCESS_CONTROL_REQUEST_METHOD)
}

/// The response to `OPTIONS`, with the CORS headers of a preflight.
///
/// Browsers send preflights without credentials, so it comes before authentication.
pub(super) fn preflight_response(head: &request::Parts, verbs: &'static str) -> Response {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::NO_CONTENT;
    let headers_out = response.headers_mut();
    headers_out.insert(ALLOW, HeaderValue::from_static(verbs));
    if head.headers.contains_key(ORIGIN) {
        // The names of `Mcp-Param-…` headers depend on the tool, so all requested headers are allowed.
        let asked = head.headers.get(ACCESS_CONTROL_REQUEST_HEADERS).cloned();
        let headers = asked.unwrap_or(HeaderValue::from_static(ALLOWED_HEADERS));
        headers_out.insert(ACCESS_CONTROL_ALLOW_METHODS, HeaderValue::from_static(verbs));
        headers_out.insert(ACCESS_CONTROL_ALLOW_HEADERS, headers);
        headers_out.insert(ACCESS_CONTROL_MAX_AGE, HeaderValue::from_static(PREFLIGHT_AGE));
    }
    response
}

#[cfg(test)]
mod tests;
