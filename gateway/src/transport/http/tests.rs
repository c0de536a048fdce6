//! Requests as bytes over real sockets, to a server with a fake plugin.

use std::io::ErrorKind;
use std::time::Duration;

use bytesize::ByteSize;
use moongate_auth::WallClock;
use moongate_config::{BearerToken, OAuthConfig, Secret, WebOrigin};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::*;
use crate::transport::fake::{self, FakeServer, REVISION};

const NOTIFICATION: &str = r#"{"jsonrpc":"2.0","method":"notifications/unknown"}"#;

struct Gateway {
    fake: FakeServer,
    address: SocketAddr,
    ending: TransportShutdown,
    served: JoinHandle<usize>,
}

fn config() -> HttpConfig {
    HttpConfig {
        listen: "127.0.0.1:0".parse().unwrap(),
        tokens: Vec::new(),
        oauth: OAuthConfig::default(),
        tls: None,
        has_broken_tls: false,
        unreadable_tokens: 0,
        allowed_hosts: Vec::new(),
        allowed_origins: vec![WebOrigin::parse("https://app.example").unwrap()],
        max_body: ByteSize::kib(256),
        max_sessions: 10,
        session_idle: Duration::from_secs(60),
        keep_alive: Duration::from_secs(15),
        idle_timeout: Duration::from_secs(620),
        close_streams_after: None,
        legacy_sse: false,
        websocket: false,
        max_connections: Some(64),
        trusted_proxies: Vec::new(),
        health: false,
    }
}

fn with_token(name: &str, token: &str) -> BearerToken {
    BearerToken { principal: name.into(), token: Secret::new(token), variable: None }
}

async fn start(config: HttpConfig) -> Gateway {
    let fake = FakeServer::new(Duration::ZERO);
    let bound = BoundEndpoint::bind(config.listen).await.unwrap();
    let address = bound.address();
    let ending = TransportShutdown::default();
    let server = Arc::clone(&fake.server);
    let metrics = fake.metrics();
    let until = ending.clone();
    let served = tokio::spawn(async move {
        {
            let authenticator = Authenticator::start(&config, None, WallClock::default()).await;
            let tls = watch::Sender::new(None).subscribe();
            let health =
                EndpointHealth { loaded: CancellationToken::new(), draining: CancellationToken::new() };
            let authenticator = Arc::new(authenticator);
            let context = EndpointContext {
                tls,
                authenticator,
                health,
                socket_connections: 0,
                memory_connections: 1000,
            };
            bound.serve(server, &config, context, None, metrics, until).await
        }
    });
    Gateway { fake, address, ending, served }
}

/// An HTTP response.
#[derive(Debug)]
struct Answer {
    status: u16,
    head: String,
    body: String,
}

impl Answer {
    fn header(&self, name: &str) -> Option<&str> {
        let line = |line: &&str| line.split_once(": ").is_some_and(|(it, _)| it.eq_ignore_ascii_case(name));
        self.head.lines().find(line).and_then(|line| line.split_once(": ")).map(|(_, value)| value)
    }

    /// The text that a tool returned.
    fn text(&self) -> String {
        let message: Value =
            serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"));
        message["result"]["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{message}")).to_owned()
    }
}

/// Reads one response with a `Content-Length`.
async fn answer(stream: &mut TcpStream) -> Answer {
    let mut bytes = Vec::new();
    let head = loop {
        assert!(stream.read_buf(&mut bytes).await.unwrap() > 0, "no answer but {bytes:?}");
        if let Some(end) = bytes.windows(4).position(|it| it == b"\r\n\r\n") {
            break String::from_utf8(bytes.drain(..end + 4).collect()).unwrap();
        }
    };
    let status = head[9..12].parse().unwrap();
    let mut answer = Answer { status, head, body: String::new() };
    let length: usize = answer.header("content-length").map_or(0, |it| it.parse().unwrap());
    while bytes.len() < length {
        assert!(stream.read_buf(&mut bytes).await.unwrap() > 0, "the answer is incomplete");
    }
    answer.body = String::from_utf8(bytes).unwrap();
    answer
}

