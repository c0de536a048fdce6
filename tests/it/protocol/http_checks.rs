//! HTTP checks before a message is read, in order: Host and Origin, token, method, content type, size.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpStream;

use moongate_tests::{Http, Workspace, initialize_params, request, stateless_request};
use serde_json::json;

const JSON: (&str, &str) = ("Content-Type", "application/json");

fn hello_body() -> Vec<u8> {
    request(1, "initialize", initialize_params("2025-11-25")).to_string().into_bytes()
}

#[test]
fn rejects_dns_rebinding() {
    let workspace = Workspace::with_plugin("time");
    let http = Http::start(&workspace);
    let port = http.address().port();
    let own = format!("http://localhost:{port}");
    for (headers, status) in [
        (vec![("Host", "evil.example.com".to_owned())], 403),
        (vec![("Host", format!("evil.example.com:{port}"))], 403),
        (vec![("Host", format!("127.0.0.1.evil.example.com:{port}"))], 403),
        (vec![("Origin", "http://evil.example.com".to_owned())], 403),
        (vec![("Origin", "http://localhost.evil.example.com".to_owned())], 403),
        (vec![("Origin", "null".to_owned())], 403),
        (vec![("Host", format!("localhost:{port}")), ("Origin", own.clone())], 200),
        (vec![("Host", format!("[::1]:{port}"))], 200),
        (vec![("Host", "localhost".to_owned())], 200),
    ] {
        let mut all = vec![JSON];
        all.extend(headers.iter().map(|(name, value)| (*name, value.as_str())));
        let reply = http.send("POST", "/mcp", &all, &hello_body());
        assert_eq!(reply.status, status, "{headers:?}: {reply:?}");
    }
}

#[test]
fn hosts_and_origins_match_in_every_spelling() {
    let workspace = Workspace::new(
        "[http]\nlisten = \"127.0.0.1:0\"\n\
         allowed_hosts = [\"2001:DB8::1\", \"[2001:db8::2]\", \"Gate.Example.\", \"bücher.example\"]\n\
         allowed_origins = [\"https://Bücher.example:443\", \"http://[2001:DB8:0::1]:3000\"]\n\
         [plugins.time]\nsource = \"@time@\"\n",
    );
    let http = Http::start(&workspace);
    for host in [
        "[2001:db8::1]",
        "[2001:DB8:0:0::1]:8931",
        "[2001:db8::2]",
        "gate.example",
        "GATE.example.:80",
        "xn--bcher-kva.example",
        "a.localhost",
        "[::ffff:7f00:1]",
    ] {
        let reply = http.send("POST", "/mcp", &[JSON, ("Host", host)], &hello_body());
        assert_eq!(reply.status, 200, "{host}: {reply:?}");
    }
    for host in ["[2001:db8::3]", "2001:db8::1", "[fe80::1%25lo]", "other.example", "gate.example:x"] {
        let reply = http.send("POST", "/mcp", &[JSON, ("Host", host)], &hello_body());
        assert_eq!(reply.status, 403, "{host}: {reply:?}");
    }
    for (origin, status) in [
        ("https://xn--bcher-kva.example", 200),
        ("http://[2001:db8::1]:3000", 200),
        ("http://ui.localhost:5173", 200),
        ("http://xn--bcher-kva.example", 403),
        ("http://[2001:db8::1]", 403),
    ] {
        let reply = http.send("POST", "/mcp", &[JSON, ("Origin", origin)], &hello_body());
        assert_eq!(reply.status, status, "{origin}: {reply:?}");
        let shared = (status == 200).then_some(origin);
        assert_eq!(reply.header("access-control-allow-origin"), shared, "{origin}");
    }
    assert_eq!(http.send("POST", "/mcp/", &[JSON], &hello_body()).status, 200);
}

