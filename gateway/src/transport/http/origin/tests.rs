//! Allowed hosts and origins.

use axum::http::Request;

use super::*;

fn check(
    listen: &str,
    hosts: &[&str],
    origins: &[&str],
    headers_out: &[(&str, &str)],
) -> Result<(), Rejection> {
    let hosts: Vec<_> = hosts.iter().map(|host| moongate_config::parse_host(host).unwrap()).collect();
    let origins: Vec<_> = origins.iter().map(|origin| WebOrigin::parse(origin).unwrap()).collect();
    let mut request = Request::builder().uri("/mcp");
    for (name, value) in headers_out {
        request = request.header(*name, *value);
    }
    let (head, ()) = request.body(()).unwrap().into_parts();
    OriginPolicy::new(listen.parse().unwrap(), &hosts, &origins).check(&head)
}

const LOCAL: &str = "127.0.0.1:8931";

#[test]
fn loopback_listeners_accept_loopback_hosts_only() {
    for fine in [
        "localhost",
        "LOCALHOST:8931",
        "127.0.0.1:1",
        "[::1]:8931",
        "127.0.0.1",
        "localhost.",
        "a.localhost:80",
        "[0:0::1]",
        "[::ffff:127.0.0.1]:8931",
        "localhost:",
    ] {
        assert_eq!(check(LOCAL, &[], &[], &[("host", fine)]), Ok(()), "{fine}");
    }
    for bad in [
        "evil.example",
        "evil.example:8931",
        "localhost.evil.example",
        "127.0.0.1.evil.example",
        "192.168.1.5",
        "",
        ":8931",
        "localhost:http",
        "notlocalhost",
        "[::1%lo]",
        "[::1",
        "a@localhost",
    ] {
        assert_eq!(check(LOCAL, &[], &[], &[("host", bad)]), Err(Rejection::Host), "{bad}");
    }
    assert_eq!(check(LOCAL, &[], &[], &[]), Err(Rejection::Host));
    assert_eq!(check(LOCAL, &[], &[], &[("host", "localhost"), ("host", "localhost")]), Err(Rejection::Host));
}

#[test]
fn other_listeners_accept_their_address_and_allowed_hosts() {
    assert_eq!(check("192.168.1.5:80", &[], &[], &[("host", "192.168.1.5")]), Ok(()));
    assert_eq!(check("192.168.1.5:80", &[], &[], &[("host", "192.168.1.6")]), Err(Rejection::Host));
    assert_eq!(check("0.0.0.0:80", &[], &[], &[("host", "192.168.1.6:80")]), Ok(()));
    assert_eq!(check("0.0.0.0:80", &[], &[], &[("host", "gate.example")]), Err(Rejection::Host));
    assert_eq!(check("[::ffff:192.168.1.5]:80", &[], &[], &[("host", "192.168.1.5")]), Ok(()));
    let hosts = ["gate.example", "xn--bcher-kva.example", "[2001:db8::1]"];
    for fine in ["Gate.Example:80", "gate.example.", "XN--BCHER-KVA.example", "[2001:DB8:0::1]:8931"] {
        assert_eq!(check("192.168.1.5:80", &hosts, &[], &[("host", fine)]), Ok(()), "{fine}");
    }
}

#[test]
fn accepts_local_and_allowed_origins() {
    let origin =
        |origin| check(LOCAL, &[], &["https://App.example"], &[("host", "localhost"), ("origin", origin)]);
    for fine in [
        "http://localhost:6274",
        "https://127.0.0.1",
        "http://[::1]:3000",
        "https://APP.example:443",
        "https://app.example",
        "http://ui.localhost:3000",
        "http://[::ffff:127.0.0.1]",
    ] {
        assert_eq!(origin(fine), Ok(()), "{fine}");
    }
    for bad in [
        "null",
        "https://evil.example",
        "http://localhost.evil.example",
        "https://app.example:444",
        "file://",
    ] {
        assert_eq!(origin(bad), Err(Rejection::Origin), "{bad}");
    }
}

#[test]
fn an_absolute_request_uri_repeats_the_host() {
    let check = |uri: &str, host: &str| {
        let (head, ()) = Request::builder().uri(uri).header("host", host).body(()).unwrap().into_parts();
        OriginPolicy::new(LOCAL.parse().unwrap(), &[], &[]).check(&head)
    };
    for (uri, host) in [
        ("http://localhost:8931/mcp", "LOCALHOST.:8931"),
        ("http://localhost/mcp", "localhost:80"),
        ("http://[0::1]:1/mcp", "[::1]:1"),
    ] {
        assert_eq!(check(uri, host), Ok(()), "{uri} to {host}");
    }
    for (uri, host) in [
        ("http://evil.example/mcp", "localhost"),
        ("http://localhost:8931/mcp", "localhost"),
        ("http://a@localhost/mcp", "localhost"),
    ] {
        assert_eq!(check(uri, host), Err(Rejection::Host), "{uri} to {host}");
    }
}
