//! Spellings of hosts and origins.

use super::*;

#[test]
fn hosts_are_equal_in_every_spelling() {
    for (spellings, plain) in [
        (&["Example.COM", "example.com.", "EXAMPLE.com."][..], "example.com"),
        (&["bücher.example", "BÜCHER.example.", "XN--bcher-kva.Example"], "xn--bcher-kva.example"),
        (&["ｅxample.com", "example。com"], "example.com"),
        (&["[2001:DB8::1]", "[2001:db8:0:0:0:0:0:1]", "[2001:0db8::0.0.0.1]"], "[2001:db8::1]"),
        (&["[::ffff:192.0.2.1]", "[::ffff:c000:201]", "192.0.2.1.", "192.0.513"], "192.0.2.1"),
        (&["a_b.example"], "a_b.example"),
    ] {
        for spelling in spellings {
            assert_eq!(
                parse_host(spelling).map(|host| host.to_string()).as_deref(),
                Some(plain),
                "{spelling}"
            );
        }
    }
}

#[test]
fn rejects_texts_that_are_not_hosts() {
    for bad in [
        "",
        ".",
        "a..b",
        "example.com..",
        "a b",
        "a@b",
        "a/b",
        "*.b",
        "a%2eb",
        "2001:db8::1",
        "[::1",
        "[]",
        "[::1%1]",
        "[fe80::1%25eth0]",
    ] {
        assert_eq!(parse_host(bad), None, "{bad}");
    }
    for bad in ["a:b", "a:+80", "a:80:80", "a:65536", ":80", "[::1]80", "::1", "[::1]:x"] {
        assert_eq!(parse_host_and_port(bad), None, "{bad}");
    }
    let loopback = Host::Ipv6(std::net::Ipv6Addr::LOCALHOST);
    assert_eq!(parse_host_and_port("[::1]:80"), Some((loopback, Some(80))));
    assert_eq!(parse_host_and_port("a:"), Some((Host::Domain("a".to_owned()), None)));
}

#[test]
fn origins_are_equal_in_every_spelling() {
    for (one, other) in [
        ("https://Example.com", "HTTPS://example.com:443"),
        ("http://example.com:80", "http://example.com."),
        ("https://bücher.example:8443", "https://xn--bcher-kva.example:8443"),
        ("http://[2001:DB8::1]:3000", "http://[2001:db8:0::1]:3000"),
        ("chrome-extension://ABC", "chrome-extension://abc"),
    ] {
        assert!(WebOrigin::parse(one).is_some(), "{one}");
        assert_eq!(WebOrigin::parse(one), WebOrigin::parse(other), "{one} and {other}");
    }
    for (one, other) in [
        ("https://example.com", "http://example.com"),
        ("https://example.com", "https://example.com:80"),
        ("https://example.com", "https://www.example.com"),
        ("chrome-extension://abc", "moz-extension://abc"),
    ] {
        assert_ne!(WebOrigin::parse(one), WebOrigin::parse(other), "{one} and {other}");
    }
    for bad in [
        "null",
        "example.com",
        "file://",
        "https://",
        "https://a/b",
        "https://a@b",
        "https://2001:db8::1",
        "1x://a",
    ] {
        assert_eq!(WebOrigin::parse(bad), None, "{bad}");
    }
}

#[test]
fn recognises_pages_of_this_machine() {
    for own in [
        "http://localhost:6274",
        "https://a.LOCALHOST",
        "http://127.1.2.3",
        "http://[::1]:80",
        "http://[::ffff:7f00:1]",
    ] {
        assert!(WebOrigin::parse(own).unwrap().is_loopback(), "{own}");
    }
    for foreign in ["http://notlocalhost", "http://localhost.example", "app://localhost", "http://128.0.0.1"]
    {
        assert!(!WebOrigin::parse(foreign).unwrap().is_loopback(), "{foreign}");
    }
}
