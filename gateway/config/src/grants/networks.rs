//! `networks` of an HTTP grant: non-public networks that the grant allows.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ipnet::IpNet;

use super::http::report_pattern_error;
use crate::model::diagnostic::quoted;
use crate::model::http_path::PatternError;
use crate::model::{Diagnostic, contained_v4_network, is_public_address};
use crate::read::{ConfigReader, TomlString, TomlTable};

/// The addresses of cloud metadata services, which provide credentials.
const METADATA_ADDRESSES: [IpAddr; 5] = [
    IpAddr::V4(Ipv4Addr::new(169, 254, 169, 254)),
    IpAddr::V4(Ipv4Addr::new(100, 100, 100, 200)),
    IpAddr::V4(Ipv4Addr::new(168, 63, 129, 16)),
    IpAddr::V6(Ipv6Addr::new(0xfd20, 0xce, 0, 0, 0, 0, 0, 0x254)),
    IpAddr::V6(Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254)),
];

/// Reads the networks of a grant. `None` means that it doesn't name any.
pub(crate) fn read_networks(reader: &mut ConfigReader<'_>, table: &TomlTable<'_>) -> Option<Vec<IpNet>> {
    let mut networks: Vec<IpNet> = Vec::new();
    for text in reader.strings(table, "networks")? {
        match parse_network(&text.text) {
            Ok(network) => {
                check_network(reader, &text, network, &networks);
                networks.push(network);
            }
            Err(error) => {
                // The meaning of an address is clear, so report nothing else about it.
                networks.extend(text.text.parse::<IpAddr>().map(IpNet::from));
                report_pattern_error(reader, &text, error);
            }
        }
    }
    Some(networks)
}

fn check_network(reader: &mut ConfigReader<'_>, text: &TomlString, network: IpNet, earlier: &[IpNet]) {
    let problem = if let Some(other) = earlier.iter().find(|other| other.contains(&network)) {
        Diagnostic::warning(format!("redundant network: `{network}` is part of `{other}`"))
            .with_hint("remove it")
    } else if METADATA_ADDRESSES.iter().any(|address| network.contains(address))
        && network.prefix_len() < network.max_prefix_len()
    {
        let message = format!("`{network}` contains a cloud metadata address, which provides credentials");
        Diagnostic::warning(message).with_hint("grant a smaller network that doesn't contain it")
    } else if let Some(inner) = contained_v4_network(network) {
        let hint = match inner.map(IpNet::V4) {
            Some(inner) if is_public_network(inner) => "remove it: the IPv4 network is public".to_owned(),
            Some(inner) => format!("write `{inner}`"),
            None => "remove it; to allow non-public IPv4 addresses, write their network".to_owned(),
        };
        let message = format!("`{network}` has no effect: the IPv4 addresses in it are checked instead");
        Diagnostic::warning(message).with_hint(hint)
    } else if is_public_network(network) {
        Diagnostic::warning(format!("redundant network: `{network}` is public")).with_hint("remove it")
    } else {
        return;
    };
    reader.report(problem.with_span(text.span.clone()));
}

/// The prefix length of the largest non-public network.
fn min_prefix_len(network: IpNet) -> u8 {
    match network {
        IpNet::V4(_) => 8, // 10.0.0.0/8
        IpNet::V6(_) => 7, // fc00::/7
    }
}

fn is_public_network(network: IpNet) -> bool {
    // Small enough to contain nothing else between its first and last address.
    let small = match network {
        IpNet::V4(_) => 24,
        IpNet::V6(_) => 32,
    };
    network.prefix_len() >= small
        && is_public_address(network.network())
        && is_public_address(network.broadcast())
}

/// Parses a network such as `10.1.0.0/16`.
pub(crate) fn parse_network(text: &str) -> Result<IpNet, PatternError> {
    const NETWORK_HINT: &str = "write it like \"10.1.0.0/16\" or \"fd00::/8\"";
    let whole = 0..text.len();
    let invalid =
        || PatternError::new(whole.clone(), format!("invalid network {}", quoted(text)), NETWORK_HINT);
    let Some((address, length)) = text.split_once('/') else {
        return Err(match text.parse::<IpAddr>() {
            Ok(address) => PatternError::new(
                whole.clone(),
                format!("`{address}` is an address, not a network"),
                format!("write `{}` for this address alone", IpNet::from(address)),
            ),
            Err(_) => invalid(),
        });
    };
    let address: IpAddr = address.parse().map_err(|_| invalid())?;
    let after = text.len() - length.len()..text.len();
    let most = IpNet::from(address).max_prefix_len();
    let is_number = !length.is_empty() && length.bytes().all(|byte| byte.is_ascii_digit());
    let length = length.parse::<u8>().ok().filter(|length| is_number && *length <= most);
    let network = length.and_then(|length| IpNet::new(address, length).ok()).ok_or_else(|| {
        PatternError::new(after.clone(), "invalid prefix length", format!("write a number up to {most}"))
    })?;
    if let IpAddr::V6(address) = address
        && address.to_ipv4_mapped().is_some()
    {
        return Err(PatternError::new(
            whole,
            "invalid network: an IPv4 network in IPv6 notation",
            NETWORK_HINT,
        ));
    }
    if network.prefix_len() < min_prefix_len(network) {
        let message = format!("{} is too large: it contains public networks", quoted(text));
        let hint = match network {
            IpNet::V4(_) => {
                "write a smaller one, such as \"10.0.0.0/8\", \"172.16.0.0/12\" or \"192.168.0.0/16\""
            }
            IpNet::V6(_) => "write a smaller one, such as \"fc00::/7\" or \"fe80::/10\"",
        };
        return Err(PatternError::new(after, message, hint));
    }
    if network.addr() != network.network() {
        let message = format!("{} isn't a network: it has bits after its prefix", quoted(text));
        let hint = format!(
            "write `{}` for the network, or `{}` for the address",
            network.trunc(),
            IpNet::from(address)
        );
        return Err(PatternError::new(whole, message, hint));
    }
    Ok(network)
}
