//! `allow.http` and `allow.credentials`: where a plugin's requests may go, and what the gateway adds to them.
//!
//! A request is compared as a whole with each grant: scheme, host, port, method and path of one and the same line. Hosts
//! are compared in the form that browsers give them (lower case, IDNA, plain IPv4), on both sides. What a URL parser
//! would repair in a request (a missing `/`, a `\`, a tab, a name before `@`) makes it none that is granted: whoever
//! sends it might repair it in another way. The host's sender reads a URL first, compares what it read, and sends that.

use std::collections::BTreeSet;
use std::fmt;
use std::ops::Range;

use ipnet::IpNet;
use url::{Host, Url};

use crate::config::Secret;
use crate::config::model::http_pattern::is_plain;

/// Where requests may go: one line of `allow.http`.
#[derive(Debug, Clone)]
pub struct HttpGrant {
    /// Where in the file the grant stands, in bytes.
    pub place: Range<usize>,
    /// The pattern for people, such as `https://*.example.org`: without secrets that variables filled in.
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
    /// Whether every server reads the path in one way only, as it was asked for and as it is told here.
    is_plain: bool,
}

/// Why a request has no [`Target`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NoTarget {
    /// It is no absolute URL of `http` or `https`, or isn't written as one.
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
    /// The variables and files that the values are filled from: `env NAME`, `file PATH`.
    pub filled_from: BTreeSet<String>,
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
            && target.method != "CONNECT" // the way through a proxy, not to a server
            && target.is_at(&self.path)
    }

    /// Does `other` cover every request that this covers, and reach every address for it?
    pub(in crate::config) fn is_within(&self, other: &Self) -> bool {
        let Self { place: _, written: _, scheme, host, port, methods, path, networks } = self;
        let has_methods = match (methods, &other.methods) {
            (_, None) => true,
            (Some(methods), Some(others)) => methods.is_subset(others),
            (None, Some(_)) => false,
        };
        let reached = |network: &IpNet| other.networks.iter().any(|its| its.contains(network));
        *scheme == other.scheme
            && *port == other.port
            && host.is_within(&other.host)
            && has_methods
            && (other.path.is_empty() || begins_with(path, &other.path))
            && networks.iter().all(reached)
    }

    /// The grant as the file has it, in one line: the pattern, then methods and networks where they are named.
    #[must_use]
    pub fn described(&self) -> String {
        let mut all = self.written.clone();
        if let Some(methods) = &self.methods {
            all.extend([" by ", &methods.iter().map(String::as_str).collect::<Vec<_>>().join(", ")]);
        }
        if !self.networks.is_empty() {
            let networks: Vec<String> = self.networks.iter().map(IpNet::to_string).collect();
            all.extend([" in ", &networks.join(", ")]);
        }
        all
    }

    /// Is it for requests to this origin, if not for every path and method?
    #[must_use]
    pub fn covers_origin(&self, origin: &HttpOrigin) -> bool {
        self.scheme == origin.scheme && self.port == origin.port && self.host.covers(&origin.host)
    }

    pub(in crate::config) fn says_the_same_as(&self, other: &Self) -> bool {
        let Self { place: _, written: _, scheme, host, port, methods, path, networks } = self;
        *scheme == other.scheme
            && *host == other.host
            && *port == other.port
            && *methods == other.methods
            && *path == other.path
            && *networks == other.networks
    }
}

/// Whole segments only: `/a/b` begins with `/a`, `/ab` doesn't.
fn begins_with(path: &str, prefix: &str) -> bool {
    path.strip_prefix(prefix).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

impl HostPattern {
    fn covers(&self, host: &Host<String>) -> bool {
        match (self, host) {
            (Self::Exactly(granted), asked) => granted == asked,
            (Self::Below(granted), Host::Domain(asked)) => is_below(asked, granted),
            (Self::AnyName, Host::Domain(_)) => true,
            (Self::Below(_) | Self::AnyName, Host::Ipv4(_) | Host::Ipv6(_)) => false,
        }
    }

    /// Does `other` cover every host that this covers?
    fn is_within(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Exactly(host), other) => other.covers(host),
            (Self::Below(name), Self::Below(others)) => name == others || is_below(name, others),
            (Self::Below(_) | Self::AnyName, Self::AnyName) => true,
            (Self::Below(_) | Self::AnyName, Self::Exactly(_)) | (Self::AnyName, Self::Below(_)) => false,
        }
    }
}

