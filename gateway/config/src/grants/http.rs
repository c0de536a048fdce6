//! `allow.http`: the destinations of a plugin's requests, with warnings about grants that probably don't do what was
//! intended.

use std::collections::BTreeSet;
use std::net::IpAddr;

use ipnet::IpNet;
use url::Host;

use super::networks::read_networks;
use crate::model::diagnostic::quoted;
use crate::model::http_path::PatternError;
use crate::model::http_pattern::{self, HttpPattern};
use crate::model::{
    Diagnostic, HostPattern, HttpGrant, HttpScheme, LOCAL_NETWORKS, TraceContextGrant, is_allowed_address,
    is_localhost_name, non_public_addresses,
};
use crate::read::{ConfigReader, TextOrTable, TomlString, TomlTable, TomlValue};
use moongate_model::text::nearest_name;

/// Methods that can't be granted: `CONNECT` opens a tunnel through a proxy, and the others echo the request with the
/// headers that the gateway added.
const FORBIDDEN_METHODS: [&str; 3] = ["CONNECT", "TRACE", "TRACK"];

/// The methods in use (RFC 9110, 5789, 4918, 3253, 5323).
const KNOWN_METHODS: [&str; 17] = [
    "GET",
    "HEAD",
    "POST",
    "PUT",
    "PATCH",
    "DELETE",
    "OPTIONS",
    "QUERY",
    "PROPFIND",
    "PROPPATCH",
    "MKCOL",
    "COPY",
    "MOVE",
    "LOCK",
    "UNLOCK",
    "REPORT",
    "SEARCH",
];

/// Top-level names of private networks (RFC 6761, 6762; ICANN's `internal`).
const PRIVATE_TOP_LEVEL_NAMES: [&str; 8] =
    ["localhost", "local", "internal", "test", "lan", "home", "corp", "intranet"];

/// The networks of a grant.
enum GrantNetworks {
    /// The grant is a string, which can't name any.
    NotPossible,
    /// The grant is a table that doesn't name any.
    NotNamed,
    Named(Vec<IpNet>),
}

impl GrantNetworks {
    fn allow(&self, address: IpAddr) -> bool {
        match self {
            Self::NotPossible | Self::NotNamed => is_allowed_address(address, &[]),
            Self::Named(networks) => is_allowed_address(address, networks),
        }
    }

    fn is_named(&self) -> bool {
        match self {
            Self::NotPossible | Self::NotNamed => false,
            Self::Named(_) => true,
        }
    }

    /// The hint to add networks to the grant of this URL.
    fn hint_to_add(&self, url: &str, networks: &str) -> String {
        match self {
            Self::NotPossible => format!("write `{{ url = \"{url}\", networks = [{networks}] }}`"),
            Self::NotNamed => format!("add `networks = [{networks}]`"),
            Self::Named(_) => format!("add {networks} to `networks`"),
        }
    }
}

/// Reads `allow.http`.
pub(crate) fn read_http_grants(reader: &mut ConfigReader<'_>, allow: &TomlTable<'_>) -> Vec<HttpGrant> {
    let items = reader.strings_or_tables(allow, "http");
    let grants: Vec<_> = items.into_iter().filter_map(|item| read_http_grant(reader, item)).collect();
    for (at, grant) in grants.iter().enumerate() {
        // Of two equal grants the later one is redundant.
        let is_covering = |(its, other): &(usize, &HttpGrant)| {
            let allows_something = grant.methods.as_ref().is_none_or(|methods| !methods.is_empty());
            *its != at
                && allows_something
                && grant.is_covered_by(other)
                && (*its < at || !other.is_covered_by(grant))
        };
        if let Some((_, other)) = grants.iter().enumerate().find(is_covering) {
            let problem = Diagnostic::warning(format!("redundant grant {}", quoted(&grant.display_pattern)));
            let problem = problem
                .with_span(grant.span.clone())
                .with_related(other.span.clone(), "already granted here");
            reader.report(problem.with_hint("remove one of the two"));
        }
    }
    grants
}

