//! Hosts and web origins in the form in which they are compared: parsed as browsers do (WHATWG URL), so that the
//! spelling makes no difference.
//!
//! Both sides of a comparison come from here: the entries of `allowed_hosts` and `allowed_origins`, and the headers
//! `Host` and `Origin`.

use url::Host;

use super::is_localhost_name;

/// The origin of a web page: scheme, host and port.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WebOrigin {
    /// In lower case.
    scheme: String,
    /// For schemes other than `http` and `https`, the text in lower case, with the port.
    host: Host<String>,
    /// `None` for the scheme's default.
    port: Option<u16>,
}

/// Parses a host, with an IPv6 address in brackets. Case, a trailing dot, non-ASCII letters, the spelling of an address
/// and the IPv6 form of an IPv4 address make no difference. `None` if it is neither a name nor an address.
#[must_use]
pub fn parse_host(text: &str) -> Option<Host<String>> {
    if let Ok(address) = text.parse() {
        return Some(Host::Ipv4(address)); // most clients connect to one, and this is faster
    }
    // The parser would decode it.
    if text.contains('%') {
        return None;
    }
    let host = comparable_host(Host::parse(text).ok()?)?;
    let is_allowed = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    match &host {
        Host::Domain(name) if !name.chars().all(is_allowed) => None,
        Host::Domain(_) | Host::Ipv4(_) | Host::Ipv6(_) => Some(host),
    }
}

/// Parses `host[:port]`. `None` if the host or the port is invalid.
#[must_use]
pub fn parse_host_and_port(text: &str) -> Option<(Host<String>, Option<u16>)> {
    let end = match text.find(']') {
        Some(end) => end + 1,
        None => text.find(':').unwrap_or(text.len()),
    };
    let (host, rest) = text.split_at(end);
    let port = match rest.strip_prefix(':') {
        Some("") => None,
        Some(digits) if digits.bytes().all(|byte| byte.is_ascii_digit()) => Some(digits.parse().ok()?),
        None if rest.is_empty() => None,
        Some(_) | None => return None,
    };
    Some((parse_host(host)?, port))
}

/// A parsed host without a trailing dot, and with the IPv6 form of an IPv4 address as IPv4. `None` if it has an empty
/// label, which resolvers treat in different ways.
pub(super) fn comparable_host<S: AsRef<str>>(host: Host<S>) -> Option<Host<String>> {
    match host {
        Host::Domain(name) => {
            let name = name.as_ref();
            let name = name.strip_suffix('.').unwrap_or(name);
            (!name.split('.').any(str::is_empty)).then(|| Host::Domain(name.to_owned()))
        }
        Host::Ipv4(address) => Some(Host::Ipv4(address)),
        // Both forms connect to the same host.
        Host::Ipv6(address) => Some(address.to_ipv4_mapped().map_or(Host::Ipv6(address), Host::Ipv4)),
    }
}

/// Reports whether the host is this machine: a loopback address, `localhost`, or a name below it.
#[must_use]
pub fn is_loopback_host(host: &Host<String>) -> bool {
    match host {
        Host::Domain(name) => is_localhost_name(name),
        Host::Ipv4(address) => address.is_loopback(),
        Host::Ipv6(address) => address.is_loopback(),
    }
}

impl WebOrigin {
    /// Parses `scheme://host[:port]`. `None` if it isn't an origin.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let (scheme, rest) = text.split_once("://")?;
        let scheme = scheme.to_ascii_lowercase();
        let is_scheme = scheme.starts_with(|c: char| c.is_ascii_alphabetic())
            && scheme.chars().all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c));
        if !is_scheme {
            return None;
        }
        let default_port = match scheme.as_str() {
            "http" => 80,
            "https" => 443,
            // A browser doesn't parse the host of an extension or an app.
            _ => {
                let is_allowed = |c: char| c.is_ascii_alphanumeric() || "-_.:".contains(c);
                let host = rest.to_ascii_lowercase();
                let is_host = !host.is_empty() && host.chars().all(is_allowed);
                return is_host.then_some(Self { scheme, host: Host::Domain(host), port: None });
            }
        };
        let (host, port) = parse_host_and_port(rest)?;
        Some(Self { scheme, host, port: port.filter(|port| *port != default_port) })
    }

    /// Reports whether it is a web page of this machine.
    #[must_use]
    pub fn is_loopback(&self) -> bool {
        matches!(self.scheme.as_str(), "http" | "https") && is_loopback_host(&self.host)
    }
}

#[cfg(test)]
mod tests;
