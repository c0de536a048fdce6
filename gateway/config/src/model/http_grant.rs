//! HTTP grants: the destinations of a plugin's requests, and the headers that the gateway adds to them.
//!
//! A request is compared as a whole with each grant: scheme, host, port, method and path must match the same grant. Both
//! sides use hosts in the form that browsers give them (lower case, IDNA, plain IPv4). A URL that a parser would have to
//! repair (a missing `/`, a `\`, a tab, a name before `@`) never matches, because another parser could repair it in
//! another way. The HTTP client parses a URL first, compares the result, and sends exactly that.

use std::collections::BTreeSet;
use std::fmt;
use std::net::IpAddr;
use std::ops::Range;

use ipnet::IpNet;
use url::{Host, Url};

use super::Secret;
use super::http_path::is_unambiguous_path;
use super::public_address::is_allowed_address;
use super::web_origin::comparable_host;

/// A destination of requests: one entry of `allow.http`.
#[derive(Debug, Clone)]
pub struct HttpGrant {
    /// The byte range of the grant in the file.
    pub span: Range<usize>,
    /// The pattern for people, such as `https://*.example.org`, without secrets from variables.
    pub display_pattern: String,
    /// `http` or `https`.
    pub scheme: HttpScheme,
    /// The hosts.
    pub host: HostPattern,
    /// The port.
    pub port: u16,
    /// The methods in capitals. `None` means all.
    pub methods: Option<BTreeSet<String>>,
    /// The path, or the part of it before a `/`, without a trailing `/`. If empty, any path matches.
    pub path: String,
    /// Non-public networks that this grant allows.
    pub networks: Vec<IpNet>,
    /// Whether servers learn the trace that a request belongs to.
    pub trace_context: TraceContextGrant,
}

/// Whether servers learn the trace that a plugin's request belongs to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TraceContextGrant {
    /// They don't.
    #[default]
    NotSent,
    /// The gateway adds `traceparent`.
    Sent,
}

/// The scheme of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum HttpScheme {
    /// Unencrypted.
    Http,
    /// TLS.
    Https,
}

/// The hosts of a grant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HostPattern {
    /// One name or address.
    Exact(Host<String>),
    /// `*.name`: every name below this one, with at least one more label.
    Subdomains(String),
    /// `*`: every name, but no address.
    AnyName,
}

/// The destination of one request. It can only be created from an absolute URL.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestTarget {
    scheme: HttpScheme,
    host: Host<String>,
    port: u16,
    method: String,
    path: String,
    /// True if every server reads the path in the same way, both as requested and as parsed.
    is_unambiguous_path: bool,
}

/// The error of a URL that isn't a valid [`RequestTarget`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum InvalidTargetError {
    /// Not an absolute `http` or `https` URL, or one that a parser would have to repair.
    #[error("not an absolute `http` or `https` URL")]
    Url,
    /// A user name or password before the host.
    #[error("user name or password before the host")]
    UserInfo,
}

/// Headers that the gateway adds to a plugin's requests to one origin.
#[derive(Debug, Clone)]
pub struct Credential {
    /// The byte range of the credential in the file.
    pub span: Range<usize>,
    /// The only origin that they are sent to, always `https`.
    pub origin: HttpOrigin,
    /// The headers: names in lower case, with complete values.
    pub headers: Vec<(String, Secret)>,
    /// The variables and files that the values are filled from: `env NAME`, `file PATH`.
    pub origins: BTreeSet<String>,
}

/// Scheme, host and port.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct HttpOrigin {
    /// `http` or `https`.
    pub scheme: HttpScheme,
    /// The host as browsers write it.
    pub host: Host<String>,
    /// The port.
    pub port: u16,
}