fn read_http_grant(reader: &mut ConfigReader<'_>, item: TextOrTable<'_>) -> Option<HttpGrant> {
    let (text, methods, networks, trace_context) = match item {
        TextOrTable::Text(text) => (text, None, GrantNetworks::NotPossible, TraceContextGrant::NotSent),
        TextOrTable::Table(table) => {
            let text = reader.string(&table, "url");
            let methods = read_methods(reader, &table);
            let networks =
                read_networks(reader, &table).map_or(GrantNetworks::NotNamed, GrantNetworks::Named);
            let trace_context = if reader.boolean(&table, "trace_context", false) {
                TraceContextGrant::Sent
            } else {
                TraceContextGrant::NotSent
            };
            (text?, methods, networks, trace_context)
        }
    };
    let pattern = match http_pattern::parse(&text.text) {
        Ok(pattern) => pattern,
        Err(error) => {
            report_pattern_error(reader, &text, error);
            return None;
        }
    };
    check_pattern(reader, &text, &pattern, &networks);
    let HttpPattern { scheme, host, port, path, parts: _ } = pattern;
    let networks = match networks {
        GrantNetworks::NotPossible | GrantNetworks::NotNamed => Vec::new(),
        GrantNetworks::Named(networks) => networks,
    };
    Some(HttpGrant {
        span: text.span,
        display_pattern: text.shown,
        scheme,
        host,
        port,
        methods,
        path,
        networks,
        trace_context,
    })
}

/// Reports an invalid part of a string.
pub(crate) fn report_pattern_error(reader: &mut ConfigReader<'_>, text: &TomlString, error: PatternError) {
    let PatternError { part, message, hint, is_secret } = error;
    let span = reader.part(&text.span, &text.text, part);
    if is_secret {
        reader.secret_spans.push(span.clone());
    }
    reader.report(Diagnostic::error(message).with_span(span).with_hint(hint));
}

/// Reports a grant that doesn't do what it appears to do.
fn check_pattern(
    reader: &mut ConfigReader<'_>,
    text: &TomlString,
    pattern: &HttpPattern,
    networks: &GrantNetworks,
) {
    let span = |part| reader.part(&text.span, &text.text, part);
    let host = span(pattern.parts.host.clone());
    let written = &text.text[pattern.parts.host.clone()];
    let address = match &pattern.host {
        HostPattern::Exact(Host::Ipv4(address)) => Some(IpAddr::V4(*address)),
        HostPattern::Exact(Host::Ipv6(address)) => Some(IpAddr::V6(*address)),
        HostPattern::Exact(Host::Domain(_)) | HostPattern::Subdomains(_) | HostPattern::AnyName => None,
    };
    let problem = match &pattern.host {
        _ if let Some(network) = address.and_then(|address| network_in_url(address, text, pattern)) => {
            let whole = span(pattern.parts.host.start..text.text.len());
            let message = format!("`url` can't contain the network `{network}`");
            let problem = if address.is_some_and(|address| networks.allow(address)) {
                Diagnostic::warning(message)
            } else {
                Diagnostic::error(message)
            };
            let hint = format!("write a host in `url`, and its network in `networks = [\"{network}\"]`");
            problem.with_span(whole).with_hint(hint)
        }
        _ if let Some(address) = address.filter(|address| !networks.allow(*address)) => {
            let needed: Vec<_> =
                non_public_addresses(address).map(|needed| format!("\"{}\"", IpNet::from(needed))).collect();
            let hint = networks.hint_to_add(&text.text, &needed.join(", "));
            let problem =
                Diagnostic::error(format!("{} isn't a public address", quoted(written))).with_span(host);
            problem.with_hint(format!("to allow it, {hint}"))
        }
        HostPattern::Exact(Host::Domain(name)) if is_localhost_name(name) && !networks.is_named() => {
            let [v4, v6] = LOCAL_NETWORKS;
            let hint = networks.hint_to_add(&text.text, &format!("\"{v4}\", \"{v6}\""));
            let message = format!("requests to {} are denied: the host isn't public", quoted(written));
            Diagnostic::warning(message).with_span(host).with_hint(format!("to allow it, {hint}"))
        }
        HostPattern::Subdomains(name) if is_top_level(name) => {
            let message = format!("{} matches every host that ends in `.{name}`", quoted(written));
            Diagnostic::warning(message).with_span(host).with_hint("write a domain, or `*` for every host")
        }
        _ if pattern.scheme == HttpScheme::Http && !networks.is_named() => {
            let message = "`http` requests aren't encrypted and can be modified in transit";
            let problem = Diagnostic::warning(message).with_span(span(pattern.parts.scheme.clone()));
            problem.with_hint("write `https`, or name the host's network in `networks`")
        }
        _ if let Some((path, port)) = port_after_path(&pattern.path) => {
            let before = &text.text[..pattern.parts.host.end];
            let problem = Diagnostic::warning(format!("`:{port}` is a part of the path here, not a port"));
            let problem = problem.with_span(span(pattern.parts.path.clone()));
            problem.with_hint(format!("write the port after the host: \"{before}:{port}{path}\""))
        }
        HostPattern::Exact(_) | HostPattern::Subdomains(_) | HostPattern::AnyName => return,
    };
    reader.report(problem);
}

