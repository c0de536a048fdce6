//! HTTP/2: calls, streams and shutdown, and clients that misuse what it adds: windows, resets and many streams.

use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use h2::client::{Builder, ResponseFuture, SendRequest};
use h2::{Reason, RecvStream};
use http::{Method, Request, StatusCode};
use moongate_tests::{
    Http, TestAuthority, TlsClient, TlsVersion, Workspace, initialize_params, request, send_signal,
    stateless_request,
};
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName};
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::timeout;
use tokio_rustls::TlsConnector;

use super::tls::write;

/// The time for which a test waits for an answer.
const PATIENCE: Duration = Duration::from_secs(120);

const ANN: &str = "Bearer the-token-of-ann-in-this-test";
const BOB: &str = "Bearer the-token-of-bob-in-this-test";

/// A gateway with a certificate, and more keys of `[http]`.
fn start(authority: &TestAuthority, http: &str) -> (Workspace, Http) {
    let workspace = Workspace::new(&format!(
        "[http]\nlisten = \"127.0.0.1:0\"\n{http}\n[http.tls]\ncertificate = \"cert.pem\"\nkey = \"key.pem\"\n\
         [plugins.zoo]\nsource = \"@zoo@\"\nlimits.timeout = \"10m\"\n"
    ));
    write(&workspace, &authority.server());
    workspace.write("ann", ANN.trim_start_matches("Bearer "));
    workspace.write("bob", BOB.trim_start_matches("Bearer "));
    let http = Http::start(&workspace);
    (workspace, http)
}

const TOKENS: &str = "auth.tokens = [{ name = \"ann\", token = { file = \"ann\" } }, \
                      { name = \"bob\", token = { file = \"bob\" } }]";

/// A connection.
struct Connection {
    sender: SendRequest<Bytes>,
    /// The end of the connection.
    ended: JoinHandle<Result<(), h2::Error>>,
}

impl Connection {
    async fn open(http: &Http, authority: &TestAuthority, builder: &Builder) -> Self {
        let mut roots = rustls::RootCertStore::empty();
        roots.add(CertificateDer::from_pem_slice(authority.certificate().as_bytes()).unwrap()).unwrap();
        let mut config = rustls::ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(roots)
            .with_no_client_auth();
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        let stream = TcpStream::connect(http.address()).await.unwrap();
        let name = ServerName::try_from("localhost").unwrap();
        let stream = TlsConnector::from(Arc::new(config)).connect(name, stream).await.unwrap();
        assert_eq!(stream.get_ref().1.alpn_protocol(), Some(&b"h2"[..]));
        let (sender, connection) = builder.handshake(stream).await.unwrap();
        Self { sender, ended: tokio::spawn(connection) }
    }

    /// Sends a request.
    async fn send(
        &mut self,
        method: Method,
        uri: &str,
        headers: &[(&str, &str)],
        body: &str,
    ) -> ResponseFuture {
        let mut request = Request::builder().method(method).uri(uri);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let mut sender = self.sender.clone().ready().await.unwrap();
        let (response, mut stream) = sender.send_request(request.body(()).unwrap(), body.is_empty()).unwrap();
        if !body.is_empty() {
            stream.send_data(Bytes::from(body.to_owned()), true).unwrap();
        }
        response
    }

    /// Posts a request of 2026-07-28.
    async fn post(&mut self, token: &str, method: &str, params: Value) -> ResponseFuture {
        let name = params["name"].as_str().unwrap_or_default().to_owned();
        let body = stateless_request(1, method, params).to_string();
        let mut headers = vec![
            ("content-type", "application/json"),
            ("accept", "application/json, text/event-stream"),
            ("mcp-protocol-version", "2026-07-28"),
            ("mcp-method", method),
        ];
        if !name.is_empty() {
            headers.push(("mcp-name", &name));
        }
        if !token.is_empty() {
            headers.push(("authorization", token));
        }
        self.send(Method::POST, "https://localhost/mcp", &headers, &body).await
    }