impl Gateway {
    async fn send(&self, request: &str) -> Answer {
        let mut stream = TcpStream::connect(self.address).await.unwrap();
        stream.write_all(request.as_bytes()).await.unwrap();
        answer(&mut stream).await
    }

    async fn post(&self, headers: &str, body: &str) -> Answer {
        self.send(&post(headers, body)).await
    }

    /// Calls `whoami` with additional headers.
    async fn whoami(&self, headers: &str) -> Answer {
        self.send(&call("whoami", headers, &json!({}))).await
    }

    /// A connection with a running call of `wait`.
    async fn busy(&self) -> TcpStream {
        let mut stream = TcpStream::connect(self.address).await.unwrap();
        stream.write_all(call("wait", "", &json!({})).as_bytes()).await.unwrap();
        self.fake.signals.waiting.notified().await;
        stream
    }

    /// A kept-alive connection with one answered call.
    async fn idle(&self) -> TcpStream {
        let mut stream = TcpStream::connect(self.address).await.unwrap();
        stream.write_all(call("whoami", "", &json!({})).as_bytes()).await.unwrap();
        assert_eq!(answer(&mut stream).await.status, 200);
        stream
    }
}

fn post(headers: &str, body: &str) -> String {
    format!(
        "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n{headers}Content-Length: {}\r\n\r\n{body}",
        body.len()
    )
}

/// A call in the stateless revision.
fn call(tool: &str, headers: &str, arguments: &Value) -> String {
    let headers = format!("{}Mcp-Name: {tool}\r\n{headers}", call_headers());
    post(&headers, &fake::call("1", tool, arguments))
}

fn call_headers() -> String {
    format!("MCP-Protocol-Version: {REVISION}\r\nMcp-Method: tools/call\r\n")
}

#[tokio::test]
async fn passes_a_post_to_the_server_and_returns_the_answer() {
    let gateway = start(config()).await;
    let answer = gateway.whoami("").await;
    assert_eq!((answer.status, answer.text().as_str()), (200, "anonymous"));
    assert_eq!(answer.header("content-type"), Some("application/json"));
    let answer = gateway.post("", &fake::initialize()).await;
    assert!(answer.header("mcp-session-id").is_some(), "{answer:?}");
    let headers = format!("MCP-Protocol-Version: {REVISION}\r\n");
    let answer = gateway.post(&headers, NOTIFICATION).await;
    assert_eq!((answer.status, answer.header("content-length")), (202, Some("0")));
    assert_eq!(answer.header("content-type"), None);
    let large = gateway.send(&call("text", "", &json!({ "size": 1_000_000 }))).await;
    assert_eq!(large.text().len(), 1_000_000);
    let answer = gateway.whoami("mcp-name: other\r\n").await;
    assert_eq!(answer.status, 400);
    assert!(answer.body.contains("`Mcp-Name`"), "{}", answer.body);
}

