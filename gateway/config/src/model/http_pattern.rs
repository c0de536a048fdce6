//! Parser for the pattern of an HTTP grant, such as `https://*.example.org:8443/api`.
//!
//! Hosts follow the rules of browsers (WHATWG URL, through the `url` crate). Browsers are lenient, but a grant must
//! mean exactly what it appears to mean. So the parser rejects everything that a browser would silently change
//! (`0x7f.1`, `/a/../b`, `\`, a name before `@`), and only normalizes the spelling (capitals, non-ASCII letters, one
//! trailing dot).

use std::net::{IpAddr, Ipv6Addr};
use std::ops::Range;

use url::Host;

use super::diagnostic::{quoted, visible};
use super::http_path::{PatternError, parse_path};
use super::{HostPattern, HttpScheme};
use moongate_model::text::is_hidden;

/// A parsed pattern.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct HttpPattern {
    pub(crate) scheme: HttpScheme,
    pub(crate) host: HostPattern,
    pub(crate) port: u16,
    /// Without a trailing `/`. If empty, any path matches.
    pub(crate) path: String,
    pub(crate) parts: PatternParts,
}

/// The locations of the parts in the text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PatternParts {
    pub(crate) scheme: Range<usize>,
    /// Without the port.
    pub(crate) host: Range<usize>,
    /// From the first `/` to the end.
    pub(crate) path: Range<usize>,
}

/// The longest pattern, in bytes: longer than any host (RFC 1035) and any path that is written by hand.
const MAX_PATTERN_BYTES: usize = 2_048;

/// Parses a pattern.
pub(crate) fn parse(text: &str) -> Result<HttpPattern, PatternError> {
    check_characters(text)?;
    let start = text.find("://").map(|at| at + 3);
    let end = start.unwrap_or(0);
    let end = text[end..].find(['/', '?', '#']).map_or(text.len(), |found| end + found);
    if let Some(at) = text[..end].rfind('@') {
        let from = start.filter(|start| *start <= at).unwrap_or(0);
        let error = PatternError::new(
            from..at + 1,
            "a grant can't contain a user name or password",
            "remove it; use `credentials` for a server's secrets",
        );
        return Err(PatternError { is_secret: true, ..error });
    }
    let Some(start) = start else { return Err(no_scheme(text)) };
    let scheme_part = 0..start - 3;
    let scheme = scheme(&text[scheme_part.clone()], &text[start..])?;
    let (host_end, port) = port(text, start..end, scheme)?;
    let host = host(text, start..host_end)?;
    let path = parse_path(text, end)?;
    let parts = PatternParts { scheme: scheme_part, host: start..host_end, path: end..text.len() };
    Ok(HttpPattern { scheme, host, port, path, parts })
}

/// Rejects characters that a pattern can't contain.
fn check_characters(text: &str) -> Result<(), PatternError> {
    if text.is_empty() {
        return Err(PatternError::new(0..0, "a grant can't be empty", PATTERN_HINT));
    }
    if text.len() > MAX_PATTERN_BYTES {
        let message = format!("a grant can't have more than {MAX_PATTERN_BYTES} bytes");
        return Err(PatternError::new(0..text.len(), message, "grant the first part of its path"));
    }
    let wrong = text.char_indices().find(|(_, c)| c.is_whitespace() || is_hidden(*c) || *c == '\\');
    let Some((at, c)) = wrong else { return Ok(()) };
    let part = at..at + c.len_utf8();
    Err(match c {
        '\\' => PatternError::new(part, "a grant can't contain `\\`", "write `/`"),
        _ if c.is_whitespace() => PatternError::new(
            part,
            "a grant can't contain white space",
            "remove it; write each grant as its own string",
        ),
        _ => {
            let message = format!("a grant can't contain the character {}", quoted(&c.to_string()));
            PatternError::new(part, message, "remove it: it is invisible")
        }
    })
}

const PATTERN_HINT: &str = "write a scheme and a host, such as \"https://*.example.org\"";

