//! What to write into `allow` so that a request goes through: the line that an operator can take over as it is.
//!
//! Each is accepted by the reader of the file and grants the request that it was made for, in one step, and nothing that
//! is wider than this: a test follows every one. One that would be long names fewer networks, never more paths or
//! methods.

use std::net::IpAddr;

use ipnet::IpNet;
use url::Host;

use crate::config::model::http_grant::{HttpGrant, HttpOrigin, Target};
use crate::config::grants::{ClientFeature, DirMode, Grants, is_public, pattern};
use crate::call::Cure;
use crate::config::literal;

/// A line that is longer, in bytes, is written without the networks that it needn't name.
const LONGEST: usize = 360;

impl Grants {
    /// The line that would grant a request: its whole origin, or only its path and method where others of the origin
    /// are granted. Where the host can only be in a network that isn't public, that is named, too.
    #[must_use]
    pub fn cure(&self, target: &Target) -> String {
        let origin = target.origin();
        let granted: Vec<&HttpGrant> =
            self.http.iter().filter(|grant| grant.covers_origin(&origin)).collect();
        let mut networks: Vec<IpNet> = Vec::new();
        for network in granted.iter().flat_map(|grant| &grant.networks) {
            if !networks.contains(network) {
                networks.push(*network);
            }
        }
        let needed = networks_of(&origin.host);
        if !needed.iter().any(|network| networks.iter().any(|its| its.contains(network))) {
            networks.extend(&needed);
        }
        if granted.is_empty() {
            return line(&origin.to_string(), &[], &networks);
        }
        // A path that servers read in different ways is granted with what lies above it.
        let ends = target.path().rmatch_indices('/').map(|(at, _)| at);
        let mut urls = std::iter::once(target.path().len())
            .chain(ends)
            .map(|end| format!("{origin}{}", &target.path()[..end]));
        let url = urls
            .find(|url| pattern::parse(url).is_ok_and(|pattern| target.is_at(&pattern.path)))
            .unwrap_or_else(|| origin.to_string());
        of_networks(&url, &[target.method()], &networks, &needed)
    }
}

impl HttpGrant {
    /// The line that would let requests of this grant to one origin go to an address, too.
    #[must_use]
    pub fn cure(&self, origin: &HttpOrigin, address: IpAddr) -> String {
        let mut networks = self.networks.clone();
        networks.push(address.into());
        let methods: Vec<&str> = self.methods.iter().flatten().map(String::as_str).collect();
        of_networks(&format!("{origin}{}", self.path), &methods, &networks, &[address.into()])
    }
}

impl ClientFeature {
    /// The line that lets a plugin ask the client for this.
    #[must_use]
    pub fn cure(self) -> String {
        format!("client = [\"{}\"]", self.as_str())
    }
}

impl Cure {
    /// The line that grants it, once the operator has put a directory of the machine where there is an ellipsis.
    #[must_use]
    pub fn line(&self) -> String {
        match self {
            Self::Line(line) => line.clone(),
            Self::ReadDirectory { guest } => format!("dirs = [{}]", directory_to_read(guest.as_deref())),
            Self::ChangeDirectory { host, guest } => {
                format!("dirs = [{}]", directory_item(host, guest, DirMode::ReadWrite))
            }
        }
    }
}

/// What stands for a directory in `dirs`.
#[must_use]
pub fn directory_item(host: &str, guest: &str, mode: DirMode) -> String {
    let [host, guest] = [host, guest].map(literal);
    format!("{{ host = {host}, guest = {guest}, mode = \"{}\" }}", mode.as_str())
}

/// The same for one that is to be read and that only the operator knows, and perhaps only they can name.
#[must_use]
pub fn directory_to_read(guest: Option<&str>) -> String {
    const OPEN: &str = "…";
    directory_item(OPEN, guest.unwrap_or(OPEN), DirMode::ReadOnly)
}

/// The line with all networks, or only with those that it can't do without.
fn of_networks(url: &str, methods: &[&str], all: &[IpNet], needed: &[IpNet]) -> String {
    let whole = line(url, methods, all);
    if whole.len() <= LONGEST { whole } else { line(url, methods, needed) }
}

/// The networks that a host is known to be in though it isn't public.
fn networks_of(host: &Host<String>) -> Vec<IpNet> {
    let alone = |address: IpAddr| if is_public(address) { Vec::new() } else { vec![address.into()] };
    match host {
        Host::Ipv4(address) => alone((*address).into()),
        Host::Ipv6(address) => alone((*address).into()),
        Host::Domain(name) if is_this_machine(name) => THIS_MACHINE.map(parsed).to_vec(),
        Host::Domain(_) => Vec::new(),
    }
}

/// Where a machine reaches itself.
pub(in crate::config) const THIS_MACHINE: [&str; 2] = ["127.0.0.0/8", "::1/128"];

fn parsed(network: &str) -> IpNet {
    network.parse().expect("a network")
}

/// Is it a name that stands for the machine itself, whoever is asked (RFC 6761, 6.3)?
#[must_use]
pub fn is_this_machine(name: &str) -> bool {
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
