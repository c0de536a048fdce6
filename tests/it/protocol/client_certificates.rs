//! Client certificates: who is refused, the names of callers, and their sessions.

use std::io::{Read as _, Write as _};
use std::time::{Duration, SystemTime};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use moongate_tests::{
    Http, IssuedCertificate, Reply, Stdio, TestAuthority, TlsClient, TlsVersion, Validity, Workspace,
    initialize_params, request, stateless_request, wait_until,
};
use rcgen::SanType;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use serde_json::json;

use super::tls::{HEADERS, write};

const TOKEN: &str = "a-long-secret-of-this-test-alone";

/// The validity of a certificate that expires during a test. Connections without a request stay open for longer.
const VALID_FOR: Duration = Duration::from_secs(6);

/// A gateway with a certificate that accepts those of `clients`.
fn workspace(server: &IssuedCertificate, clients: &TestAuthority, tls: &str, more: &str) -> Workspace {
    let workspace = Workspace::new(&format!(
        "[http.tls]\ncertificate = \"cert.pem\"\nkey = \"key.pem\"\nclient_ca = \"clients.pem\"\n{tls}\n{more}\n\
         [plugins.zoo]\nsource = \"@zoo@\"\n"
    ));
    write(&workspace, server);
    workspace.write("clients.pem", clients.certificate());
    workspace.write("token", TOKEN);
    workspace
}

fn dns(name: &str) -> SanType {
    SanType::DnsName(name.try_into().unwrap())
}

fn uri(name: &str) -> SanType {
    SanType::URI(name.try_into().unwrap())
}

fn email(name: &str) -> SanType {
    SanType::Rfc822Name(name.try_into().unwrap())
}

/// Asks the zoo for the caller's name.
fn ask(http: &Http, client: &TlsClient, headers: &[(&str, &str)]) -> std::io::Result<Reply> {
    let call = stateless_request(1, "tools/call", json!({ "name": "zoo_echo_context", "arguments": {} }));
    let named = [&HEADERS[..4], &[("Mcp-Name", "zoo_echo_context")], headers].concat();
    client.send(http.address(), "POST /mcp", &named, &call.to_string())
}

fn name(reply: &Reply) -> String {
    let name = reply.json()["result"]["structuredContent"]["principal"].clone();
    name.as_str().unwrap_or_else(|| panic!("{reply:?}")).to_owned()
}

#[test]
fn only_valid_certificates_can_call_and_name_the_caller() {
    let (servers, clients) = (TestAuthority::new(), TestAuthority::new());
    let workspace = workspace(&servers.server(), &clients, "", "");
    let http = Http::start(&workspace);
    for version in [TlsVersion::Tls12, TlsVersion::Tls13] {
        let client = |own: Option<&IssuedCertificate>| TlsClient::new(servers.certificate(), version, own);
        for (names, expected) in [
            (vec![dns("CI.example.com"), uri("spiffe://a/b")], "dns:ci.example.com"),
            (vec![uri("spiffe://example.com/ns/a/sa/b"), dns("x")], "uri:spiffe://example.com/ns/a/sa/b"),
            (vec![email("ann@example.com")], "email:ann@example.com"),
        ] {
            let own = clients.issue(names, Validity::Now);
            let reply = ask(&http, &client(Some(&own)), &[]).unwrap();
            assert_eq!(name(&reply), expected, "{version:?}");
            // A header that means nothing here changes nothing.
            let reply = ask(&http, &client(Some(&own)), &[("Authorization", "Bearer x")]).unwrap();
            assert_eq!(name(&reply), expected);
        }
        let expired = clients.issue(vec![dns("ci.example.com")], Validity::Expired);
        let foreign = TestAuthority::new().issue(vec![dns("ci.example.com")], Validity::Now);
        let unnamed = clients.issue(Vec::new(), Validity::Now);
        for (own, what) in [
            (None, "none"),
            (Some(&expired), "expired"),
            (Some(&foreign), "of another authority"),
            (Some(&unnamed), "without a name"),
        ] {
            let refused = ask(&http, &client(own), &[]);
            assert!(refused.is_err(), "{what}: {refused:?}");
        }
    }
    // Each reason has lines of its own.
    for reason in ["missing_certificate", "expired_certificate", "unknown_authority", "unnamed_certificate"] {
        http.wait_for_log(&format!("listener=\"mcp\" reason=\"{reason}\""));
    }
    http.wait_for_log("refused a TLS handshake: ");
    assert!(!http.log().contains("panicked"), "{}", http.log());
}