    async fn call(&mut self, token: &str, tool: &str, arguments: Value) -> ResponseFuture {
        self.post(token, "tools/call", json!({ "name": tool, "arguments": arguments })).await
    }
}

/// The status and the whole body.
async fn read(response: ResponseFuture) -> (StatusCode, String) {
    let response = timeout(PATIENCE, response).await.expect("an answer").unwrap();
    let status = response.status();
    let mut body = response.into_body();
    let mut whole = Vec::new();
    while let Some(piece) = timeout(PATIENCE, body.data()).await.expect("more of the answer") {
        let piece = piece.unwrap();
        body.flow_control().release_capacity(piece.len()).unwrap();
        whole.extend_from_slice(&piece);
    }
    (status, String::from_utf8(whole).unwrap())
}

/// Reads until the text arrives.
async fn read_until(body: &mut RecvStream, text: &str) {
    let mut whole = String::new();
    while !whole.contains(text) {
        let piece = timeout(PATIENCE, body.data()).await.expect("more").expect("not the end").unwrap();
        body.flow_control().release_capacity(piece.len()).unwrap();
        whole.push_str(std::str::from_utf8(&piece).unwrap());
    }
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap()
}

#[test]
fn calls_and_errors_are_the_same_as_over_http_1() {
    let authority = TestAuthority::new();
    let (_workspace, http) = start(&authority, TOKENS);
    runtime().block_on(async {
        let mut connection = Connection::open(&http, &authority, &Builder::new()).await;
        let (status, body) = read(connection.call(ANN, "zoo_echo", json!({ "text": "hello" })).await).await;
        assert!(status == 200 && body.contains("hello"), "{status} {body}");
        // A large result goes through many windows, next to another call.
        let large = connection.call(ANN, "zoo_huge_result", json!({ "bytes": 3_000_000 })).await;
        let small = connection.call(BOB, "zoo_echo", json!({ "text": "small" })).await;
        assert!(read(small).await.1.contains("small"));
        let (status, body) = read(large).await;
        assert!(status == 200 && body.len() > 3_000_000, "{status} {}", body.len());
        let large = "x".repeat(2_000_000);
        let (status, body) = read(connection.call(ANN, "zoo_echo", json!({ "text": large })).await).await;
        assert!(status == 200 && body.len() > 2_000_000, "{status} {}", body.len());

        let response = connection.post("", "tools/list", json!({})).await.await.unwrap();
        assert_eq!(response.status(), 401);
        assert!(
            response.headers().contains_key("www-authenticate") && response.headers().contains_key("date")
        );
        assert!(!response.headers().contains_key("connection"));
        assert_eq!(read(connection.post("Bearer x", "tools/list", json!({})).await).await.0, 401);
        let uri = |path: &str| format!("https://localhost{path}");
        for (method, path, status) in [
            (Method::GET, "/nothing", 404),
            (Method::HEAD, "/nothing", 404),
            (Method::PUT, "/mcp", 401),
            (Method::OPTIONS, "/mcp", 204),
        ] {
            let answer = read(connection.send(method.clone(), &uri(path), &[], "").await).await;
            assert_eq!(answer.0, status, "{method} {path}");
            assert_eq!(answer.1.is_empty(), [Method::HEAD, Method::OPTIONS].contains(&method), "{answer:?}");
        }
        let body = "x".repeat(5 << 20);
        let headers = [("content-type", "application/json"), ("authorization", ANN)];
        let too_large = connection.send(Method::POST, &uri("/mcp"), &headers, &body).await;
        assert_eq!(timeout(PATIENCE, too_large).await.unwrap().unwrap().status(), 413);
        assert_eq!(read(connection.post(ANN, "tools/list", json!({})).await).await.0, 200);
    });
    // Without ALPN, it is HTTP/1.1.
    let client = TlsClient::new(authority.certificate(), TlsVersion::Tls13, None);
    assert_eq!(client.send(http.address(), "GET /nothing", &[], "").unwrap().status, 404);
    assert!(!http.log().contains("panicked"), "{}", http.log());
}

