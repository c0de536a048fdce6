//! Which addresses are public: those that anybody on the internet reaches, and where a request can't surprise anybody.
//!
//! IANA's registries of special-purpose addresses (RFC 6890 and what followed) decide. What stands for another address
//! in some translation (mapped, NAT64, 6to4, Teredo) isn't public: what it leads to is up to the network.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Networks of IPv4 that aren't public: address and length.
const SPECIAL: [([u8; 4], u32); 16] = [
    ([0, 0, 0, 0], 8),        // this host
    ([10, 0, 0, 0], 8),       // private
    ([100, 64, 0, 0], 10),    // shared by customers of a provider
    ([127, 0, 0, 0], 8),      // loopback
    ([168, 63, 129, 16], 32), // what Azure tells its machines; public by number only
    ([169, 254, 0, 0], 16),   // link-local, and the metadata of clouds
    ([172, 16, 0, 0], 12),    // private
    ([192, 0, 0, 0], 24),     // protocols
    ([192, 0, 2, 0], 24),     // documentation
    ([192, 88, 99, 0], 24),   // relays of 6to4
    ([192, 168, 0, 0], 16),   // private
    ([198, 18, 0, 0], 15),    // benchmarks
    ([198, 51, 100, 0], 24),  // documentation
    ([203, 0, 113, 0], 24),   // documentation
    ([224, 0, 0, 0], 4),      // multicast
    ([240, 0, 0, 0], 4),      // reserved, and broadcast
];

/// Is it public?
#[must_use]
pub fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_public_v4(address),
        IpAddr::V6(address) => is_public_v6(address),
    }
}

fn is_public_v4(address: Ipv4Addr) -> bool {
    let bits = address.to_bits();
    !SPECIAL.iter().any(|(network, length)| {
        let shift = u32::BITS - length;
        bits >> shift == Ipv4Addr::from_octets(*network).to_bits() >> shift
    })
}

/// Only 2000::/3 was ever given out for the internet. In it, not: protocols with Teredo (2001::/23), documentation
/// (2001:db8::/32, 3fff::/20) and 6to4 (2002::/16).
fn is_public_v6(address: Ipv6Addr) -> bool {
    let [first, second, ..] = address.segments();
    let given_out = first & 0xe000 == 0x2000;
    let special = match first {
        0x2001 => second < 0x0200 || second == 0x0db8,
        0x2002 => true,
        0x3fff => second < 0x1000,
        _ => false,
    };
    given_out && !special
}

#[cfg(test)]
mod tests;