#[test]
fn long_chains_are_refused_before_they_are_examined() {
    let authority = TestAuthority::new();
    let workspace = workspace(&authority.server(), &authority, "", "");
    let http = Http::start(&workspace);
    for version in [TlsVersion::Tls12, TlsVersion::Tls13] {
        let client = |intermediates: usize| {
            let mut own = authority.issue(vec![dns("ci.example.com")], Validity::Now);
            own.certificate += &authority.certificate().repeat(intermediates);
            TlsClient::new(authority.certificate(), version, Some(&own))
        };
        assert_eq!(name(&ask(&http, &client(6), &[]).unwrap()), "dns:ci.example.com");
        assert!(ask(&http, &client(7), &[]).is_err());
        // Names up to 20 KiB.
        let names = (0..400)
            .map(|number| dns(&format!("{number}.a-long-name-that-takes-some-fifty-bytes.example")))
            .collect();
        let own = authority.issue(names, Validity::Now);
        assert!(ask(&http, &TlsClient::new(authority.certificate(), version, Some(&own)), &[]).is_err());
    }
    http.wait_for_log("refused a TLS handshake: ");
}

#[test]
fn callers_and_refused_certificates_are_in_the_audit_log() {
    let authority = TestAuthority::new();
    let workspace = workspace(&authority.server(), &authority, "", "[audit]");
    let http = Http::start(&workspace);
    let client = |own| TlsClient::new(authority.certificate(), TlsVersion::Tls13, own);
    let own = authority.issue(vec![dns("ci.example.com")], Validity::Now);
    ask(&http, &client(Some(&own)), &[]).unwrap();
    let expired = authority.issue(vec![dns("ci.example.com")], Validity::Expired);
    let unnamed = authority.issue(Vec::new(), Validity::Now);
    for own in [None, Some(&expired), Some(&unnamed)] {
        assert!(ask(&http, &client(own), &[]).is_err());
    }
    let (status, log) = http.terminate();
    assert!(status.success(), "{log}");
    let log = std::fs::read_to_string(workspace.path().join("audit.jsonl")).unwrap();
    for expected in [
        "\"principal\":{\"kind\":\"certificate\",\"name\":\"dns:ci.example.com\"}",
        "\"reason\":\"missing_certificate\",\"principal\":{\"kind\":\"anonymous\",\"address\":\"127.0.0.1\"}",
        "\"reason\":\"invalid_certificate\"",
        "\"reason\":\"unnamed_certificate\"",
    ] {
        assert!(log.contains(expected), "{expected} isn't in {log}");
    }
}

#[test]
fn a_session_belongs_to_the_name_in_the_certificate() {
    let authority = TestAuthority::new();
    let workspace = workspace(&authority.server(), &authority, "", "");
    let http = Http::start(&workspace);
    let client = |name| {
        let own = authority.issue(vec![dns(name)], Validity::Now);
        TlsClient::new(authority.certificate(), TlsVersion::Tls13, Some(&own))
    };
    let post = |client: &TlsClient, headers: &[(&str, &str)], message: serde_json::Value| {
        let headers = [&HEADERS[..2], headers].concat();
        client.send(http.address(), "POST /mcp", &headers, &message.to_string()).unwrap()
    };
    let opened = post(&client("a"), &[], request(1, "initialize", initialize_params("2025-11-25")));
    let session = opened.header("mcp-session-id").unwrap();
    let of_session = [("Mcp-Session-Id", session), ("MCP-Protocol-Version", "2025-11-25")];
    let ping = || request(2, "ping", json!({}));
    assert_eq!(post(&client("a"), &of_session, ping()).status, 200, "a renewed certificate");
    assert_eq!(post(&client("b"), &of_session, ping()).status, 404);
}

#[test]
fn with_optional_certificates_a_token_is_the_alternative() {
    let authority = TestAuthority::new();
    let tokens = "[http.auth]\ntokens = [{ name = \"ci\", token = { file = \"token\" } }]";
    let bearer = format!("Bearer {TOKEN}");
    let own = authority.issue(vec![dns("ci")], Validity::Now);
    let with = TlsClient::new(authority.certificate(), TlsVersion::Tls13, Some(&own));
    let without = TlsClient::new(authority.certificate(), TlsVersion::Tls13, None);
    let optional = "client_certificates = \"optional\"";

    let both = workspace(&authority.server(), &authority, optional, tokens);
    let http = Http::start(&both);
    assert_eq!(name(&ask(&http, &with, &[]).unwrap()), "dns:ci");
    assert_eq!(name(&ask(&http, &without, &[("Authorization", &bearer)]).unwrap()), "ci");
    assert_eq!(name(&ask(&http, &with, &[("Authorization", &bearer)]).unwrap()), "ci");
    assert_eq!(ask(&http, &with, &[("Authorization", "Bearer wrong")]).unwrap().status, 401);
    let refused = ask(&http, &without, &[]).unwrap();
    assert_eq!(
        (refused.status, refused.header("www-authenticate")),
        (401, Some("Bearer realm=\"moongate\""))
    );

    let certificates = workspace(&authority.server(), &authority, optional, "");
    let http = Http::start(&certificates);
    assert_eq!(name(&ask(&http, &with, &[]).unwrap()), "dns:ci");
    for headers in [&[][..], &[("Authorization", &*bearer)]] {
        let refused = ask(&http, &without, headers).unwrap();
        assert_eq!(refused.status, 403, "{refused:?}");
        assert!(refused.body.contains("a client certificate is required"), "{refused:?}");
    }
}

