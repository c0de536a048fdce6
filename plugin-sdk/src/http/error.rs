//! Errors of HTTP requests. A message about a missing grant doesn't contain the line that grants it, because callers
//! read it; the gateway logs that line.

use std::fmt;

/// An error of a request or its response.
///
/// An origin consists of scheme, host and, if it isn't the default, port. Messages contain no path or query of a
/// valid URL, because those can contain secrets.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum HttpError {
    /// The URL is invalid.
    InvalidUrl {
        /// The URL.
        url: String,
        /// The reason.
        reason: String,
    },
    /// The method isn't a valid HTTP token.
    InvalidMethod(String),
    /// A header can't be sent.
    InvalidHeader {
        /// The name.
        name: String,
        /// The reason.
        reason: String,
    },
    /// The operator hasn't granted this request.
    NotGranted {
        /// The method.
        method: String,
        /// The origin.
        origin: String,
    },
    /// The host has only non-public addresses, and none of them is granted.
    PrivateAddress {
        /// The origin.
        origin: String,
    },
    /// The host's name couldn't be resolved.
    Dns {
        /// The origin.
        origin: String,
        /// The resolver's error, which can be empty.
        reason: String,
    },
    /// The connection failed or broke.
    Connect {
        /// The origin.
        origin: String,
        /// The reason.
        reason: String,
    },
    /// TLS failed, for example because the certificate isn't trusted.
    Tls {
        /// The origin.
        origin: String,
        /// The reason.
        reason: String,
    },
    /// The request timed out.
    Timeout {
        /// The origin.
        origin: String,
    },
    /// The response's body is larger than [`Request::max_body`](super::Request::max_body) allows.
    TooLarge {
        /// The origin.
        origin: String,
        /// The maximum size in bytes.
        limit: u64,
    },
    /// The call has reached its limit of concurrent requests. (A call that has reached its total limit gets
    /// [`Self::Other`].)
    TooManyRequests {
        /// The origin.
        origin: String,
    },
    /// A limit of the operator other than the number of requests.
    Limit {
        /// The origin.
        origin: String,
        /// The limit.
        reason: String,
    },
    /// There are too many redirects.
    TooManyRedirects {
        /// The limit set with [`Request::redirects`](super::Request::redirects).
        limit: usize,
    },
    /// The response has an error status, and the plugin called
    /// [`Response::error_for_status`](super::Response::error_for_status).
    Status {
        /// The origin.
        origin: String,
        /// The status.
        status: u16,
    },
    /// A value can't be serialized or deserialized as JSON.
    Json {
        /// The reason.
        reason: String,
    },
    /// The server violates HTTP.
    Protocol {
        /// The origin.
        origin: String,
        /// The violation.
        reason: String,
    },
    /// The response's body has a `content-encoding` that can't be decompressed.
    UnsupportedEncoding {
        /// The origin.
        origin: String,
        /// The encoding.
        encoding: String,
    },
    /// Any other error, with the gateway's message.
    Other(String),
}

/// The hint added to a denied request: in a native test, how to set up servers. In a component, the gateway adds its
/// own.
const DENIED_HINT: &str = if cfg!(target_family = "wasm") {
    ""
} else {
    " (in a test, set up servers with `Client::http` or `Client::pages`)"
};

/// The target of a request, as far as messages can show it.
#[derive(Debug, Clone)]
pub(crate) struct RequestTarget {
    pub(crate) method: String,
    pub(crate) origin: String,
}

impl fmt::Display for HttpError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::InvalidUrl { url, reason } => write!(f, "invalid URL `{url}`: {reason}"),
            Self::InvalidMethod(method) => write!(f, "invalid HTTP method `{method}`"),
            Self::InvalidHeader { name, reason } => write!(f, "cannot send the header `{name}`: {reason}"),
            Self::NotGranted { method, origin } => write!(
                f,
                "the request {method} {origin} isn't granted; an operator can allow it{DENIED_HINT}"
            ),
            Self::PrivateAddress { origin } => {
                write!(f, "`{origin}` has no public address; an operator can allow it")
            }
            Self::Dns { origin, reason } => {
                write!(f, "cannot resolve `{origin}`")?;
                if reason.is_empty() { Ok(()) } else { write!(f, ": {reason}") }
            }
            Self::Connect { origin, reason } => write!(f, "cannot connect to `{origin}`: {reason}"),
            Self::Tls { origin, reason } => write!(f, "TLS error for `{origin}`: {reason}"),
            Self::Timeout { origin } => write!(f, "request to `{origin}` timed out"),
            Self::TooLarge { origin, limit } => {
                write!(
                    f,
                    "the response from `{origin}` is larger than {limit} bytes; to allow more, set `Request::max_body`"
                )
            }
            Self::TooManyRequests { origin } => write!(
                f,
                "too many concurrent requests to send another one to `{origin}` (`limits.requests_at_once`)"
            ),
            Self::Limit { origin, reason } => {
                write!(f, "request to `{origin}` exceeded {reason}")
            }
            Self::TooManyRedirects { limit } => write!(f, "more than {limit} redirects"),
            Self::Status { origin, status } => write!(f, "`{origin}` returned status {status}"),
            Self::Json { reason } => write!(f, "invalid JSON: {reason}"),
            Self::Protocol { origin, reason } => {
                write!(f, "invalid response from `{origin}`: {reason}")
            }
            Self::UnsupportedEncoding { origin, encoding } => {
                write!(f, "the response from `{origin}` has the unsupported encoding `{encoding}`")
            }
            Self::Other(reason) => f.write_str(reason),
        }
    }
}

impl std::error::Error for HttpError {}
