//! TLS of the endpoint: versions, commands that trust its certificate, replaced and broken files, and peers that don't
//! finish a handshake or don't start one.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt as _;
use std::time::{Duration, Instant};

use moongate_tests::{
    Http, IssuedCertificate, TestAuthority, TlsClient, TlsVersion, Validity, Workspace, stateless_request,
    wait_until,
};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use serde_json::json;

/// A gateway with a certificate, and more keys of `[http]` and other tables.
fn workspace(certificate: &IssuedCertificate, http: &str, more: &str) -> Workspace {
    let workspace = Workspace::new(&format!(
        "[http]\n{http}\n[http.tls]\ncertificate = \"cert.pem\"\nkey = \"key.pem\"\n{more}\n\
         [plugins.zoo]\nsource = \"@zoo@\"\n"
    ));
    write(&workspace, certificate);
    workspace
}

pub(super) fn write(workspace: &Workspace, IssuedCertificate { certificate, key }: &IssuedCertificate) {
    // The key first and under another name, so that the pair is complete whenever the gateway reads it.
    workspace.write("key.pem", key);
    workspace.write("cert.pem", certificate);
    let key = workspace.path().join("key.pem");
    fs::set_permissions(key, fs::Permissions::from_mode(0o600)).unwrap();
}

/// The headers of a call.
pub(super) const HEADERS: [(&str, &str); 5] = [
    ("Content-Type", "application/json"),
    ("Accept", "application/json, text/event-stream"),
    ("MCP-Protocol-Version", "2026-07-28"),
    ("Mcp-Method", "tools/call"),
    ("Mcp-Name", "zoo_echo"),
];

fn call() -> String {
    stateless_request(1, "tools/call", json!({ "name": "zoo_echo", "arguments": { "text": "hello" } }))
        .to_string()
}

/// The status of a call, and whether it succeeded.
fn status(http: &Http, client: &TlsClient) -> u16 {
    client.send(http.address(), "POST /mcp", &HEADERS, &call()).unwrap().status
}

/// The certificate that a new connection gets.
fn served(http: &Http, client: &TlsClient) -> Option<CertificateDer<'static>> {
    Some(client.connect(http.address()).ok()?.conn.peer_certificates()?.first()?.clone().into_owned())
}

#[test]
fn serves_both_tls_versions_and_commands_trust_the_certificate() {
    let authority = TestAuthority::new();
    let workspace = workspace(&authority.server(), "", "");
    let http = Http::start(&workspace);
    for version in [TlsVersion::Tls12, TlsVersion::Tls13] {
        assert_eq!(
            status(&http, &TlsClient::new(authority.certificate(), version, None)),
            200,
            "{version:?}"
        );
    }
    let url = format!("https://{}/mcp", http.address());
    http.wait_for_log(&url);
    for arguments in
        [&["call", "--url", &url, "zoo_echo", "text=hello"][..], &["list", "tools", "--url", &url]]
    {
        let output = workspace.run(arguments);
        assert!(output.status.success(), "{output:?}");
    }
    // Another gateway's certificate isn't trusted, whatever its name.
    write(&workspace, &TestAuthority::new().server());
    let other = Workspace::with_plugin("zoo");
    let output = other.run(&["list", "tools", "--url", &url]);
    assert!(!output.status.success(), "{output:?}");
    assert!(String::from_utf8_lossy(&output.stderr).contains("its authority is unknown"), "{output:?}");
}

#[test]
fn a_replaced_certificate_is_used_and_a_broken_one_is_not() {
    let authority = TestAuthority::new();
    let (first, second) = (authority.server(), authority.server());
    let workspace = workspace(&first, "", "");
    let http = Http::start(&workspace);
    let client = TlsClient::new(authority.certificate(), TlsVersion::Tls13, None);
    let der = |of: &IssuedCertificate| CertificateDer::from_pem_slice(of.certificate.as_bytes()).unwrap();
    assert_eq!(served(&http, &client), Some(der(&first)));
    // After a request, the connection stays open for longer than this test takes.
    let mut open = client.connect(http.address()).unwrap();
    open.write_all(b"GET /mcp HTTP/1.1\r\nHost: localhost\r\nAccept: application/json\r\n\r\n").unwrap();
    let mut answered = [0; 4096];
    assert!(open.read(&mut answered).unwrap() > 0);

    // A certificate whose key doesn't follow, and a file that isn't a certificate.
    for (content, reason) in
        [(&*second.certificate, "belong"), ("-----BEGIN NOTHING-----\n", "no certificate")]
    {
        workspace.write("cert.pem", content);
        http.wait_for_log(reason);
        http.wait_for_log("rejected the new certificate");
        http.wait_for_log("cert.pem");
        assert_eq!(served(&http, &client), Some(der(&first)));
    }
    write(&workspace, &second);
    wait_until("the new certificate is used", || served(&http, &client) == Some(der(&second)));
    http.wait_for_log("`http.tls` certificate");

    // The connection from before still works.
    open.write_all(b"GET /x HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n").unwrap();
    let mut answer = String::new();
    open.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 404"), "{answer}");

    // TLS itself can't be turned off while the gateway runs.
    let text = fs::read_to_string(workspace.config()).unwrap();
    let without: Vec<_> =
        text.lines().filter(|line| !line.contains("tls]") && !line.contains(".pem")).collect();
    workspace.write("gateway.toml", without.join("\n"));
    http.wait_for_log("`http.tls` changed and needs a restart");
    assert_eq!(status(&http, &client), 200);
}