#[tokio::test]
async fn rejects_unknown_methods_and_paths() {
    let gateway = start(config()).await;
    for method in ["PUT", "PATCH", "TRACE"] {
        let answer = gateway.send(&format!("{method} /mcp HTTP/1.1\r\nHost: localhost\r\n\r\n")).await;
        assert_eq!(
            (answer.status, answer.header("allow")),
            (405, Some("GET, POST, DELETE, OPTIONS")),
            "{method}"
        );
    }
    let mut stream = TcpStream::connect(gateway.address).await.unwrap();
    stream.write_all(b"HEAD /mcp HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n").await.unwrap();
    let mut head = String::new();
    stream.read_to_string(&mut head).await.unwrap(); // no body, although the head announces a length
    assert!(head.starts_with("HTTP/1.1 405") && head.ends_with("\r\n\r\n"), "{head}");
    let get = format!("GET /mcp HTTP/1.1\r\nHost: localhost\r\nMCP-Protocol-Version: {REVISION}\r\n\r\n");
    let answer = gateway.send(&get).await;
    assert_eq!((answer.status, answer.header("allow")), (405, Some("POST, OPTIONS")));
    let answer = gateway.post("", &fake::initialize()).await;
    let session = answer.header("mcp-session-id").unwrap();
    let delete = format!("DELETE /mcp HTTP/1.1\r\nHost: localhost\r\nMcp-Session-Id: {session}\r\n\r\n");
    assert_eq!(gateway.send(&delete).await.status, 200);
    assert_eq!(gateway.send(&delete).await.status, 404);
    for path in ["/", "/mcp//", "/sse", "/mcp2"] {
        let answer = gateway.send(&format!("GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n")).await;
        assert_eq!(answer.status, 404, "{path}");
        assert!(answer.body.contains("the MCP endpoint is `/mcp`"), "{}", answer.body);
    }
}

#[tokio::test]
async fn checks_host_and_origin_before_the_token() {
    let mut config = config();
    config.tokens = vec![with_token("ci", "t")];
    let gateway = start(config).await;
    let answer = gateway.send("POST /mcp HTTP/1.1\r\nHost: evil.example\r\n\r\n").await;
    assert_eq!(answer.status, 403);
    let answer = gateway.whoami("Origin: https://evil.example\r\n").await;
    assert_eq!((answer.status, answer.header("access-control-allow-origin")), (403, None));
    let answer = gateway.whoami("Origin: https://app.example\r\n").await;
    assert_eq!(
        (answer.status, answer.header("access-control-allow-origin")),
        (401, Some("https://app.example"))
    );
}

#[tokio::test]
async fn answers_a_preflight_without_a_token() {
    let mut config = config();
    config.tokens = vec![with_token("ci", "t")];
    let gateway = start(config).await;
    let answer = gateway
        .send("OPTIONS /mcp HTTP/1.1\r\nHost: localhost\r\nOrigin: http://localhost:6274\r\nAccess-Control-Request-Method: POST\r\nAccess-Control-Request-Headers: mcp-param-city\r\n\r\n")
        .await;
    assert_eq!(answer.status, 204);
    assert_eq!(answer.header("access-control-allow-origin"), Some("http://localhost:6274"));
    assert_eq!(answer.header("access-control-allow-headers"), Some("mcp-param-city"));
    assert_eq!(
        answer.header("access-control-expose-headers"),
        Some("mcp-session-id, retry-after, www-authenticate")
    );
}

