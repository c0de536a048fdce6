//! [`Response`]: the head of an answer, and its body, which is read while it comes.

use std::fmt;
use std::io::{self, Read};
use std::time::Instant;

use serde::de::DeserializeOwned;
use url::Url;

use super::error::Place;
use super::{Headers, HttpError, redirect};
use crate::host::http as host;

/// How much of a body is asked for at once, in bytes.
const PIECE: u64 = 64 * 1024;

/// An answer. Its body is read by [`bytes`](Self::bytes), [`text`](Self::text) or [`json`](Self::json), or piece by piece
/// as an [`io::Read`], whose errors hold an [`HttpError`].
#[must_use = "the answer may be the one of an error"]
pub struct Response {
    status: u16,
    url: Url,
    place: Place,
    headers: Headers,
    body: host::Body,
    deadline: Option<Instant>,
    /// How much may be read in all.
    limit: u64,
    /// How much of that may still be read.
    left: u64,
    /// What was read and not yet handed on, from `at` on.
    piece: Vec<u8>,
    at: usize,
}

impl Response {
    pub(crate) fn new(
        url: Url,
        place: Place,
        answer: host::Answer,
        limit: u64,
        deadline: Option<Instant>,
    ) -> Self {
        let host::Answer { status, headers, body } = answer;
        Self { status, url, place, headers, body, deadline, limit, left: limit, piece: Vec::new(), at: 0 }
    }

    /// The status, such as 200.
    #[must_use]
    pub fn status(&self) -> u16 {
        self.status
    }

    /// Is the status one of 2xx?
    #[must_use]
    pub fn is_success(&self) -> bool {
        (200..300).contains(&self.status)
    }

    /// The URL that answered: the last one if redirects were followed.
    #[must_use]
    pub fn url(&self) -> &str {
        self.url.as_str()
    }

    /// Where a redirect leads to, as a whole URL; nothing if the answer is no redirect. For plugins that look before they
    /// follow; [`Request::redirects`](super::Request::redirects) follows by itself.
    ///
    /// # Errors
    /// It leads to something that can't be requested.
    pub fn location(&self) -> Result<Option<String>, HttpError> {
        let target = redirect::target(&self.url, self.status, &self.headers)?;
        Ok(target.map(String::from))
    }

    /// All headers.
    #[must_use]
    pub fn headers(&self) -> &Headers {
        &self.headers
    }

    /// The first value of a header, if it is text.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)
    }

    /// The answer, unless its status is one of an error: 4xx or 5xx.
    ///
    /// # Errors
    /// It is.
    pub fn error_for_status(self) -> Result<Self, HttpError> {
        if self.status >= 400 {
            return Err(HttpError::Status { origin: self.place.origin, status: self.status });
        }
        Ok(self)
    }

    /// The whole body.
    ///
    /// # Errors
    /// It is larger than [`Request::max_body`](super::Request::max_body), it took too long, or the connection broke.
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

    /// The whole body as text of UTF-8, where anything else becomes `U+FFFD`. A byte order mark is left out.
    ///
    /// # Errors
    /// As [`bytes`](Self::bytes).
    pub fn text(self) -> Result<String, HttpError> {
        let bytes = self.bytes()?;
        let text = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&bytes);
        Ok(String::from_utf8_lossy(text).into_owned())
    }

    /// The whole body, read as JSON.
    ///
    /// # Errors
    /// As [`bytes`](Self::bytes), or it is no JSON of a `T`.
    pub fn json<T: DeserializeOwned>(self) -> Result<T, HttpError> {
        let bytes = self.bytes()?;
        serde_json::from_slice(&bytes).map_err(|error| HttpError::Json { reason: error.to_string() })
    }

    /// What came next; nothing at the end.
    fn next_piece(&mut self) -> Result<Vec<u8>, HttpError> {
        // Where nothing more may be read, one more byte tells a body that is too large from one that just fits.
        let most = self.left.clamp(1, PIECE);
        let piece = self.body.read(usize::try_from(most).unwrap_or(usize::MAX), self.deadline)?;
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