impl HttpGrant {
    /// Reports whether the grant allows this request. The address of its host is checked later.
    #[must_use]
    pub fn covers(&self, target: &RequestTarget) -> bool {
        self.scheme == target.scheme
            && self.port == target.port
            && self.host.covers(&target.host)
            && self.methods.as_ref().is_none_or(|methods| methods.contains(&target.method))
            && target.method != "CONNECT" // asks a proxy for a tunnel
            && target.is_below_path(&self.path)
    }

    /// Reports whether requests of this grant may go to an address: everything that it reaches is public or in a granted
    /// network.
    #[must_use]
    pub fn allows_address(&self, address: IpAddr) -> bool {
        is_allowed_address(address, &self.networks)
    }

    /// Reports whether `other` allows every request that this grant allows, to the same addresses.
    pub(crate) fn is_covered_by(&self, other: &Self) -> bool {
        let Self { span: _, display_pattern: _, scheme, host, port, methods, path, networks, trace_context } =
            self;
        let has_methods = match (methods, &other.methods) {
            (_, None) => true,
            (Some(methods), Some(others)) => methods.is_subset(others),
            (None, Some(_)) => false,
        };
        let reached = |network: &IpNet| other.networks.iter().any(|its| its.contains(network));
        *scheme == other.scheme
            && *port == other.port
            && host.is_covered_by(&other.host)
            && has_methods
            && (other.path.is_empty() || starts_with_segments(path, &other.path))
            && networks.iter().all(reached)
            && *trace_context <= other.trace_context
    }

    /// The grant in one line: the pattern, then its methods and networks if it names some.
    #[must_use]
    pub fn describe(&self) -> String {
        let mut all = self.display_pattern.clone();
        if let Some(methods) = &self.methods {
            all.extend([" by ", &methods.iter().map(String::as_str).collect::<Vec<_>>().join(", ")]);
        }
        if !self.networks.is_empty() {
            let networks: Vec<String> = self.networks.iter().map(IpNet::to_string).collect();
            all.extend([" in ", &networks.join(", ")]);
        }
        if self.trace_context == TraceContextGrant::Sent {
            all.push_str(" with trace context");
        }
        all
    }

    /// Reports whether it allows some request to this origin.
    #[must_use]
    pub fn covers_origin(&self, origin: &HttpOrigin) -> bool {
        self.scheme == origin.scheme && self.port == origin.port && self.host.covers(&origin.host)
    }

    pub(crate) fn is_equivalent_to(&self, other: &Self) -> bool {
        let Self { span: _, display_pattern: _, scheme, host, port, methods, path, networks, trace_context } =
            self;
        *scheme == other.scheme
            && *host == other.host
            && *port == other.port
            && *methods == other.methods
            && *path == other.path
            && *networks == other.networks
            && *trace_context == other.trace_context
    }
}

/// Compares whole segments only: `/a/b` starts with `/a`, but `/ab` doesn't.
fn starts_with_segments(path: &str, prefix: &str) -> bool {
    path.strip_prefix(prefix).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

impl HostPattern {
    fn covers(&self, host: &Host<String>) -> bool {
        match (self, host) {
            (Self::Exact(granted), asked) => granted == asked,
            (Self::Subdomains(granted), Host::Domain(asked)) => is_below(asked, granted),
            (Self::AnyName, Host::Domain(_)) => true,
            (Self::Subdomains(_) | Self::AnyName, Host::Ipv4(_) | Host::Ipv6(_)) => false,
        }
    }

    /// Reports whether `other` covers every host that this pattern covers.
    fn is_covered_by(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Exact(host), other) => other.covers(host),
            (Self::Subdomains(name), Self::Subdomains(others)) => name == others || is_below(name, others),
            (Self::Subdomains(_) | Self::AnyName, Self::AnyName) => true,
            (Self::Subdomains(_) | Self::AnyName, Self::Exact(_)) | (Self::AnyName, Self::Subdomains(_)) => {
                false
            }
        }
    }
}

/// Reports whether this is the other name with at least one more label.
fn is_below(name: &str, other: &str) -> bool {
    let labels = name.strip_suffix(other).and_then(|rest| rest.strip_suffix('.'));
    labels.is_some_and(|labels| !labels.is_empty())
}

