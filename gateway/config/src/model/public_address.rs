//! Public addresses: those that are reachable from anywhere on the internet.
//!
//! They follow IANA's registries of special-purpose addresses (RFC 6890 and its successors). An address that is translated
//! into another one (mapped, NAT64, 6to4, Teredo) isn't public: the network decides where it leads.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

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

/// Reports whether the address is public.
#[must_use]
pub fn is_public_address(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_public_v4(address),
        IpAddr::V6(address) => is_public_v6(address),
    }
}

fn is_public_v4(address: Ipv4Addr) -> bool {
    let bits = address.to_bits();
    !NON_PUBLIC_V4.iter().any(|(network, length)| {
        let shift = u32::BITS - length;
        bits >> shift == Ipv4Addr::from_octets(*network).to_bits() >> shift
    })
}

/// Only 2000::/3 is allocated for the internet, except for protocols with Teredo (2001::/23), documentation
/// (2001:db8::/32, 3fff::/20) and 6to4 (2002::/16).
fn is_public_v6(address: Ipv6Addr) -> bool {
    let [first, second, ..] = address.segments();
    let allocated = first & 0xe000 == 0x2000;
    let special = match first {
        0x2001 => second < 0x0200 || second == 0x0db8,
        0x2002 => true,
        0x3fff => second < 0x1000,
        _ => false,
    };
    allocated && !special
}

#[cfg(test)]
mod tests;