#[tokio::test]
async fn every_answer_to_an_allowed_page_has_cors_headers() {
    let mut config = config();
    config.tokens = vec![with_token("ci", "t")];
    config.legacy_sse = true;
    let gateway = start(config).await;
    let metadata = "/.well-known/oauth-protected-resource";
    let token = "Authorization: Bearer t\r\n";
    let large = format!("{token}Content-Type: application/json\r\nContent-Length: 9999999\r\n");
    let events = "Accept: text/event-stream\r\n";
    for (method, path, headers, status) in [
        ("GET", metadata, "", 404),
        ("GET", "/.well-known/oauth-protected-resource/mcp", "MCP-Protocol-Version: 2025-11-25\r\n", 404),
        ("GET", "/.well-known/oauth-authorization-server", "", 404),
        ("POST", "/register", "", 404),
        ("OPTIONS", "/elsewhere", "", 404),
        ("POST", "/mcp", "", 401),
        ("POST", "/mcp/", "Authorization: Bearer unknown\r\n", 401),
        ("PUT", "/mcp", token, 405),
        ("POST", "/mcp", token, 415),
        ("POST", "/mcp", &large, 413),
        ("GET", "/sse", "", 401),
        ("GET", "/sse", &format!("{token}Accept: text/html\r\n"), 406),
        ("POST", "/messages", token, 415),
        ("GET", "/mcp", &format!("{token}{events}Mcp-Session-Id: none\r\n"), 404),
    ] {
        let send = async |origin: &str| {
            let own = format!("Host: localhost\r\nOrigin: {origin}\r\nConnection: close\r\n{headers}");
            gateway.send(&format!("{method} {path} HTTP/1.1\r\n{own}\r\n")).await
        };
        let answer = send("https://app.example").await;
        assert_eq!(answer.status, status, "{method} {path}: {answer:?}");
        assert_eq!(answer.header("access-control-allow-origin"), Some("https://app.example"), "{path}");
        let evil = send("https://evil.example").await;
        assert_eq!((evil.status, evil.header("access-control-allow-origin")), (403, None), "{path}");
    }
    for path in ["/mcp", "/mcp/", metadata, "/elsewhere", "/sse", "/messages"] {
        let preflight = |host: &str, origin: &str| {
            let ask =
                "Access-Control-Request-Method: GET\r\nAccess-Control-Request-Headers: mcp-protocol-version";
            format!("OPTIONS {path} HTTP/1.1\r\nHost: {host}\r\nOrigin: {origin}\r\n{ask}\r\n\r\n")
        };
        let answer = gateway.send(&preflight("localhost", "http://ui.localhost:3000")).await;
        assert_eq!(answer.status, 204, "{path}");
        assert_eq!(answer.header("access-control-allow-origin"), Some("http://ui.localhost:3000"), "{path}");
        assert_eq!(answer.header("access-control-allow-headers"), Some("mcp-protocol-version"), "{path}");
        let evil = gateway.send(&preflight("localhost", "https://evil.example")).await;
        assert_eq!((evil.status, evil.header("access-control-allow-origin")), (403, None), "{path}");
        // A page can read why its own gateway refuses its host name.
        let misnamed = gateway.send(&preflight("other.example", "https://app.example")).await;
        assert_eq!(
            (misnamed.status, misnamed.header("access-control-allow-origin")),
            (403, Some("https://app.example")),
            "{path}"
        );
    }
}

#[tokio::test]
async fn unreadable_tokens_admit_no_caller() {
    let mut config = config();
    config.unreadable_tokens = 1;
    let gateway = start(config).await;
    for headers in ["", "Authorization: Bearer secret-a\r\n"] {
        assert_eq!(gateway.whoami(headers).await.status, 401, "{headers}");
    }
}

#[tokio::test]
async fn a_token_identifies_the_caller() {
    let mut config = config();
    config.tokens =
        vec![with_token("ann", "secret-a"), with_token("bob", "secret-b"), with_token("cyd", "secret-c")];
    let gateway = start(config).await;
    for (name, token) in [("ann", "secret-a"), ("bob", "secret-b"), ("cyd", "secret-c")] {
        let answer = gateway.whoami(&format!("Authorization: bearer {token}\r\n")).await;
        assert_eq!((answer.status, answer.text().as_str()), (200, name));
    }
    let missing = r#"Bearer realm="moongate""#;
    let unknown =
        r#"Bearer realm="moongate", error="invalid_token", error_description="unknown bearer token""#;
    for (headers, challenge) in [
        ("", missing),
        ("Authorization: Basic c2VjcmV0LWE=\r\n", missing),
        ("Authorization: Bearer \r\n", missing),
        ("Authorization: Bearer secret-a\r\nAuthorization: Bearer secret-b\r\n", missing),
        ("Authorization: Bearer secret\r\n", unknown),
        ("Authorization: Bearer secret-aa\r\n", unknown),
    ] {
        let answer = gateway.post(headers, "not even JSON").await;
        assert_eq!((answer.status, answer.header("www-authenticate")), (401, Some(challenge)), "{headers}");
    }
}