impl RequestTarget {
    /// Parses the destination of a request.
    ///
    /// # Errors
    /// The URL isn't an absolute `http` or `https` URL in ASCII, a parser would have to repair it, or it contains a user
    /// name or password.
    pub fn new(method: &str, url: &str) -> Result<Self, InvalidTargetError> {
        let written = url;
        let before_query = written.split(['?', '#']).next().unwrap_or_default();
        let is_repaired = |c: char| c.is_ascii() && !c.is_ascii_graphic();
        if written.contains(is_repaired) || before_query.contains('\\') {
            return Err(InvalidTargetError::Url);
        }
        let (_, rest) = before_query.split_once("://").ok_or(InvalidTargetError::Url)?;
        let (authority, asked) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
        if authority.contains('@') {
            return Err(InvalidTargetError::UserInfo);
        }
        if authority.is_empty() || !authority.is_ascii() || authority.contains('%') {
            return Err(InvalidTargetError::Url);
        }
        let url = Url::parse(written).map_err(|_| InvalidTargetError::Url)?;
        let HttpOrigin { scheme, host, port } = HttpOrigin::from_url(&url).ok_or(InvalidTargetError::Url)?;
        let path = url.path().to_owned();
        let is_unambiguous_path = is_unambiguous_path(asked) && is_unambiguous_path(&path);
        Ok(Self { scheme, host, port, method: method.to_ascii_uppercase(), path, is_unambiguous_path })
    }

    /// The origin.
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

    /// The path.
    #[must_use]
    pub fn path(&self) -> &str {
        &self.path
    }

    /// Reports whether a grant of this path allows it. An empty path allows every path.
    pub(crate) fn is_below_path(&self, granted: &str) -> bool {
        granted.is_empty() || self.is_unambiguous_path && starts_with_segments(&self.path, granted)
    }
}

impl Credential {
    /// The headers and their origin in one line, without the secrets.
    #[must_use]
    pub fn describe(&self) -> String {
        let list = |items: &mut dyn Iterator<Item = &str>| items.collect::<Vec<_>>().join(", ");
        let headers = list(&mut self.headers.iter().map(|(name, _)| name.as_str()));
        let from = list(&mut self.origins.iter().map(String::as_str));
        format!("credentials for {}: {headers} from {from}", self.origin)
    }

    pub(crate) fn is_equivalent_to(&self, other: &Self) -> bool {
        let Self { span: _, origin, headers, origins: filled_from } = self;
        *origin == other.origin && *headers == other.headers && *filled_from == other.origins
    }

    /// Reports whether `other` adds all these headers, from the same variables and files, to the same origin. Their
    /// values don't matter.
    pub(crate) fn is_covered_by(&self, other: &Self) -> bool {
        let Self { span: _, origin, headers, origins: filled_from } = self;
        let adds = |(name, _): &(String, Secret)| other.headers.iter().any(|(its, _)| its == name);
        *origin == other.origin && headers.iter().all(adds) && filled_from.is_subset(&other.origins)
    }
}

impl HttpOrigin {
    /// The origin of a URL. `None` means that it has another scheme, or that its host has an empty label. A trailing
    /// dot and the IPv6 form of an IPv4 address make no difference.
    #[must_use]
    pub fn from_url(url: &Url) -> Option<Self> {
        let scheme = match url.scheme() {
            "http" => HttpScheme::Http,
            "https" => HttpScheme::Https,
            _ => return None,
        };
        let host = comparable_host(url.host()?)?;
        Some(Self { scheme, host, port: url.port_or_known_default()? })
    }
}

impl HttpScheme {
    /// Its name in a URL.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Http => "http",
            Self::Https => "https",
        }
    }

    /// The default port.
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

impl fmt::Display for RequestTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}{}", self.method, self.origin(), self.path)
    }
}
