//! `allow.http` and `allow.credentials`: where a plugin's requests may go, and what the gateway adds to them.
//!
//! A request is compared as a whole with each grant: scheme, host, port, method and path of one and the same line. Hosts
//! are compared in the form that browsers give them (lower case, IDNA, plain IPv4), on both sides.

use std::collections::BTreeSet;
use std::fmt;
use std::ops::Range;

use ipnet::IpNet;
use url::{Host, Url};

use super::super::Secret;

/// Where requests may go: one line of `allow.http`.
#[derive(Debug, Clone)]
pub struct HttpGrant {
    /// Where in the file the grant stands, in bytes.
    pub place: Range<usize>,
    /// The pattern as it was written, such as `https://*.example.org`.
    pub written: String,
    /// `http` or `https`.
    pub scheme: HttpScheme,
    /// Which hosts.
    pub host: HostPattern,
    /// Which port.
    pub port: u16,
    /// Which methods, in capitals; none: all.
    pub methods: Option<BTreeSet<String>>,
    /// What the path must be, or begin with before a `/`: without a `/` at its end; empty: anything.
    pub path: String,
    /// Networks that aren't public but may be reached through this grant all the same.
    pub networks: Vec<IpNet>,
}

/// How a request is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum HttpScheme {
    /// In the clear.
    Http,
    /// Through TLS.
    Https,
}

/// Which hosts a grant is for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HostPattern {
    /// This one: a name, or an address.
    Exactly(Host<String>),
    /// `*.name`: every name that ends in this one, with at least one label more.
    Below(String),
    /// `*`: every name; no address.
    AnyName,
}

/// Where one request wants to go. It can be made of an absolute URL only.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    scheme: HttpScheme,
    host: Host<String>,
    port: u16,
    method: String,
    path: String,
}

/// Why a request has no [`Target`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NoTarget {
    /// It is no absolute URL of `http` or `https`.
    #[error("it is no URL of `http` or `https`")]
    Url,
    /// A name or password stands before the host.
    #[error("a name or password stands before the host")]
    UserInfo,
}

/// Headers that the gateway adds to a plugin's requests to one origin.
#[derive(Debug, Clone)]
pub struct Credential {
    /// Where in the file it stands, in bytes.
    pub place: Range<usize>,
    /// The only origin that they are sent to; always `https`.
    pub origin: HttpOrigin,
    /// Names in lower case with the whole values.
    pub headers: Vec<(String, Secret)>,
}

/// Scheme, host and port.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct HttpOrigin {
    /// `http` or `https`.
    pub scheme: HttpScheme,
    /// The host, as browsers write it.
    pub host: Host<String>,
    /// The port.
    pub port: u16,
}

impl HttpGrant {
    /// Is this request one that the grant is for? Whether the address that its host turns out to have may be reached
    /// is asked later.
    #[must_use]
    pub fn covers(&self, target: &Target) -> bool {
        self.scheme == target.scheme
            && self.port == target.port
            && self.host.covers(&target.host)
            && self.methods.as_ref().is_none_or(|methods| methods.contains(&target.method))
            && covers_path(&self.path, &target.path)
    }

    /// Is it for requests to this origin, if not for every path and method?
    #[must_use]
    pub fn covers_origin(&self, origin: &HttpOrigin) -> bool {
        self.scheme == origin.scheme && self.port == origin.port && self.host.covers(&origin.host)
    }

    pub(super) fn says_the_same_as(&self, other: &Self) -> bool {
        let Self { place: _, written: _, scheme, host, port, methods, path, networks } = self;
        *scheme == other.scheme
            && *host == other.host
            && *port == other.port
            && *methods == other.methods
            && *path == other.path
            && *networks == other.networks
    }
}

