//! [`PreparedRequest`]: a validated request, ready to be sent.

use url::Url;

use super::error::RequestTarget;
use super::{Headers, HttpError};

/// A validated request, ready to be sent.
#[derive(Debug, Clone)]
pub(crate) struct PreparedRequest {
    pub(crate) method: String,
    pub(crate) url: Url,
    pub(crate) headers: Headers,
    pub(crate) body: Option<Vec<u8>>,
}

impl PreparedRequest {
    pub(crate) fn place(&self) -> RequestTarget {
        RequestTarget { method: self.method.clone(), origin: self.url.origin().ascii_serialization() }
    }
}

/// Checks that the URL can be requested.
pub(super) fn check_url(url: &Url) -> Result<(), HttpError> {
    let invalid = |url: &Url, reason: &str| {
        Err(HttpError::InvalidUrl { url: url.to_string(), reason: reason.to_owned() })
    };
    if !matches!(url.scheme(), "http" | "https") {
        return invalid(url, "it must start with `http://` or `https://`");
    }
    if !url.username().is_empty() || url.password().is_some() {
        let mut shown = url.clone();
        let _possible = shown.set_username("").and_then(|()| shown.set_password(None));
        return invalid(
            &shown,
            "it contains a user name or password; send an `authorization` header instead",
        );
    }
    Ok(())
}