/// An operator who revokes a token may not notice that a certificate is broken.
#[test]
fn a_token_is_revoked_despite_a_broken_certificate() {
    let authority = TestAuthority::new();
    let tokens = |names: &[&str]| {
        let token = |name: &&str| format!("{{ name = \"{name}\", token = {{ file = \"{name}\" }} }}");
        format!("auth.tokens = [{}]", names.iter().map(token).collect::<Vec<_>>().join(", "))
    };
    let server = authority.server();
    let admin = "[admin]\nlisten = \"127.0.0.1:0\"\n";
    let workspace = workspace(&server, &tokens(&["ann", "bob"]), admin);
    workspace.write("ann", "the-token-of-ann-in-this-test");
    workspace.write("bob", "the-token-of-bob-in-this-test");
    let http = Http::start(&workspace);
    let client = TlsClient::new(authority.certificate(), TlsVersion::Tls13, None);
    let status = |name: &str| {
        let bearer = format!("Bearer the-token-of-{name}-in-this-test");
        let headers = [&HEADERS[..], &[("Authorization", &*bearer)]].concat();
        client.send(http.address(), "POST /mcp", &headers, &call()).unwrap().status
    };
    assert_eq!((status("ann"), status("bob")), (200, 200));
    let text = fs::read_to_string(workspace.config()).unwrap();
    workspace.write("cert.pem", "-----BEGIN NOTHING-----\n");
    workspace.write("gateway.toml", text.replace(&tokens(&["ann", "bob"]), &tokens(&["bob"])));
    wait_until("the token is revoked", || status("ann") == 401);
    assert_eq!((status("bob"), served(&http, &client).is_some()), (200, true));
    let rejected = &http.admin().wait_until_status("the certificate is reported", |status| {
        status["config"]["rejected"].as_str().is_some_and(|reason| reason.contains("cert.pem"))
    })["config"];
    assert_eq!(rejected["needs_restart"], json!([]), "{rejected}");
    let failed = http.admin().reload()["failed"].to_string();
    assert!(failed.contains("cert.pem"), "{failed}");
    http.wait_for_log("token `ann` revoked");
    write(&workspace, &server);
    let repaired = |status: &serde_json::Value| status["config"]["rejected"].is_null();
    http.admin().wait_until_status("the certificate is repaired", repaired);
}

#[test]
fn unusable_files_are_reported_with_their_names_and_a_fix() {
    let authority = TestAuthority::new();
    let server = authority.server();
    let other = authority.server();
    let expired = authority.issue(Vec::new(), Validity::Expired);
    let encrypted = "-----BEGIN ENCRYPTED PRIVATE KEY-----\nAAAA\n-----END ENCRYPTED PRIVATE KEY-----\n";
    for (certificate, key, expected) in [
        (None, Some(&*server.key), "error: the certificate `cert.pem` doesn't exist"),
        (Some(&*server.certificate), None, "error: the key `key.pem` doesn't exist"),
        (Some("nothing"), Some(&*server.key), "error: the file `cert.pem` contains no certificate in PEM"),
        (Some(&*server.certificate), Some("nothing"), "error: the file `key.pem` contains no key in PEM"),
        (Some(&*server.certificate), Some(encrypted), "error: the key `key.pem` is encrypted"),
        (
            Some(&*server.certificate),
            Some(&*other.key),
            "error: the key `key.pem` doesn't belong to the certificate `cert.pem`",
        ),
        (
            Some(&*expired.certificate),
            Some(&*expired.key),
            "warning: the certificate `cert.pem` expired on 2021-02-03T00:00:00Z",
        ),
    ] {
        let workspace = workspace(&server, "", "");
        for (file, content) in [("cert.pem", certificate), ("key.pem", key)] {
            match content {
                Some(content) => workspace.write(file, content),
                None => fs::remove_file(workspace.path().join(file)).unwrap(),
            }
        }
        let output = workspace.run(&["check"]);
        let printed = String::from_utf8_lossy(&output.stderr);
        assert!(
            printed.contains(expected) && printed.contains("= help: ") | printed.contains("hint"),
            "{printed}"
        );
        assert_eq!(output.status.success(), expected.starts_with("warning"), "{printed}");
        if !output.status.success() {
            assert!(!workspace.run(&["serve"]).status.success());
            assert!(workspace.run(&["serve", "--stdio"]).status.success(), "stdio needs no certificate");
        }
    }
}

