//! From the texts and tables of `allow.http` to grants, with a word on each that probably doesn't mean what it says.

use std::collections::BTreeSet;
use std::net::IpAddr;

use ipnet::IpNet;
use url::Host;

use crate::config::model::suggest::{THIS_MACHINE, is_this_machine};
use crate::config::grants::is_public;
use crate::config::model::http_grant::{HostPattern, HttpGrant, HttpScheme};
use crate::config::model::http_pattern::{self, Fault, Pattern};
use crate::config::model::diagnostic::{Problem, quoted};
use crate::config::read::reader::{Reading, Table, Text, TextOrTable};
use crate::names::alike;

/// The one asks a proxy for a tunnel; the others ask to see the request as it came, with what the gateway added to it.
const NEVER: [&str; 3] = ["CONNECT", "TRACE", "TRACK"];

/// The methods that are in use (RFC 9110, 5789, 4918, 3253, 5323).
const METHODS: [&str; 17] = [
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

/// What a grant's networks are.
enum Networks {
    /// It is a text alone, which can't name any.
    Nowhere,
    /// It is a table that doesn't name any.
    Unnamed,
    Named(Vec<IpNet>),
}

impl Networks {
    fn has(&self, address: IpAddr) -> bool {
        match self {
            Self::Nowhere | Self::Unnamed => false,
            Self::Named(networks) => networks.iter().any(|network| network.contains(&address)),
        }
    }

    fn is_named(&self) -> bool {
        match self {
            Self::Nowhere | Self::Unnamed => false,
            Self::Named(_) => true,
        }
    }

    /// How `more` are granted to the grant of this URL.
    fn cure(&self, url: &str, more: &str) -> String {
        match self {
            Self::Nowhere => format!("write `{{ url = \"{url}\", networks = [{more}] }}`"),
            Self::Unnamed => format!("add `networks = [{more}]`"),
            Self::Named(_) => format!("put {more} into `networks`"),
        }
    }
}

impl Reading<'_> {
    /// Where requests may go.
    pub(in crate::config) fn http_grants(&mut self, allow: &Table<'_>) -> Vec<HttpGrant> {
        let items = self.texts_or_tables(allow, "http");
        let grants: Vec<_> = items.into_iter().filter_map(|item| self.http_grant(item)).collect();
        for (at, grant) in grants.iter().enumerate() {
            // Of two that say the same the later one is told.
            let covering = |(its, other): &(usize, &HttpGrant)| {
                let is_something = grant.methods.as_ref().is_none_or(|methods| !methods.is_empty());
                *its != at && is_something && grant.is_within(other) && (*its < at || !other.is_within(grant))
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
            TextOrTable::Text(text) => (text, None, Networks::Nowhere),
            TextOrTable::Table(table) => {
                let text = self.text(&table, "url");
                let methods = self.methods(&table);
                let networks = self.networks(&table).map_or(Networks::Unnamed, Networks::Named);
                (text?, methods, networks)
            }
        };
        let pattern = match pattern::parse(&text.text) {
            Ok(pattern) => pattern,
            Err(fault) => {
                self.fault(&text, fault);
                return None;
            }
        };
        self.judge(&text, &pattern, &networks);
        let Pattern { scheme, host, port, path, parts: _ } = pattern;
        let networks = match networks {
            Networks::Nowhere | Networks::Unnamed => Vec::new(),
            Networks::Named(networks) => networks,
        };
        let written = text.without_secrets();
        Some(HttpGrant { place: text.place, written, scheme, host, port, methods, path, networks })
    }

    /// Notes what is wrong with a part of a text.
    pub(in crate::config) fn fault(&mut self, text: &Text, fault: Fault) {
        let Fault { part, message, hint, is_secret } = fault;
        let place = self.part(text, part);
        if is_secret {
            self.plain_secrets.push(place.clone());
        }
        self.note(Problem::error(message).at(place).hint(hint));
    }

    /// Looks whether a grant can do what it seems to.
    fn judge(&mut self, text: &Text, pattern: &Pattern, networks: &Networks) {
        let host = self.part(text, pattern.parts.host.clone());
        let written = &text.text[pattern.parts.host.clone()];
        let address = match &pattern.host {
            HostPattern::Exactly(Host::Ipv4(address)) => Some(IpAddr::V4(*address)),
            HostPattern::Exactly(Host::Ipv6(address)) => Some(IpAddr::V6(*address)),
            HostPattern::Exactly(Host::Domain(_)) | HostPattern::Below(_) | HostPattern::AnyName => None,
        };
        let problem = match &pattern.host {
            _ if let Some(network) = address.and_then(|address| network_in(address, text, pattern)) => {
                let whole = self.part(text, pattern.parts.host.start..text.text.len());
                let message = format!("`{network}` is a network, which `url` can't name");
                let problem = if address.is_some_and(|address| is_public(address) || networks.has(address)) {
                    Problem::warning(message)
                } else {
                    Problem::error(message)
                };
                problem.at(whole).hint(format!(
                    "name a host in `url`, and the network it is in beside it: `networks = [\"{network}\"]`"
                ))
            }
            _ if address.is_some_and(|address| !is_public(address) && !networks.has(address)) => {
                let network =
                    address.map(|address| format!("\"{}\"", IpNet::from(address))).unwrap_or_default();
                let cure = networks.cure(&text.text, &network);
                let problem = Problem::error(format!("{} isn't a public address", quoted(written)));
                problem.at(host).hint(format!("{cure} to allow it"))
            }
            HostPattern::Exactly(Host::Domain(name)) if is_this_machine(name) && !networks.is_named() => {
                let [v4, v6] = THIS_MACHINE;
                let cure = networks.cure(&text.text, &format!("\"{v4}\", \"{v6}\""));
                let message = format!("no request will reach {}, which isn't public", quoted(written));
                let problem = Problem::warning(message).at(host);
                problem.hint(format!("{cure} to allow what this machine serves itself"))
            }
            HostPattern::Below(name) if is_top(name) => {
                let message = format!("{} stands for every name that ends in `.{name}`", quoted(written));
                let problem = Problem::warning(message).at(host);
                problem.hint("name the domain that is meant, or write `*` for every name")
            }
            _ if pattern.scheme == HttpScheme::Http && !networks.is_named() => {
                let place = self.part(text, pattern.parts.scheme.clone());
                let message = "requests through `http` can be read and changed by whoever passes them on";
                let hint = "write `https`, or name the network that the host is in: `networks`";
                Problem::warning(message).at(place).hint(hint)
            }
            _ if let Some((path, port)) = port_behind(&pattern.path) => {
                let place = self.part(text, pattern.parts.path.clone());
                let before = &text.text[..pattern.parts.host.end];
                let problem = Problem::warning(format!("`:{port}` is a part of the path here, and no port"));
                problem.at(place).hint(format!("write the port behind the host: \"{before}:{port}{path}\""))
            }
            HostPattern::Exactly(_) | HostPattern::Below(_) | HostPattern::AnyName => return,
        };
        self.note(problem);
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
            } else if NEVER.contains(&method.as_str()) {
                Problem::error(format!("{shown} can't be granted"))
                    .hint("no request of a plugin is sent by it")
            } else {
                let slip = alike(&method, METHODS.into_iter()).filter(|known| *known != method);
                match (methods.insert(method), slip) {
                    (false, _) => Problem::warning(format!("{shown} is named twice")).hint("remove it"),
                    (true, Some(known)) => Problem::warning(format!("{shown} is no usual method"))
                        .hint(format!("did you mean `{known}`?")),
                    (true, None) => continue,
                }
            };
            self.note(problem.at(text.place));
        }
        Some(methods)
    }
}

/// The network that a grant of an address names, where its path is the length of one.
fn network_in(address: IpAddr, text: &Text, pattern: &Pattern) -> Option<IpNet> {
    let length = text.text[pattern.parts.path.clone()].trim_matches('/').parse().ok()?;
    IpNet::new(address, length).ok().filter(|network| network.network() == address && length > 0)
}

/// A path that ends with a port, and that port.
fn port_behind(path: &str) -> Option<(&str, u16)> {
    let (path, port) = path.rsplit_once(':')?;
    Some((path, port.parse().ok()?))
}

/// Is it a domain right below the root, and none that people keep for their own networks (RFC 6761, 6762; ICANN's
/// `internal`)?
fn is_top(name: &str) -> bool {
    !name.contains('.')
        && !["localhost", "local", "internal", "test", "lan", "home", "corp", "intranet"].contains(&name)
}

/// RFC 9110, 5.6.2.
pub(in crate::config) fn is_token(text: &str) -> bool {
    !text.is_empty()
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte))
}
