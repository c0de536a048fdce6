//! Destinations of plugins' HTTP requests, tested with web servers on loopback addresses, which require a grant of their
//! network.

use std::process::Command;

use moongate_tests::{Http, Stdio, TestServer, Workspace, text, wait_until};
use serde_json::{Value, json};

/// Sizes, timeouts, counts and misbehaving servers.
mod limits;
/// TLS and credentials.
mod tls;

/// The zoo with this `allow` table.
fn zoo(allow: &str) -> Workspace {
    Workspace::new(&format!("[plugins.zoo]\nsource = \"@zoo@\"\n[plugins.zoo.allow]\n{allow}\n"))
}

/// A grant of everything on a server.
fn all_of(remote: &TestServer) -> String {
    format!("http = [{{ url = \"{}\", networks = [\"127.0.0.0/8\"] }}]", remote.origin())
}

/// The response to the zoo's request.
#[track_caller]
fn request(stdio: &mut Stdio, request: Value) -> Value {
    let arguments = Value::from_iter([("request".to_owned(), request)]);
    let answer = stdio.call("zoo_http_request", arguments);
    let got = answer["result"]["structuredContent"].clone();
    assert!(got.is_object(), "{answer}");
    got
}

#[track_caller]
fn get(stdio: &mut Stdio, url: &str) -> Value {
    request(stdio, json!({ "url": url }))
}

/// The error of the zoo's request.
#[track_caller]
fn refused(stdio: &mut Stdio, url: &str) -> String {
    let got = get(stdio, url);
    got["refused"].as_str().unwrap_or_else(|| panic!("{url}: {got}")).to_owned()
}

#[test]
fn a_granted_request_succeeds() {
    let remote = TestServer::start();
    let workspace = zoo(&all_of(&remote));
    let mut stdio = Stdio::initialized(&workspace, "2025-11-25");
    let got = get(&mut stdio, &remote.url("/hello?a=b"));
    assert_eq!((&got["status"], &got["body"], &got["refused"]), (&json!(200), &json!("hello"), &Value::Null));
    assert!(got["headers"].as_array().unwrap().contains(&json!("x-remote: yes")), "{got}");
    let post = json!({
        "url": remote.url("/echo"), "method": "POST", "headers": ["x-mine: 1"], "body": "a body",
    });
    let got = request(&mut stdio, post);
    let echo = got["body"].as_str().unwrap();
    assert!(echo.starts_with("POST /echo HTTP/1.1\r\n") && echo.ends_with("\r\na body"), "{echo}");
    assert_eq!(remote.last().header("host"), Some(remote.address().to_string().as_str()));
    // The gateway adds no header that would identify the plugin or itself.
    let seen = &remote.requests()[0];
    assert_eq!(
        seen.head.lines().collect::<Vec<_>>(),
        ["GET /hello?a=b HTTP/1.1", &format!("host: {}", remote.address()),]
    );
}

#[test]
fn denies_requests_without_a_grant_and_logs_the_line_to_add() {
    let remote = TestServer::start();
    let workspace = Workspace::with_plugin("zoo");
    let mut stdio = Stdio::initialized(&workspace, "2025-11-25");
    for _ in 0..2 {
        assert_eq!(refused(&mut stdio, &remote.url("/hello?secret=1")), "HttpRequestDenied");
        assert_eq!(refused(&mut stdio, "https://example.com/"), "HttpRequestDenied");
    }
    let (_, _, log) = stdio.finish();
    let denials: Vec<_> = log.lines().filter(|line| line.contains("was denied")).collect();
    let [own, example] = denials.as_slice() else { panic!("{log}") };
    let line = format!("http = [{{ url = \"{}\", networks = [\"127.0.0.1/32\"] }}]", remote.origin());
    assert!(own.contains(&line) && !own.contains("secret"), "{own}");
    assert!(example.contains("add `http = [\"https://example.com\"]` to `[plugins.zoo.allow]`"), "{example}");
    assert_eq!(remote.connections(), 0);
}

