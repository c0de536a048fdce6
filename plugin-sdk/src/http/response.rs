//! [`Response`]: the head of a response, and its body, which is read as it arrives.

use std::fmt;
use std::io::{self, Read};
use std::time::Instant;

use serde::de::DeserializeOwned;
use url::Url;

use super::body::{Body, RawBody};
use super::error::RequestTarget;
use super::{Headers, HttpError, redirect};
use crate::host::http as host;

/// A response. Read the body with [`bytes`](Self::bytes), [`text`](Self::text) or [`json`](Self::json), or in chunks
/// as an [`io::Read`], whose errors contain an [`HttpError`].
#[must_use = "the response can have an error status"]
pub struct Response {
    status: u16,
    url: Url,
    place: RequestTarget,
    headers: Headers,
    body: Body,
    /// The maximum size of the body.
    limit: u64,
    /// The bytes that can still be read.
    left: u64,
    /// The current chunk. The bytes from `at` on are unread.
    piece: Vec<u8>,
    at: usize,
}

impl Response {
    pub(crate) fn new(
        url: Url,
        place: RequestTarget,
        answer: host::HttpResponse,
        limit: u64,
        deadline: Option<Instant>,
    ) -> Self {
        let host::HttpResponse { status, headers, body } = answer;
        let raw = RawBody::new(body, deadline);
        #[cfg(not(feature = "decompression"))]
        let body = Body::Raw(raw);
        #[cfg(feature = "decompression")]
        let (headers, body) = super::decompression::body(raw, headers);
        Self { status, url, place, headers, body, limit, left: limit, piece: Vec::new(), at: 0 }
    }

    /// The status, such as 200.
    #[must_use]
    pub fn status(&self) -> u16 {
        self.status
    }

    /// Returns `true` for a 2xx status.
    #[must_use]
    pub fn is_success(&self) -> bool {
        (200..300).contains(&self.status)
    }

    /// The URL of the response: the last one if redirects were followed.
    #[must_use]
    pub fn url(&self) -> &str {
        self.url.as_str()
    }

    /// The absolute target URL of a redirect, or `None` if the response isn't a redirect. Use it to check a redirect
    /// before following it. [`Request::redirects`](super::Request::redirects) follows redirects automatically.
    ///
    /// # Errors
    /// The target isn't a valid URL.
    pub fn location(&self) -> Result<Option<String>, HttpError> {
        let target = redirect::target(&self.url, self.status, &self.headers)?;
        Ok(target.map(String::from))
    }

    /// All headers.
    #[must_use]
    pub fn headers(&self) -> &Headers {
        &self.headers
    }

    /// Returns the first value of a header, if it is UTF-8.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)
    }

    /// Converts an error status (4xx or 5xx) to an error.
    ///
    /// # Errors
    /// The status is 4xx or 5xx.
    pub fn error_for_status(self) -> Result<Self, HttpError> {
        if self.status >= 400 {
            return Err(HttpError::Status { origin: self.place.origin, status: self.status });
        }
        Ok(self)
    }

    /// Reads the whole body.
    ///
    /// # Errors
    /// The body is larger than [`Request::max_body`](super::Request::max_body), the request timed out, the connection
    /// broke, or the body can't be decompressed.
    pub fn bytes(mut self) -> Result<Vec<u8>, HttpError> {
        let length = self.header("content-length").and_then(|length| length.parse::<u64>().ok());
        if length.is_some_and(|length| length > self.limit) {
            return Err(self.too_large());
        }
        let mut all = self.piece.split_off(self.at);
        loop {
            let piece = self.next_piece()?;
            if piece.is_empty() {
                return Ok(all);
            }
            all.extend(piece);
        }
    }

    /// Reads the whole body as UTF-8. Invalid bytes become `U+FFFD`, and a byte order mark is removed.
    ///
    /// # Errors
    /// As [`bytes`](Self::bytes).
    pub fn text(self) -> Result<String, HttpError> {
        let bytes = self.bytes()?;
        let text = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&bytes);
        Ok(String::from_utf8_lossy(text).into_owned())
    }

    /// Reads the whole body as JSON.
    ///
    /// # Errors
    /// As [`bytes`](Self::bytes), or the body can't be deserialized as a `T`.
    pub fn json<T: DeserializeOwned>(self) -> Result<T, HttpError> {
        let bytes = self.bytes()?;
        serde_json::from_slice(&bytes).map_err(|error| HttpError::Json { reason: error.to_string() })
    }

    /// Returns the next chunk. Empty at the end.
    fn next_piece(&mut self) -> Result<Vec<u8>, HttpError> {
        // At the limit, one more byte distinguishes a body that is too large from one that just fits.
        let piece = self.body.next(self.left.max(1), &self.place.origin)?;
        self.left = self.left.checked_sub(piece.len() as u64).ok_or_else(|| self.too_large())?;
        Ok(piece)
    }

    fn too_large(&self) -> HttpError {
        HttpError::TooLarge { origin: self.place.origin.clone(), limit: self.limit }
    }
}

impl Read for Response {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if into.is_empty() {
            return Ok(0);
        }
        if self.at == self.piece.len() {
            self.piece = self.next_piece().map_err(io::Error::other)?;
            self.at = 0;
        }
        let count = into.len().min(self.piece.len() - self.at);
        into[..count].copy_from_slice(&self.piece[self.at..self.at + count]);
        self.at += count;
        Ok(count)
    }
}

impl From<HttpError> for io::Error {
    fn from(error: HttpError) -> Self {
        Self::other(error)
    }
}

impl fmt::Debug for Response {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Response")
            .field("status", &self.status)
            .field("origin", &self.place.origin)
            .field("headers", &self.headers)
            .finish_non_exhaustive()
    }
}
