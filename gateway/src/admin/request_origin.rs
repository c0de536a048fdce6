//! The sender of a request to the admin listener: a program, the status page itself, or another web page.
//!
//! Browsers send the credentials that they remember with every request, so a page of another origin could use them. Its
//! requests are recognised by `Origin`, which scripts and forms send, and by `Sec-Fetch-Site`, which browsers add to all
//! requests over TLS and to this machine (Fetch Metadata Request Headers).

use axum::http::header::{HOST, ORIGIN};
use axum::http::{HeaderMap, HeaderValue, Method, request};
use moongate_config::WebOrigin;

/// The sender of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RequestOrigin {
    /// Not a web page: a program, or the address bar of a browser.
    Program,
    /// The status page.
    OwnPage,
    /// The user follows a link of another page.
    Link,
    /// Another page, possibly of another server on this machine.
    OtherPage,
}

impl RequestOrigin {
    /// The sender of this request to a listener with this scheme.
    pub(super) fn of(scheme: &str, head: &request::Parts) -> Self {
        let headers = &head.headers;
        let origin = headers.get(ORIGIN).map(|origin| is_own_origin(scheme, headers, origin));
        let site = field(headers, "sec-fetch-site");
        match (origin, site) {
            // Pages can't set the header, and behind a proxy with TLS the origin has another scheme.
            (_, Some("same-origin")) | (Some(true), None) => Self::OwnPage,
            (Some(false), _) => Self::OtherPage,
            (None, None | Some("none")) => Self::Program,
            (None, Some(_)) if is_navigation(head) => Self::Link,
            (Some(true) | None, Some(_)) => Self::OtherPage,
        }
    }
}

/// True if a browser loads the page into a tab of its own.
fn is_navigation(head: &request::Parts) -> bool {
    head.method == Method::GET
        && field(&head.headers, "sec-fetch-mode") == Some("navigate")
        && field(&head.headers, "sec-fetch-dest") == Some("document")
}

fn field<'h>(headers: &'h HeaderMap, name: &str) -> Option<&'h str> {
    // What can't be read isn't one of the known values.
    headers.get(name).map(|value| value.to_str().unwrap_or("unreadable"))
}

fn is_own_origin(scheme: &str, headers: &HeaderMap, origin: &HeaderValue) -> bool {
    let parse =
        |prefix: &str, value: &HeaderValue| WebOrigin::parse(&format!("{prefix}{}", value.to_str().ok()?));
    let own = headers.get(HOST).and_then(|host| parse(&format!("{scheme}://"), host));
    own.is_some() && parse("", origin) == own
}