#[test]
fn an_expired_certificate_ends_requests_and_streams() {
    let authority = TestAuthority::new();
    let workspace = workspace(&authority.server(), &authority, "", "");
    let http = Http::start(&workspace);
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap();
    let own = authority.issue_until(vec![dns("ci")], now + VALID_FOR);
    let client = TlsClient::new(authority.certificate(), TlsVersion::Tls13, Some(&own));
    let listen = stateless_request(
        1,
        "subscriptions/listen",
        json!({ "notifications": { "toolsListChanged": true } }),
    );
    let listen = listen.to_string();
    let mut stream = client.connect(http.address()).unwrap();
    let head = format!(
        "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\n\
         MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: subscriptions/listen\r\nContent-Length: {}\r\n\r\n",
        listen.len()
    );
    stream.write_all(format!("{head}{listen}").as_bytes()).unwrap();
    let mut open = client.connect(http.address()).unwrap();
    let mut answer = [0; 64 * 1024];
    // The stream ends with its last chunk.
    let mut received = String::new();
    while !received.contains("\r\n0\r\n\r\n") {
        let length = stream.read(&mut answer).unwrap();
        assert!(length > 0, "{received}");
        received.push_str(&String::from_utf8_lossy(&answer[..length]));
    }
    assert!(received.starts_with("HTTP/1.1 200"), "{received}");
    wait_until("the certificate has expired", || {
        SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap() > now + VALID_FOR
    });
    open.write_all(b"GET /mcp HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\n\r\n").unwrap();
    let length = open.read(&mut answer).unwrap();
    let refused = String::from_utf8_lossy(&answer[..length]).into_owned();
    assert!(refused.starts_with("HTTP/1.1 403") && refused.contains("expired"), "{refused}");
    assert!(client.connect(http.address()).and_then(|mut late| late.read(&mut answer)).is_err());
}

#[test]
fn a_client_authority_is_authentication_for_a_reachable_address() {
    let authority = TestAuthority::new();
    let workspace = workspace(&authority.server(), &authority, "", "");
    let text = std::fs::read_to_string(workspace.config()).unwrap();
    workspace.write("gateway.toml", text.replace("127.0.0.1:0", "0.0.0.0:0"));
    let http = Http::start(&workspace);
    http.wait_for_log("https://0.0.0.0:");
    drop(http);
    workspace.write("clients.pem", "nothing");
    let output = workspace.run(&["check"]);
    let printed = String::from_utf8_lossy(&output.stderr);
    assert!(printed.contains("the file `clients.pem` contains no certificate in PEM"), "{printed}");
}

