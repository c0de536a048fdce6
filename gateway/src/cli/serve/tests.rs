//! Address parsing, and the choice of addresses to listen on.

use std::collections::BTreeMap;

use clap::Parser;
use moongate_config::parse_config;

use std::path::Path;

use super::*;

#[test]
fn parses_addresses_and_ports() {
    for (typed, meant) in [
        ("127.0.0.1:8080", "127.0.0.1:8080"),
        ("8080", "127.0.0.1:8080"),
        (":8080", "127.0.0.1:8080"),
        ("localhost:8080", "127.0.0.1:8080"),
        ("[::1]:0", "[::1]:0"),
        ("0.0.0.0:80", "0.0.0.0:80"),
    ] {
        assert_eq!(address(typed), Ok(meant.parse().unwrap()), "{typed}");
    }
    for typed in ["", "127.0.0.1", "host:80", "99999", "http://127.0.0.1:80", "localhost"] {
        assert!(address(typed).is_err(), "{typed}");
    }
}

/// The arguments of `serve`.
#[derive(Parser)]
struct TestCli {
    #[command(flatten)]
    serve: Serve,
}

#[test]
fn stdio_alone_opens_no_port_by_default() {
    let addresses = |toml: &str, flags: &str| {
        let text = format!("version = 1\n[http]\nlisten = \"127.0.0.1:1\"\n{toml}");
        let variables = BTreeMap::from([("MOONGATE_CACHE_DIR".to_owned(), "/nowhere".to_owned())]);
        let config = parse_config(Path::new("gateway.toml"), text, &variables).config.unwrap();
        let typed = TestCli::parse_from(format!("serve {flags}").split_whitespace());
        typed.serve.addresses(&config)
    };
    let at = |port: Option<u16>| port.map(|port| SocketAddr::from((Ipv4Addr::LOCALHOST, port)));
    let without = "";
    let with = "[admin]\nlisten = \"127.0.0.1:2\"";
    for (toml, flags, http, admin) in [
        (without, "", Some(1), None),
        (with, "", Some(1), Some(2)),
        (with, "--stdio", None, None),
        (with, "--stdio --http", Some(1), Some(2)),
        (with, "--stdio --admin", None, Some(2)),
        (with, "--stdio --admin 3", None, Some(3)),
        (without, "--admin", Some(1), Some(8932)),
        (without, "--http 4 --admin 3", Some(4), Some(3)),
    ] {
        let expected = ListenAddresses { http: at(http), admin: at(admin) };
        assert_eq!(addresses(toml, flags), Ok(expected), "`{flags}` with `{toml}`");
    }
    assert_eq!(addresses(with, "--http 2"), Err(at(Some(2)).unwrap()));
}
