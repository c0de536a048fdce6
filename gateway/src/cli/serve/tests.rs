//! Address parsing, and the choice of addresses to listen on.

use std::collections::BTreeMap;

use clap::Parser;
use moongate_config::parse_config;

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
        let expected = ListenAddresses { http: at(http), unix_socket: None, admin: at(admin) };
        assert_eq!(addresses(toml, flags), Ok(expected), "`{flags}` with `{toml}`");
    }
    assert_eq!(addresses(with, "--http 2"), Err(AddressProblem::Shared(at(Some(2)).unwrap())));
}

#[test]
fn parses_addresses_of_unix_sockets() {
    for (typed, meant) in
        [("unix:/run/a", "/run/a"), ("unix:///run/a", "/run/a"), ("unix:/run/./a b", "/run/a b")]
    {
        assert_eq!(socket_path(typed), Ok(PathBuf::from(meant)), "{typed}");
    }
    assert_eq!(socket_path("unix:a").unwrap(), std::env::current_dir().unwrap().join("a"));
    for (typed, hint) in
        [("unix:", "missing"), ("8080", "--http"), ("[::1]:80", "--http"), ("/run/a", "unix:/run")]
    {
        assert!(socket_path(typed).unwrap_err().contains(hint), "{typed}");
    }
}

#[test]
fn the_unix_socket_is_served_where_it_is_configured_or_named() {
    let addresses = |toml: &str, flags: &str| {
        let text = format!("version = 1\n{toml}");
        let variables = BTreeMap::from([("MOONGATE_CACHE_DIR".to_owned(), "/nowhere".to_owned())]);
        let config = parse_config(Path::new("/etc/gateway.toml"), text, &variables).config.unwrap();
        let typed = TestCli::parse_from(format!("serve {flags}").split_whitespace());
        let found = typed.serve.addresses(&config)?;
        Ok((found.http.is_some(), found.unix_socket, found.admin.is_some()))
    };
    let with = "[unix_socket]\npath = \"run/mcp.sock\"\n[admin]";
    let configured = || Some(PathBuf::from("/etc/run/mcp.sock"));
    for (toml, flags, expected) in [
        ("", "", (true, None, false)),
        (with, "", (true, configured(), true)),
        (with, "--listen", (false, configured(), true)),
        (with, "--stdio", (false, None, false)),
        (with, "--stdio --listen", (false, configured(), true)),
        (with, "--listen unix:/a --http", (true, Some(PathBuf::from("/a")), true)),
        ("", "--listen unix:/a", (false, Some(PathBuf::from("/a")), false)),
    ] {
        assert_eq!(addresses(toml, flags), Ok(expected), "`{flags}` with `{toml}`");
    }
    assert_eq!(addresses("", "--listen"), Err(AddressProblem::NoSocketPath));
}