#[test]
fn a_grant_matches_scheme_host_port_method_and_path_together() {
    let remote = TestServer::start();
    let other = TestServer::start();
    let port = remote.address().port();
    let workspace = zoo(&format!(
        "http = [\
           {{ url = \"http://127.0.0.1:{port}/read\", methods = [\"get\"], networks = [\"127.0.0.0/8\"] }},\
           {{ url = \"http://127.0.0.1:{port}/write\", methods = [\"POST\"], networks = [\"127.0.0.0/8\"] }},\
           {{ url = \"http://127.0.0.1:{}/any\", networks = [\"10.0.0.0/8\", \"127.0.0.1/32\"] }}]",
        other.address().port(),
    ));
    let mut stdio = Stdio::initialized(&workspace, "2025-11-25");
    let mut status = |method: &str, url: &str| {
        let got = request(&mut stdio, json!({ "url": url, "method": method }));
        got["refused"].as_str().map_or_else(|| got["status"].to_string(), str::to_owned)
    };
    for (method, path) in [("GET", "/read"), ("GET", "/read/more?x"), ("POST", "/write"), ("get", "/read")] {
        assert_eq!(status(method, &remote.url(path)), "200", "{method} {path}");
    }
    // The URL that was checked is the URL that is sent.
    assert_eq!(remote.last().line(), "GET /read HTTP/1.1");
    assert_eq!(status("GET", &remote.url("/write/../read/x")), "200");
    assert_eq!(remote.last().line(), "GET /read/x HTTP/1.1");
    for (method, path) in [
        ("POST", "/read"),
        ("GET", "/write"),
        ("DELETE", "/read"),
        ("GET", "/"),
        ("GET", "/reading"),
        ("GET", "/read/../write"),
        ("GET", "/read/%2e%2e/write"),
        ("GET", "/read%2f..%2fwrite"),
        ("GET", "/any"),
    ] {
        assert_eq!(status(method, &remote.url(path)), "HttpRequestDenied", "{method} {path}");
    }
    assert_eq!(status("GET", &other.url("/any")), "200");
    assert_eq!(status("GET", &other.url("/read")), "HttpRequestDenied");
    assert_eq!(status("GET", &remote.url("/read").replace("http:", "https:")), "HttpRequestDenied");
    for method in ["CONNECT", "TRACE", "track"] {
        assert_eq!(status(method, &other.url("/any")), "HttpRequestMethodInvalid", "{method}");
    }
    assert_eq!(remote.requests().len(), 5);
}

#[test]
fn rejects_a_destination_header_outside_the_grant() {
    let remote = TestServer::start();
    let workspace = zoo(&format!(
        "http = [{{ url = \"{}/mine\", methods = [\"MOVE\", \"GET\"], networks = [\"127.0.0.0/8\"] }}]",
        remote.origin()
    ));
    let mut stdio = Stdio::initialized(&workspace, "2025-11-25");
    let mut moved = |to: &str| {
        let destination = format!("Destination: {to}");
        let asked = json!({ "url": remote.url("/mine/a"), "method": "MOVE", "headers": [destination] });
        request(&mut stdio, asked)["refused"].clone()
    };
    for to in ["/mine/b".to_owned(), remote.url("/mine/b")] {
        assert_eq!(moved(&to), Value::Null, "{to}");
    }
    for to in [
        "/other",
        "/mine/../other",
        "/mine/%2e%2e/other",
        "http://localhost/mine/b",
        "https://a.example/mine",
    ] {
        assert_eq!(moved(to), "HttpRequestDenied", "{to}");
    }
    for to in ["mine/b", "", "//a.example/mine", "ftp://a.example/mine", "/\\a.example/mine", "/mine/\tb"] {
        assert_eq!(moved(to), "HttpRequestUriInvalid", "{to}");
    }
    assert_eq!(remote.requests().len(), 2);
}

#[test]
fn sends_the_destination_header_as_it_was_checked() {
    let remote = TestServer::start();
    let mut stdio = Stdio::initialized(&zoo(&all_of(&remote)), "2025-11-25");
    for (written, sent) in [
        ("/b?c", "/b?c"),
        ("/a/./c/%2E%2e/b#d", "/a/b"),
        // Servers treat this as a path, but some then parse a host from the path.
        ("/.//a.example/b", "//a.example/b"),
    ] {
        for method in ["MOVE", "copy"] {
            let destination = format!("Destination: {written}");
            let asked = json!({ "url": remote.url("/a"), "method": method, "headers": [destination] });
            assert_eq!(request(&mut stdio, asked)["refused"], Value::Null, "{written}");
            assert_eq!(remote.last().header("destination"), Some(&*remote.url(sent)), "{written}");
        }
    }
}

