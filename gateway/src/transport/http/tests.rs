//! Requests as bytes over real sockets, and a protocol of a few lines.

use std::io::ErrorKind;
use std::time::Duration;

use bytesize::ByteSize;
use moongate_core::config::{Secret, Token};
use moongate_model::names::Principal;
use moongate_protocol::server::{Get, Header, Headers, HttpAnswer, HttpReply, LineReply, Post, Visitor};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::sync::Notify;
use tokio::task::JoinHandle;

use super::*;

/// Answers a post with who called and what was sent; `wait` is answered never, and `large` with much.
#[derive(Debug, Default)]
struct Fake {
    waiting: Notify,
    dropped: Arc<Notify>,
}

struct OnDrop(Arc<Notify>);

impl Drop for OnDrop {
    fn drop(&mut self) {
        self.0.notify_one();
    }
}

impl Protocol for Fake {
    type Connection = ();

    fn connect(&self) -> Arc<()> {
        unreachable!("nothing comes over stdio here")
    }

    async fn news(&self, _: &Arc<()>) -> Vec<u8> {
        unreachable!("nothing comes over stdio here")
    }

    fn wind_up(&self, (): &()) {}

    fn disconnect(&self, (): &()) {}

    fn line(&self, _: &Arc<()>, _: &[u8]) -> LineReply {
        unreachable!("nothing comes over stdio here")
    }

    fn line_too_long(&self, _: &Arc<()>, _: usize) -> Vec<u8> {
        unreachable!("nothing comes over stdio here")
    }

    async fn post(self: &Arc<Self>, post: Post<'_>) -> HttpAnswer {
        let body = match post.body {
            b"\"wait\"" => {
                let _on_drop = OnDrop(Arc::clone(&self.dropped));
                self.waiting.notify_one();
                std::future::pending().await
            }
            b"\"large\"" => vec![b'x'; 1_000_000],
            b"\"nothing\"" => return HttpReply { status: 202, headers: Vec::new(), body: Vec::new() }.into(),
            other => {
                let name = match post.headers.get("mcp-name") {
                    Header::Absent => "absent",
                    Header::Text(text) => text,
                    Header::Invalid => "invalid",
                };
                format!("[\"{}\",\"{name}\",{}]", post.principal, String::from_utf8_lossy(other)).into_bytes()
            }
        };
        HttpReply { status: 200, headers: vec![("mcp-session-id", "s1".to_owned())], body }.into()
    }

    fn get(self: &Arc<Self>, _: Get<'_>) -> HttpAnswer {
        HttpReply { status: 405, headers: Vec::new(), body: Vec::new() }.into()
    }

    fn visit(self: &Arc<Self>, _: &Principal) -> Result<Visitor, HttpReply> {
        unreachable!("no client is that old here")
    }

    fn visited(self: &Arc<Self>, _: &Principal, _: &str, _: &[u8]) -> HttpReply {
        unreachable!("no client is that old here")
    }

    fn delete(&self, _: &Principal, headers: &dyn Headers) -> HttpReply {
        let status = if headers.get("mcp-session-id") == Header::Text("s1") { 200 } else { 404 };
        HttpReply { status, headers: Vec::new(), body: Vec::new() }
    }
}

struct Gateway {
    fake: Arc<Fake>,
    address: SocketAddr,
    ending: Ending,
    served: JoinHandle<usize>,
}

fn config() -> HttpConfig {
    HttpConfig {
        listen: "127.0.0.1:0".parse().unwrap(),
        tokens: Vec::new(),
        unread_tokens: 0,
        allowed_hosts: Vec::new(),
        allowed_origins: vec!["https://app.example".to_owned()],
        max_body: ByteSize::kib(256),
        max_sessions: 10,
        session_idle: Duration::from_secs(60),
        keep_alive: Duration::from_secs(15),
        close_streams_after: None,
        legacy_sse: false,
    }
}

async fn start(config: HttpConfig) -> Gateway {
    let fake = Arc::new(Fake::default());
    let bound = Bound::new(config.listen).await.unwrap();
    let (address, ending) = (bound.address(), Ending::default());
    let (protocol, until) = (Arc::clone(&fake), ending.clone());
    let served = tokio::spawn(async move { bound.serve(protocol, &config, None, until).await });
    Gateway { fake, address, ending, served }
}

