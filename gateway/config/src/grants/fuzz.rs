//! Properties of any grant and any request, as a plain function for the seeded loop in the tests and for fuzzers.
//!
//! The oracle parses the grant in its own simple way, and the request's URL with the `url` crate alone.

use std::net::Ipv6Addr;

use ipnet::IpNet;
use url::Url;

use super::credentials::parse_origin;
use super::networks::parse_network;
use crate::model::http_path::PatternError;
use crate::model::http_pattern::{self, HttpPattern};
use crate::model::{HttpGrant, HttpScheme, RequestTarget, TraceContextGrant};

/// Parses a grant, a URL and a network from one line each. Every error has a location, and a grant covers a request if
/// and only if scheme, host, port and path match, no matter how often a server decodes the path.
///
/// # Panics
/// A property is violated.
pub fn fuzz_grant(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let mut lines = text.splitn(3, '\n');
    let mut next = || lines.next().unwrap_or_default();
    let written = next();
    let url = next();
    let net = next();
    match parse_network(net) {
        Ok(network) => {
            assert_eq!(network.addr(), network.network(), "{net} is an address inside a network");
            assert_eq!(network.to_string().parse::<IpNet>().as_ref(), Ok(&network));
        }
        Err(error) => assert_has_place(&error, net),
    }
    if let Err(error) = parse_origin(written) {
        assert_has_place(&error, written);
    }
    let pattern = match http_pattern::parse(written) {
        Ok(pattern) => pattern,
        Err(error) => return assert_has_place(&error, written),
    };
    let HttpPattern { scheme, host, port, path, parts } = pattern;
    for part in [parts.scheme, parts.host, parts.path] {
        assert!(written.get(part).is_some(), "a part of {written:?} is outside of it");
    }
    let grant = HttpGrant {
        span: 0..0,
        display_pattern: written.to_owned(),
        scheme,
        host,
        port,
        methods: None,
        path,
        networks: Vec::new(),
        trace_context: TraceContextGrant::NotSent,
    };
    assert!(grant.is_covered_by(&grant));
    let Ok(target) = RequestTarget::new("GET", url) else { return };
    let asked = url;
    assert!(
        RequestTarget::new("GET", &target.origin().to_string())
            .is_ok_and(|its| its.origin() == target.origin())
    );
    let url = Url::parse(url).expect("a target is a URL");
    let covered = grant.covers(&target);
    let should_be = is_allowed(&grant, written, &url);
    assert!(should_be || !covered, "{written} covers {url}");
    if !asked.contains('%') && !asked.contains("/.") {
        assert!(covered || !should_be, "{written} doesn't cover {url}");
    }
}

fn assert_has_place(PatternError { part, message, hint, is_secret: _ }: &PatternError, text: &str) {
    assert!(text.get(part.clone()).is_some(), "{part:?} isn't a part of {text:?}");
    assert!(!message.is_empty() && !hint.is_empty());
}

/// Reports whether the grant's text allows this URL.
fn is_allowed(grant: &HttpGrant, written: &str, url: &Url) -> bool {
    let (scheme, rest) = written.split_once("://").expect("a grant has a scheme");
    let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    let (host, port) = match authority.rsplit_once(':') {
        Some((host, port)) if !port.ends_with(']') => (host, port.parse().ok()),
        _ => (authority, None),
    };
    let usual = match grant.scheme {
        HttpScheme::Http => 80,
        HttpScheme::Https => 443,
    };
    scheme.eq_ignore_ascii_case(url.scheme())
        && url.port_or_known_default() == Some(port.unwrap_or(usual))
        && is_host(host, url)
        && is_below(path, url.path())
}

fn is_host(written: &str, url: &Url) -> bool {
    let bare = |name: &str| name.strip_suffix('.').unwrap_or(name).to_owned();
    // The `url` crate converts non-ASCII letters.
    let written = match written.strip_prefix("*.") {
        Some(name) => format!("*.{}", ascii(name)),
        None => ascii(written),
    };
    let written = bare(&written);
    let asked = bare(url.host_str().unwrap_or_default());
    if let Some(address) = written.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
        let asked = asked.trim_matches(['[', ']']).parse::<Ipv6Addr>();
        return asked.is_ok() && asked == address.parse();
    }
    match written.strip_prefix('*') {
        Some("") => url.domain().is_some(),
        Some(below) => url.domain().is_some() && asked.len() > below.len() && asked.ends_with(below),
        None => asked == written,
    }
}

fn ascii(name: &str) -> String {
    let read = Url::parse(&format!("http://{name}")).ok();
    read.and_then(|url| url.host_str().map(str::to_owned)).unwrap_or_else(|| name.to_ascii_lowercase())
}

/// Reports whether a path is below another for a server that decodes it up to three times and then resolves `..`.
fn is_below(outer: &str, path: &str) -> bool {
    let base = Url::parse("http://a").expect("a valid URL");
    let outer = base.join(if outer.is_empty() { "/" } else { outer }).expect("a valid path");
    let mut outer = outer.path().as_bytes().to_vec();
    let mut path = path.as_bytes().to_vec();
    if outer == b"/" {
        return true;
    }
    (0..4).all(|_| {
        let is_below = segments(&path).starts_with(&segments(&outer));
        outer = decoded(&outer);
        path = decoded(&path);
        is_below
    })
}

/// The segments of a resolved path.
fn segments(path: &[u8]) -> Vec<Vec<u8>> {
    let mut segments = Vec::new();
    for segment in path.split(|byte| matches!(byte, b'/' | b'\\')).skip(1) {
        match segment.split(|byte| *byte == b';').next().unwrap_or_default() {
            b"." => {}
            b".." => drop(segments.pop()),
            _ => segments.push(segment.to_vec()),
        }
    }
    while segments.last().is_some_and(Vec::is_empty) {
        segments.pop();
    }
    segments
}

fn decoded(text: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text;
    while let [first, tail @ ..] = rest {
        let digit = |at: usize| tail.get(at).and_then(|byte| char::from(*byte).to_digit(16));
        match (first, digit(0), digit(1)) {
            (b'%', Some(high), Some(low)) => {
                out.extend(u8::try_from(high * 16 + low));
                rest = &tail[2..];
            }
            _ => {
                out.push(*first);
                rest = tail;
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    #[test]
    fn grants_cover_only_their_pattern() {
        moongate_model::seeded::seeded("grant", crate::grants::fuzz_grant);
    }
}
