//! The admin listener of a gateway on a network: tokens, client certificates, and the commands that use them.

use std::process::Output;

use moongate_tests::{
    Admin, Http, IssuedCertificate, Reply, TestAuthority, TlsClient, TlsVersion, Validity, Workspace,
    wait_until,
};
use rcgen::SanType;

const FIRST: &str = "the-first-token-of-this-test";
const SECOND: &str = "the-second-token-of-this-test";

/// A gateway whose admin listener has more keys.
fn workspace(admin: &str, more: &str) -> Workspace {
    let workspace = Workspace::new(&format!(
        "[http]\nlisten = \"127.0.0.1:0\"\n[admin]\n{admin}\n{more}\n[plugins.zoo]\nsource = \"@zoo@\"\n"
    ));
    workspace.write("admin-token", FIRST);
    workspace
}

fn with_token(admin: Admin, token: &str, verb: &str, path: &str) -> Reply {
    let headers = format!("Authorization: Bearer {token}\r\nContent-Type: application/json\r\n");
    admin.send(verb, path, &headers, if verb == "POST" { "{}" } else { "" })
}

/// Runs a command with this token in its environment, and against the listener at this port.
fn run(workspace: &Workspace, token: Option<&str>, arguments: &[&str]) -> Output {
    let mut command = workspace.command(arguments);
    if let Some(token) = token {
        command.env("MOONGATE_ADMIN_TOKEN", token);
    }
    command.output().unwrap()
}

