//! A plugin's HTTP requests, and a test's responses.

use std::time::Duration;

use serde_json::Value;

use crate::http::{Headers, HttpError};

/// A request that the plugin sent.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct HttpRequest {
    /// The method, such as `GET`.
    pub method: String,
    /// The whole URL.
    pub url: String,
    /// The headers that the plugin set. A gateway adds more.
    pub headers: Headers,
    /// The body. Empty if there is none.
    pub body: Vec<u8>,
    /// The timeout that the plugin set.
    pub remaining: Option<Duration>,
}

/// A response from a test's server.
#[derive(Debug, Clone)]
pub struct HttpAnswer {
    pub(crate) status: u16,
    pub(crate) headers: Headers,
    pub(crate) body: Vec<u8>,
    pub(crate) broken: Option<HttpError>,
}

impl HttpAnswer {
    /// A response with this status, without a body.
    #[must_use]
    pub fn status(status: u16) -> Self {
        Self { status, headers: Headers::default(), body: Vec::new(), broken: None }
    }

    /// A 200 response with this text, as `text/plain` in UTF-8.
    #[must_use]
    pub fn text(text: impl Into<String>) -> Self {
        Self::status(200).header("content-type", "text/plain; charset=utf-8").body(text.into())
    }

    /// A 200 response with this page, as `text/html` in UTF-8.
    #[must_use]
    pub fn html(page: impl Into<String>) -> Self {
        Self::status(200).header("content-type", "text/html; charset=utf-8").body(page.into())
    }

    /// A 200 response with this JSON.
    #[must_use]
    #[expect(clippy::needless_pass_by_value, reason = "`json!(…)` is written in the call")]
    pub fn json(value: Value) -> Self {
        Self::status(200).header("content-type", "application/json").body(value.to_string())
    }

    /// A redirect with this status, such as 302.
    #[must_use]
    pub fn redirect(status: u16, location: &str) -> Self {
        Self::status(status).header("location", location)
    }

    /// Sets the status.
    fn with_status(mut self, status: u16) -> Self {
        self.status = status;
        self
    }

    /// Sets a header, replacing one with the same name.
    #[must_use]
    pub fn header(mut self, name: &str, value: impl Into<Vec<u8>>) -> Self {
        self.headers.replace(&name.to_ascii_lowercase(), value.into());
        self
    }

    /// Sets the body.
    #[must_use]
    pub fn body(mut self, body: impl Into<Vec<u8>>) -> Self {
        self.body = body.into();
        self
    }

    /// Breaks off the body with this error instead of ending it.
    #[must_use]
    pub fn broken(mut self, error: HttpError) -> Self {
        self.broken = Some(error);
        self
    }
}

/// The response for a URL that isn't in the table. The URL is printed, and the test harness shows it if the test
/// fails.
#[expect(clippy::print_stderr, reason = "the test harness shows it for failing tests")]
pub(super) fn no_page<'a>(url: &str, known: impl Iterator<Item = &'a String>) -> HttpAnswer {
    let known: Vec<String> = known.map(|url| format!("`{url}`")).collect();
    let message = format!("`Client::pages` has no `{url}`, so it returns 404; it has {}", known.join(", "));
    eprintln!("{message}");
    HttpAnswer::text(message).with_status(404)
}
