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
        ("64:ff9c::", "1fff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "-", "2000::"),
        ("2001:1::", "2001:1ff:ffff:ffff:ffff:ffff:ffff:ffff", "-", "2001:200::"),
        ("2001:db8::", "2001:db8:ffff:ffff:ffff:ffff:ffff:ffff", "2001:db7:ffff::", "2001:db9::"),
        ("2002::", "2002:ff:ffff:ffff:ffff:ffff:ffff:ffff", "2001:ffff::", "2002:100::"),
        ("64:ff9b::", "64:ff9b::ff:ffff", "-", "64:ff9b::100:0"),
        ("3fff::", "3fff:fff:ffff:ffff:ffff:ffff:ffff:ffff", "3ffe:ffff::", "3fff:1000::"),
        ("4000::", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "3fff:ffff::", "-"),
    ] {
        assert!(!public(first) && !public(last), "{first} to {last}");
        for neighbour in [before, after].into_iter().filter(|neighbour| *neighbour != "-") {
            assert!(public(neighbour), "{neighbour}");
        }
    }
}

/// Forms of an IPv6 address that lead to this IPv4 address. `{}` stands for it in hexadecimal.
fn embedding(v4: Ipv4Addr) -> Vec<String> {
    let [high, low] = [v4.to_bits() >> 16, v4.to_bits() & 0xffff];
    let [inverse_high, inverse_low] = [high ^ 0xffff, low ^ 0xffff];
    vec![
        format!("::ffff:{v4}"),
        format!("::{v4}"),
        format!("::ffff:0:{v4}"),
        format!("64:ff9b::{v4}"),
        format!("2002:{high:x}:{low:x}::1"),
        format!("2001:0:808:808:0:1234:{inverse_high:x}:{inverse_low:x}"),
        format!("2001:0:{high:x}:{low:x}:0:1234:f7f7:f7f7"),
        format!("2606:4700::5efe:{v4}"),
        format!("2606:4700::200:5efe:{v4}"),
        format!("2002:808:808::5efe:{v4}"),
    ]
}

#[test]
fn addresses_with_an_ipv4_address_are_judged_by_it() {
    for v4 in ["8.8.8.8", "93.184.216.34", "1.1.1.1"] {
        for address in embedding(v4.parse().unwrap()) {
            assert!(public(&address), "{address}");
        }
    }
    for v4 in
        ["127.0.0.1", "10.1.2.3", "192.168.0.1", "172.16.0.1", "169.254.169.254", "100.64.0.1", "224.0.0.1"]
    {
        for address in embedding(v4.parse().unwrap()) {
            assert!(!public(&address), "{address}");
            let network = |text: &str| text.parse::<IpNet>().unwrap();
            let outer = [network("::/0")];
            assert!(!is_allowed_address(address.parse().unwrap(), &outer), "{address} by an outer network");
            let inner = [IpNet::from(v4.parse::<IpAddr>().unwrap())];
            assert!(is_allowed_address(address.parse().unwrap(), &inner), "{address} by the inner network");
        }
    }
}

#[test]
fn local_translators_need_a_grant_for_every_reading() {
    let allowed = |address: &str, networks: &[&str]| {
        let networks: Vec<IpNet> = networks.iter().map(|network| network.parse().unwrap()).collect();
        is_allowed_address(address.parse().unwrap(), &networks)
    };
    let local = "64:ff9b:1::/48";
    // 93.184.216.34 and 10.1.2.3 after prefixes of 48, 56, 64 and 96 bits.
    for public in [
        "64:ff9b:1:5db8:d8:2200::",
        "64:ff9b:1:5d:b8:d822::",
        "64:ff9b:1:0:5d:b8d8:2200:0",
        "64:ff9b:1::5db8:d822",
    ] {
        assert!(!allowed(public, &[]), "{public} without a grant");
        assert!(allowed(public, &[local]), "{public}");
    }
    for private in
        ["64:ff9b:1:a01:2:300::", "64:ff9b:1:a:1:203::", "64:ff9b:1:0:a:102:300:0", "64:ff9b:1::a01:203"]
    {
        assert!(!allowed(private, &[local]), "{private}");
        assert!(!allowed(private, &["10.0.0.0/8"]), "{private} without the outer network");
        assert!(
            allowed(private, &[local, "10.0.0.0/8", "1.2.3.0/24", "2.0.0.0/8", "3.0.0.0/8"]),
            "{private}"
        );
    }
}

#[test]
fn addresses_that_contain_no_public_address_are_not_public() {
    for address in [
        "255.255.255.255",
        "169.254.169.254",
        "192.0.0.192",
        "::",
        "::1",
        "64:ff9b:1::1",
        "100::1",
        "2001:0:4136:e378::1",
        "2001:10::1",
        "5f00::1",
        "fc00::1",
        "fd00:ec2::254",
        "fd00::5efe:8.8.8.8",
        "fe80::5efe:8.8.8.8",
        "fe80::1",
        "fec0::1",
        "ff02::1",
    ] {
        assert!(!public(address), "{address}");
    }
    for address in [
        "1.1.1.1",
        "8.8.8.8",
        "93.184.215.14",
        "2606:4700::1111",
        "2a00:1450:4001::8a",
        "2606:4700::5eff:a00:1",
    ] {
        assert!(public(address), "{address}");
    }
}

#[test]
fn networks_of_embedded_addresses_stand_for_ipv4_networks() {
    for (network, inner) in [
        ("64:ff9b::/96", None),
        ("64:ff9b::a00:0/104", Some("10.0.0.0/8")),
        ("64:ff9b::a00:1/128", Some("10.0.0.1/32")),
        ("2002:a00::/24", Some("10.0.0.0/8")),
        ("2002:a00:1::/64", Some("10.0.0.1/32")),
        ("2002::/16", None),
        ("2001::/32", None),
        ("::a00:0/104", Some("10.0.0.0/8")),
    ] {
        let found = contained_v4_network(network.parse().unwrap());
        assert_eq!(found, Some(inner.map(|inner| inner.parse().unwrap())), "{network}");
    }
    for network in [
        "10.0.0.0/8",
        "::1/128",
        "::/128",
        "::/96",
        "64:ff9b:1::/48",
        "fd00::/8",
        "64:ff9b::/32",
        "2001::/16",
    ] {
        assert_eq!(contained_v4_network(network.parse().unwrap()), None, "{network}");
    }
}