#[test]
fn curl_uses_http_2() {
    let has_http2 = Command::new("curl").arg("--version").output();
    if !has_http2.is_ok_and(|output| String::from_utf8_lossy(&output.stdout).contains("HTTP2")) {
        return; // this machine's curl is missing or too old
    }
    let authority = TestAuthority::new();
    let (workspace, http) = start(&authority, "");
    let url = format!("https://localhost:{}/mcp", http.address().port());
    let body = stateless_request(1, "tools/list", json!({})).to_string();
    let output = Command::new("curl")
        .args(["--silent", "--http2", "--noproxy", "*", "--insecure", "--write-out", "\n%{http_version}"])
        .args(["-H", "Content-Type: application/json", "-H", "MCP-Protocol-Version: 2026-07-28"])
        .args(["-H", "Mcp-Method: tools/list", "--data", &body, &url])
        .current_dir(workspace.path())
        .output()
        .unwrap();
    let printed = String::from_utf8_lossy(&output.stdout);
    assert!(printed.contains("zoo_echo") && printed.ends_with("\n2"), "{output:?}");
}

#[test]
fn events_arrive_while_other_streams_are_open() {
    let authority = TestAuthority::new();
    let (_workspace, http) = start(&authority, "keep_alive = \"100ms\"");
    runtime().block_on(async {
        let mut connection = Connection::open(&http, &authority, &Builder::new()).await;
        let json = [("content-type", "application/json"), ("accept", "application/json, text/event-stream")];
        let initialize = request(1, "initialize", initialize_params("2025-11-25")).to_string();
        let opened = connection.send(Method::POST, "https://localhost/mcp", &json, &initialize).await;
        let opened = opened.await.unwrap();
        let session = opened.headers()["mcp-session-id"].to_str().unwrap().to_owned();
        let of_session = [
            ("accept", "text/event-stream"),
            ("mcp-session-id", &*session),
            ("mcp-protocol-version", "2025-11-25"),
        ];
        let events = connection.send(Method::GET, "https://localhost/mcp", &of_session, "").await;
        let events = events.await.unwrap();
        assert_eq!(
            (events.status(), &events.headers()["content-type"]),
            (StatusCode::OK, &"text/event-stream".parse().unwrap())
        );
        let mut events = events.into_body();
        read_until(&mut events, ":\n\n").await;
        let (status, _) = read(connection.call("", "zoo_echo", json!({ "text": "hello" })).await).await;
        assert_eq!(status, 200);
        read_until(&mut events, ":\n\n").await;
    });
}

#[test]
fn the_authority_is_checked_like_the_host() {
    let authority = TestAuthority::new();
    let (_workspace, http) = start(&authority, "allowed_hosts = [\"gateway.example.com\"]");
    runtime().block_on(async {
        let mut connection = Connection::open(&http, &authority, &Builder::new()).await;
        let port = http.address().port();
        for (authority, host, status) in [
            ("localhost", None, 404),
            ("gateway.example.com", None, 404),
            ("gateway.example.com:443", Some("gateway.example.com"), 404),
            ("localhost", Some("localhost"), 404),
            ("evil.example.com", None, 403),
            ("evil.example.com", Some("localhost"), 403),
            ("localhost", Some("evil.example.com"), 403),
            ("localhost", Some("gateway.example.com"), 403),
            ("localhost:1", Some("localhost:2"), 403),
            ("gateway.example.com.evil.example.com", None, 403),
        ] {
            let headers: Vec<_> = host.map(|host| ("host", host)).into_iter().collect();
            let uri = format!("https://{authority}/nothing");
            let answer = read(connection.send(Method::GET, &uri, &headers, "").await).await;
            assert_eq!(answer.0, status, "{authority} {host:?}: {answer:?}");
        }
        let here = format!("https://127.0.0.1:{port}/nothing");
        assert_eq!(read(connection.send(Method::GET, &here, &[], "").await).await.0, 404);
        let page = [("origin", "https://evil.example.com")];
        assert_eq!(read(connection.send(Method::GET, &here, &page, "").await).await.0, 403);
    });
}