fn errors(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn other_machines_need_a_token_that_can_change() {
    let open = workspace("listen = \"0.0.0.0:0\"", "");
    for arguments in [&["check"][..], &["serve"]] {
        let printed = errors(&open.run(arguments));
        assert!(
            printed.contains("a non-loopback address of the admin listener needs authentication"),
            "{printed}"
        );
        assert!(printed.contains("`[admin]`") && printed.contains("token"), "{printed}");
    }
    let typed = errors(&workspace("", "").run(&["serve", "--admin", "0.0.0.0:0"]));
    assert!(typed.contains("refusing to serve the admin listener on non-loopback address"), "{typed}");

    let workspace = workspace("listen = \"0.0.0.0:0\"\ntoken = { file = \"admin-token\" }", "");
    assert!(
        errors(&workspace.run(&["check"])).contains("unencrypted"),
        "{}",
        errors(&workspace.run(&["check"]))
    );
    let http = Http::start(&workspace);
    let admin = http.admin();
    for (verb, path) in [("GET", "/metrics"), ("GET", "/status.json"), ("POST", "/reload"), ("GET", "/other")]
    {
        assert_eq!(admin.send(verb, path, "Content-Type: application/json\r\n", "{}").status, 401, "{path}");
        assert_eq!(with_token(admin, "wrong", verb, path).status, 401, "{path}");
    }
    http.wait_for_log("listener=\"admin\" reason=\"unknown_token\"");
    assert!(!http.log().contains(FIRST), "{}", http.log());
    let refused = "moongate_refused_requests_total{listener=\"admin\",reason=\"unknown_token\"}";
    let metrics = with_token(admin, FIRST, "GET", "/metrics");
    assert!(metrics.body.contains(refused), "{}", metrics.body);
    // Probes reveal nothing but the state.
    assert_eq!(admin.get("/livez").body, "alive\n");
    assert_eq!(admin.get("/readyz?verbose").body, "ready\n");
    assert!(with_token(admin, FIRST, "GET", "/readyz?verbose").body.contains("plugin zoo"));

    // On this machine, commands find the token in the configuration.
    let address = format!("127.0.0.1:{}", admin.address().port());
    let reload = ["reload", "--admin", &*address];
    assert_eq!(run(&workspace, None, &reload).status.code(), Some(0), "{:?}", run(&workspace, None, &reload));
    let listed = run(&workspace, None, &["list", "plugins", "--admin", &address]);
    assert!(String::from_utf8_lossy(&listed.stdout).contains("zoo"), "{listed:?}");
    let wrong = run(&workspace, Some("wrong"), &reload);
    assert_eq!(wrong.status.code(), Some(3), "{wrong:?}");
    assert!(errors(&wrong).contains("MOONGATE_ADMIN_TOKEN"), "{wrong:?}");
    let elsewhere = Workspace::new("");
    assert_eq!(run(&elsewhere, None, &reload).status.code(), Some(3));
    assert_eq!(run(&elsewhere, Some(FIRST), &reload).status.code(), Some(0));

    workspace.write("admin-token", SECOND);
    wait_until("the new token is accepted", || with_token(admin, SECOND, "GET", "/metrics").status == 200);
    // The tries above with the next token count as guesses.
    assert!([401, 429].contains(&with_token(admin, FIRST, "GET", "/metrics").status));
    http.wait_for_log("`admin.token`");
    assert_eq!(run(&workspace, None, &reload).status.code(), Some(0));
    // A token that could be guessed isn't used.
    workspace.write("admin-token", "short");
    http.wait_for_log("too short");
    assert_eq!(with_token(admin, SECOND, "GET", "/metrics").status, 200);
}

#[test]
fn a_removed_token_admits_nobody_until_a_restart() {
    let workspace = workspace("listen = \"127.0.0.1:0\"\ntoken = { file = \"admin-token\" }", "");
    let http = Http::start(&workspace);
    let admin = http.admin();
    assert_eq!(with_token(admin, FIRST, "GET", "/metrics").status, 200);
    let text = std::fs::read_to_string(workspace.config()).unwrap();
    workspace.write("gateway.toml", text.replace("token = { file = \"admin-token\" }", ""));
    http.wait_for_log("`admin.token` changed and needs a restart");
    wait_until("the token is refused", || with_token(admin, FIRST, "GET", "/metrics").status == 401);
    assert_eq!(admin.get("/metrics").status, 401);
    assert_eq!(admin.get("/livez").status, 200);
}

#[test]
fn the_token_is_separate_from_those_of_callers_and_plugins() {
    let caller = "[http.auth]\ntokens = [{ name = \"ci\", token = { file = \"admin-token\" } }]";
    let same = workspace("token = { file = \"admin-token\" }", caller);
    let printed = errors(&same.run(&["check"]));
    assert!(printed.contains("the caller `ci` has the same token"), "{printed}");

    let disclosed = workspace("token = { file = \"admin-token\" }", "");
    let text = std::fs::read_to_string(disclosed.config()).unwrap();
    disclosed.write("gateway.toml", format!("{text}config.key = {{ file = \"admin-token\" }}\n"));
    let printed = errors(&disclosed.run(&["check"]));
    assert!(printed.contains("the gateway's own admin token"), "{printed}");
    disclosed.write(
        "gateway.toml",
        format!("{text}allow.dirs = [{{ host = \".\", guest = \"/d\", mode = \"ro\" }}]\n"),
    );
    let printed = errors(&disclosed.run(&["check"]));
    assert!(printed.contains("the secret file `admin-token`"), "{printed}");
}

/// The admin listener has an authority of its own: callers aren't operators.
#[test]
fn client_certificates_authenticate_operators() {
    let (servers, operators, callers) = (TestAuthority::new(), TestAuthority::new(), TestAuthority::new());
    let tls = "[admin.tls]\ncertificate = \"cert.pem\"\nkey = \"key.pem\"\nclient_ca = \"operators.pem\"";
    let workspace = workspace("listen = \"0.0.0.0:0\"", tls);
    let IssuedCertificate { certificate, key } = servers.server();
    workspace.write("cert.pem", certificate);
    workspace.write("key.pem", key);
    workspace.write("operators.pem", operators.certificate());
    let dns = |authority: &TestAuthority, validity| {
        authority.issue(vec![SanType::DnsName("ops.example.com".try_into().unwrap())], validity)
    };
    let operator = dns(&operators, Validity::Now);
    workspace.write("ops.pem", &operator.certificate);
    workspace.write("ops-key.pem", &operator.key);
    assert!(!errors(&workspace.run(&["check"])).contains("unencrypted"));
    let http = Http::start(&workspace);
    http.wait_for_log("https://0.0.0.0:");
    let port = http.admin().address().port();
    let address = ([127, 0, 0, 1], port).into();
    let get = |own: Option<&IssuedCertificate>, path: &str| {
        let client = TlsClient::new(servers.certificate(), TlsVersion::Tls13, own);
        client.send(address, &format!("GET {path}"), &[], "").map(|reply| reply.status)
    };
    assert_eq!(get(Some(&operator), "/status.json").unwrap(), 200);
    for refused in [dns(&callers, Validity::Now), dns(&operators, Validity::Expired)] {
        assert!(get(Some(&refused), "/status.json").is_err());
    }
    assert!(get(None, "/livez").is_err(), "a probe needs a certificate too");

    let url = format!("https://127.0.0.1:{port}");
    let own = ["--cert", "ops.pem", "--key", "ops-key.pem"];
    let health = workspace.run(&[&["health", "--admin", &*url][..], &own].concat());
    assert_eq!(health.status.code(), Some(0), "{health:?}");
    let without = workspace.run(&["health", "--admin", &url]);
    // With TLS 1.3, the gateway refuses it after the client's handshake, and the reason can arrive too late.
    assert!(matches!(without.status.code(), Some(3 | 4)), "{without:?}");
    assert!(errors(&without).contains("`--cert` and `--key`"), "{without:?}");
    let plain = workspace.run(&["health", "--admin", &format!("127.0.0.1:{port}")]);
    assert!(errors(&plain).contains(&format!("write https://127.0.0.1:{port}")), "{plain:?}");
    // Elsewhere, the authority must be named.
    let elsewhere = Workspace::new("");
    for (file, content) in [
        ("ops.pem", &*operator.certificate),
        ("ops-key.pem", &*operator.key),
        ("ca.pem", servers.certificate()),
    ] {
        elsewhere.write(file, content);
    }
    let named = format!("https://localhost:{port}");
    let reload = [&["reload", "--admin", &*named][..], &own].concat();
    assert_eq!(elsewhere.run(&reload).status.code(), Some(4), "{:?}", elsewhere.run(&reload));
    let trusted = elsewhere.run(&[&reload[..], &["--ca", "ca.pem"]].concat());
    assert_eq!(trusted.status.code(), Some(0), "{trusted:?}");
}

#[test]
fn a_web_page_is_refused_with_any_credentials() {
    let keys =
        "listen = \"127.0.0.1:0\"\ntoken = { file = \"admin-token\" }\nallowed_hosts = [\"ops.example.com\"]";
    let workspace = workspace(keys, "");
    let http = Http::start(&workspace);
    let admin = http.admin();
    let port = admin.address().port();
    let send = |headers: &str| {
        let headers = format!("Authorization: Bearer {FIRST}\r\n{headers}");
        admin.send("GET", "/status.json", &headers, "").status
    };
    assert_eq!(send(""), 200);
    for origin in ["https://ops.example.com", "http://localhost:3000", "null"] {
        assert_eq!(send(&format!("Origin: {origin}\r\n")), 403, "{origin}");
    }
    assert_eq!(send(&format!("Origin: http://127.0.0.1:{port}\r\n")), 200);
    let client = |host: &str, headers: &str| {
        use std::io::{Read as _, Write as _};
        let mut stream = std::net::TcpStream::connect(admin.address()).unwrap();
        let request = format!(
            "GET /metrics HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\nAuthorization: Bearer {FIRST}\r\n{headers}\r\n"
        );
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer[9..12].to_owned()
    };
    assert_eq!((&*client("ops.example.com", ""), &*client("evil.example.com", "")), ("200", "403"));
    let origin = |host: &str| format!("Origin: http://{host}\r\n");
    assert_eq!(client("ops.example.com", &origin("ops.example.com")), "200", "its own page");
    assert_eq!(client("ops.example.com", &origin("evil.example.com")), "403");
    assert_eq!(client("evil.example.com", &origin("evil.example.com")), "403");
}
