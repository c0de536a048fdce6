//! From a URL to a page: request by request, asking `robots.txt` before each where that is wanted.

use std::io::Read as _;

use moongate_sdk::http::{HttpError, Request, Response};
use url::Url;

use crate::robots::{Refusal, Robots};
use crate::{charset, simplify};

/// How much of a page is read, in bytes.
const READ: usize = 5 * 1024 * 1024;
/// How many redirects are followed, as many as browsers do.
const REDIRECTS: usize = 20;
/// What is read best.
const ACCEPT: &str = "text/html, application/xhtml+xml, text/plain;q=0.9, */*;q=0.8";
/// Kinds of content that hold no text.
const NO_TEXT: &[&str] = &[
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

/// Who reads.
#[derive(Debug)]
pub(crate) struct Visitor<'a> {
    /// How it introduces itself.
    pub(crate) agent: &'a str,
    /// Whether it asks `robots.txt` first.
    pub(crate) asks_robots: bool,
}

/// How a page is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    /// As Markdown where it is HTML.
    Readable,
    /// As it came.
    Raw,
}

/// What is at a URL.
#[derive(Debug)]
pub(crate) struct Page {
    /// What is said before everything else; empty for Markdown.
    pub(crate) preface: String,
    /// Its text.
    pub(crate) text: String,
    /// What is said at its end, where the end is ours.
    pub(crate) end_note: Option<String>,
}

/// Why there is no page.
#[derive(Debug, thiserror::Error)]
pub(crate) enum PageError {
    /// Its site doesn't let programs read it.
    #[error(transparent)]
    Robots(#[from] Refusal),
    /// There is no answer.
    #[error("Failed to fetch {url}: {error}")]
    Failed {
        /// What was asked for.
        url: String,
        /// Why there is none.
        error: HttpError,
    },
    /// The answer is one of an error.
    #[error("Failed to fetch {url} - status code {status}")]
    Status {
        /// What was asked for.
        url: String,
        /// The status.
        status: u16,
    },
    /// What is there is no text.
    #[error("Failed to fetch {url} - it is {kind}, which is no text")]
    NoText {
        /// What was asked for.
        url: String,
        /// What it is.
        kind: String,
    },
}

impl From<bool> for Form {
    fn from(raw: bool) -> Self {
        if raw { Self::Raw } else { Self::Readable }
    }
}

/// Reads what is at `url`, or where that leads to.
pub(crate) fn visit(url: &Url, visitor: &Visitor<'_>, form: Form) -> Result<Page, PageError> {
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
    drop(bytes); // the memory is needed for what follows
    if form == Form::Readable && is_html(&text, &kind) {
        return Ok(Page { preface: String::new(), text: simplify::to_markdown(&text, &base), end_note });
    }
    if text.contains('\0') {
        return Err(no_text("something else"));
    }
    let preface =
        format!("Content type {kind} cannot be simplified to markdown, but here is the raw content:\n");
    Ok(Page { preface, text, end_note })
}

/// The answer at the end of all redirects.
fn follow(start: &Url, visitor: &Visitor<'_>) -> Result<Response, PageError> {
    let failed = |error| PageError::Failed { url: start.to_string(), error };
    let mut robots = Robots::new(visitor.agent);
    let mut url = start.clone();
    for _ in 0..=REDIRECTS {
        if visitor.asks_robots {
            robots.check(&url)?;
        }
        let request = Request::get(url.as_str()).header("user-agent", visitor.agent).header("accept", ACCEPT);
        let response = request.max_body(u64::MAX).send().map_err(failed)?;
        let Some(location) = response.location().map_err(failed)? else { return Ok(response) };
        url = Url::parse(&location)
            .map_err(|error| failed(HttpError::InvalidUrl { url: location, reason: error.to_string() }))?;
    }
    Err(failed(HttpError::TooManyRedirects { limit: REDIRECTS }))
}

/// The body, and what to say where it was too long to read all of it.
fn read(response: Response) -> Result<(Vec<u8>, Option<String>), HttpError> {
    let mut bytes = Vec::new();
    let most = READ as u64 + 1;
    response
        .take(most)
        .read_to_end(&mut bytes)
        .map_err(|error| error.downcast().unwrap_or_else(|error| HttpError::Other(error.to_string())))?;
    if bytes.len() <= READ {
        return Ok((bytes, None));
    }
    bytes.truncate(READ);
    let mebibytes = READ / (1024 * 1024);
    let note =
        format!("\n\n<error>The page is longer than {mebibytes} MiB. The rest of it was not read.</error>");
    Ok((bytes, Some(note)))
}

fn is_text(kind: &str) -> bool {
    let kind = kind.trim_ascii_start().to_ascii_lowercase();
    kind.starts_with("image/svg+xml") || !NO_TEXT.iter().any(|no| kind.starts_with(no))
}

/// What a server calls HTML, what looks like it, and what nobody says anything of.
fn is_html(text: &str, kind: &str) -> bool {
    let kind = kind.to_ascii_lowercase();
    let start = text.chars().take(100).collect::<String>().to_ascii_lowercase();
    kind.is_empty()
        || kind.contains("text/html")
        || kind.contains("application/xhtml+xml")
        || start.contains("<html")
}