#[test]
fn heads_over_http_2_have_a_limit() {
    let authority = TestAuthority::new();
    let (_workspace, http) = start(&authority, TOKENS);
    runtime().block_on(async {
        let mut connection = Connection::open(&http, &authority, &Builder::new()).await;
        let uri = "https://localhost/nothing";
        for (length, status) in [(8_000, 404), (20_000, 431), (8_000, 404)] {
            let long = "x".repeat(length);
            let answer = read(connection.send(Method::GET, uri, &[("x-long", &long)], "").await).await;
            assert_eq!(answer.0, status, "{length}");
        }
        assert_eq!(read(connection.post(ANN, "tools/list", json!({})).await).await.0, 200);
    });
}

/// A short header that was sent before arrives as one byte, but takes a hundred in memory.
#[test]
fn many_short_headers_over_http_2_count_with_what_they_take() {
    let authority = TestAuthority::new();
    let (_workspace, http) = start(&authority, TOKENS);
    runtime().block_on(async {
        let mut connection = Connection::open(&http, &authority, &Builder::new()).await;
        let uri = "https://localhost/mcp";
        for (count, status) in [(90, 401), (120, 431)] {
            let headers = vec![("x", "y"); count];
            let answer = read(connection.send(Method::GET, uri, &headers, "").await).await;
            assert_eq!(answer.0, status, "{count}");
        }
        // Wrong tokens are answered after a second, so the streams are open at the same time.
        let mut headers = vec![("x", "y"); 90];
        headers.push(("authorization", "Bearer wrong"));
        let mut answers = Vec::new();
        for _ in 0..40 {
            answers.push(connection.send(Method::GET, uri, &headers, "").await);
        }
        let mut refused = 0;
        for answer in answers {
            refused += usize::from(read(answer).await.0 == 503);
        }
        assert!(refused >= 20, "{refused} streams were refused");
    });
}

/// The connection reads everything that arrives, so only the stream's window shows that its response isn't read.
#[test]
fn a_stalled_stream_is_reset_and_others_continue() {
    let authority = TestAuthority::new();
    let (_workspace, http) = start(&authority, TOKENS);
    runtime().block_on(async {
        let mut builder = Builder::new();
        builder.initial_window_size(1_000).initial_connection_window_size(1 << 20);
        let mut connection = Connection::open(&http, &authority, &builder).await;
        let started = Instant::now();
        // One that reads nothing at all, and one that only stalls in its last bytes.
        let mut stalled = Vec::new();
        for bytes in [1_000_000, 2_000] {
            let large = connection.call(ANN, "zoo_huge_result", json!({ "bytes": bytes })).await;
            let response = timeout(PATIENCE, large).await.unwrap().unwrap();
            assert_eq!(response.status(), 200);
            stalled.push(response.into_body());
        }
        for body in &mut stalled {
            let error = loop {
                match timeout(PATIENCE, body.data()).await.expect("the stream is reset") {
                    Some(Ok(_)) => {}
                    Some(Err(error)) => break error,
                    None => panic!("the response ended"),
                }
            };
            assert_eq!(error.reason(), Some(Reason::CANCEL), "{error}");
        }
        assert!(started.elapsed() >= Duration::from_secs(25), "{:?}", started.elapsed());
        let (status, body) = read(connection.call(ANN, "zoo_echo", json!({ "text": "hello" })).await).await;
        assert!(status == 200 && body.contains("hello"), "{status} {body}");
    });
}