#[test]
fn checks_token_first_and_binds_sessions_to_it() {
    let workspace = Workspace::new(
        "[http.auth]\ntokens = [\n  { name = \"ann\", token = { file = \"ann\" } },\n  { name = \"bob\", token = { file = \"bob\" } },\n]\n[plugins.time]\nsource = \"@time@\"\n",
    );
    workspace.write("ann", "ann-has-a-long-secret\n");
    workspace.write("bob", "bob-has-a-long-secret");
    let http = Http::start(&workspace);
    let ann = ("Authorization", "Bearer ann-has-a-long-secret");
    let bob = ("Authorization", "bearer bob-has-a-long-secret");
    for headers in [
        vec![JSON],
        vec![JSON, ("Authorization", "Bearer nobody-has-this-one")],
        vec![JSON, ("Authorization", "Bearer ")],
        vec![JSON, ("Authorization", "Basic YW5uOmFubg==")],
        vec![JSON, ("Authorization", "ann-has-a-long-secret")],
        vec![JSON, ann, bob],
    ] {
        let reply = http.send("POST", "/mcp", &headers, b"this isn't JSON");
        assert_eq!(reply.status, 401, "{headers:?}: {reply:?}");
        assert!(
            reply.header("www-authenticate").is_some_and(|value| value.starts_with("Bearer")),
            "{reply:?}"
        );
    }
    assert_eq!(http.send("GET", "/mcp", &[], b"").status, 401);
    assert_eq!(http.send("POST", "/mcp?token=ann-has-a-long-secret", &[JSON], &hello_body()).status, 401);

    let session = http.open_session(&[ann], "2025-11-25");
    let list = request(2, "tools/list", json!({}));
    assert_eq!(http.post(&[ann, ("Mcp-Session-Id", &session)], &list).status, 200);
    assert_eq!(http.post(&[bob, ("Mcp-Session-Id", &session)], &list).status, 404);
    assert_eq!(http.send("DELETE", "/mcp", &[bob, ("Mcp-Session-Id", &session)], b"").status, 404);
    assert!(!http.log().contains("long-secret"), "a token was logged: {}", http.log());
}

#[test]
fn checks_method_content_type_and_size_in_order() {
    let workspace = Workspace::new(
        "[http]\nlisten = \"127.0.0.1:0\"\nmax_body = \"10KiB\"\n[plugins.time]\nsource = \"@time@\"\n",
    );
    let http = Http::start(&workspace);
    for verb in ["PUT", "PATCH", "HEAD"] {
        let reply = http.send(verb, "/mcp", &[], b"");
        assert_eq!(reply.status, 405, "{verb}: {reply:?}");
        assert!(reply.header("allow").is_some_and(|allow| allow.contains("POST")), "{reply:?}");
    }
    assert_eq!(http.send("GET", "/mcp", &[("Accept", "text/event-stream")], b"").status, 400);
    assert_eq!(http.send("POST", "/elsewhere", &[JSON], &hello_body()).status, 404);
    for (kind, status) in [
        ("application/json", 200),
        ("application/json; charset=utf-8", 200),
        ("Application/JSON;charset=\"UTF-8\"", 200),
        ("application/json; charset=latin1", 415),
        ("text/plain", 415),
        ("application/jsonx", 415),
    ] {
        let reply = http.send("POST", "/mcp", &[("Content-Type", kind)], &hello_body());
        assert_eq!(reply.status, status, "{kind}: {reply:?}");
    }
    assert_eq!(http.send("POST", "/mcp", &[], &hello_body()).status, 415);
    assert_eq!(http.send("POST", "/mcp", &[JSON, ("Content-Encoding", "gzip")], &hello_body()).status, 415);
    assert_eq!(http.send("POST", "/mcp", &[JSON], &vec![b' '; 11 * 1024]).status, 413);
    assert_eq!(
        http.send("POST", "/mcp", &[("Content-Type", "text/plain")], &vec![b' '; 11 * 1024]).status,
        415
    );
}

#[test]
fn a_connection_with_a_large_head_is_closed() {
    let workspace = Workspace::with_plugin("time");
    let http = Http::start(&workspace);
    for (size, closes) in [(1_000, false), (12_000, false), (40_000, true)] {
        let mut stream = TcpStream::connect(http.address()).unwrap();
        let padding = "x".repeat(size);
        write!(stream, "GET /mcp HTTP/1.1\r\nHost: localhost\r\nX-Padding: {padding}\r\n\r\n").unwrap();
        let mut head = String::new();
        let mut lines = BufReader::new(&stream).lines();
        while let Some(line) = lines.next().transpose().unwrap().filter(|line| !line.is_empty()) {
            head += &format!("{}\n", line.to_ascii_lowercase());
        }
        assert!(head.starts_with("http/1.1 4"), "{head}");
        assert_eq!(head.contains("connection: close\n"), closes, "{size}: {head}");
    }
}

