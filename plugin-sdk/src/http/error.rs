//! Why a request got no answer, in words that say who can do what about it.

use std::fmt;
use std::net::Ipv4Addr;

use url::{Host, Url};

use crate::host::http::ON_REFUSAL;

/// Why a request got no answer, or its answer couldn't be used.
///
/// An origin is scheme, host and, where it isn't the usual one, port. Messages hold no path and no query of a URL that
/// could be requested, because those may hold secrets.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum HttpError {
    /// The text is no URL that can be requested.
    InvalidUrl {
        /// The text.
        url: String,
        /// What is wrong with it.
        reason: String,
    },
    /// The method isn't a word of HTTP.
    InvalidMethod(String),
    /// A header can't be sent.
    InvalidHeader {
        /// Its name.
        name: String,
        /// What is wrong with it.
        reason: String,
    },
    /// The operator doesn't let this plugin request that.
    NotGranted {
        /// The method.
        method: String,
        /// The origin.
        origin: String,
    },
    /// The host has only addresses that aren't public, and the operator granted none of them.
    PrivateAddress {
        /// The origin.
        origin: String,
    },
    /// The host's name has no address, or nobody could say which.
    Dns {
        /// The origin.
        origin: String,
        /// What was said, if anything.
        reason: String,
    },
    /// No connection came about, or it broke.
    Connect {
        /// The origin.
        origin: String,
        /// What happened.
        reason: String,
    },
    /// The connection couldn't be made private, such as by a certificate that nobody vouches for.
    Tls {
        /// The origin.
        origin: String,
        /// What happened.
        reason: String,
    },
    /// It took too long.
    Timeout {
        /// The origin.
        origin: String,
    },
    /// The answer's body is larger than [`Request::max_body`](super::Request::max_body) allows.
    TooLarge {
        /// The origin.
        origin: String,
        /// How much is allowed, in bytes.
        limit: u64,
    },
    /// The call has as many requests in flight as the operator allows. (One that has made all that it may gets
    /// [`Self::Other`], which says so.)
    TooManyRequests {
        /// The origin.
        origin: String,
    },
    /// A limit of the operator's on what requests carry, other than on their number.
    Limit {
        /// The origin.
        origin: String,
        /// Which one.
        reason: String,
    },
    /// The answers lead on and on.
    TooManyRedirects {
        /// How often [`Request::redirects`](super::Request::redirects) follows.
        limit: usize,
    },
    /// [`Response::error_for_status`](super::Response::error_for_status) was asked, and the status is one of an error.
    Status {
        /// The origin.
        origin: String,
        /// The status.
        status: u16,
    },
    /// A value isn't the JSON that it should be.
    Json {
        /// What is wrong with it.
        reason: String,
    },
    /// The other side doesn't keep to HTTP.
    Protocol {
        /// The origin.
        origin: String,
        /// What it did.
        reason: String,
    },
    /// Anything else, in the gateway's words.
    Other(String),
}

/// Where a request went, as far as a message may say it.
#[derive(Debug, Clone)]
pub(crate) struct Place {
    pub(crate) method: String,
    pub(crate) origin: String,
}

impl fmt::Display for HttpError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::InvalidUrl { url, reason } => write!(f, "`{url}` can't be requested: {reason}"),
            Self::InvalidMethod(method) => write!(f, "`{method}` is no method of HTTP"),
            Self::InvalidHeader { name, reason } => write!(f, "the header `{name}` can't be sent: {reason}"),
            Self::NotGranted { method, origin } => write!(
                f,
                "this {method} request to `{origin}` isn't granted; `http = [{}]` below `[plugins.<name>.allow]` in \
                 `gateway.toml` grants every request there{ON_REFUSAL}",
                grant(origin)
            ),
            Self::PrivateAddress { origin } => write!(
                f,
                "`{origin}` has no public address, and the plugin may not reach others; `http = [{{ url = \"{origin}\", \
                 networks = [\"…\"] }}]` below `[plugins.<name>.allow]` in `gateway.toml` grants a network"
            ),
            Self::Dns { origin, reason } => {
                write!(f, "no address was found for `{origin}`")?;
                if reason.is_empty() { Ok(()) } else { write!(f, ": {reason}") }
            }
            Self::Connect { origin, reason } => write!(f, "no connection to `{origin}`: {reason}"),
            Self::Tls { origin, reason } => write!(f, "no private connection to `{origin}`: {reason}"),
            Self::Timeout { origin } => write!(f, "`{origin}` took too long to answer"),
            Self::TooLarge { origin, limit } => {
                write!(
                    f,
                    "the answer of `{origin}` is larger than {limit} bytes, which is the most that is read; `Request::max_body` \
                     sets more"
                )
            }
            Self::TooManyRequests { origin } => write!(
                f,
                "the request to `{origin}` is one too many at the same time; `requests_at_once` below \
                 `[plugins.<name>.limits]` in `gateway.toml` says how many a call may have"
            ),
            Self::Limit { origin, reason } => {
                write!(f, "the request to `{origin}` ended at a limit: {reason}")
            }
            Self::TooManyRedirects { limit } => write!(f, "redirected more than {limit} times"),
            Self::Status { origin, status } => write!(f, "`{origin}` answered with status {status}"),
            Self::Json { reason } => write!(f, "not the JSON that it should be: {reason}"),
            Self::Protocol { origin, reason } => {
                write!(f, "the answer of `{origin}` can't be read: {reason}")
            }
            Self::Other(reason) => f.write_str(reason),
        }
    }
}

impl std::error::Error for HttpError {}

/// The grant of an origin. An address that isn't public needs its network, too.
fn grant(origin: &str) -> String {
    let url = Url::parse(origin).ok();
    let networks = match url.as_ref().and_then(Url::host) {
        Some(Host::Ipv4(ip)) if is_inner(ip) => format!("\"{ip}/32\""),
        Some(Host::Ipv6(ip)) if (ip.segments()[0] & 0xe000) != 0x2000 => format!("\"{ip}/128\""),
        Some(Host::Domain(name)) if name == "localhost" || name.ends_with(".localhost") => {
            "\"127.0.0.0/8\", \"::1/128\"".to_owned()
        }
        Some(Host::Domain(_) | Host::Ipv4(_) | Host::Ipv6(_)) | None => return format!("\"{origin}\""),
    };
    format!("{{ url = \"{origin}\", networks = [{networks}] }}")
}

/// The addresses of this kind that people name; the gateway knows the others.
fn is_inner(ip: Ipv4Addr) -> bool {
    ip.is_loopback() || ip.is_private() || ip.is_link_local() || ip.is_unspecified()
}