fn no_scheme(text: &str) -> PatternError {
    let lower = text.to_ascii_lowercase();
    let named = ["https:", "http:"].into_iter().find(|scheme| lower.starts_with(scheme));
    if let Some(scheme) = named {
        let slashes = text[scheme.len()..].bytes().take_while(|byte| *byte == b'/').count();
        let hint = format!("write `{scheme}//`");
        return PatternError::new(0..scheme.len() + slashes, "the scheme must be followed by `//`", hint);
    }
    let corrected = format!("https://{}", text.trim_start_matches('/'));
    let hint = if parse(&corrected).is_ok() {
        format!("write \"{}\"", visible(&corrected))
    } else {
        PATTERN_HINT.to_owned()
    };
    PatternError::new(0..text.len(), format!("{} has no scheme", quoted(text)), hint)
}

/// Parses the scheme. `rest` is the text after it.
fn scheme(text: &str, rest: &str) -> Result<HttpScheme, PatternError> {
    match text.to_ascii_lowercase().as_str() {
        "http" => Ok(HttpScheme::Http),
        "https" => Ok(HttpScheme::Https),
        "*" => Err(PatternError::new(
            0..1,
            "a grant must name one scheme",
            "write `https`, and another grant for `http` if you need it",
        )),
        other => {
            let message = format!("unsupported scheme {}", quoted(other));
            let corrected = format!("https://{rest}");
            let corrected = if parse(&corrected).is_ok() {
                visible(&corrected).into_owned()
            } else {
                "https://…".to_owned()
            };
            Err(PatternError::new(0..text.len(), message, format!("write \"{corrected}\"")))
        }
    }
}

/// Parses the port after a host. Returns the end of the host and the port.
fn port(text: &str, authority: Range<usize>, scheme: HttpScheme) -> Result<(usize, u16), PatternError> {
    let Range { start, end } = authority;
    let written = &text[start..end];
    let after_host = match written.strip_prefix('[') {
        Some(inside) => match inside.find(']') {
            Some(at) => start + at + 2,
            None => {
                let hint = "write it such as \"http://[fd00::1]:8080\"";
                return Err(PatternError::new(start..end, "missing `]` of an IPv6 address", hint));
            }
        },
        None if written.matches(':').count() > 1 => {
            // The port can't be distinguished from the address, but the whole text can be an address.
            let hint = match written.parse::<Ipv6Addr>() {
                Ok(address) => format!("write `[{address}]`"),
                Err(_) => "write it such as \"http://[fd00::1]:8080\"".to_owned(),
            };
            return Err(PatternError::new(start..end, "an IPv6 address needs brackets", hint));
        }
        None => written.find(':').map_or(end, |at| start + at),
    };
    let rest = &text[after_host..end];
    let Some(digits) = rest.strip_prefix(':') else {
        if rest.is_empty() {
            return Ok((after_host, scheme.default_port()));
        }
        return Err(PatternError::new(
            after_host..end,
            "only a port can follow `]`",
            "write it such as `:8080`",
        ));
    };
    let part = after_host + 1..end;
    let usual = scheme.default_port();
    let hint = format!("write a number from 1 to 65535, or remove the `:` for {usual}");
    match digits.parse::<u16>() {
        _ if digits.is_empty() => Err(PatternError::new(after_host..end, "missing port after `:`", hint)),
        _ if digits == "*" => Err(PatternError::new(part, "a grant must name one port", hint)),
        Ok(0) => Err(PatternError::new(part, "invalid port 0", hint)),
        Ok(port) if digits.bytes().all(|byte| byte.is_ascii_digit()) => Ok((after_host, port)),
        Ok(_) | Err(_) => Err(PatternError::new(part, format!("invalid port {}", quoted(digits)), hint)),
    }
}

