//! The address of a client behind trusted proxies (`X-Forwarded-For`).
//!
//! Each proxy appends the address of its own peer. Only the entries of trusted proxies are reliable, so the header is
//! read from the right: the client is the first address that isn't a trusted proxy.

use std::net::{IpAddr, SocketAddr};

use axum::http::HeaderMap;
use ipnet::IpNet;

const FORWARDED_FOR: &str = "x-forwarded-for";

/// The proxies whose `X-Forwarded-For` is used.
#[derive(Debug)]
pub(super) struct TrustedProxies(Vec<IpNet>);

impl TrustedProxies {
    pub(super) fn new(networks: &[IpNet]) -> Self {
        Self(networks.to_vec())
    }

    /// The address of the client that sent a request over a connection from `peer`. An entry that isn't an address ends
    /// the search: the client is then the proxy that wrote it.
    pub(super) fn client(&self, peer: IpAddr, headers: &HeaderMap) -> IpAddr {
        let mut client = peer.to_canonical();
        let values = headers.get_all(FORWARDED_FOR).iter().rev();
        let mut entries = values.flat_map(|value| value.as_bytes().rsplit(|byte| *byte == b','));
        while self.contains(client) {
            let Some(address) = entries.next().and_then(parse_entry) else { break };
            client = address.to_canonical();
        }
        client
    }

    fn contains(&self, address: IpAddr) -> bool {
        self.0.iter().any(|network| network.contains(&address))
    }
}

/// An entry: an address, with a port that some proxies add.
fn parse_entry(entry: &[u8]) -> Option<IpAddr> {
    let text = str::from_utf8(entry).ok()?.trim_matches([' ', '\t']);
    let bracketed = || text.strip_prefix('[')?.strip_suffix(']')?.parse().ok().map(IpAddr::V6);
    let with_port = || text.parse().ok().map(|address: SocketAddr| address.ip());
    text.parse().ok().or_else(bracketed).or_else(with_port)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn client(trusted: &[&str], peer: &str, values: &[&str]) -> String {
        let networks: Vec<IpNet> = trusted.iter().map(|network| network.parse().unwrap()).collect();
        let mut headers = HeaderMap::new();
        for value in values {
            headers.append(FORWARDED_FOR, value.parse().unwrap());
        }
        TrustedProxies::new(&networks).client(peer.parse().unwrap(), &headers).to_string()
    }

    #[test]
    fn names_the_rightmost_address_that_is_not_a_trusted_proxy() {
        let trusted = ["10.0.0.0/8", "::1/128", "127.0.0.1/32"];
        for (peer, values, expected) in [
            ("10.0.0.1", &["203.0.113.7"][..], "203.0.113.7"),
            ("10.0.0.1", &["198.51.100.1, 203.0.113.7"], "203.0.113.7"),
            ("10.0.0.1", &["203.0.113.7,10.0.0.2 ,\t10.0.0.3"], "203.0.113.7"),
            ("10.0.0.1", &["198.51.100.1", "203.0.113.7", "10.0.0.2"], "203.0.113.7"),
            ("::ffff:10.0.0.1", &["::ffff:203.0.113.7"], "203.0.113.7"),
            ("127.0.0.1", &["203.0.113.7:4711"], "203.0.113.7"),
            ("::1", &["[2001:db8::7]:4711"], "2001:db8::7"),
            ("::1", &["[2001:db8::7]"], "2001:db8::7"),
            ("10.0.0.1", &["10.0.0.3, 10.0.0.2"], "10.0.0.3"),
            ("10.0.0.1", &[], "10.0.0.1"),
        ] {
            assert_eq!(client(&trusted, peer, values), expected, "{peer} {values:?}");
        }
    }

    #[test]
    fn ignores_the_header_of_other_peers_and_stops_at_invalid_entries() {
        let trusted = ["10.0.0.0/8"];
        assert_eq!(client(&trusted, "203.0.113.9", &["198.51.100.1"]), "203.0.113.9");
        assert_eq!(client(&[], "10.0.0.1", &["198.51.100.1"]), "10.0.0.1");
        for entry in
            ["", "unknown", "_hidden", "203.0.113", "203.0.113.7.8", "203.0.113.07", "a:1", "203.0.113.7:"]
        {
            let value = format!("198.51.100.1, {entry}, 10.0.0.2");
            assert_eq!(client(&trusted, "10.0.0.1", &[&value]), "10.0.0.2", "{entry}");
        }
    }
}
