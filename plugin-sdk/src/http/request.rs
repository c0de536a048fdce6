//! [`Request`]: a request, its timeout and the maximum size of its response.

use std::fmt;
use std::time::{Duration, Instant};

use serde::Serialize;
use url::Url;

use super::prepared::{PreparedRequest, check_url};
use super::{Headers, HttpError, Response, headers, redirect};
use crate::host::http as host;

/// The default of [`Request::max_body`].
const DEFAULT_MAX_BODY_BYTES: u64 = 8 * 1024 * 1024;

/// A request. [`send`](Self::send) reports errors in any of its parts.
#[derive(Clone)]
#[must_use = "a request does nothing until `send` is called"]
pub struct Request {
    method: String,
    url: String,
    query: Vec<(String, String)>,
    headers: Vec<(String, Vec<u8>)>,
    body: Option<Vec<u8>>,
    timeout: Option<Duration>,
    max_body: u64,
    redirects: Option<usize>,
}

impl Request {
    /// A request with this method, such as `GET`.
    pub fn new(method: impl Into<String>, url: impl Into<String>) -> Self {
        Self {
            method: method.into(),
            url: url.into(),
            query: Vec::new(),
            headers: Vec::new(),
            body: None,
            timeout: None,
            max_body: DEFAULT_MAX_BODY_BYTES,
            redirects: None,
        }
    }

    /// A `GET` request.
    pub fn get(url: impl Into<String>) -> Self {
        Self::new("GET", url)
    }

    /// A `HEAD` request.
    pub fn head(url: impl Into<String>) -> Self {
        Self::new("HEAD", url)
    }

    /// A `POST` request.
    pub fn post(url: impl Into<String>) -> Self {
        Self::new("POST", url)
    }

    /// A `PUT` request.
    pub fn put(url: impl Into<String>) -> Self {
        Self::new("PUT", url)
    }

    /// A `PATCH` request.
    pub fn patch(url: impl Into<String>) -> Self {
        Self::new("PATCH", url)
    }

    /// A `DELETE` request.
    pub fn delete(url: impl Into<String>) -> Self {
        Self::new("DELETE", url)
    }

    /// Adds `name=value` to the URL's query, escaped.
    pub fn query(mut self, name: &str, value: impl fmt::Display) -> Self {
        self.query.push((name.to_owned(), value.to_string()));
        self
    }

    /// Adds a header. You don't need it for API keys and tokens: if the operator sets `credentials`, the gateway adds
    /// them, and the plugin never sees them.
    pub fn header(mut self, name: &str, value: impl AsRef<[u8]>) -> Self {
        self.headers.push((name.to_owned(), value.as_ref().to_vec()));
        self
    }

    /// Sets the body.
    pub fn body(mut self, body: impl Into<Vec<u8>>) -> Self {
        self.body = Some(body.into());
        self
    }

    /// Sets the body to `value` as JSON.
    ///
    /// # Errors
    /// The value can't be serialized as JSON.
    pub fn json<T: Serialize + ?Sized>(self, value: &T) -> Result<Self, HttpError> {
        let body =
            serde_json::to_vec(value).map_err(|error| HttpError::Json { reason: error.to_string() })?;
        Ok(self.typed("application/json", body))
    }

    /// Sets the body to these fields, encoded as an HTML form.
    pub fn form<'a>(self, fields: impl IntoIterator<Item = (&'a str, &'a str)>) -> Self {
        let body = url::form_urlencoded::Serializer::new(String::new()).extend_pairs(fields).finish();
        self.typed("application/x-www-form-urlencoded", body.into_bytes())
    }

    /// Sets the timeout for everything up to the last byte of the body, redirects included. By default, only the
    /// operator's `limits.request_timeout` applies.
    pub fn timeout(mut self, time: Duration) -> Self {
        self.timeout = Some(time);
        self
    }

    /// Limits the size of the response's body, after decompression; a larger one is an error. The default is 8 MiB.
    pub fn max_body(mut self, bytes: u64) -> Self {
        self.max_body = bytes;
        self
    }

    /// Follows up to this many redirects. By default, a response with a 3xx status is returned like any other.
    ///
    /// Each redirect is a new request of the plugin and needs its own grant. `authorization` and `cookie` aren't sent
    /// to a different origin.
    pub fn redirects(mut self, most: usize) -> Self {
        self.redirects = Some(most);
        self
    }

    /// Sends the request and waits for the response's head. Read the body from the [`Response`].
    ///
    /// # Errors
    /// There is no response; see [`HttpError`]. A response with an error status isn't an error.
    pub fn send(self) -> Result<Response, HttpError> {
        let deadline = self.timeout.and_then(|time| Instant::now().checked_add(time));
        let max_body = self.max_body;
        let redirects = self.redirects;
        let mut outgoing = self.outgoing()?;
        for followed in 0.. {
            let place = outgoing.place();
            let answer = host::send(&outgoing, deadline)?;
            let next = match redirects {
                Some(limit) => match redirect::next(&outgoing, answer.status, &answer.headers)? {
                    Some(_) if followed == limit => return Err(HttpError::TooManyRedirects { limit }),
                    next => next,
                },
                None => None,
            };
            match next {
                Some(next) => outgoing = next,
                None => return Ok(Response::new(outgoing.url, place, answer, max_body, deadline)),
            }
        }
        unreachable!("counting doesn't end")
    }

    /// Validates all parts.
    fn outgoing(self) -> Result<PreparedRequest, HttpError> {
        let method = self.method;
        if method.is_empty() || !method.bytes().all(headers::is_token) {
            return Err(HttpError::InvalidMethod(method));
        }
        let mut url = Url::parse(&self.url)
            .map_err(|error| HttpError::InvalidUrl { url: self.url.clone(), reason: error.to_string() })?;
        check_url(&url)?;
        if !self.query.is_empty() {
            url.query_pairs_mut().extend_pairs(&self.query);
        }
        url.set_fragment(None);
        for (name, value) in &self.headers {
            headers::check(name, value)?;
        }
        let headers: Headers = self.headers.into_iter().collect();
        #[cfg(feature = "decompression")]
        let headers = super::decompression::accepting(headers);
        Ok(PreparedRequest { method, url, headers, body: self.body })
    }

    fn typed(mut self, content_type: &str, body: Vec<u8>) -> Self {
        if !self.headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("content-type")) {
            self = self.header("content-type", content_type);
        }
        self.body(body)
    }
}

impl fmt::Debug for Request {
    /// Omits the values of headers and the body, because they can be secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let headers: Vec<&str> = self.headers.iter().map(|(name, _)| name.as_str()).collect();
        f.debug_struct("Request")
            .field("method", &self.method)
            .field("url", &self.url)
            .field("headers", &headers)
            .field("timeout", &self.timeout)
            .field("max_body", &self.max_body)
            .field("redirects", &self.redirects)
            .finish_non_exhaustive()
    }
}