#[test]
fn a_flood_of_resets_ends_its_connection() {
    let authority = TestAuthority::new();
    let (_workspace, http) = start(&authority, TOKENS);
    runtime().block_on(async {
        let mut honest = Connection::open(&http, &authority, &Builder::new()).await;
        for token in [ANN, "", "Bearer wrong"] {
            let connection = Connection::open(&http, &authority, &Builder::new()).await;
            let flood = async {
                for _ in 0..5_000 {
                    let Ok(mut sender) = connection.sender.clone().ready().await else { return };
                    let mut request =
                        Request::post("https://localhost/mcp").header("content-type", "application/json");
                    if !token.is_empty() {
                        request = request.header("authorization", token);
                    }
                    let request = request.body(()).unwrap();
                    let Ok((_response, mut stream)) = sender.send_request(request, false) else { return };
                    stream.send_reset(Reason::CANCEL);
                    tokio::task::yield_now().await;
                }
            };
            timeout(PATIENCE, flood).await.unwrap();
            let ended = timeout(PATIENCE, connection.ended).await.expect("the connection is closed").unwrap();
            let reason = ended.err().and_then(|error| error.reason());
            assert!(matches!(reason, None | Some(Reason::ENHANCE_YOUR_CALM)), "{token}: {reason:?}");
            assert_eq!(read(honest.post(BOB, "tools/list", json!({})).await).await.0, 200);
        }
    });
    assert!(!http.log().contains("panicked"), "{}", http.log());
}

/// A caller can't have more requests at once than with connections of HTTP/1.1.
#[test]
fn streams_count_like_connections() {
    let authority = TestAuthority::new();
    let (_workspace, http) = start(&authority, &format!("max_connections = 32\n{TOKENS}"));
    runtime().block_on(async {
        let mut honest = Connection::open(&http, &authority, &Builder::new()).await;
        assert_eq!(read(honest.post(BOB, "tools/list", json!({})).await).await.0, 200);
        let mut greedy = Connection::open(&http, &authority, &Builder::new()).await;
        assert_eq!(read(greedy.post(ANN, "tools/list", json!({})).await).await.0, 200);
        let mut calls = JoinSet::new();
        for _ in 0..60 {
            let call = greedy.call(ANN, "zoo_sleep_forever", json!({})).await;
            calls.spawn(async move { call.await.unwrap().status() });
        }
        for _ in 0..40 {
            let status = timeout(PATIENCE, calls.join_next()).await.expect("it is refused");
            assert_eq!(status.unwrap().unwrap(), 429);
        }
        for _ in 0..10 {
            assert_eq!(read(honest.post(BOB, "tools/list", json!({})).await).await.0, 200);
        }
        drop(calls);
        drop(greedy);
        let mut again = Connection::open(&http, &authority, &Builder::new()).await;
        loop {
            // The abandoned calls end soon.
            if read(again.call(ANN, "zoo_echo", json!({ "text": "hello" })).await).await.0 == 200 {
                break;
            }
        }
    });
}

#[test]
fn shutdown_lets_streams_finish_and_refuses_new_ones() {
    let authority = TestAuthority::new();
    let (_workspace, http) = start(&authority, "");
    runtime().block_on(async {
        let mut connection = Connection::open(&http, &authority, &Builder::new()).await;
        assert_eq!(read(connection.post("", "tools/list", json!({})).await).await.0, 200);
        let running = connection.call("", "zoo_sleep", json!({ "milliseconds": 3_000 })).await;
        http.wait_for_log("serving");
        send_signal(http.pid(), "TERM");
        http.wait_for_log("shutting down");
        let (status, body) = read(running).await;
        assert!(status == 200 && !body.contains("error"), "{status} {body}");
        let ended = timeout(PATIENCE, connection.ended).await.expect("the connection is closed").unwrap();
        assert!(
            ended.as_ref().err().is_none_or(|error| error.reason() == Some(Reason::NO_ERROR)),
            "{ended:?}"
        );
    });
    let (status, log) = http.wait_for_exit();
    assert!(status.success(), "{log}");
}
