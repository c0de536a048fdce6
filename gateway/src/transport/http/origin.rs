//! The `Host` and `Origin` checks, and CORS headers.
//!
//! A web page can make the browser send requests to this machine, with the page's own origin (`Origin`), or with the
//! page's host name after DNS rebinding (`Host`). Both are checked before anything else.

use std::net::{IpAddr, SocketAddr};

use axum::body::Body;
use axum::http::header::{
    ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN,
    ACCESS_CONTROL_EXPOSE_HEADERS, ACCESS_CONTROL_MAX_AGE, ACCESS_CONTROL_REQUEST_HEADERS, ALLOW, HOST,
    ORIGIN, VARY,
};
use axum::http::{HeaderMap, HeaderValue, StatusCode, request};
use axum::response::Response;

use crate::transport::http::rejection::Rejection;

/// The headers that a page can send if its preflight doesn't name any.
const ALLOWED_HEADERS: &str = "content-type, authorization, accept, mcp-session-id, mcp-protocol-version, \
                               mcp-method, mcp-name, last-event-id";

/// The response headers that a page can read.
const EXPOSED_HEADERS: &str = "mcp-session-id, www-authenticate";

/// The time for which a browser can cache a preflight, in seconds.
const PREFLIGHT_AGE: &str = "600";

/// The allowed hosts and origins.
#[derive(Debug)]
pub(crate) struct OriginPolicy {
    address: IpAddr,
    hosts: Vec<String>,
    origins: Vec<String>,
}

impl OriginPolicy {
    /// `hosts` are in lower case and without a port, `origins` as browsers send them.
    pub(crate) fn new(address: SocketAddr, hosts: &[String], origins: &[String]) -> Self {
        Self {
            address: address.ip(),
            hosts: hosts.to_vec(),
            origins: origins.iter().map(|origin| origin.trim_end_matches('/').to_ascii_lowercase()).collect(),
        }
    }

    /// # Errors
    /// The request is addressed to another host, or comes from a blocked web page.
    pub(crate) fn check(&self, head: &request::Parts) -> Result<(), Rejection> {
        if !self.knows_host(head) {
            return Err(Rejection::Host);
        }
        let mut origins = head.headers.get_all(ORIGIN).iter();
        match (origins.next(), origins.next()) {
            (None, _) => Ok(()),
            (Some(origin), None) if origin.to_str().is_ok_and(|it| self.allows(it)) => Ok(()),
            (Some(_), _) => Err(Rejection::Origin),
        }
    }

    fn knows_host(&self, head: &request::Parts) -> bool {
        let mut hosts = head.headers.get_all(HOST).iter();
        let (Some(host), None) = (hosts.next(), hosts.next()) else { return false };
        let Ok(host) = host.to_str() else { return false };
        // An absolute request URI repeats the host.
        let same = head.uri.authority().is_none_or(|authority| authority.as_str().eq_ignore_ascii_case(host));
        same && host_of(host).is_some_and(|host| self.is_ours(&host))
    }

    fn is_ours(&self, host: &RequestHost) -> bool {
        match host {
            RequestHost::Address(ip) if ip.is_loopback() => true,
            // DNS rebinding needs a name: an IP address in `Host` is the one that the client connected to.
            RequestHost::Address(ip) if self.address.is_unspecified() || self.address == *ip => true,
            RequestHost::Address(ip) => self.hosts.contains(&ip.to_string()),
            RequestHost::Name(name) => is_loopback_name(name) || self.hosts.contains(name),
        }
    }

    fn allows(&self, origin: &str) -> bool {
        let origin = origin.to_ascii_lowercase();
        if self.origins.contains(&origin) {
            return true;
        }
        let Some(rest) = origin.strip_prefix("http://").or_else(|| origin.strip_prefix("https://")) else {
            return false;
        };
        match host_of(rest) {
            Some(RequestHost::Address(ip)) => ip.is_loopback(),
            Some(RequestHost::Name(name)) => is_loopback_name(&name),
            None => false,
        }
    }
}

fn is_loopback_name(name: &str) -> bool {
    name == "localhost"
}

/// A host without its port.
#[derive(Debug, PartialEq, Eq)]
enum RequestHost {
    Address(IpAddr),
    /// In lower case, without a trailing dot.
    Name(String),
}

/// The host of `host[:port]`. `None` if it is neither a name nor an address.
fn host_of(text: &str) -> Option<RequestHost> {
    let (host, port) = if let Some(rest) = text.strip_prefix('[') {
        let (inside, after) = rest.split_once(']')?;
        let address = inside.parse().ok()?;
        let port = if after.is_empty() { None } else { Some(after.strip_prefix(':')?) };
        (RequestHost::Address(IpAddr::V6(address)), port)
    } else {
        let (host, port) = text.split_once(':').map_or((text, None), |(host, port)| (host, Some(port)));
        let name = host.strip_suffix('.').unwrap_or(host).to_ascii_lowercase();
        let is_name = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
        if name.is_empty() || !name.chars().all(is_name) {
            return None;
        }
        (name.parse().map(|ip| RequestHost::Address(IpAddr::V4(ip))).unwrap_or(RequestHost::Name(name)), port)
    };
    let port_is_fine = port.is_none_or(|port| port.is_empty() || port.parse::<u16>().is_ok());
    port_is_fine.then_some(host)
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

/// Allows the page that sent the request to read the response. Its origin was already checked.
pub(super) fn add_cors_headers(request: &HeaderMap, response: &mut Response) {
    let Some(origin) = request.get(ORIGIN) else { return };
    let headers_out = response.headers_mut();
    headers_out.insert(ACCESS_CONTROL_ALLOW_ORIGIN, origin.clone());
    headers_out.insert(ACCESS_CONTROL_EXPOSE_HEADERS, HeaderValue::from_static(EXPOSED_HEADERS));
    headers_out.append(VARY, HeaderValue::from_static("origin"));
}

#[cfg(test)]
mod tests;