#[tokio::test]
async fn rejects_a_body_over_the_limit_with_or_without_a_length() {
    let gateway = start(config()).await;
    let limit = 256 * 1024;
    let headers = format!("{}Mcp-Name: whoami\r\n", call_headers());
    let request = fake::call("1", "whoami", &json!({}));
    let fits = format!("{request}{}", " ".repeat(limit - request.len()));
    assert_eq!(gateway.post(&headers, &fits).await.status, 200);
    let answer = gateway.post(&headers, &format!("{fits} ")).await;
    assert_eq!(answer.status, 413);
    assert!(answer.body.contains("larger than 262144 bytes"), "{}", answer.body);
    let chunk = format!("10000\r\n{}\r\n", "x".repeat(0x10000)).repeat(5);
    let head = "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n";
    assert_eq!(gateway.send(&format!("{head}{chunk}0\r\n\r\n")).await.status, 413);
    // The announced length is enough.
    let answer = gateway.send("POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 999999999\r\n\r\n").await;
    assert_eq!(answer.status, 413);
}

#[tokio::test]
async fn a_client_that_sends_a_large_body_first_can_read_the_rejection() {
    let gateway = start(config()).await;
    let answer = gateway.post("", &"x".repeat(20_000_000)).await;
    assert_eq!(answer.status, 413);
}

#[tokio::test]
async fn rejects_types_other_than_json() {
    let gateway = start(config()).await;
    let request =
        "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: text/plain\r\nContent-Length: 1\r\n\r\n1";
    assert_eq!(gateway.send(request).await.status, 415);
    assert_eq!(gateway.whoami("Content-Encoding: gzip\r\n").await.status, 415);
    let chunked = "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nTransfer-Encoding: gzip, chunked\r\n\r\n1\r\n1\r\n0\r\n\r\n";
    assert_eq!(gateway.send(chunked).await.status, 415);
    assert_eq!(gateway.whoami("Accept: text/html\r\n").await.status, 406);
}

#[tokio::test]
async fn a_client_that_accepts_only_events_gets_its_answer_as_an_event() {
    let gateway = start(config()).await;
    let answer = gateway.whoami("Accept: text/event-stream\r\n").await;
    assert_eq!(answer.header("content-type"), Some("text/event-stream"));
    let data = answer.body.strip_prefix("event: message\ndata: ").and_then(|it| it.strip_suffix("\n\n"));
    let message: Value = serde_json::from_str(data.unwrap()).unwrap();
    assert_eq!(message["result"]["content"][0]["text"], "anonymous");
    let headers = format!("MCP-Protocol-Version: {REVISION}\r\nAccept: text/event-stream\r\n");
    let answer = gateway.post(&headers, NOTIFICATION).await;
    assert_eq!((answer.status, answer.header("content-type")), (202, None));
}

#[tokio::test]
async fn a_lost_connection_ends_its_call() {
    let gateway = start(config()).await;
    let stream = gateway.busy().await;
    drop(stream);
    gateway.fake.signals.dropped.notified().await;
}

#[tokio::test]
async fn one_connection_carries_many_requests() {
    let gateway = start(config()).await;
    let mut stream = TcpStream::connect(gateway.address).await.unwrap();
    for size in 0..10 {
        stream.write_all(call("text", "", &json!({ "size": size })).as_bytes()).await.unwrap();
        assert_eq!(answer(&mut stream).await.text().len(), size);
    }
}

#[tokio::test]
async fn stopping_closes_idle_connections_and_drops_endless_calls() {
    let gateway = start(config()).await;
    let mut idle = gateway.idle().await;
    let _busy = gateway.busy().await;
    gateway.ending.stop_accepting.cancel();
    assert_eq!(idle.read(&mut [0; 16]).await.unwrap(), 0);
    while TcpStream::connect(gateway.address).await.is_ok() {}
    assert!(!gateway.served.is_finished(), "its call still has time");
    gateway.ending.time_up.cancel();
    assert_eq!(gateway.served.await.unwrap(), 1);
}

