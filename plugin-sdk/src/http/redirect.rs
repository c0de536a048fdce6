//! What an answer of 3xx leads to, as browsers do it (Fetch standard, "HTTP-redirect fetch"; RFC 9110, section 15.4).

use url::Url;

use super::request::{Outgoing, check_url};
use super::{Headers, HttpError};

/// What only the first origin was meant to see.
const PRIVATE: &[&str] = &["authorization", "cookie"];
/// What describes a body that isn't sent on.
const OF_THE_BODY: &[&str] =
    &["content-encoding", "content-language", "content-length", "content-location", "content-type"];

/// Where an answer leads to, if it leads anywhere.
pub(super) fn target(from: &Url, status: u16, headers: &Headers) -> Result<Option<Url>, HttpError> {
    if !matches!(status, 301 | 302 | 303 | 307 | 308) {
        return Ok(None);
    }
    let Some(location) = headers.get("location") else { return Ok(None) };
    let mut url = from.join(location).map_err(|error| HttpError::Protocol {
        origin: from.origin().ascii_serialization(),
        reason: format!("it redirects to `{location}`, which is no URL: {error}"),
    })?;
    check_url(&url)?;
    url.set_fragment(None);
    Ok(Some(url))
}

/// The request that follows `sent`, if the answer leads to another.
pub(super) fn next(sent: &Outgoing, status: u16, headers: &Headers) -> Result<Option<Outgoing>, HttpError> {
    let Some(url) = target(&sent.url, status, headers)? else { return Ok(None) };
    let mut next = Outgoing { url, ..sent.clone() };
    let becomes_get = match status {
        301 | 302 => sent.method == "POST",
        303 => !matches!(sent.method.as_str(), "GET" | "HEAD"),
        _ => false,
    };
    if becomes_get {
        "GET".clone_into(&mut next.method);
        next.body = None;
        next.headers.remove(OF_THE_BODY);
    }
    if next.url.origin() != sent.url.origin() {
        next.headers.remove(PRIVATE);
    }
    Ok(Some(next))
}
