//! Tools that send requests over HTTP.

use std::time::Duration;

use moongate_sdk::prelude::*;

use crate::http;

/// Tools that send requests over HTTP.
#[derive(Debug, Default)]
pub(crate) struct Requests;

#[plugin(part)]
impl Requests {
    /// Sends a request over HTTP and returns what came back. For grants: it goes where `allow.http` lets it.
    #[tool]
    fn http_request(&self, request: &http::Asked) -> Json<http::Answered> {
        Json(http::request(request))
    }

    /// Sends requests one after the other: by default a thousand. For the limit of requests.
    #[tool]
    fn http_many(&self, url: &str, count: Option<u32>) -> String {
        http::many(url, count.unwrap_or(1_000))
    }

    /// Begins requests and reads none of the answers: by default of a thousand. For the limit of requests at once.
    #[tool]
    fn http_at_once(&self, url: &str, count: Option<u32>) -> String {
        http::at_once(url, count.unwrap_or(1_000))
    }

    /// Posts a body: by default of 64 MiB. For the limit of what is sent.
    #[tool]
    fn http_upload(&self, url: &str, bytes: Option<usize>) -> String {
        http::upload_of(url, bytes.unwrap_or(64 << 20))
    }

    /// Posts a body that isn't as long as its header says. For framing: no server sees two messages in one.
    #[tool]
    fn http_lie(&self, url: &str, length: &str, body: &str) -> String {
        http::lie(url, length, body)
    }

    /// Makes a header of a name and a value, whatever they hold. For headers that only the gateway sets.
    #[tool]
    fn http_header(&self, name: &str, value: &str) -> String {
        http::header(name, value)
    }

    /// Adds headers to a list without end. For the limit of headers: the sandbox is ended.
    #[tool]
    fn http_headers_flood(&self) -> u32 {
        http::headers_flood()
    }

    /// Makes requests, or parts of them, and sends none: by default 900. For what a call may hold in the host's memory.
    #[tool]
    fn http_hoard(&self, what: &str, count: Option<u32>) -> String {
        http::hoard(what, count.unwrap_or(900))
    }

    /// Gets answers and keeps the heads or what follows the bodies, fetched or not: by default 900. For what a call may
    /// hold in the host's memory.
    #[tool]
    fn http_hoard_answers(&self, what: &str, url: &str, count: Option<u32>) -> String {
        http::hoard_answers(what, url, count.unwrap_or(900))
    }

    /// Sends the headers of an answer with another request. For headers that only the gateway sets.
    #[tool]
    fn http_pass_on(&self, from: &str, to: &str) -> Result<Json<http::Answered>, ToolError> {
        http::pass_on(from, to).map(Json).map_err(ToolError::failed)
    }

    /// Sends a request and never looks at it again. For calls that end while their requests run.
    #[tool]
    fn http_and_hang(&self, url: &str) -> String {
        let asked = http::Asked { url: url.to_owned(), ..http::Asked::default() };
        let _begun = http::begin(&asked);
        std::thread::sleep(Duration::from_secs(365 * 24 * 60 * 60));
        String::new()
    }
}