#[tokio::test]
async fn a_port_in_use_is_reported() {
    let first = BoundEndpoint::bind("127.0.0.1:0".parse().unwrap()).await.unwrap();
    let error = BoundEndpoint::bind(first.address()).await.unwrap_err();
    let expected = format!("can't listen on {}: the port is in use", first.address());
    assert_eq!(error.to_string(), expected);
    assert!(error.hint().contains("--http"), "{}", error.hint());
}

#[tokio::test]
async fn idle_connections_stay_open_for_the_idle_timeout() {
    let mut config = config();
    config.idle_timeout = Duration::from_secs(700);
    let gateway = start(config).await;
    let mut stream = gateway.idle().await;
    let advance = async |seconds| {
        tokio::time::pause();
        tokio::time::advance(Duration::from_secs(seconds)).await;
        tokio::time::resume();
    };
    for _ in 0..2 {
        advance(600).await;
        stream.write_all(call("whoami", "", &json!({})).as_bytes()).await.unwrap();
        assert_eq!(answer(&mut stream).await.status, 200);
    }
    advance(701).await;
    assert_eq!(stream.read(&mut [0; 16]).await.unwrap(), 0, "it is closed");
}

#[tokio::test]
async fn silent_connections_close_no_others() {
    let gateway = start(config()).await;
    let mut idle = gateway.idle().await;
    let busy = gateway.busy().await;
    let mut silent = Vec::new();
    for _ in 0..200 {
        let mut stream = TcpStream::connect(gateway.address).await.unwrap();
        stream.write_all(b"POST /mcp HTTP/1.1\r\nHost: local").await.unwrap();
        silent.push(stream);
    }
    assert_eq!(gateway.whoami("").await.status, 200);
    assert_eq!(silent[0].read(&mut [0; 16]).await.unwrap_or(0), 0, "the oldest of them is closed");
    idle.write_all(call("whoami", "", &json!({})).as_bytes()).await.unwrap();
    assert_eq!(answer(&mut idle).await.status, 200);
    let still = busy.try_read(&mut [0; 16]).unwrap_err();
    assert_eq!(still.kind(), ErrorKind::WouldBlock, "its call continues");
}

#[tokio::test]
async fn busy_connections_of_one_caller_keep_no_other_out() {
    let mut config = config();
    config.tokens = vec![with_token("greedy", "secret-a"), with_token("other", "secret-b")];
    let gateway = start(config).await;
    let mut greedy = Vec::new();
    for _ in 0..64 {
        let mut stream = TcpStream::connect(gateway.address).await.unwrap();
        let request = call("wait", "Authorization: Bearer secret-a\r\n", &json!({}));
        stream.write_all(request.as_bytes()).await.unwrap();
        greedy.push(stream);
    }
    let answers = greedy.iter_mut().map(|stream| Box::pin(answer(stream)));
    let (refused, ..) = futures_util::future::select_all(answers).await;
    assert_eq!((refused.status, refused.header("connection")), (429, Some("close")), "{refused:?}");
    assert_eq!(refused.header("retry-after"), Some("1"), "{refused:?}");
    assert!(refused.body.contains("busy"), "{refused:?}");
    for _ in 0..10 {
        // A call would wait for the others.
        let answer = gateway.post("Authorization: Bearer secret-b\r\n", &fake::initialize()).await;
        assert_eq!(answer.status, 200, "{answer:?}");
    }
}

