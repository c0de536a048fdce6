//! Public addresses: those that are reachable from anywhere on the internet.
//!
//! They follow IANA's registries of special-purpose addresses (RFC 6890 and its successors). An IPv6 address that contains
//! an IPv4 address is judged by that one, because translators and tunnels send the connection there.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ipnet::{IpNet, Ipv4Net, Ipv6Net};

/// Non-public IPv4 networks: address and prefix length.
const NON_PUBLIC_V4: [([u8; 4], u32); 16] = [
    ([0, 0, 0, 0], 8),        // this host
    ([10, 0, 0, 0], 8),       // private
    ([100, 64, 0, 0], 10),    // shared address space of providers
    ([127, 0, 0, 0], 8),      // loopback
    ([168, 63, 129, 16], 32), // metadata of Azure
    ([169, 254, 0, 0], 16),   // link-local, with the metadata of clouds
    ([172, 16, 0, 0], 12),    // private
    ([192, 0, 0, 0], 24),     // protocols
    ([192, 0, 2, 0], 24),     // documentation
    ([192, 88, 99, 0], 24),   // 6to4 relays
    ([192, 168, 0, 0], 16),   // private
    ([198, 18, 0, 0], 15),    // benchmarks
    ([198, 51, 100, 0], 24),  // documentation
    ([203, 0, 113, 0], 24),   // documentation
    ([224, 0, 0, 0], 4),      // multicast
    ([240, 0, 0, 0], 4),      // reserved, and broadcast
];

/// IPv6 networks whose addresses lead only to the IPv4 address that starts at this bit.
const V4_IN_V6: [(Ipv6Net, u8); 4] = [
    (network([0, 0, 0, 0, 0, 0xffff, 0, 0], 96), 96), // IPv4-mapped (RFC 4291)
    (network([0, 0, 0, 0, 0xffff, 0, 0, 0], 96), 96), // IPv4-translated (RFC 2765)
    (network([0x64, 0xff9b, 0, 0, 0, 0, 0, 0], 96), 96), // NAT64 (RFC 6052)
    (network([0x2002, 0, 0, 0, 0, 0, 0, 0], 16), 16), // 6to4 (RFC 3056)
];

/// IPv4-compatible addresses (RFC 4291), except for `::` and `::1`.
const V4_COMPATIBLE: Ipv6Net = network([0; 8], 96);

/// Teredo (RFC 4380): the server's address, and the client's address inverted.
const TEREDO: Ipv6Net = network([0x2001, 0, 0, 0, 0, 0, 0, 0], 32);

/// NAT64 prefixes of a local network (RFC 8215), which can have any length.
const LOCAL_NAT64: Ipv6Net = network([0x64, 0xff9b, 1, 0, 0, 0, 0, 0], 48);

/// The part of ISATAP's interface identifiers (RFC 5214) before the IPv4 address, and the bit that marks that as unique.
const ISATAP: u16 = 0x5efe;
const ISATAP_UNIQUE: u16 = 0x0200;

const fn network(segments: [u16; 8], length: u8) -> Ipv6Net {
    let [a, b, c, d, e, f, g, h] = segments;
    Ipv6Net::new_assert(Ipv6Addr::new(a, b, c, d, e, f, g, h), length)
}

/// Reports whether the address is public, and leads only to public ones.
#[must_use]
pub fn is_public_address(address: IpAddr) -> bool {
    is_allowed_address(address, &[])
}

/// Reports whether everything that a connection to this address reaches is public or in one of these networks.
pub(crate) fn is_allowed_address(address: IpAddr, networks: &[IpNet]) -> bool {
    non_public_addresses(address).all(|reached| networks.iter().any(|network| network.contains(&reached)))
}

/// The non-public addresses that a connection to this address can reach.
pub(crate) fn non_public_addresses(address: IpAddr) -> impl Iterator<Item = IpAddr> {
    reached_addresses(address).into_iter().filter(|reached| match reached {
        IpAddr::V4(reached) => !is_public_v4(*reached),
        IpAddr::V6(reached) => !is_public_v6(*reached),
    })
}