fn host(text: &str, part: Range<usize>) -> Result<HostPattern, PatternError> {
    let Range { start, end } = part;
    let written = &text[part.clone()];
    if written.is_empty() {
        return Err(PatternError::new(0..end, "missing host", "add one after `://`; `*` matches every name"));
    }
    if written == "*" {
        return Ok(HostPattern::AnyName);
    }
    let (below, name) = match written.strip_prefix("*.") {
        Some(name) => (true, name),
        None => (false, written),
    };
    let start = start + usize::from(below) * 2;
    if let Some(at) = name.find('*') {
        let hint = "use it as the first label, as in \"https://*.example.org\", or alone for every name";
        return Err(PatternError::new(start + at..start + at + 1, "misplaced `*`", hint));
    }
    check_labels(name, start)?;
    match (below, Host::parse(name)) {
        (_, Err(error)) => {
            let message = format!("invalid host {}: {error}", quoted(name));
            Err(PatternError::new(start..end, message, "write a host as in a URL, such as `example.com`"))
        }
        (true, Ok(Host::Ipv4(_) | Host::Ipv6(_))) => {
            let hint = "grant the address alone, with its network in `networks`";
            Err(PatternError::new(start..end, "an address has no subdomains", hint))
        }
        (below, Ok(Host::Domain(name))) => {
            let name = name.strip_suffix('.').unwrap_or(&name).to_owned();
            check_name(&name).map_err(|(message, hint)| PatternError::new(start..end, message, hint))?;
            Ok(if below { HostPattern::Subdomains(name) } else { HostPattern::Exact(Host::Domain(name)) })
        }
        (false, Ok(Host::Ipv4(address))) => {
            if name != address.to_string() {
                let message = format!("{} isn't the usual form of an address", quoted(name));
                return Err(PatternError::new(start..end, message, format!("write `{address}`")));
            }
            Ok(HostPattern::Exact(Host::Ipv4(address)))
        }
        (false, Ok(Host::Ipv6(address))) => match IpAddr::V6(address).to_canonical() {
            IpAddr::V4(mapped) => {
                let message = format!("`{name}` isn't the usual form of an IPv4 address");
                Err(PatternError::new(start..end, message, format!("write `{mapped}`")))
            }
            IpAddr::V6(address) => Ok(HostPattern::Exact(Host::Ipv6(address))),
        },
    }
}

/// Rejects hosts that browsers would convert to another name.
fn check_labels(name: &str, start: usize) -> Result<(), PatternError> {
    if name.starts_with('[') {
        let zone = name.find('%').map(|at| start + at..start + name.len() - 1);
        return zone.map_or(Ok(()), |zone| {
            Err(PatternError::new(zone, "a grant can't contain the zone of an address", "remove it"))
        });
    }
    if let Some(below) = name.strip_prefix('.') {
        let hint = format!("write `*.{}` for every subdomain", visible(below));
        return Err(PatternError::new(start..start + 1, "a host can't start with a dot", hint));
    }
    if let Some(at) = name.find("..") {
        return Err(PatternError::new(
            start + at..start + at + 2,
            "a host can't contain two dots in a row",
            "write one dot",
        ));
    }
    let is_odd = |c: char| c.is_ascii() && !c.is_ascii_alphanumeric() && !"-_.".contains(c);
    match name.char_indices().find(|(_, c)| is_odd(*c)) {
        Some((at, c)) => {
            let message = format!("a host can't contain `{c}`");
            Err(PatternError::new(start + at..start + at + 1, message, "write letters, digits, `-` and `.`"))
        }
        None => Ok(()),
    }
}

/// Checks a name in the form that browsers give it (RFC 1035, 2.3.4). The error is a message and a hint.
fn check_name(name: &str) -> Result<(), (String, &'static str)> {
    let is_label = |label: &str| {
        (1..=63).contains(&label.len())
            && label.chars().all(|c| c.is_ascii_alphanumeric() || "-_".contains(c))
    };
    if name.len() > 253 {
        return Err(("the host is longer than 253 bytes".to_owned(), "shorten it"));
    }
    match name.split('.').find(|label| !is_label(label)) {
        Some("") => Err((format!("{} has an empty label", quoted(name)), "write one dot between two labels")),
        Some(label) if label.len() > 63 => {
            Err((format!("the label {} is longer than 63 bytes", quoted(label)), "shorten it"))
        }
        Some(label) => {
            Err((format!("invalid label {}", quoted(label)), "write letters, digits, `-` and `.`"))
        }
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests;
