//! Fetches a page, request by request, and checks `robots.txt` before each if required.

use std::io::Read as _;

use moongate_sdk::http::{HttpError, Request, Response};
use url::Url;

use crate::robots::{Refusal, Robots};
use crate::{charset, simplify};

/// The maximum size of a page, in bytes.
const MAX_READ_BYTES: usize = 5 * 1024 * 1024;
/// The maximum number of redirects, as in browsers.
const MAX_REDIRECTS: usize = 20;
/// The preferred content types.
const ACCEPT: &str = "text/html, application/xhtml+xml, text/plain;q=0.9, */*;q=0.8";
/// Content types without text.
const BINARY_TYPES: &[&str] = &[
    "audio/",
    "font/",
    "image/",
    "video/",
    "application/gzip",
    "application/pdf",
    "application/wasm",
    "application/x-tar",
    "application/zip",
];

/// The client that reads pages.
#[derive(Debug)]
pub(crate) struct UserAgent<'a> {
    /// The user agent.
    pub(crate) agent: &'a str,
    /// The rules of `robots.txt`, if it respects them.
    pub(crate) asks_robots: bool,
}

/// The requested format of a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PageFormat {
    /// Convert HTML to Markdown.
    Readable,
    /// Return the source.
    Raw,
}

/// A fetched page.
#[derive(Debug)]
pub(crate) struct Page {
    /// A note before the text. Empty for Markdown.
    pub(crate) preface: String,
    /// The text.
    pub(crate) text: String,
    /// A note after the text.
    pub(crate) end_note: Option<String>,
}

/// An error in fetching a page.
#[derive(Debug, thiserror::Error)]
pub(crate) enum PageError {
    /// `robots.txt` forbids it.
    #[error(transparent)]
    Robots(#[from] Refusal),
    /// There is no response.
    #[error("Failed to fetch {url}: {error}")]
    Failed {
        /// The requested URL.
        url: String,
        /// The error of the request.
        error: HttpError,
    },
    /// The response has an error status.
    #[error("Failed to fetch {url} - status code {status}")]
    Status {
        /// The requested URL.
        url: String,
        /// The status.
        status: u16,
    },
    /// The response isn't text.
    #[error("Failed to fetch {url} - {kind} isn't text")]
    NoText {
        /// The requested URL.
        url: String,
        /// The content type.
        kind: String,
    },
}

impl From<bool> for PageFormat {
    fn from(raw: bool) -> Self {
        if raw { Self::Raw } else { Self::Readable }
    }
}

/// Fetches the page at `url`, following redirects.
pub(crate) fn visit(url: &Url, visitor: &UserAgent<'_>, form: PageFormat) -> Result<Page, PageError> {
    let failed = |error| PageError::Failed { url: url.to_string(), error };
    let response = follow(url, visitor)?;
    if response.status() >= 400 {
        return Err(PageError::Status { url: url.to_string(), status: response.status() });
    }
    let kind = response.header("content-type").unwrap_or_default().to_owned();
    let no_text = |kind: &str| PageError::NoText { url: url.to_string(), kind: kind.to_owned() };
    if !is_text(&kind) {
        return Err(no_text(&format!("`{kind}`")));
    }
    let base = response.url().to_owned();
    let (bytes, end_note) = read(response).map_err(failed)?;
    let text = charset::decode(&bytes, &kind);
    drop(bytes); // free the memory for the conversion
    if form == PageFormat::Readable && is_html(&text, &kind) {
        return Ok(Page { preface: String::new(), text: simplify::to_markdown(&text, &base), end_note });
    }
    if text.contains('\0') {
        return Err(no_text("something else"));
    }
    let preface =
        format!("Content type {kind} cannot be simplified to markdown, but here is the raw content:\n");
    Ok(Page { preface, text, end_note })
}

/// Returns the response after all redirects.
fn follow(start: &Url, visitor: &UserAgent<'_>) -> Result<Response, PageError> {
    let failed = |error| PageError::Failed { url: start.to_string(), error };
    let mut robots = Robots::new(visitor.agent);
    let mut url = start.clone();
    for _ in 0..=MAX_REDIRECTS {
        if visitor.asks_robots {
            robots.check(&url)?;
        }
        let request = Request::get(url.as_str()).header("user-agent", visitor.agent).header("accept", ACCEPT);
        let response = request.max_body(u64::MAX).send().map_err(failed)?;
        let Some(location) = response.location().map_err(failed)? else { return Ok(response) };
        url = Url::parse(&location)
            .map_err(|error| failed(HttpError::InvalidUrl { url: location, reason: error.to_string() }))?;
    }
    Err(failed(HttpError::TooManyRedirects { limit: MAX_REDIRECTS }))
}

/// Reads the body. Also returns a note if it was truncated.
fn read(response: Response) -> Result<(Vec<u8>, Option<String>), HttpError> {
    let mut bytes = Vec::new();
    let most = MAX_READ_BYTES as u64 + 1;
    response
        .take(most)
        .read_to_end(&mut bytes)
        .map_err(|error| error.downcast().unwrap_or_else(|error| HttpError::Other(error.to_string())))?;
    if bytes.len() <= MAX_READ_BYTES {
        return Ok((bytes, None));
    }
    bytes.truncate(MAX_READ_BYTES);
    let mebibytes = MAX_READ_BYTES / (1024 * 1024);
    let note = format!("\n\n<error>The page is longer than {mebibytes} MiB. The rest was not read.</error>");
    Ok((bytes, Some(note)))
}

fn is_text(kind: &str) -> bool {
    let kind = kind.trim_ascii_start().to_ascii_lowercase();
    kind.starts_with("image/svg+xml") || !BINARY_TYPES.iter().any(|no| kind.starts_with(no))
}

/// Returns `true` if the content type is HTML, or if there is none or the text looks like HTML.
fn is_html(text: &str, kind: &str) -> bool {
    let kind = kind.to_ascii_lowercase();
    let start = text.chars().take(100).collect::<String>().to_ascii_lowercase();
    kind.is_empty()
        || kind.contains("text/html")
        || kind.contains("application/xhtml+xml")
        || start.contains("<html")
}
