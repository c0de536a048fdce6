//! Lines for `allow` that grant a denied request. Operators can paste them unchanged.
//!
//! Each line is valid, grants the request that it was made for in one step, and grants nothing wider: tests check every
//! one. A long line names fewer networks, never more paths or methods.

use std::net::IpAddr;

use ipnet::IpNet;
use serde_json::Value;
use url::Host;

use super::{DirMode, Grants, HttpGrant, HttpOrigin, RequestTarget, http_pattern, non_public_addresses};
use moongate_model::call::GrantFix;

/// The longest line that lists all networks, in bytes. A longer one omits those that it doesn't need.
const MAX_LINE_BYTES: usize = 360;

/// The loopback networks.
pub(crate) const LOCAL_NETWORKS: [&str; 2] = ["127.0.0.0/8", "::1/128"];

/// A string as a TOML literal. A JSON string is also a TOML string, except for one character that TOML requires to be
/// escaped.
#[must_use]
pub fn toml_string(text: &str) -> String {
    Value::from(text).to_string().replace('\u{7f}', "\\u007f")
}

impl Grants {
    /// The line that grants a request: its whole origin, or only its path and method if other requests to the origin
    /// are granted. If the host can only be in a non-public network, the line names that, too.
    #[must_use]
    pub fn suggest_http_grant(&self, target: &RequestTarget) -> String {
        let origin = target.origin();
        let granted: Vec<&HttpGrant> =
            self.http.iter().filter(|grant| grant.covers_origin(&origin)).collect();
        let mut networks: Vec<IpNet> = Vec::new();
        for network in granted.iter().flat_map(|grant| &grant.networks) {
            if !networks.contains(network) {
                networks.push(*network);
            }
        }
        let needed = known_networks(&origin.host);
        let is_granted = |network: &&IpNet| networks.iter().any(|its| its.contains(*network));
        let missing: Vec<IpNet> = needed.iter().filter(|network| !is_granted(network)).copied().collect();
        // A connection uses one of a name's addresses, but reaches everything that an address leads to.
        let one_suffices = matches!(origin.host, Host::Domain(_));
        if !one_suffices || missing.len() == needed.len() {
            networks.extend(missing);
        }
        if granted.is_empty() {
            return line(&origin.to_string(), &[], &networks);
        }
        // If servers could read the path in different ways, grant its parent.
        let ends = target.path().rmatch_indices('/').map(|(at, _)| at);
        let mut urls = std::iter::once(target.path().len())
            .chain(ends)
            .map(|end| format!("{origin}{}", &target.path()[..end]));
        let url = urls
            .find(|url| http_pattern::parse(url).is_ok_and(|pattern| target.is_below_path(&pattern.path)))
            .unwrap_or_else(|| origin.to_string());
        line_with_networks(&url, &[target.method()], &networks, &needed)
    }
}

impl HttpGrant {
    /// The line that also lets requests of this grant to one origin go to an address.
    #[must_use]
    pub fn suggest_for_address(&self, origin: &HttpOrigin, address: IpAddr) -> String {
        let needed: Vec<IpNet> = non_public_addresses(address).map(IpNet::from).collect();
        let is_granted = |network: &&IpNet| self.networks.iter().any(|its| its.contains(*network));
        let missing = needed.iter().filter(|network| !is_granted(network));
        let networks: Vec<IpNet> = self.networks.iter().chain(missing).copied().collect();
        let methods: Vec<&str> = self.methods.iter().flatten().map(String::as_str).collect();
        line_with_networks(&format!("{origin}{}", self.path), &methods, &networks, &needed)
    }
}

/// The line of `allow` that grants it, once the operator replaces each ellipsis with a directory.
#[must_use]
pub fn grant_line(fix: &GrantFix) -> String {
    match fix {
        GrantFix::Line(line) => line.clone(),
        GrantFix::ReadDirectory { guest } => format!("dirs = [{}]", readable_dir_entry(guest.as_deref())),
        GrantFix::ChangeDirectory { host, guest } => {
            format!("dirs = [{}]", dir_grant_entry(host, guest, DirMode::ReadWrite))
        }
    }
}

/// An entry of `dirs`.
#[must_use]
pub fn dir_grant_entry(host: &str, guest: &str, mode: DirMode) -> String {
    let [host, guest] = [host, guest].map(toml_string);
    format!("{{ host = {host}, guest = {guest}, mode = \"{}\" }}", mode.as_str())
}

/// A read-only entry of `dirs`, with an ellipsis for each path that only the operator knows.
#[must_use]
pub fn readable_dir_entry(guest: Option<&str>) -> String {
    const DIRECTORY_PLACEHOLDER: &str = "…";
    dir_grant_entry(DIRECTORY_PLACEHOLDER, guest.unwrap_or(DIRECTORY_PLACEHOLDER), DirMode::ReadOnly)
}

/// The line with all networks, or only with the needed ones if it would be too long.
fn line_with_networks(url: &str, methods: &[&str], all: &[IpNet], needed: &[IpNet]) -> String {
    let whole = line(url, methods, all);
    if whole.len() <= MAX_LINE_BYTES { whole } else { line(url, methods, needed) }
}

/// The non-public networks that a host is known to be in.
fn known_networks(host: &Host<String>) -> Vec<IpNet> {
    let of = |address: IpAddr| non_public_addresses(address).map(IpNet::from).collect();
    match host {
        Host::Ipv4(address) => of((*address).into()),
        Host::Ipv6(address) => of((*address).into()),
        Host::Domain(name) if is_localhost_name(name) => LOCAL_NETWORKS.map(parsed).to_vec(),
        Host::Domain(_) => Vec::new(),
    }
}

fn parsed(network: &str) -> IpNet {
    network.parse().expect("a network")
}

/// Reports whether it is a name of the machine itself (RFC 6761, 6.3).
#[must_use]
pub fn is_localhost_name(name: &str) -> bool {
    name == "localhost" || name.ends_with(".localhost")
}

fn line(url: &str, methods: &[&str], networks: &[IpNet]) -> String {
    if methods.is_empty() && networks.is_empty() {
        return format!("http = [\"{url}\"]");
    }
    let list = |items: Vec<String>| items.join(", ");
    let mut keys = format!("url = \"{url}\"");
    if !methods.is_empty() {
        let methods = list(methods.iter().map(|method| format!("\"{method}\"")).collect());
        keys.push_str(&format!(", methods = [{methods}]"));
    }
    if !networks.is_empty() {
        let networks = list(networks.iter().map(|network| format!("\"{network}\"")).collect());
        keys.push_str(&format!(", networks = [{networks}]"));
    }
    format!("http = [{{ {keys} }}]")
}

#[cfg(test)]
mod tests;