#[tokio::test]
async fn unread_responses_of_a_caller_refuse_its_next_requests() {
    let mut config = config();
    config.tokens = vec![with_token("greedy", "secret-a"), with_token("other", "secret-b")];
    let gateway = start(config).await;
    let greedy = "Authorization: Bearer secret-a\r\n";
    let mut unread = Vec::new();
    // More than the sockets' buffers can hold.
    for _ in 0..4 {
        let mut stream = TcpStream::connect(gateway.address).await.unwrap();
        let request = call("text", greedy, &json!({ "size": 20_000_000 }));
        stream.write_all(request.as_bytes()).await.unwrap();
        stream.readable().await.unwrap();
        unread.push(stream);
    }
    let refused = gateway.whoami(greedy).await;
    assert_eq!(refused.status, 503, "{refused:?}");
    assert!(refused.body.contains("too many unread responses"), "{refused:?}");
    assert_eq!(gateway.whoami("Authorization: Bearer secret-b\r\n").await.text(), "other");
    let read = unread.iter_mut().map(answer);
    for answer in futures_util::future::join_all(read).await {
        let is_busy = answer.body.contains("too many unread responses");
        assert!(is_busy || answer.text().len() == 20_000_000, "{}", answer.head);
    }
    while gateway.fake.server.gauges().unread_bytes > 0 {
        tokio::task::yield_now().await; // the gateway learns last that everything is read
    }
    assert_eq!(gateway.whoami(greedy).await.text(), "greedy");
}

#[tokio::test]
async fn every_answer_forbids_sniffing_and_caching() {
    let mut config = config();
    config.legacy_sse = true;
    config.tokens = vec![with_token("ci", "t")];
    let gateway = start(config).await;
    let token = "Authorization: Bearer t\r\n";
    let events = format!("{token}Accept: text/event-stream\r\n");
    for (method, path, headers, status) in [
        ("POST", "/mcp", "", 401),
        ("OPTIONS", "/mcp", "", 204),
        ("PUT", "/mcp", token, 405),
        ("GET", "/elsewhere", "", 404),
        ("GET", "/sse", events.as_str(), 200),
        ("POST", "/messages", "", 401),
    ] {
        let answer =
            gateway.send(&format!("{method} {path} HTTP/1.1\r\nHost: localhost\r\n{headers}\r\n")).await;
        assert_eq!(answer.status, status, "{method} {path}");
        assert_eq!(answer.header("x-content-type-options"), Some("nosniff"), "{method} {path}");
        let caching = answer.header("cache-control").unwrap_or_default();
        assert!(caching.starts_with("no-store"), "{method} {path}: {caching}");
    }
    let answer = gateway.whoami(token).await;
    assert_eq!((answer.status, answer.header("cache-control")), (200, Some("no-store")));
}

#[tokio::test]
async fn a_trusted_proxy_names_the_client() {
    let mut config = config();
    config.trusted_proxies = vec!["127.0.0.0/8".parse().unwrap()];
    config.tokens = vec![with_token("ci", "t")];
    let gateway = start(config).await;
    let forwarded = |address: &str| {
        format!("X-Forwarded-For: 198.51.100.1, {address}\r\nAuthorization: Bearer guess\r\n")
    };
    for guess in 0..12 {
        let status = if guess < 10 { 401 } else { 429 };
        assert_eq!(gateway.whoami(&forwarded("203.0.113.7")).await.status, status);
    }
    let guess = forwarded("203.0.113.7");
    let other_client = forwarded("203.0.113.8");
    let right_token = "X-Forwarded-For: 203.0.113.7\r\nAuthorization: Bearer t\r\n".to_owned();
    for headers in [other_client, right_token] {
        tokio::select! {
            biased;
            _ = gateway.whoami(&headers) => {}
            _ = gateway.whoami(&guess) => panic!("{headers} was slowed down"),
        }
    }
}

#[tokio::test]
async fn stopping_does_not_wait_for_incomplete_requests() {
    let gateway = start(config()).await;
    let mut streams = Vec::new();
    let whole = call("whoami", "", &json!({}));
    for bytes in [&whole[..20], &whole[..whole.len() - 5]] {
        let mut stream = gateway.idle().await;
        stream.write_all(bytes.as_bytes()).await.unwrap();
        streams.push(stream);
    }
    gateway.ending.stop_accepting.cancel();
    assert_eq!(gateway.served.await.unwrap(), 0);
}