#[test]
fn odd_spellings_of_addresses_are_checked_as_addresses() {
    let remote = TestServer::start();
    let port = remote.address().port();
    // A grant by name, which covers no address, and a grant of another address.
    let workspace = zoo(&format!(
        "http = [\"http://*:{port}\", \"https://*\", \"http://*\", {{ url = \"http://127.0.0.9:{port}\", networks = [\"127.0.0.9/32\"] }}]"
    ));
    let mut stdio = Stdio::initialized(&workspace, "2025-11-25");
    for host in [
        "127.0.0.1",
        "127.1",
        "127.0.1",
        "2130706433",
        "0x7f000001",
        "0x7f.1",
        "0177.0.0.1",
        "017700000001",
        "127.0.0.1.",
        "[::1]",
        "[::ffff:127.0.0.1]",
        "[::ffff:7f00:1]",
        "[0:0:0:0:0:ffff:127.0.0.1]",
        "[64:ff9b::7f00:1]",
        "0",
        "0.0.0.0",
        "[::]",
        "169.254.169.254",
        "0xa9fea9fe",
        "[fe80::1]",
        "10.0.0.1",
        "[::ffff:a9fe:a9fe]",
        "%31%32%37.0.0.1",
    ] {
        let got = request(&mut stdio, json!({ "url": format!("http://{host}:{port}/hello") }));
        assert_eq!(got["status"], Value::Null, "{host}: {got}");
        let refused = got["refused"].as_str().unwrap();
        let known = ["HttpRequestDenied", "HttpRequestUriInvalid", "cannot set the authority"];
        assert!(known.contains(&refused), "{host}: {refused}");
    }
    for host in ["localhost", "LOCALHOST", "localhost.", "LocalHost."] {
        let url = format!("http://{host}:{port}/hello");
        assert_eq!(refused(&mut stdio, &url), "DestinationIpProhibited", "{host}");
    }
    for authority in
        ["user@localhost", "user:password@localhost", "127.0.0.9@localhost", "localhost:80@127.0.0.9"]
    {
        let got = request(&mut stdio, json!({ "url": format!("http://{authority}:{port}/hello") }));
        assert_eq!(got["refused"], "HttpRequestUriInvalid", "{authority}: {got}");
    }
    for url in ["ftp://localhost/", "file:///etc/passwd", "gopher://localhost/", "http:///hello", "http://"] {
        let got = request(&mut stdio, json!({ "url": url }));
        assert!(got["refused"].is_string(), "{url}: {got}");
    }
    assert_eq!(remote.connections(), 0);
    let (_, _, log) = stdio.finish();
    assert!(
        log.contains("(non-public address 127.0.0.1)") || log.contains("(non-public address ::1)"),
        "{log}"
    );
}

#[test]
fn returns_redirects_to_the_plugin_and_checks_each_request() {
    let remote = TestServer::start();
    let inner = TestServer::start();
    let workspace = zoo(&all_of(&remote));
    let mut stdio = Stdio::initialized(&workspace, "2025-11-25");
    for target in [inner.url("/hello"), "http://169.254.169.254/latest/meta-data/".to_owned()] {
        let got = get(&mut stdio, &remote.url(&format!("/redirect?{target}")));
        assert_eq!(got["status"], 302, "{got}");
        assert!(got["headers"].as_array().unwrap().contains(&json!(format!("location: {target}"))), "{got}");
        assert_eq!(refused(&mut stdio, &target), "HttpRequestDenied");
    }
    assert_eq!((remote.connections(), inner.connections()), (1, 0));
}