/// Is it the other name with at least one label more?
fn is_below(name: &str, other: &str) -> bool {
    let labels = name.strip_suffix(other).and_then(|rest| rest.strip_suffix('.'));
    labels.is_some_and(|labels| !labels.is_empty())
}

impl Target {
    /// Reads where a request wants to go.
    ///
    /// # Errors
    /// It isn't an absolute URL of `http` or `https`, in ASCII and without anything that a parser would have to repair;
    /// or it holds a name or password.
    pub fn new(method: &str, url: &str) -> Result<Self, NoTarget> {
        let written = url;
        let before_query = written.split(['?', '#']).next().unwrap_or_default();
        let is_repaired = |c: char| c.is_ascii() && !c.is_ascii_graphic();
        if written.contains(is_repaired) || before_query.contains('\\') {
            return Err(NoTarget::Url);
        }
        let (_, rest) = before_query.split_once("://").ok_or(NoTarget::Url)?;
        let (authority, asked) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
        if authority.contains('@') {
            return Err(NoTarget::UserInfo);
        }
        if authority.is_empty() || !authority.is_ascii() || authority.contains('%') {
            return Err(NoTarget::Url);
        }
        let url = Url::parse(written).map_err(|_| NoTarget::Url)?;
        let HttpOrigin { scheme, host, port } = HttpOrigin::of(&url).ok_or(NoTarget::Url)?;
        let path = url.path().to_owned();
        let is_plain = is_plain(asked) && is_plain(&path);
        Ok(Self { scheme, host, port, method: method.to_ascii_uppercase(), path, is_plain })
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

    /// The path.
    #[must_use]
    pub fn path(&self) -> &str {
        &self.path
    }

    /// Does a grant of this path cover it? Empty: of every path.
    pub(in crate::config) fn is_at(&self, granted: &str) -> bool {
        granted.is_empty() || self.is_plain && begins_with(&self.path, granted)
    }
}

impl Credential {
    /// What it adds, and where, in one line and without the secrets.
    #[must_use]
    pub fn described(&self) -> String {
        let list = |items: &mut dyn Iterator<Item = &str>| items.collect::<Vec<_>>().join(", ");
        let headers = list(&mut self.headers.iter().map(|(name, _)| name.as_str()));
        let from = list(&mut self.filled_from.iter().map(String::as_str));
        format!("credentials for {}: {headers} from {from}", self.origin)
    }

    pub(in crate::config) fn says_the_same_as(&self, other: &Self) -> bool {
        let Self { place: _, origin, headers, filled_from } = self;
        *origin == other.origin && *headers == other.headers && *filled_from == other.filled_from
    }

    /// Does `other` add all that this adds, from the same variables and files, to the same origin? What they hold
    /// doesn't count.
    pub(in crate::config) fn is_within(&self, other: &Self) -> bool {
        let Self { place: _, origin, headers, filled_from } = self;
        let adds = |(name, _): &(String, Secret)| other.headers.iter().any(|(its, _)| its == name);
        *origin == other.origin && headers.iter().all(adds) && filled_from.is_subset(&other.filled_from)
    }
}

impl HttpOrigin {
    /// The origin of a URL; none where it is of another scheme, or its host has an empty label. One dot at a name's end
    /// makes no difference, nor does an IPv4 address that is written as one of IPv6.
    #[must_use]
    pub fn of(url: &Url) -> Option<Self> {
        let scheme = match url.scheme() {
            "http" => HttpScheme::Http,
            "https" => HttpScheme::Https,
            _ => return None,
        };
        let host = match url.host()? {
            Host::Domain(name) => {
                let name = name.strip_suffix('.').unwrap_or(name);
                // Resolvers differ in what they make of an empty label.
                if name.split('.').any(str::is_empty) {
                    return None;
                }
                Host::Domain(name.to_owned())
            }
            Host::Ipv4(address) => Host::Ipv4(address),
            // The same machine by another name: a connection to the one is a connection to the other.
            Host::Ipv6(address) => address.to_ipv4_mapped().map_or(Host::Ipv6(address), Host::Ipv4),
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