#[test]
fn accepts_any_accept_header_that_allows_json() {
    let workspace = Workspace::with_plugin("time");
    let http = Http::start(&workspace);
    for (accept, status) in [
        ("application/json, text/event-stream", 200),
        ("application/json", 200),
        ("*/*", 200),
        ("application/*;q=0.5", 200),
        ("text/html", 406),
    ] {
        let reply = http.send("POST", "/mcp", &[JSON, ("Accept", accept)], &hello_body());
        assert_eq!(reply.status, status, "{accept}: {reply:?}");
    }
}

#[test]
fn rejects_invalid_messages_with_a_reason() {
    let workspace = Workspace::with_plugin("time");
    let http = Http::start(&workspace);
    for (body, code) in [
        (&b"{"[..], -32700),
        (b"\xff\xfe", -32700),
        (b"{} {}", -32700),
        (b"1", -32600),
        (b"[]", -32600),
        (b"{\"jsonrpc\":\"1.0\",\"id\":1,\"method\":\"ping\"}", -32600),
        (b"{\"jsonrpc\":\"2.0\",\"id\":null,\"method\":\"ping\"}", -32600),
        (b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\"id\":2}", -32600),
    ] {
        let reply = http.send("POST", "/mcp", &[JSON], body);
        assert_eq!(reply.status, 400, "{reply:?}");
        assert_eq!(reply.json()["error"]["code"], code, "{reply:?}");
        let newer = http.send("POST", "/mcp", &[JSON, ("MCP-Protocol-Version", "2026-07-28")], body);
        assert!(newer.json().get("id").is_none_or(serde_json::Value::is_u64), "{newer:?}");
    }
}

#[test]
fn answers_cors_preflight_requests() {
    let workspace = Workspace::with_plugin("time");
    let http = Http::start(&workspace);
    let origin = format!("http://localhost:{}", http.address().port());
    let headers = [
        ("Origin", origin.as_str()),
        ("Access-Control-Request-Method", "POST"),
        ("Access-Control-Request-Headers", "content-type, mcp-protocol-version, mcp-param-region"),
    ];
    let preflight = http.send("OPTIONS", "/mcp", &headers, b"");
    assert!((200..300).contains(&preflight.status), "{preflight:?}");
    assert_eq!(preflight.header("access-control-allow-origin"), Some(origin.as_str()));
    assert!(
        preflight.header("access-control-allow-headers").is_some_and(|all| all.contains("mcp-param-region"))
    );
    let verbs = preflight.header("access-control-allow-methods").unwrap_or_default();
    assert!(["GET", "POST", "DELETE"].iter().all(|verb| verbs.contains(verb)), "{preflight:?}");
    let unnamed = http.send("OPTIONS", "/mcp", &headers[..2], b"");
    let allowed = unnamed.header("access-control-allow-headers").unwrap_or_default();
    for name in ["mcp-session-id", "mcp-protocol-version", "mcp-method", "mcp-name", "last-event-id"] {
        assert!(allowed.contains(name), "{name}: {unnamed:?}");
    }
    assert!(
        preflight.header("access-control-expose-headers").is_some_and(|all| all.contains("mcp-session-id"))
    );
    let evil = http.send("OPTIONS", "/mcp", &[("Origin", "http://evil.example.com"), headers[1]], b"");
    assert_eq!(evil.header("access-control-allow-origin"), None);
    let own =
        [("Origin", origin.as_str()), ("MCP-Protocol-Version", "2026-07-28"), ("Mcp-Method", "tools/list")];
    let reply = http.post(&own, &stateless_request(1, "tools/list", json!({})));
    assert_eq!(reply.header("access-control-allow-origin"), Some(origin.as_str()), "{reply:?}");
}