#[test]
fn plugins_never_reach_the_gateways_own_listeners() {
    let remote = TestServer::start();
    let workspace = Workspace::new(
        "[http]\nlisten = \"127.0.0.1:0\"\n[admin]\nlisten = \"127.0.0.1:0\"\n[plugins.zoo]\nsource = \"@zoo@\"\n",
    );
    let http = Http::start(&workspace);
    let get = |url: &str| {
        let got = http.call("zoo_http_request", json!({ "request": { "url": url } }));
        got["result"]["structuredContent"].clone()
    };
    let admin = http.admin().address();
    let mut grants = vec![format!("{{ url = \"{}\", networks = [\"127.0.0.0/8\"] }}", remote.origin())];
    let mut urls = Vec::new();
    for address in [http.address(), admin] {
        let local = format!("http://localhost:{}", address.port());
        grants.push(format!("{{ url = \"http://{address}\", networks = [\"127.0.0.0/8\"] }}"));
        grants.push(format!("{{ url = \"{local}\", networks = [\"127.0.0.0/8\", \"::1/128\"] }}"));
        urls.extend([format!("http://{address}/"), format!("{local}/")]);
    }
    // Without a grant the log suggests none, and a grant has no effect.
    for url in &urls {
        assert_eq!(get(url)["refused"], "LoopDetected", "{url}");
    }
    let text = std::fs::read_to_string(workspace.config()).unwrap();
    let granted = format!("[plugins.zoo.allow]\nhttp = [{}]\n[http]", grants.join(", "));
    workspace.write("gateway.toml", text.replace("[http]", &granted));
    wait_until("the new grants are in use", || get(&remote.url("/hello"))["status"] == 200);
    for url in &urls {
        assert_eq!(get(url)["refused"], "LoopDetected", "{url}");
    }
    http.wait_for_log("this gateway's own listener; no line is suggested");
    let own = http.log().lines().filter(|line| line.contains("own listener")).count();
    assert!(own > 0 && !http.log().contains("add `http = [{ url = \"http://localhost"), "{}", http.log());
}

/// Two plugins that use the zoo's component.
fn two_plugins(remote: &TestServer) -> Workspace {
    let one = |name: &str, uris: &str| {
        format!("[plugins.{name}]\nsource = \"@zoo@\"\n{uris}[plugins.{name}.allow]\n{}\n", all_of(remote))
    };
    Workspace::new(&format!("{}{}", one("one", "uris = [\"zoo://\"]\n"), one("two", "")))
}

#[test]
fn reuses_connections_only_for_the_same_plugin() {
    let remote = TestServer::start();
    let workspace = two_plugins(&remote);
    let mut stdio = Stdio::initialized(&workspace, "2025-11-25");
    let mut get = |plugin: &str, path: &str| {
        let asked = json!({ "request": { "url": remote.url(path) } });
        let got = stdio.call(&format!("{plugin}_http_request"), asked);
        assert_eq!(got["result"]["structuredContent"]["status"], 200, "{got}");
    };
    get("one", "/hello");
    get("one", "/hello");
    get("one", "/bytes/100000");
    assert_eq!(remote.connections(), 1);
    get("two", "/hello");
    get("two", "/hello");
    get("one", "/hello");
    assert_eq!(remote.connections(), 2);
    let connections: Vec<_> = remote.requests().iter().map(|seen| seen.connection).collect();
    assert_eq!(connections, [1, 1, 1, 2, 2, 1]);
    // If the server closes a kept connection, the request is retried on a new one.
    get("two", "/leave");
    get("two", "/hello");
}

#[test]
fn a_removed_grant_denies_the_next_request() {
    let remote = TestServer::start();
    let workspace = zoo(&all_of(&remote));
    let http = Http::start(&workspace);
    let get = || {
        let got = http.call("zoo_http_request", json!({ "request": { "url": remote.url("/hello") } }));
        got["result"]["structuredContent"].clone()
    };
    assert_eq!(get()["status"], 200);
    assert_eq!(get()["status"], 200);
    remote.wait_for_open_connections(1);
    let text = std::fs::read_to_string(workspace.config()).unwrap();
    workspace.write("gateway.toml", text.replace(&all_of(&remote), ""));
    remote.wait_for_open_connections(0); // the kept connection closes with the removed grant
    let got = get();
    assert_eq!(got["refused"], "HttpRequestDenied", "{got}");
    assert_eq!(remote.requests().len(), 2);
}

#[test]
fn limits_lengths_of_method_and_authority() {
    let remote = TestServer::start();
    let mut stdio = Stdio::initialized(&zoo(&all_of(&remote)), "2025-11-25");
    let method = |length: usize| json!({ "url": remote.url("/hello"), "method": "M".repeat(length) });
    assert_eq!(request(&mut stdio, method(64))["refused"], Value::Null);
    assert_eq!(request(&mut stdio, method(65))["refused"], "cannot set the method");
    let host = format!("http://{}.example/", "h".repeat(300));
    assert_eq!(get(&mut stdio, &host)["refused"], "cannot set the authority");
}

