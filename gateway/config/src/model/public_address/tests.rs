//! Tests of the bounds of every non-public network.

use super::*;

fn public(text: &str) -> bool {
    is_public_address(text.parse().unwrap())
}

#[test]
fn special_networks_are_not_public_but_their_neighbours_are() {
    // The first and the last address, the one before and the one after. `-` means that this neighbour isn't public
    // either.
    for (first, last, before, after) in [
        ("0.0.0.0", "0.255.255.255", "-", "1.0.0.0"),
        ("10.0.0.0", "10.255.255.255", "9.255.255.255", "11.0.0.0"),
        ("100.64.0.0", "100.127.255.255", "100.63.255.255", "100.128.0.0"),
        ("127.0.0.0", "127.255.255.255", "126.255.255.255", "128.0.0.0"),
        ("169.254.0.0", "169.254.255.255", "169.253.255.255", "169.255.0.0"),
        ("172.16.0.0", "172.31.255.255", "172.15.255.255", "172.32.0.0"),
        ("192.0.0.0", "192.0.0.255", "191.255.255.255", "192.0.1.0"),
        ("192.0.2.0", "192.0.2.255", "192.0.1.255", "192.0.3.0"),
        ("192.88.99.0", "192.88.99.255", "192.88.98.255", "192.88.100.0"),
        ("192.168.0.0", "192.168.255.255", "192.167.255.255", "192.169.0.0"),
        ("198.18.0.0", "198.19.255.255", "198.17.255.255", "198.20.0.0"),
        ("198.51.100.0", "198.51.100.255", "198.51.99.255", "198.51.101.0"),
        ("203.0.113.0", "203.0.113.255", "203.0.112.255", "203.0.114.0"),
        ("224.0.0.0", "255.255.255.255", "223.255.255.255", "-"),
        ("::", "1fff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "-", "2000::"),
        ("2001::", "2001:1ff:ffff:ffff:ffff:ffff:ffff:ffff", "2000:ffff::", "2001:200::"),
        ("2001:db8::", "2001:db8:ffff:ffff:ffff:ffff:ffff:ffff", "2001:db7:ffff::", "2001:db9::"),
        ("2002::", "2002:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "2001:ffff::", "2003::"),
        ("3fff::", "3fff:fff:ffff:ffff:ffff:ffff:ffff:ffff", "3ffe:ffff::", "3fff:1000::"),
        ("4000::", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "3fff:ffff::", "-"),
    ] {
        assert!(!public(first) && !public(last), "{first} to {last}");
        for neighbour in [before, after].into_iter().filter(|neighbour| *neighbour != "-") {
            assert!(public(neighbour), "{neighbour}");
        }
    }
}

#[test]
fn translated_addresses_are_not_public() {
    for address in [
        "255.255.255.255",
        "169.254.169.254",
        "192.0.0.192",
        "::1",
        "::ffff:127.0.0.1",
        "::ffff:8.8.8.8",
        "::127.0.0.1",
        "64:ff9b::a9fe:a9fe",
        "64:ff9b:1::1",
        "100::1",
        "2001:0:4136:e378::1",
        "2002:7f00:1::1",
        "2001:10::1",
        "5f00::1",
        "fc00::1",
        "fd00:ec2::254",
        "fe80::1",
        "fec0::1",
        "ff02::1",
    ] {
        assert!(!public(address), "{address}");
    }
    for address in ["1.1.1.1", "8.8.8.8", "93.184.215.14", "2606:4700::1111", "2a00:1450:4001::8a"] {
        assert!(public(address), "{address}");
    }
}
