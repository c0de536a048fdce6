//! TLS, and credentials that the gateway adds to requests.

use moongate_tests::{Stdio, TestServer, Workspace};
use serde_json::{Value, json};

use super::{all_of, get, refused, request, zoo};

/// The zoo, in a gateway that trusts the CA of this TLS server.
fn trusting(remote: &TestServer, allow: &str) -> Workspace {
    let workspace = Workspace::new(&format!(
        "[gateway]\nca_file = \"authority.pem\"\n[plugins.zoo]\nsource = \"@zoo@\"\n[plugins.zoo.allow]\n{allow}\n"
    ));
    workspace.write("authority.pem", remote.ca_certificate());
    workspace
}

#[test]
fn trusts_the_configured_ca_and_rejects_wrong_certificates() {
    let remote = TestServer::start_tls(&["127.0.0.1"]);
    let workspace = trusting(&remote, &all_of(&remote));
    let mut stdio = Stdio::initialized(&workspace, "2025-11-25");
    let got = get(&mut stdio, &remote.url("/hello"));
    assert_eq!(got["body"], "hello", "{got}");
    assert_eq!(get(&mut stdio, &remote.url("/hello"))["status"], 200);
    assert_eq!(remote.connections(), 1);
    // A certificate of the same CA for another name, and one of another CA.
    let misnamed = TestServer::start_tls(&["elsewhere.example"]);
    let workspace = trusting(&misnamed, &all_of(&misnamed));
    let mut stdio = Stdio::initialized(&workspace, "2025-11-25");
    assert_eq!(refused(&mut stdio, &misnamed.url("/hello")), "TlsCertificateError");
    assert_eq!(refused(&mut stdio, &misnamed.url("/hello")), "TlsCertificateError");
    let (_, _, log) = stdio.finish();
    let expected = format!("TLS certificate of {} is not trusted", misnamed.origin());
    assert_eq!(log.matches(&expected).count(), 1, "{log}");
    assert!(!log.contains("set `ca_file`"), "{log}");
    let workspace = trusting(&misnamed, &all_of(&remote));
    let mut stdio = Stdio::initialized(&workspace, "2025-11-25");
    assert_eq!(refused(&mut stdio, &remote.url("/hello")), "TlsCertificateError");
    let (_, _, log) = stdio.finish();
    assert!(log.contains("; to trust another authority, set `ca_file` in `[gateway]`"), "{log}");
    assert!(misnamed.requests().is_empty() && remote.requests().len() == 2);
    // By default, `openssl req -x509` creates such certificates.
    let authority = TestServer::start_tls_as_ca(&["127.0.0.1"]);
    let workspace = trusting(&authority, &all_of(&authority));
    let mut stdio = Stdio::initialized(&workspace, "2025-11-25");
    assert_eq!(refused(&mut stdio, &authority.url("/hello")), "TlsCertificateError");
    let (_, _, log) = stdio.finish();
    assert!(log.contains("create a certificate with `basicConstraints=CA:FALSE`"), "{log}");
    // A server without TLS.
    let clear = TestServer::start();
    let url = clear.origin().replace("http:", "https:");
    let allow = format!("http = [{{ url = \"{url}\", networks = [\"127.0.0.0/8\"] }}]");
    let workspace = trusting(&remote, &allow);
    let mut stdio = Stdio::initialized(&workspace, "2025-11-25");
    let message = refused(&mut stdio, &url);
    assert!(["TlsProtocolError", "ConnectionTerminated"].contains(&message.as_str()), "{message}");
}

#[test]
fn servers_with_long_chains_are_refused_unexamined() {
    for (intermediates, is_trusted) in [(6, true), (7, false)] {
        let remote = TestServer::start_tls_with_chain(&["127.0.0.1"], intermediates);
        let workspace = trusting(&remote, &all_of(&remote));
        let mut stdio = Stdio::initialized(&workspace, "2025-11-25");
        if is_trusted {
            assert_eq!(get(&mut stdio, &remote.url("/hello"))["body"], "hello");
        } else {
            assert_eq!(refused(&mut stdio, &remote.url("/hello")), "TlsCertificateError");
        }
    }
}

#[test]
fn a_body_can_end_with_the_connection_but_not_be_truncated() {
    // The server never ends TLS before it closes a connection.
    for remote in [TestServer::start_tls(&["127.0.0.1"]), TestServer::start()] {
        let workspace = if remote.origin().starts_with("https") {
            trusting(&remote, &all_of(&remote))
        } else {
            zoo(&all_of(&remote))
        };
        let mut stdio = Stdio::initialized(&workspace, "2025-11-25");
        for path in ["/until-close", "/leave"] {
            assert_eq!(get(&mut stdio, &remote.url(path))["body"], "hello", "{}", remote.url(path));
        }
        for path in ["/short", "/cut", "/cut-chunk"] {
            let url = remote.url(path);
            assert_eq!(refused(&mut stdio, &url), "HttpResponseIncomplete", "{url}");
        }
        assert_eq!(get(&mut stdio, &remote.url("/until-close"))["body"], "hello");
    }
}

