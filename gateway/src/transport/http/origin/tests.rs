//! Allowed hosts and origins.

use axum::http::Request;

use super::*;

fn check(
    listen: &str,
    hosts: &[&str],
    origins: &[&str],
    headers_out: &[(&str, &str)],
) -> Result<(), Rejection> {
    let owned = |list: &[&str]| list.iter().map(|it| (*it).to_owned()).collect::<Vec<_>>();
    let mut request = Request::builder().uri("/mcp");
    for (name, value) in headers_out {
        request = request.header(*name, *value);
    }
    let (head, ()) = request.body(()).unwrap().into_parts();
    OriginPolicy::new(listen.parse().unwrap(), &owned(hosts), &owned(origins)).check(&head)
}

const LOCAL: &str = "127.0.0.1:8931";

#[test]
fn loopback_listeners_accept_loopback_hosts_only() {
    for fine in ["localhost", "LOCALHOST:8931", "127.0.0.1:1", "[::1]:8931", "127.0.0.1", "localhost."] {
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
    assert_eq!(check("0.0.0.0:80", &["gate.example"], &[], &[("host", "Gate.Example:80")]), Ok(()));
}

#[test]
fn accepts_local_and_allowed_origins() {
    let origin =
        |origin| check(LOCAL, &[], &["https://App.example"], &[("host", "localhost"), ("origin", origin)]);
    for fine in ["http://localhost:6274", "https://127.0.0.1", "http://[::1]:3000", "https://app.example"] {
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