/// Reads the methods of a grant. `None` means all.
fn read_methods(reader: &mut ConfigReader<'_>, table: &TomlTable<'_>) -> Option<BTreeSet<String>> {
    let texts = reader.strings(table, "methods")?;
    let mut methods = BTreeSet::new();
    let is_empty = |value: &TomlValue<'_>| value.inner.as_array().is_some_and(|list| list.is_empty());
    if let Some(value) = table.get("methods").filter(is_empty) {
        let problem = Diagnostic::error("an empty `methods` allows no request").with_span(value.span);
        reader.report(problem.with_hint("add methods such as \"GET\", or remove `methods` to allow all"));
    }
    for text in texts {
        let method = text.text.to_ascii_uppercase();
        let shown = quoted(&text.text);
        let problem = if method == "*" {
            Diagnostic::error("invalid method `*`").with_hint("remove `methods` to allow all")
        } else if !is_http_token(&method) {
            Diagnostic::error(format!("invalid method {shown}")).with_hint("write one such as \"GET\"")
        } else if FORBIDDEN_METHODS.contains(&method.as_str()) {
            Diagnostic::error(format!("{shown} can't be granted"))
                .with_hint("remove it: plugins can't use it")
        } else {
            let near = nearest_name(&method, KNOWN_METHODS.into_iter()).filter(|known| *known != method);
            match (methods.insert(method), near) {
                (false, _) => Diagnostic::warning(format!("duplicate method {shown}")).with_hint("remove it"),
                (true, Some(known)) => Diagnostic::warning(format!("unusual method {shown}"))
                    .with_hint(format!("did you mean `{known}`?")),
                (true, None) => continue,
            }
        };
        reader.report(problem.with_span(text.span));
    }
    Some(methods)
}

/// The network that an address in a URL names, if its path is a prefix length.
fn network_in_url(address: IpAddr, text: &TomlString, pattern: &HttpPattern) -> Option<IpNet> {
    let length = text.text[pattern.parts.path.clone()].trim_matches('/').parse().ok()?;
    IpNet::new(address, length).ok().filter(|network| network.network() == address && length > 0)
}

/// A path that ends with a port, and the port.
fn port_after_path(path: &str) -> Option<(&str, u16)> {
    let (path, port) = path.rsplit_once(':')?;
    Some((path, port.parse().ok()?))
}

/// Reports whether it is a public top-level domain.
fn is_top_level(name: &str) -> bool {
    !name.contains('.') && !PRIVATE_TOP_LEVEL_NAMES.contains(&name)
}

/// Reports whether it is a token (RFC 9110, 5.6.2).
pub(crate) fn is_http_token(text: &str) -> bool {
    !text.is_empty()
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte))
}
