//! Follows redirects like browsers do (Fetch standard, "HTTP-redirect fetch"; RFC 9110, section 15.4).

use url::Url;

use super::prepared::{PreparedRequest, check_url};
use super::{Headers, HttpError};

/// Headers that are removed when the origin changes.
const ORIGIN_HEADERS: &[&str] = &["authorization", "cookie"];
/// Headers that are removed with the body.
const BODY_HEADERS: &[&str] =
    &["content-encoding", "content-language", "content-length", "content-location", "content-type"];

/// Returns the target of a redirect response.
pub(super) fn target(from: &Url, status: u16, headers: &Headers) -> Result<Option<Url>, HttpError> {
    if !matches!(status, 301 | 302 | 303 | 307 | 308) {
        return Ok(None);
    }
    let Some(location) = headers.get("location") else { return Ok(None) };
    let mut url = from.join(location).map_err(|error| HttpError::Protocol {
        origin: from.origin().ascii_serialization(),
        reason: format!("redirect to an invalid URL `{location}`: {error}"),
    })?;
    check_url(&url)?;
    url.set_fragment(None);
    Ok(Some(url))
}

/// Returns the request that follows `sent`, if the response is a redirect.
pub(super) fn next(
    sent: &PreparedRequest,
    status: u16,
    headers: &Headers,
) -> Result<Option<PreparedRequest>, HttpError> {
    let Some(url) = target(&sent.url, status, headers)? else { return Ok(None) };
    let mut next = PreparedRequest { url, ..sent.clone() };
    let becomes_get = match status {
        301 | 302 => sent.method == "POST",
        303 => !matches!(sent.method.as_str(), "GET" | "HEAD"),
        _ => false,
    };
    if becomes_get {
        "GET".clone_into(&mut next.method);
        next.body = None;
        next.headers.remove(BODY_HEADERS);
    }
    if next.url.origin() != sent.url.origin() {
        next.headers.remove(ORIGIN_HEADERS);
    }
    Ok(Some(next))
}