/// Headers that a plugin can't set, in spellings that servers treat as equal.
const FORBIDDEN_HEADERS: [&str; 25] = [
    "host",
    "Host",
    "connection",
    "transfer-encoding",
    "upgrade",
    "keep-alive",
    "proxy-authorization",
    "proxy-connection",
    "te",
    "trailer",
    "http2-settings",
    "expect",
    // A plugin isn't a proxy, and sends only its own requests.
    "via",
    "Forwarded",
    "X-Forwarded-For",
    "x-forwarded-host",
    "X_Forwarded_Proto",
    "x-real-ip",
    "Proxy",
    "X-HTTP-Method-Override",
    "x_http_method_override",
    "X-HTTP-Method",
    "X-Method-Override",
    "X-Original-URL",
    "X-Rewrite-URL",
];

#[test]
fn rejects_framing_and_routing_headers_of_plugins() {
    let remote = TestServer::start();
    let workspace = zoo(&all_of(&remote));
    let mut stdio = Stdio::initialized(&workspace, "2025-11-25");
    let mut header = |name: &str, value: &str| {
        text(&stdio.call("zoo_http_header", json!({ "name": name, "value": value }))).to_owned()
    };
    for name in FORBIDDEN_HEADERS {
        assert_eq!(header(name, "x"), "refused: HeaderError::Forbidden", "{name}");
    }
    for name in ["date", "cookie", "authorization", "origin", "x-forward"] {
        assert_eq!(header(name, "x"), "taken", "{name}");
    }
    for (name, value) in [
        ("x", "a\r\nhost: other"),
        ("x", "a\nb"),
        ("x", "a\0b"),
        ("x y", "a"),
        ("x:", "a"),
        ("", "a"),
        ("x\r\ny", "a"),
        ("content-length", "+5"),
        ("content-length", "5, 5"),
    ] {
        assert_eq!(header(name, value), "refused: HeaderError::InvalidSyntax", "{name}: {value}");
    }
    for path in ["/a b", "/a\r\nx: y", "/a HTTP/1.1\r\nhost: other\r\n\r\nGET /b"] {
        let got = request(&mut stdio, json!({ "url": remote.url(path) }));
        assert!(got["refused"].is_string(), "{path:?}: {got}");
    }
    for (length, body, expected) in
        [("5", "hello", "200"), ("5", "hello, more", "refused: "), ("50", "hello", "refused: ")]
    {
        let lie = json!({ "url": remote.url("/echo"), "length": length, "body": body });
        let answer = stdio.call("zoo_http_lie", lie);
        assert!(text(&answer).starts_with(expected), "{length} {body}: {answer}");
    }
    assert!(remote.requests().iter().all(|seen| seen.body == "hello"), "{:?}", remote.requests());
    let flood = stdio.call("zoo_http_headers_flood", json!({}));
    assert_eq!(flood["result"]["isError"], true, "{flood}");
}

#[test]
fn forwarded_headers_contain_no_forbidden_ones() {
    let remote = TestServer::start();
    let headers =
        ["Via: 1.1 a", "X-Forwarded-For: 10.0.0.1", "X-HTTP-Method-Override: DELETE", "TE: x", "X-Own: b"];
    remote.put("/told", &headers, "hello");
    let mut stdio = Stdio::initialized(&zoo(&all_of(&remote)), "2025-11-25");
    // Only framing headers are removed from a response.
    let headers = get(&mut stdio, &remote.url("/told"))["headers"].to_string();
    assert!(headers.contains("via: 1.1 a") && !headers.contains("te: x"), "{headers}");
    let passed = json!({ "from": remote.url("/told"), "to": remote.url("/echo") });
    let answer = stdio.call("zoo_http_pass_on", passed);
    assert_eq!(answer["result"]["structuredContent"]["status"], 200, "{answer}");
    let head = remote.last().head;
    assert!(head.contains("x-own: b\r\n"), "{head}");
    assert!(["via", "forwarded", "override", "te: "].iter().all(|name| !head.contains(name)), "{head}");
}

