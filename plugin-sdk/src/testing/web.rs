//! What a plugin asked of other servers, and what a test answers.

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
    /// What the plugin set; a gateway adds to them.
    pub headers: Headers,
    /// The body; empty where there is none.
    pub body: Vec<u8>,
    /// How long the plugin would wait, where it says so.
    pub remaining: Option<Duration>,
}

/// An answer of a server that a test plays.
#[derive(Debug, Clone)]
pub struct HttpAnswer {
    pub(crate) status: u16,
    pub(crate) headers: Headers,
    pub(crate) body: Vec<u8>,
    pub(crate) broken: Option<HttpError>,
}

impl HttpAnswer {
    /// An answer of this status, without a body.
    #[must_use]
    pub fn status(status: u16) -> Self {
        Self { status, headers: Headers::default(), body: Vec::new(), broken: None }
    }

    /// 200 with this text, as `text/plain` in UTF-8.
    #[must_use]
    pub fn text(text: impl Into<String>) -> Self {
        Self::status(200).header("content-type", "text/plain; charset=utf-8").body(text.into())
    }

    /// 200 with this page, as `text/html` in UTF-8.
    #[must_use]
    pub fn html(page: impl Into<String>) -> Self {
        Self::status(200).header("content-type", "text/html; charset=utf-8").body(page.into())
    }

    /// 200 with this JSON.
    #[must_use]
    #[expect(clippy::needless_pass_by_value, reason = "`json!(…)` is written in the call")]
    pub fn json(value: Value) -> Self {
        Self::status(200).header("content-type", "application/json").body(value.to_string())
    }

    /// A redirect of this status, such as 302.
    #[must_use]
    pub fn redirect(status: u16, location: &str) -> Self {
        Self::status(status).header("location", location)
    }

    /// The same with another status.
    fn with_status(mut self, status: u16) -> Self {
        self.status = status;
        self
    }

    /// Sets a header, in the place of one of the same name.
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

    /// Lets the body break off with this error, in place of its end.
    #[must_use]
    pub fn broken(mut self, error: HttpError) -> Self {
        self.broken = Some(error);
        self
    }
}

/// The answer of a table of pages that hasn't this one. A test that wants it passes; one that fails shows what was asked.
#[expect(clippy::print_stderr, reason = "the harness shows it with the test that fails")]
pub(super) fn no_page<'a>(url: &str, known: impl Iterator<Item = &'a String>) -> HttpAnswer {
    let known: Vec<String> = known.map(|url| format!("`{url}`")).collect();
    let said = format!("`Client::pages` has no `{url}`, so it answers with 404; it has {}", known.join(", "));
    eprintln!("{said}");
    HttpAnswer::text(said).with_status(404)
}
