//! [`Request`]: what is asked, and how long and how much of an answer is waited for.

use std::fmt;
use std::time::{Duration, Instant};

use serde::Serialize;
use url::Url;

use super::error::Place;
use super::{Headers, HttpError, Response, headers, redirect};
use crate::host::http as host;

/// How much of an answer is read where [`Request::max_body`] says nothing.
const MAX_BODY: u64 = 8 * 1024 * 1024;

/// A request to be sent. What is wrong with it is said by [`send`](Self::send).
#[derive(Clone)]
#[must_use = "nothing is requested before `send`"]
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

/// One request as it goes out, without what the author says of it.
#[derive(Debug, Clone)]
pub(crate) struct Outgoing {
    pub(crate) method: String,
    pub(crate) url: Url,
    pub(crate) headers: Headers,
    pub(crate) body: Option<Vec<u8>>,
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
            max_body: MAX_BODY,
            redirects: None,
        }
    }

    /// `GET`: what is there?
    pub fn get(url: impl Into<String>) -> Self {
        Self::new("GET", url)
    }

    /// `HEAD`: the headers that `GET` would bring.
    pub fn head(url: impl Into<String>) -> Self {
        Self::new("HEAD", url)
    }

    /// `POST`: do something with this.
    pub fn post(url: impl Into<String>) -> Self {
        Self::new("POST", url)
    }

    /// `PUT`: keep this there.
    pub fn put(url: impl Into<String>) -> Self {
        Self::new("PUT", url)
    }

    /// `PATCH`: change what is there.
    pub fn patch(url: impl Into<String>) -> Self {
        Self::new("PATCH", url)
    }

    /// `DELETE`: remove what is there.
    pub fn delete(url: impl Into<String>) -> Self {
        Self::new("DELETE", url)
    }

    /// Adds `name=value` to the URL's query, escaped.
    pub fn query(mut self, name: &str, value: impl fmt::Display) -> Self {
        self.query.push((name.to_owned(), value.to_string()));
        self
    }

    /// Adds a header. Keys and tokens need none: what the operator sets as `credentials` is added by the gateway, and
    /// the plugin never sees it.
    pub fn header(mut self, name: &str, value: impl AsRef<[u8]>) -> Self {
        self.headers.push((name.to_owned(), value.as_ref().to_vec()));
        self
    }

    /// Sends these bytes.
    pub fn body(mut self, body: impl Into<Vec<u8>>) -> Self {
        self.body = Some(body.into());
        self
    }

    /// Sends `value` as JSON.
    ///
    /// # Errors
    /// It can't be written as JSON.
    pub fn json<T: Serialize + ?Sized>(self, value: &T) -> Result<Self, HttpError> {
        let body =
            serde_json::to_vec(value).map_err(|error| HttpError::Json { reason: error.to_string() })?;
        Ok(self.typed("application/json", body))
    }

    /// Sends these fields as an HTML form does.
    pub fn form<'a>(self, fields: impl IntoIterator<Item = (&'a str, &'a str)>) -> Self {
        let body = url::form_urlencoded::Serializer::new(String::new()).extend_pairs(fields).finish();
        self.typed("application/x-www-form-urlencoded", body.into_bytes())
    }

    /// Gives up after this time, which is for everything up to the last byte of the body, redirects included. Without it
    /// only the operator's `limits.request_timeout` holds.
    pub fn timeout(mut self, time: Duration) -> Self {
        self.timeout = Some(time);
        self
    }

    /// Reads at most this many bytes of the answer's body; a larger one is an error. Without it 8 MiB.
    pub fn max_body(mut self, bytes: u64) -> Self {
        self.max_body = bytes;
        self
    }

    /// Follows up to this many redirects. Without it an answer with a status of 3xx is given back like any other.
    ///
    /// It is the plugin that follows, and each step needs a grant of its own. `authorization` and `cookie` aren't sent
    /// on to another origin.
    pub fn redirects(mut self, most: usize) -> Self {
        self.redirects = Some(most);
        self
    }

    /// Sends it and waits for the answer's head; the body is read from the [`Response`].
    ///
    /// # Errors
    /// There is no answer: [`HttpError`] says why. An answer with the status of an error is none of them.
    pub fn send(self) -> Result<Response, HttpError> {
        let deadline = self.timeout.and_then(|time| Instant::now().checked_add(time));
        let (max_body, redirects) = (self.max_body, self.redirects);
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

    /// Checks everything.
    fn outgoing(self) -> Result<Outgoing, HttpError> {
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
        Ok(Outgoing { method, url, headers: self.headers.into_iter().collect(), body: self.body })
    }

    fn typed(mut self, content_type: &str, body: Vec<u8>) -> Self {
        if !self.headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("content-type")) {
            self = self.header("content-type", content_type);
        }
        self.body(body)
    }
}

impl Outgoing {
    pub(crate) fn place(&self) -> Place {
        Place { method: self.method.clone(), origin: self.url.origin().ascii_serialization() }
    }
}

/// Is this a URL that can be requested?
pub(super) fn check_url(url: &Url) -> Result<(), HttpError> {
    let wrong = |url: &Url, reason: &str| {
        Err(HttpError::InvalidUrl { url: url.to_string(), reason: reason.to_owned() })
    };
    if !matches!(url.scheme(), "http" | "https") {
        return wrong(url, "it begins neither with `http://` nor with `https://`");
    }
    if !url.username().is_empty() || url.password().is_some() {
        let mut shown = url.clone();
        let _possible = shown.set_username("").and_then(|()| shown.set_password(None));
        return wrong(&shown, "a name or password stands before the host; send a header `authorization`");
    }
    Ok(())
}

impl fmt::Debug for Request {
    /// Without values of headers and without the body, which may be secrets.
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