/// The addresses that a connection to this address can reach: itself, or the IPv4 addresses that it contains. It is
/// itself included if the connection goes through its own network first.
#[must_use]
pub fn reached_addresses(address: IpAddr) -> Vec<IpAddr> {
    let IpAddr::V6(address) = address else { return vec![address] };
    let bits = address.to_bits();
    let mut reached: Vec<IpAddr> = Vec::new();
    let whole = V4_IN_V6.iter().find(|(network, _)| network.contains(&address));
    if let Some((_, start)) = whole {
        reached.push(v4_at(bits, *start).into());
    } else if V4_COMPATIBLE.contains(&address) && bits > 1 {
        reached.push(v4_at(bits, 96).into());
    } else if TEREDO.contains(&address) {
        reached.push(v4_at(bits, 32).into());
        reached.push(Ipv4Addr::from_bits(!v4_at(bits, 96).to_bits()).into());
    } else {
        reached.push(address.into());
    }
    if LOCAL_NAT64.contains(&address) {
        // The length of the prefix isn't known, so every reading counts, except for one that can't be a destination.
        let readings = [48, 56, 64, 96].map(|length| v4_after_prefix(bits, length));
        reached.extend(readings.into_iter().filter(|read| read.octets()[0] != 0).map(IpAddr::V4));
    }
    let [.., unique, isatap, _, _] = address.segments();
    if isatap == ISATAP && unique & !ISATAP_UNIQUE == 0 {
        reached.push(v4_at(bits, 96).into());
    }
    reached
}

/// The IPv4 address that starts at this bit.
fn v4_at(bits: u128, start: u8) -> Ipv4Addr {
    let [a, b, c, d, ..] = (bits << start).to_be_bytes();
    Ipv4Addr::new(a, b, c, d)
}

/// The IPv4 address after a NAT64 prefix of this length. The bits 64 to 71 aren't part of it (RFC 6052, 2.2).
fn v4_after_prefix(bits: u128, length: u8) -> Ipv4Addr {
    if length == 96 {
        return v4_at(bits, length);
    }
    let before = (bits >> 64) << 64;
    let after = (bits << 72) >> 64;
    v4_at(before | after, length)
}

/// The IPv4 network that an IPv6 network represents, if its addresses lead only to IPv4 addresses. Granting the IPv6
/// network then has no effect. The inner `None` means that there isn't exactly one.
pub(crate) fn contained_v4_network(network: IpNet) -> Option<Option<Ipv4Net>> {
    let IpNet::V6(network) = network else { return None };
    let contains = |outer: &Ipv6Net| outer.contains(&network);
    if contains(&TEREDO) {
        return Some(None);
    }
    let compatible = (contains(&V4_COMPATIBLE) && network.network().to_bits() > 1).then_some(96);
    let start = V4_IN_V6.iter().find(|(outer, _)| contains(outer)).map(|(_, start)| *start).or(compatible)?;
    let length = (network.prefix_len() - start).min(32);
    Some(Ipv4Net::new(v4_at(network.network().to_bits(), start), length).ok().filter(|_| length > 0))
}

fn is_public_v4(address: Ipv4Addr) -> bool {
    let bits = address.to_bits();
    !NON_PUBLIC_V4.iter().any(|(network, length)| {
        let shift = u32::BITS - length;
        bits >> shift == Ipv4Addr::from_octets(*network).to_bits() >> shift
    })
}

/// Only 2000::/3 is allocated for the internet, except for protocols (2001::/23) and documentation (2001:db8::/32,
/// 3fff::/20).
fn is_public_v6(address: Ipv6Addr) -> bool {
    let [first, second, ..] = address.segments();
    let allocated = first & 0xe000 == 0x2000;
    let special = match first {
        0x2001 => second < 0x0200 || second == 0x0db8,
        0x3fff => second < 0x1000,
        _ => false,
    };
    allocated && !special
}

#[cfg(test)]
mod tests;
