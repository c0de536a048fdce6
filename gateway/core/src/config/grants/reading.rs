//! From the texts and tables of `allow.http` to grants, with a word on each that probably doesn't mean what it says.

use std::collections::BTreeSet;
use std::net::IpAddr;

use ipnet::IpNet;
use url::Host;

use super::is_public;
use super::outgoing::{HostPattern, HttpGrant, HttpScheme};
use super::pattern::{self, Fault, Pattern};
use crate::config::problem::{Problem, quoted};
use crate::config::reading::{Reading, Table, Text, TextOrTable, nearest};

/// The methods that HTTP has (RFC 9110, 5789, 10008), and those of WebDAV that are in use.
const METHODS: [&str; 16] = [
    "GET",
    "HEAD",
    "POST",
    "PUT",
    "PATCH",
    "DELETE",
    "OPTIONS",
    "QUERY",
    "TRACE",
    "PROPFIND",
    "PROPPATCH",
    "MKCOL",
    "COPY",
    "MOVE",
    "REPORT",
    "SEARCH",
];

impl Reading<'_> {
    /// Where requests may go.
    pub(super) fn http_grants(&mut self, allow: &Table<'_>) -> Vec<HttpGrant> {
        let items = self.texts_or_tables(allow, "http");
        let grants: Vec<_> = items.into_iter().filter_map(|item| self.http_grant(item)).collect();
        for (at, grant) in grants.iter().enumerate() {
            // Of two that say the same the later one is told.
            let covering = |(its, other): &(usize, &HttpGrant)| {
                *its != at && grant.is_within(other) && (*its < at || !other.is_within(grant))
            };
            if let Some((_, other)) = grants.iter().enumerate().find(covering) {
                let problem = Problem::warning(format!("{} adds nothing", quoted(&grant.written)));
                let problem =
                    problem.at(grant.place.clone()).related(other.place.clone(), "this grants it already");
                self.note(problem.hint("remove one of the two"));
            }
        }
        grants
    }

    fn http_grant(&mut self, item: TextOrTable<'_>) -> Option<HttpGrant> {
        let (text, methods, networks) = match item {
            TextOrTable::Text(text) => (text, None, None),
            TextOrTable::Table(table) => {
                let text = self.text(&table, "url");
                let methods = self.methods(&table);
                let networks = self.networks(&table);
                (text?, methods, Some(networks))
            }
        };
        let pattern = match pattern::parse(&text.text) {
            Ok(pattern) => pattern,
            Err(fault) => {
                self.fault(&text, fault);
                return None;
            }
        };
        self.judge(&text, &pattern, networks.as_deref());
        let Pattern { scheme, host, port, path, parts: _ } = pattern;
        let networks = networks.unwrap_or_default();
        Some(HttpGrant { place: text.place, written: text.text, scheme, host, port, methods, path, networks })
    }

    /// Notes what is wrong with a part of a text.
    pub(super) fn fault(&mut self, text: &Text, fault: Fault) {
        let Fault { part, message, hint, is_secret } = fault;
        let place = self.part(text, part);
        if is_secret {
            self.plain_secrets.push(place.clone());
        }
        self.note(Problem::error(message).at(place).hint(hint));
    }

    /// Looks whether a grant can do what it seems to; `networks`: those of its table, if it is one.
    fn judge(&mut self, text: &Text, pattern: &Pattern, networks: Option<&[IpNet]>) {
        let host = self.part(text, pattern.parts.host.clone());
        let own = &text.text[pattern.parts.host.clone()];
        let granted = networks.unwrap_or_default();
        let clear = pattern.scheme == HttpScheme::Http && granted.is_empty();
        let problem = match &pattern.host {
            HostPattern::Exactly(Host::Domain(name)) if is_this_machine(name) && granted.is_empty() => {
                let cure = with_networks(&text.text, networks, "\"127.0.0.0/8\", \"::1/128\"");
                let message = format!("no request will reach `{name}`, which isn't public");
                Problem::warning(message)
                    .at(host)
                    .hint(format!("{cure} to allow what this machine serves itself"))
            }
            HostPattern::Exactly(Host::Ipv4(address)) => {
                return self.judge_address(text, host, IpAddr::V4(*address), networks);
            }
            HostPattern::Exactly(Host::Ipv6(address)) => {
                return self.judge_address(text, host, IpAddr::V6(*address), networks);
            }
            HostPattern::Below(name) if is_top(name) => {
                let message = format!("{} stands for every name that ends in `.{name}`", quoted(own));
                Problem::warning(message)
                    .at(host)
                    .hint("name the domain that is meant, or write `*` for every name")
            }
            HostPattern::Exactly(Host::Domain(_)) | HostPattern::Below(_) | HostPattern::AnyName if clear => {
                let place = self.part(text, pattern.parts.scheme.clone());
                let message = "requests through `http` can be read and changed by whoever passes them on";
                Problem::warning(message)
                    .at(place)
                    .hint("write `https`, or name the network that the host is in: `networks`")
            }
            HostPattern::Exactly(Host::Domain(_)) | HostPattern::Below(_) | HostPattern::AnyName => return,
        };
        self.note(problem);
    }

    fn judge_address(
        &mut self,
        text: &Text,
        place: std::ops::Range<usize>,
        address: IpAddr,
        networks: Option<&[IpNet]>,
    ) {
        let granted = networks.unwrap_or_default();
        if is_public(address) || granted.iter().any(|network| network.contains(&address)) {
            return;
        }
        let network = format!("\"{}\"", IpNet::from(address));
        let cure = with_networks(&text.text, networks, &network);
        let problem = Problem::error(format!("`{address}` isn't a public address")).at(place);
        self.note(problem.hint(format!("{cure} to allow it")));
    }

    /// The methods of a grant; none: all.
    fn methods(&mut self, table: &Table<'_>) -> Option<BTreeSet<String>> {
        let texts = self.texts(table, "methods")?;
        let mut methods = BTreeSet::new();
        if let Some(value) =
            table.get("methods").filter(|value| value.inner.as_array().is_some_and(|list| list.is_empty()))
        {
            let problem = Problem::error("this grant allows no request at all").at(value.place);
            self.note(problem.hint("name methods such as \"GET\", or leave `methods` away for all"));
        }
        for text in texts {
            let method = text.text.to_ascii_uppercase();
            let shown = quoted(&text.text);
            let problem = if method == "*" {
                Problem::error("`*` is no method").hint("leave `methods` away for all")
            } else if !is_token(&method) {
                Problem::error(format!("{shown} is no method")).hint("write one such as \"GET\"")
            } else if method == "CONNECT" {
                Problem::error("`CONNECT` can't be granted")
                    .hint("it asks a proxy for a tunnel, and no proxy is used")
            } else if METHODS.contains(&method.as_str()) {
                if methods.insert(method) {
                    continue;
                }
                Problem::warning(format!("{shown} is named twice"))
            } else {
                let near = nearest(&method, METHODS.into_iter());
                methods.insert(method);
                let Some(near) = near else { continue };
                Problem::warning(format!("{shown} is no usual method"))
                    .hint(format!("did you mean `{near}`?"))
            };
            self.note(problem.at(text.place));
        }
        Some(methods)
    }
}

/// The line that grants networks as well, or what to add to it.
fn with_networks(url: &str, networks: Option<&[IpNet]>, network: &str) -> String {
    match networks {
        None => format!("write `{{ url = \"{url}\", networks = [{network}] }}`"),
        Some(_) => format!("put {network} into `networks`"),
    }
}

/// Names that no resolver is asked for (RFC 6761, 6.3).
fn is_this_machine(name: &str) -> bool {
    name == "localhost" || name.ends_with(".localhost")
}

/// Is it a domain right below the root, and none that people keep for their own networks (RFC 6761, 6762; ICANN's
/// `internal`)?
fn is_top(name: &str) -> bool {
    !name.contains('.')
        && !["localhost", "local", "internal", "test", "lan", "home", "corp", "intranet"].contains(&name)
}

/// RFC 9110, 5.6.2.
pub(super) fn is_token(text: &str) -> bool {
    !text.is_empty()
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte))
}