/// The grant that a request needs, from `moongate call --explain`. `None` means that the request succeeded.
#[track_caller]
fn missing_grant(workspace: &Workspace, request: &Value) -> Option<String> {
    let request = format!("request={request}");
    let output = workspace.run(&["call", "zoo_http_request", &request, "--explain", "--format", "json"]);
    let document: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{output:?}"));
    let lacked = document["grants"]["lacked"].as_array().unwrap_or_else(|| panic!("{document}")).clone();
    let [one] = &lacked[..] else {
        assert!(lacked.is_empty() && document.to_string().contains("hello"), "{document}");
        return None;
    };
    Some(one["cure"].as_str().unwrap_or_else(|| panic!("{document}")).to_owned())
}

#[test]
fn the_suggested_grant_allows_the_request() {
    let remote = TestServer::start();
    let port = remote.address().port();
    let granted = |rest: &str| {
        format!("{{ url = \"http://127.0.0.1:{port}/read\", networks = [\"127.0.0.0/8\"]{rest} }}")
    };
    for (grant, method, url) in [
        (String::new(), "GET", format!("http://127.0.0.1:{port}/hello")),
        (String::new(), "POST", format!("http://localhost:{port}/hello")),
        (String::new(), "GET", format!("http://[::ffff:127.0.0.1]:{port}/hello")),
        (String::new(), "GET", format!("http://0x7f.1:{port}/hello")),
        (granted(""), "GET", format!("http://127.0.0.1:{port}/write?secret=1")),
        (granted(", methods = [\"GET\"]"), "POST", format!("http://127.0.0.1:{port}/read/more")),
        (granted(""), "GET", format!("http://127.0.0.1:{port}/a/%2e%2e%2fb")),
        (format!("\"http://*:{port}\""), "GET", format!("http://localhost:{port}/hello")),
    ] {
        let request = json!({ "url": url, "method": method });
        let fix = missing_grant(&zoo(&format!("http = [{grant}]")), &request)
            .unwrap_or_else(|| panic!("{url}: granted"));
        assert!(!fix.contains("secret"), "{fix}");
        let item = fix.strip_prefix("http = [").and_then(|items| items.strip_suffix(']')).unwrap();
        let both = if grant.is_empty() { item.to_owned() } else { format!("{grant}, {item}") };
        let workspace = zoo(&format!("http = [{both}]"));
        let check = workspace.run(&["check"]);
        assert!(check.status.success(), "{fix}: {check:?}");
        assert_eq!(missing_grant(&workspace, &request), None, "{url}: {fix}");
    }
}

#[test]
fn counts_outgoing_requests_by_outcome() {
    let remote = TestServer::start();
    let workspace = Workspace::new(&format!(
        "[admin]\nlisten = \"127.0.0.1:0\"\n[plugins.zoo]\nsource = \"@zoo@\"\n[plugins.zoo.allow]\n{}\n\
         [plugins.zoo.limits]\nrequests = 3\n",
        all_of(&remote)
    ));
    let http = Http::start(&workspace);
    let admin = http.admin();
    let count = |outcome: &str| {
        let name = format!(r#"moongate_outgoing_requests_total{{plugin="zoo",outcome="{outcome}"}}"#);
        admin.metric(&name)
    };
    assert_eq!((count("sent"), count("refused"), count("failed")), (Some(0.0), Some(0.0), Some(0.0)));
    for url in
        [remote.url("/hello"), remote.url("/bytes/9"), "https://example.com/".to_owned(), remote.url("/cut")]
    {
        let _ = http.call("zoo_http_request", json!({ "request": { "url": url } }));
    }
    assert_eq!((count("sent"), count("refused"), count("failed")), (Some(2.0), Some(1.0), Some(1.0)));
    let _ = http.call("zoo_http_many", json!({ "url": remote.url("/hello") }));
    assert_eq!((count("sent"), count("refused"), count("failed")), (Some(5.0), Some(2.0), Some(1.0)));
}

#[test]
fn ignores_proxy_environment_variables() {
    let remote = TestServer::start();
    let proxy = TestServer::start();
    let workspace = zoo(&all_of(&remote));
    let mut command: Command = workspace.command(&["serve", "--stdio"]);
    for name in ["HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"] {
        command.env(name, proxy.origin());
    }
    let mut stdio = Stdio::spawn_initialized(command, "2025-11-25");
    assert_eq!(get(&mut stdio, &remote.url("/hello"))["status"], 200);
    assert_eq!((remote.connections(), proxy.connections()), (1, 0));
}