#[test]
fn sends_credentials_only_to_their_origin_unseen_by_plugins() {
    const SECRET: &str = "a-token-that-nobody-else-knows";
    let remote = TestServer::start_tls(&["127.0.0.1", "localhost"]);
    let clear = TestServer::start();
    let local = remote.origin().replace("127.0.0.1", "localhost");
    let workspace = trusting(
        &remote,
        &format!(
            "http = [{{ url = \"{}\", networks = [\"127.0.0.0/8\"] }}, {{ url = \"{local}\", networks = [\"127.0.0.0/8\", \"::1/128\"] }}, \
         {{ url = \"{}\", networks = [\"127.0.0.0/8\"] }}]\n\
         credentials = [{{ origin = \"{}\", headers = {{ authorization = {{ file = \"token\", prefix = \"Bearer \" }}, x-api-key = {{ file = \"token\" }} }} }}]",
            remote.origin(),
            clear.origin(),
            remote.origin(),
        ),
    );
    workspace.write("token", format!("{SECRET}\n"));
    let mut command = workspace.command(&["serve", "--stdio"]);
    command.env("MOONGATE_LOG", "trace");
    let mut stdio = Stdio::spawn_initialized(command, "2025-11-25");
    let asked = |url: String| json!({ "url": url, "headers": ["authorization: mine", "Authorization: too", "x_api_key: three"] });
    let got = request(&mut stdio, asked(remote.url("/hello")));
    assert_eq!(got["status"], 200, "{got}");
    assert!(!got.to_string().contains(SECRET), "{got}");
    let head = remote.last().head;
    assert!(head.contains(&format!("authorization: Bearer {SECRET}\r\n")), "{head}");
    assert!(["mine", "too", "three"].iter().all(|own| !head.contains(own)), "{head}");
    // Another name of the same server is another origin, and so is a server without TLS.
    for url in [format!("{local}/hello"), clear.url("/hello")] {
        let got = request(&mut stdio, asked(url.clone()));
        assert_eq!(got["status"], 200, "{url}: {got}");
    }
    for seen in [remote.last(), clear.last()] {
        assert!(seen.head.contains("authorization: mine\r\n") && !seen.head.contains(SECRET), "{seen:?}");
    }
    let (_, _, log) = stdio.finish();
    assert!(!log.contains(SECRET), "{log}");
}

#[test]
fn logs_missing_ca_certificates_once() {
    let workspace = zoo("http = [{ url = \"https://127.0.0.1:9\", networks = [\"127.0.0.0/8\"] }]");
    let remote = TestServer::start_tls(&["127.0.0.1"]);
    let text = std::fs::read_to_string(workspace.config()).unwrap();
    workspace.write("gateway.toml", text.replace("https://127.0.0.1:9", &remote.origin()));
    workspace.write("nothing.pem", "");
    let mut command = workspace.command(&["serve", "--stdio"]);
    command.env("SSL_CERT_FILE", workspace.path().join("nothing.pem"));
    let mut stdio = Stdio::spawn_initialized(command, "2025-11-25");
    for _ in 0..2 {
        assert_eq!(refused(&mut stdio, &remote.url("/hello")), "ConfigurationError");
    }
    let (_, _, log) = stdio.finish();
    assert_eq!(log.matches("the system has no CA certificates").count(), 1, "{log}");
}

#[test]
fn explain_shows_used_grants_and_the_origin_of_credentials() {
    let remote = TestServer::start_tls(&["127.0.0.1"]);
    let workspace = trusting(
        &remote,
        &format!(
            "{}\ncredentials = [{{ origin = \"{}\", headers = {{ x-key = {{ file = \"key\" }} }} }}]",
            all_of(&remote),
            remote.origin()
        ),
    );
    workspace.write("key", "a-key-that-nobody-else-knows");
    let explained = |url: String| {
        let request = format!("request={}", json!({ "url": url }));
        let output = workspace.run(&["call", "zoo_http_request", &request, "--explain", "--format", "json"]);
        let document: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{output:?}"));
        assert!(!document.to_string().contains("a-key-that"), "{document}");
        document["grants"].clone()
    };
    let grants = explained(remote.url("/hello"));
    let used = [format!("credentials for {}", remote.origin()), format!("http {}", remote.origin())];
    assert_eq!(grants["used"], json!(used), "{grants}");
    let grants = explained("https://example.com/a/path".to_owned());
    let fix = "http = [\"https://example.com\"]";
    let lacked = json!([{ "wanted": "GET https://example.com", "cure": fix, "replaces": false }]);
    assert_eq!(grants["lacked"], lacked, "{grants}");
}

#[test]
fn an_invalid_ca_file_fails_startup_with_a_short_error() {
    let workspace = Workspace::new("[gateway]\nca_file = \"authority.pem\"\n");
    let long = "x".repeat(10_000);
    let wrong = format!("-----BEGIN CERTIFICATE-----\n\u{1b}[31m{long}\n-----END {long}-----\n");
    for content in [String::new(), wrong, format!("-----BEGIN {long}\n"), " ".repeat((4 << 20) + 1)] {
        workspace.write("authority.pem", &content);
        let output = workspace.run(&["serve", "--stdio"]);
        let message = String::from_utf8(output.stderr).unwrap();
        assert!(!output.status.success() && message.contains("authority.pem"), "{message}");
        assert!(message.len() < 2_000 && !message.contains('\u{1b}'), "{message}");
    }
}