/// What came back.
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
}

/// Reads one answer whose length is told.
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
        assert!(stream.read_buf(&mut bytes).await.unwrap() > 0, "the answer broke off");
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

    async fn post(&self, fields: &str, body: &str) -> Answer {
        self.send(&post(fields, body)).await
    }
}

fn post(fields: &str, body: &str) -> String {
    format!(
        "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n{fields}Content-Length: {}\r\n\r\n{body}",
        body.len()
    )
}

#[tokio::test]
async fn a_post_reaches_the_protocol_and_its_answer_comes_back() {
    let gateway = start(config()).await;
    let answer = gateway.post("Mcp-Name: x\r\n", "1").await;
    assert_eq!((answer.status, answer.body.as_str()), (200, r#"["anonymous","x",1]"#));
    assert_eq!(answer.header("content-type"), Some("application/json"));
    assert_eq!(answer.header("mcp-session-id"), Some("s1"));
    let answer = gateway.post("", "\"nothing\"").await;
    assert_eq!((answer.status, answer.header("content-length")), (202, Some("0")));
    assert_eq!(answer.header("content-type"), None);
    assert_eq!(gateway.post("", "\"large\"").await.body.len(), 1_000_000);
    assert_eq!(
        gateway.post("Mcp-Name: a\r\nmcp-name: b\r\n", "1").await.body,
        r#"["anonymous","invalid",1]"#
    );
}

#[tokio::test]
async fn verbs_and_paths_that_are_not_known_are_refused() {
    let gateway = start(config()).await;
    for verb in ["PUT", "PATCH", "TRACE"] {
        let answer = gateway.send(&format!("{verb} /mcp HTTP/1.1\r\nHost: localhost\r\n\r\n")).await;
        assert_eq!(
            (answer.status, answer.header("allow")),
            (405, Some("GET, POST, DELETE, OPTIONS")),
            "{verb}"
        );
    }
    let mut stream = TcpStream::connect(gateway.address).await.unwrap();
    stream.write_all(b"HEAD /mcp HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n").await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap(); // only the head, though a length is told
    assert!(answer.starts_with("HTTP/1.1 405") && answer.ends_with("\r\n\r\n"), "{answer}");
    let answer = gateway.send("GET /mcp HTTP/1.1\r\nHost: localhost\r\n\r\n").await;
    assert_eq!((answer.status, answer.header("allow").is_some()), (405, true));
    let answer = gateway.send("DELETE /mcp HTTP/1.1\r\nHost: localhost\r\nMcp-Session-Id: s1\r\n\r\n").await;
    assert_eq!(answer.status, 200);
    for path in ["/", "/mcp/", "/sse", "/mcp2"] {
        let answer = gateway.send(&format!("GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n")).await;
        assert_eq!(answer.status, 404, "{path}");
        assert!(answer.body.contains("the endpoint is `/mcp`"), "{}", answer.body);
    }
}

#[tokio::test]
async fn a_page_is_refused_before_anything_else_is_looked_at() {
    let mut config = config();
    config.tokens = vec![Token { name: "ci".into(), token: Secret::new("t"), variable: None }];
    let gateway = start(config).await;
    let answer = gateway.send("POST /mcp HTTP/1.1\r\nHost: evil.example\r\n\r\n").await;
    assert_eq!(answer.status, 403);
    let answer = gateway.post("Origin: https://evil.example\r\n", "1").await;
    assert_eq!((answer.status, answer.header("access-control-allow-origin")), (403, None));
    let answer = gateway.post("Origin: https://app.example\r\n", "1").await;
    assert_eq!(
        (answer.status, answer.header("access-control-allow-origin")),
        (401, Some("https://app.example"))
    );
}

#[tokio::test]
async fn a_preflight_is_answered_without_a_token() {
    let mut config = config();
    config.tokens = vec![Token { name: "ci".into(), token: Secret::new("t"), variable: None }];
    let gateway = start(config).await;
    let answer = gateway
        .send("OPTIONS /mcp HTTP/1.1\r\nHost: localhost\r\nOrigin: http://localhost:6274\r\nAccess-Control-Request-Method: POST\r\nAccess-Control-Request-Headers: mcp-param-city\r\n\r\n")
        .await;
    assert_eq!(answer.status, 204);
    assert_eq!(answer.header("access-control-allow-origin"), Some("http://localhost:6274"));
    assert_eq!(answer.header("access-control-allow-headers"), Some("mcp-param-city"));
    assert_eq!(answer.header("access-control-expose-headers"), Some("mcp-session-id, www-authenticate"));
}

#[tokio::test]
async fn tokens_that_can_not_be_read_let_nobody_in() {
    let mut config = config();
    config.unread_tokens = 1;
    let gateway = start(config).await;
    for field in ["", "Authorization: Bearer secret-a\r\n"] {
        assert_eq!(gateway.post(field, "1").await.status, 401, "{field}");
    }
}

#[tokio::test]
async fn a_token_says_who_calls() {
    let mut config = config();
    let token = |name: &str, token| Token { name: name.into(), token: Secret::new(token), variable: None };
    config.tokens = vec![token("ann", "secret-a"), token("bob", "secret-b"), token("cyd", "secret-c")];
    let gateway = start(config).await;
    for (name, token) in [("ann", "secret-a"), ("bob", "secret-b"), ("cyd", "secret-c")] {
        let answer = gateway.post(&format!("Authorization: bearer {token}\r\n"), "1").await;
        assert_eq!((answer.status, answer.body), (200, format!(r#"["{name}","absent",1]"#)));
    }
    for (field, told) in [
        ("", "Bearer"),
        ("Authorization: Basic c2VjcmV0LWE=\r\n", "Bearer"),
        ("Authorization: Bearer \r\n", "Bearer"),
        ("Authorization: Bearer secret-a\r\nAuthorization: Bearer secret-b\r\n", "Bearer"),
        ("Authorization: Bearer secret\r\n", r#"Bearer error="invalid_token""#),
        ("Authorization: Bearer secret-aa\r\n", r#"Bearer error="invalid_token""#),
    ] {
        let answer = gateway.post(field, "not even JSON").await;
        assert_eq!((answer.status, answer.header("www-authenticate")), (401, Some(told)), "{field}");
    }
}

#[tokio::test]
async fn a_body_over_the_limit_is_refused_whether_or_not_its_length_is_told() {
    let gateway = start(config()).await;
    let most = 256 * 1024;
    let fits = format!("\"{}\"", "x".repeat(most - 2));
    assert_eq!(gateway.post("", &fits).await.status, 200);
    let answer = gateway.post("", &format!("{fits} ")).await;
    assert_eq!(answer.status, 413);
    assert!(answer.body.contains("larger than 262144 bytes"), "{}", answer.body);
    let chunk = format!("10000\r\n{}\r\n", "x".repeat(0x10000)).repeat(5);
    let head = "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n";
    assert_eq!(gateway.send(&format!("{head}{chunk}0\r\n\r\n")).await.status, 413);
    // The announcement is enough.
    let answer = gateway.send("POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 999999999\r\n\r\n").await;
    assert_eq!(answer.status, 413);
}

#[tokio::test]
async fn a_sender_that_writes_all_of_a_large_body_first_still_reads_why_it_is_refused() {
    let gateway = start(config()).await;
    let answer = gateway.post("", &"x".repeat(20_000_000)).await;
    assert_eq!(answer.status, 413);
}

#[tokio::test]
async fn types_that_are_not_json_are_refused() {
    let gateway = start(config()).await;
    let request =
        "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: text/plain\r\nContent-Length: 1\r\n\r\n1";
    assert_eq!(gateway.send(request).await.status, 415);
    assert_eq!(gateway.post("Content-Encoding: gzip\r\n", "1").await.status, 415);
    assert_eq!(gateway.post("Accept: text/html\r\n", "1").await.status, 406);
}

#[tokio::test]
async fn a_client_that_takes_only_events_gets_its_answer_as_one() {
    let gateway = start(config()).await;
    let answer = gateway.post("Accept: text/event-stream\r\n", "1").await;
    assert_eq!(answer.header("content-type"), Some("text/event-stream"));
    assert_eq!(answer.body, "event: message\ndata: [\"anonymous\",\"absent\",1]\n\n");
    let answer = gateway.post("Accept: text/event-stream\r\n", "\"nothing\"").await;
    assert_eq!((answer.status, answer.header("content-type")), (202, None));
}

#[tokio::test]
async fn a_client_that_leaves_takes_its_call_along() {
    let gateway = start(config()).await;
    let mut stream = TcpStream::connect(gateway.address).await.unwrap();
    stream.write_all(post("", "\"wait\"").as_bytes()).await.unwrap();
    gateway.fake.waiting.notified().await;
    drop(stream);
    gateway.fake.dropped.notified().await;
}

#[tokio::test]
async fn one_connection_carries_many_requests() {
    let gateway = start(config()).await;
    let mut stream = TcpStream::connect(gateway.address).await.unwrap();
    for number in 0..10 {
        stream.write_all(post("", &number.to_string()).as_bytes()).await.unwrap();
        assert_eq!(answer(&mut stream).await.body, format!(r#"["anonymous","absent",{number}]"#));
    }
}

#[tokio::test]
async fn stopping_closes_idle_connections_and_drops_calls_that_do_not_end() {
    let gateway = start(config()).await;
    let mut idle = TcpStream::connect(gateway.address).await.unwrap();
    idle.write_all(post("", "1").as_bytes()).await.unwrap();
    assert_eq!(answer(&mut idle).await.status, 200);
    let mut busy = TcpStream::connect(gateway.address).await.unwrap();
    busy.write_all(post("", "\"wait\"").as_bytes()).await.unwrap();
    gateway.fake.waiting.notified().await;
    gateway.ending.stop.cancel();
    assert_eq!(idle.read(&mut [0; 16]).await.unwrap(), 0);
    while TcpStream::connect(gateway.address).await.is_ok() {}
    assert!(!gateway.served.is_finished(), "its call has time");
    gateway.ending.over.cancel();
    assert_eq!(gateway.served.await.unwrap(), 1);
}

#[tokio::test]
async fn a_port_in_use_is_said_so() {
    let first = Bound::new("127.0.0.1:0".parse().unwrap()).await.unwrap();
    let error = Bound::new(first.address()).await.unwrap_err();
    let expected = format!("can't listen on {}: another program listens there already", first.address());
    assert_eq!(error.to_string(), expected);
    assert!(error.hint().contains("--http"), "{}", error.hint());
}

#[tokio::test]
async fn connections_that_are_only_kept_never_keep_others_out() {
    let gateway = start(config()).await;
    let mut first = TcpStream::connect(gateway.address).await.unwrap();
    first.write_all(post("", "1").as_bytes()).await.unwrap();
    assert_eq!(answer(&mut first).await.status, 200);
    let mut busy = TcpStream::connect(gateway.address).await.unwrap();
    busy.write_all(post("", "\"wait\"").as_bytes()).await.unwrap();
    gateway.fake.waiting.notified().await;
    let mut kept = Vec::new();
    for _ in 0..CONNECTIONS {
        let mut stream = TcpStream::connect(gateway.address).await.unwrap();
        stream.write_all(b"POST /mcp HTTP/1.1\r\nHost: local").await.unwrap();
        kept.push(stream);
    }
    assert_eq!(gateway.post("", "2").await.status, 200);
    assert_eq!(first.read(&mut [0; 16]).await.unwrap(), 0, "it was quiet longest");
    let still = busy.try_read(&mut [0; 16]).unwrap_err();
    assert_eq!(still.kind(), ErrorKind::WouldBlock, "its call goes on");
}

#[tokio::test]
async fn stopping_waits_for_no_request_that_never_comes() {
    let fake = Arc::new(Fake::default());
    let config = config();
    let bound = Bound::new(config.listen).await.unwrap();
    let (address, ending) = (bound.address(), Ending::default());
    let until = ending.clone();
    let served = tokio::spawn(async move { bound.serve(fake, &config, None, until).await });
    let mut streams = Vec::new();
    let whole = post("", "123456789");
    for bytes in [&whole[..20], &whole[..whole.len() - 5]] {
        let mut stream = TcpStream::connect(address).await.unwrap();
        stream.write_all(post("", "1").as_bytes()).await.unwrap();
        assert_eq!(answer(&mut stream).await.status, 200);
        stream.write_all(bytes.as_bytes()).await.unwrap();
        streams.push(stream);
    }
    ending.stop.cancel();
    assert_eq!(served.await.unwrap(), 0);
}
