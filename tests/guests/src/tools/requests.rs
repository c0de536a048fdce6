//! Tools that send HTTP requests.

use std::time::Duration;

use moongate_sdk::prelude::*;

use crate::http;

/// Tools that send HTTP requests.
#[derive(Debug, Default)]
pub(crate) struct Requests;

#[plugin(part)]
impl Requests {
    /// Send an HTTP request and return the response. For grants: only what `allow.http` permits.
    #[tool]
    fn http_request(&self, request: &http::RequestArgs) -> Json<http::ResponseSummary> {
        Json(http::request(request))
    }

    /// Send requests one after the other: by default a thousand. For the limit of requests.
    #[tool]
    fn http_many(&self, url: &str, count: Option<u32>) -> String {
        http::many(url, count.unwrap_or(1_000))
    }

    /// Start requests without reading the responses: by default a thousand. For the limit of concurrent requests.
    #[tool]
    fn http_at_once(&self, url: &str, count: Option<u32>) -> String {
        http::at_once(url, count.unwrap_or(1_000))
    }

    /// Post a body: by default of 64 MiB. For the limit of bytes sent.
    #[tool]
    fn http_upload(&self, url: &str, bytes: Option<usize>) -> String {
        http::upload_of(url, bytes.unwrap_or(64 << 20))
    }

    /// Post a body with a wrong `content-length`. For framing: no server sees two messages in one.
    #[tool]
    fn http_lie(&self, url: &str, length: &str, body: &str) -> String {
        http::lie(url, length, body)
    }

    /// Create a header with any name and value. For headers that only the gateway sets.
    #[tool]
    fn http_header(&self, name: &str, value: &str) -> String {
        http::header(name, value)
    }

    /// Add headers to a list endlessly. For the limit of headers: the sandbox is terminated.
    #[tool]
    fn http_headers_flood(&self) -> u32 {
        http::headers_flood()
    }

    /// Create requests, or parts of them, without sending them: by default 900. For the limit of host memory of a
    /// call.
    #[tool]
    fn http_hoard(&self, what: &str, count: Option<u32>) -> String {
        http::hoard(what, count.unwrap_or(900))
    }

    /// Get responses and keep their heads or trailers, fetched or not: by default 900. For the limit of host memory
    /// of a call.
    #[tool]
    fn http_hoard_answers(&self, what: &str, url: &str, count: Option<u32>) -> String {
        http::hoard_answers(what, url, count.unwrap_or(900))
    }

    /// Send a response's headers with another request. For headers that only the gateway sets.
    #[tool]
    fn http_pass_on(&self, from: &str, to: &str) -> Result<Json<http::ResponseSummary>, ToolError> {
        http::pass_on(from, to).map(Json).map_err(ToolError::failed)
    }

    /// Send a request and ignore it. For calls that end while their requests run.
    #[tool]
    fn http_and_hang(&self, url: &str) -> String {
        let asked = http::RequestArgs { url: url.to_owned(), ..http::RequestArgs::default() };
        let _begun = http::begin(&asked);
        std::thread::sleep(Duration::from_secs(365 * 24 * 60 * 60));
        String::new()
    }
}