#[test]
fn commands_send_a_client_certificate_and_trust_an_authority() {
    let (servers, clients) = (TestAuthority::new(), TestAuthority::new());
    let gateway = workspace(&servers.server(), &clients, "", "");
    let http = Http::start(&gateway);
    let elsewhere = Workspace::new("");
    let own = clients.issue(vec![dns("ci.example.com")], Validity::Now);
    let foreign = TestAuthority::new().issue(vec![dns("ci.example.com")], Validity::Now);
    for (file, content) in [
        ("own.pem", &*own.certificate),
        ("own-key.pem", &*own.key),
        ("other-key.pem", &*clients.issue(vec![dns("x")], Validity::Now).key),
        ("ca.pem", servers.certificate()),
        ("foreign.pem", &*foreign.certificate),
        ("foreign-key.pem", &*foreign.key),
        ("nothing.pem", ""),
    ] {
        elsewhere.write(file, content);
    }
    let url = format!("https://localhost:{}/mcp", http.address().port());
    let call = ["call", "--url", &*url, "zoo_echo_context", "--format", "json"];
    let trusted = ["--ca", "ca.pem", "--cert", "own.pem", "--key", "own-key.pem"];
    let called = elsewhere.run(&[&call[..], &trusted].concat());
    assert!(called.status.success(), "{called:?}");
    assert!(String::from_utf8_lossy(&called.stdout).contains("dns:ci.example.com"), "{called:?}");
    let listed = elsewhere.run(&[&["list", "tools", "--url", &*url][..], &trusted].concat());
    assert!(String::from_utf8_lossy(&listed.stdout).contains("zoo_echo_context"), "{listed:?}");

    for (options, error) in [
        (&["--ca", "ca.pem"][..], "`--cert` and `--key`"),
        (&["--ca", "ca.pem", "--cert", "foreign.pem", "--key", "foreign-key.pem"], "`--cert` and `--key`"),
        (&["--cert", "own.pem", "--key", "own-key.pem"], "isn't trusted: its authority is unknown"),
        (
            &["--cert", "own.pem", "--key", "own-key.pem"],
            "hint: pass the certificate of its authority with `--ca`",
        ),
        (&["--ca", "nothing.pem"], "`nothing.pem` contains no certificate"),
        (&["--ca", "missing.pem"], "`missing.pem`"),
        (&["--cert", "own.pem", "--key", "nothing.pem"], "`nothing.pem`"),
        (
            &["--cert", "own.pem", "--key", "other-key.pem"],
            "the key `other-key.pem` doesn't belong to `own.pem`",
        ),
        (&["--cert", "own.pem"], "--key"),
    ] {
        let output = elsewhere.run(&[&call[..], options].concat());
        let printed = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success() && printed.contains(error), "{options:?}: {printed}");
    }
    for local in [&["call", "zoo_echo", "--ca", "ca.pem"][..], &["list", "--ca", "ca.pem"]] {
        let output = gateway.run(local);
        let printed = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.code() == Some(2) && printed.contains("need `--url`"), "{printed}");
    }
}

#[test]
fn a_websocket_over_tls_has_the_caller_of_its_certificate() {
    let (servers, clients) = (TestAuthority::new(), TestAuthority::new());
    let gateway = workspace(&servers.server(), &clients, "", "[http]\nwebsocket = true\n");
    let http = Http::start(&gateway);
    let own = clients.issue(vec![dns("ci.example.com")], Validity::Now);
    let elsewhere = Workspace::new("");
    elsewhere.write("own.pem", &own.certificate);
    elsewhere.write("own-key.pem", &own.key);
    elsewhere.write("ca.pem", servers.certificate());
    let url = format!("wss://localhost:{}/mcp", http.address().port());
    let trusted = ["connect", &*url, "--ca", "ca.pem", "--cert", "own.pem", "--key", "own-key.pem"];
    let mut client = Stdio::spawn_loading(elsewhere.command(&trusted));
    client.initialize("2025-11-25");
    let answer = client.call("zoo_echo_context", json!({}));
    assert!(answer.to_string().contains("dns:ci.example.com"), "{answer}");
    let (_, status, log) = client.finish();
    assert!(status.success(), "{log}");
    for (options, code, part) in [
        (&trusted[..4], None, "`--cert` and `--key`"),
        (&trusted[..2], Some(4), "hint: pass the certificate of its authority with `--ca`"),
    ] {
        let output = elsewhere.run(options);
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(code.is_none_or(|code| output.status.code() == Some(code)), "{output:?}");
        assert!(error.contains(part), "{options:?}: {error}");
    }
}

/// `openssl x509 -req` without extensions makes certificates of version 1, which no TLS library of today accepts.
#[test]
fn old_certificates_are_not_mistaken_for_wrong_keys() {
    const VERSION_3: &[u8] = &[0xa0, 0x03, 0x02, 0x01, 0x02];
    let authority = TestAuthority::new();
    let server = authority.server();
    let mut der = CertificateDer::from_pem_slice(server.certificate.as_bytes()).unwrap().to_vec();
    let at = der.windows(VERSION_3.len()).position(|bytes| bytes == VERSION_3).unwrap();
    der[at + VERSION_3.len() - 1] = 0x01;
    let text = STANDARD.encode(&der);
    let old = format!("-----BEGIN CERTIFICATE-----\n{text}\n-----END CERTIFICATE-----\n");
    let gateway = workspace(&IssuedCertificate { certificate: old, ..server }, &authority, "", "");
    for words in [
        &["check"][..],
        &["call", "--url", "https://127.0.0.1:1/mcp", "x", "--cert", "cert.pem", "--key", "key.pem"],
    ] {
        let output = gateway.run(words);
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success(), "{error}");
        assert!(
            error.contains("can't use the certificate `cert.pem`: it is an X.509 certificate of version 1"),
            "{error}"
        );
        assert!(error.contains("subjectAltName") && !error.contains("the key `key.pem`"), "{error}");
    }
}