/// Whole segments only: `/a` covers `/a` and `/a/b`, not `/ab`. A path that a server could read in another way, with
/// an encoded `.` or `/`, is covered by no prefix.
fn covers_path(prefix: &str, path: &str) -> bool {
    if prefix.is_empty() {
        return true;
    }
    let plain = path.to_ascii_lowercase();
    if ["%2e", "%2f", "%5c", "\\"].iter().any(|hidden| plain.contains(hidden)) {
        return false;
    }
    path.strip_prefix(prefix).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

impl HostPattern {
    fn covers(&self, host: &Host<String>) -> bool {
        match (self, host) {
            (Self::Exactly(granted), asked) => granted == asked,
            (Self::Below(granted), Host::Domain(asked)) => asked
                .strip_suffix(granted.as_str())
                .and_then(|rest| rest.strip_suffix('.'))
                .is_some_and(|rest| !rest.is_empty()),
            (Self::AnyName, Host::Domain(_)) => true,
            (Self::Below(_) | Self::AnyName, Host::Ipv4(_) | Host::Ipv6(_)) => false,
        }
    }
}

impl Target {
    /// Reads where a request wants to go.
    ///
    /// # Errors
    /// It isn't an absolute URL of `http` or `https`, or it holds a name or password.
    pub fn new(method: &str, url: &str) -> Result<Self, NoTarget> {
        let url = Url::parse(url).map_err(|_| NoTarget::Url)?;
        if !url.username().is_empty() || url.password().is_some() {
            return Err(NoTarget::UserInfo);
        }
        let HttpOrigin { scheme, host, port } = HttpOrigin::of(&url).ok_or(NoTarget::Url)?;
        Ok(Self { scheme, host, port, method: method.to_ascii_uppercase(), path: url.path().to_owned() })
    }

    /// The origin that it goes to.
    #[must_use]
    pub fn origin(&self) -> HttpOrigin {
        HttpOrigin { scheme: self.scheme, host: self.host.clone(), port: self.port }
    }

    /// The host.
    #[must_use]
    pub fn host(&self) -> &Host<String> {
        &self.host
    }

    /// The port.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.port
    }

    /// `http` or `https`.
    #[must_use]
    pub fn scheme(&self) -> HttpScheme {
        self.scheme
    }

    /// The method, in capitals.
    #[must_use]
    pub fn method(&self) -> &str {
        &self.method
    }
}

impl Credential {
    pub(super) fn says_the_same_as(&self, other: &Self) -> bool {
        let Self { place: _, origin, headers } = self;
        *origin == other.origin && *headers == other.headers
    }

    /// Does `other` add all that this adds, to the same origin?
    pub(super) fn is_within(&self, other: &Self) -> bool {
        let adds = |(name, _): &(String, Secret)| other.headers.iter().any(|(its, _)| its == name);
        self.origin == other.origin && self.headers.iter().all(adds)
    }
}

impl HttpOrigin {
    /// The origin of a URL; none where it is of another scheme. One dot at a name's end makes no difference.
    #[must_use]
    pub fn of(url: &Url) -> Option<Self> {
        let scheme = match url.scheme() {
            "http" => HttpScheme::Http,
            "https" => HttpScheme::Https,
            _ => return None,
        };
        let host = match url.host()? {
            Host::Domain(name) => Host::Domain(name.strip_suffix('.').unwrap_or(name).to_owned()),
            Host::Ipv4(address) => Host::Ipv4(address),
            Host::Ipv6(address) => Host::Ipv6(address),
        };
        Some(Self { scheme, host, port: url.port_or_known_default()? })
    }
}

impl HttpScheme {
    /// As it stands in a URL.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Http => "http",
            Self::Https => "https",
        }
    }

    /// The port that a URL needn't name.
    #[must_use]
    pub fn default_port(self) -> u16 {
        match self {
            Self::Http => 80,
            Self::Https => 443,
        }
    }
}

impl fmt::Display for HttpOrigin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { scheme, host, port } = self;
        write!(f, "{}://{host}", scheme.as_str())?;
        if *port == scheme.default_port() { Ok(()) } else { write!(f, ":{port}") }
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}{}", self.method, self.origin(), self.path)
    }
}