#[test]
fn the_key_is_protected_and_networks_need_authentication() {
    let server = TestAuthority::new().server();
    let workspace = workspace(&server, "", "");
    let key = workspace.path().join("key.pem");
    fs::set_permissions(&key, fs::Permissions::from_mode(0o644)).unwrap();
    fs::set_permissions(workspace.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let printed = |arguments: &[&str]| String::from_utf8(workspace.run(arguments).stderr).unwrap();
    let warning = format!("every user of this machine can read the secret file `{}`", key.display());
    assert!(printed(&["check"]).contains(&warning), "{}", printed(&["check"]));

    let text = fs::read_to_string(workspace.config()).unwrap();
    let granted = format!("{text}allow.dirs = [{{ host = \".\", guest = \"/d\", mode = \"ro\" }}]\n");
    workspace.write("gateway.toml", granted);
    assert!(printed(&["check"]).contains("the secret file `key.pem`"), "{}", printed(&["check"]));

    workspace.write("gateway.toml", text.replace("127.0.0.1:0", "0.0.0.0:0"));
    assert!(
        printed(&["serve"]).contains("a non-loopback address needs authentication"),
        "{}",
        printed(&["serve"])
    );
}

#[test]
fn requests_without_tls_get_an_answer_and_one_log_line() {
    let authority = TestAuthority::new();
    let workspace = workspace(&authority.server(), "", "");
    let http = Http::start(&workspace);
    let exchange = |sent: &[u8]| {
        let mut stream = TcpStream::connect(http.address()).unwrap();
        stream.write_all(sent).unwrap();
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
        String::from_utf8_lossy(&answer).into_owned()
    };
    for _ in 0..20 {
        let answer = exchange(b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n\r\n{}");
        assert!(answer.starts_with("HTTP/1.1 400 Bad Request\r\n"), "{answer}");
        assert!(answer.ends_with("\r\n\r\nthis port needs TLS: use https\n"), "{answer}");
    }
    for garbage in
        [&b"\x00\x01\x02\x03\x04\x05\x06\x07"[..], b"\x16\x03\x01\xff\xff", b"{\"jsonrpc\":\"2.0\"}\n"]
    {
        let mut stream = TcpStream::connect(http.address()).unwrap();
        stream.write_all(garbage).unwrap();
        stream.shutdown(std::net::Shutdown::Write).unwrap();
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer); // at most an alert, and then the connection is closed
        assert!(answer.len() < 16, "{answer:?}");
    }
    http.wait_for_log("refused a TLS handshake: the client sent plain HTTP");
    let lines = http.log().matches("refused a TLS handshake").count();
    assert!(lines <= 5, "{lines} lines: {}", http.log());
    // The error contains the right URL.
    let url = format!("http://{}/mcp", http.address());
    let output = workspace.run(&["list", "tools", "--url", &url]);
    let printed = String::from_utf8_lossy(&output.stderr);
    assert!(
        printed.contains(&format!("the server uses https: write https://{}/mcp", http.address())),
        "{printed}"
    );
}

#[test]
fn half_open_handshakes_leave_room_for_others_and_end() {
    let authority = TestAuthority::new();
    let workspace = workspace(&authority.server(), "max_connections = 64", "");
    let http = Http::start(&workspace);
    let client = TlsClient::new(authority.certificate(), TlsVersion::Tls13, None);
    // Nothing at all, a part of a record, and a record that announces more than it has.
    let starts = [&b""[..], b"\x16", b"\x16\x03\x01\x40\x00\x01\x00"];
    let opened = Instant::now();
    let mut half_open: Vec<_> = (0..100)
        .map(|number| {
            let mut stream = TcpStream::connect(http.address()).unwrap();
            let _ = stream.write_all(starts[number % starts.len()]);
            stream
        })
        .collect();
    assert_eq!(status(&http, &client), 200);
    // A client that keeps sending doesn't get more time.
    let mut last = half_open.pop().unwrap();
    last.set_read_timeout(Some(Duration::from_millis(100))).unwrap();
    let mut answer = [0; 64];
    let is_open = |stream: &mut TcpStream, answer: &mut [u8]| match stream.read(answer) {
        Ok(0) => false,
        Ok(_) => true,
        Err(error) => matches!(error.kind(), std::io::ErrorKind::WouldBlock | std::io::ErrorKind::TimedOut),
    };
    wait_until("the handshake has timed out", || {
        let _ = last.write_all(b"\x00");
        !is_open(&mut last, &mut answer)
    });
    assert!(opened.elapsed() < Duration::from_secs(60), "{:?}", opened.elapsed());
    assert_eq!(status(&http, &client), 200);
}
