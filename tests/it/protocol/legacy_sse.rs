//! The HTTP+SSE transport of 2024-11-05: one stream for all messages, and a path to post to.

use moongate_tests::{EventStream, Http, Reply, Workspace, initialize_params, request, text};
use serde_json::{Value, json};

/// A client of 2024-11-05.
struct Client<'a> {
    http: &'a Http,
    headers: Vec<(&'a str, &'a str)>,
    stream: EventStream,
    /// The path to post to.
    uri: String,
}

impl<'a> Client<'a> {
    fn connect(http: &'a Http, headers: &[(&'a str, &'a str)]) -> Self {
        let mut all = vec![("Accept", "text/event-stream")];
        all.extend_from_slice(headers);
        let mut stream = http.open_at("GET", "/sse", &all, b"");
        assert_eq!(
            (stream.reply.status, stream.reply.header("content-type")),
            (200, Some("text/event-stream"))
        );
        let first = stream.event().unwrap();
        assert_eq!(first.name, "endpoint");
        // Relative to `/sse`, wherever a proxy serves that.
        assert!(first.data.starts_with("messages?"), "{first:?}");
        Self { http, headers: headers.to_vec(), stream, uri: format!("/{}", first.data) }
    }

    fn initialized(http: &'a Http, revision: &str) -> Self {
        let mut client = Self::connect(http, &[]);
        let mut params = initialize_params(revision);
        params["capabilities"]["elicitation"] = json!({});
        let answer = client.request_and_wait(0, "initialize", params);
        assert_eq!(answer["result"]["protocolVersion"], revision, "{answer}");
        client.post_accepted(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
        client
    }

    fn post(&self, message: &[u8]) -> Reply {
        let mut headers = vec![("Content-Type", "application/json")];
        headers.extend_from_slice(&self.headers);
        self.http.send("POST", &self.uri, &headers, message)
    }

    #[track_caller]
    fn post_accepted(&self, message: &Value) {
        let reply = self.post(message.to_string().as_bytes());
        assert_eq!((reply.status, reply.body.as_str()), (202, ""), "{message}");
    }

    fn request_and_wait(&mut self, id: u64, method: &str, params: Value) -> Value {
        self.post_accepted(&request(id, method, params));
        let answer = self.stream.message().unwrap();
        assert_eq!(answer["id"], id, "{answer}");
        answer
    }
}

fn workspace(http: &str) -> Workspace {
    Workspace::new(&format!(
        "[http]\nlisten = \"127.0.0.1:0\"\nlegacy_sse = true\n{http}\n[plugins.zoo]\nsource = \"@zoo@\"\n[plugins.everything]\nsource = \"@everything@\"\nprefix = \"\"\nallow.client = [\"elicitation\"]\n"
    ))
}

#[test]
fn legacy_sse_is_disabled_by_default() {
    let http = Http::start(&Workspace::with_plugin("time"));
    for path in ["/sse", "/messages", "/messages?sessionId=x"] {
        assert_eq!(http.send("GET", path, &[("Accept", "text/event-stream")], b"").status, 404, "{path}");
    }
}

#[test]
fn endpoint_is_relative_to_the_stream() {
    let workspace = workspace("");
    let http = Http::start(&workspace);
    for (path, uri) in [("/sse", "messages?"), ("/sse?a=b", "messages?"), ("/sse/", "../messages?")] {
        let mut stream = http.open_at("GET", path, &[("Accept", "text/event-stream")], b"");
        let endpoint = stream.event().unwrap().data;
        assert!(endpoint.starts_with(uri), "{path}: {endpoint}");
        let target = format!("/messages?{}", endpoint.split_once('?').unwrap().1);
        let ping = request(1, "ping", json!({})).to_string();
        let reply = http.send("POST", &target, &[("Content-Type", "application/json")], ping.as_bytes());
        assert_ne!(reply.status, 404, "{path}: {reply:?}");
    }
}

#[test]
fn delivers_all_messages_on_one_stream() {
    let workspace = workspace("");
    let http = Http::start(&workspace);
    for revision in ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"] {
        let mut client = Client::initialized(&http, revision);
        let list = client.request_and_wait(1, "tools/list", json!({}));
        assert!(list["result"]["tools"].as_array().is_some_and(|tools| tools.len() > 10), "{list}");
        let echo = client.request_and_wait(
            2,
            "tools/call",
            json!({ "name": "zoo_echo", "arguments": { "text": "hi" } }),
        );
        assert_eq!(text(&echo), "hi");
        let meta = json!({ "progressToken": "t" });
        client.post_accepted(&request(
            3,
            "tools/call",
            json!({ "name": "test_tool_with_progress", "_meta": meta }),
        ));
        for _ in 0..3 {
            let report = client.stream.message().unwrap();
            assert_eq!(report["params"]["progressToken"], "t", "{report}");
        }
        assert_eq!(client.stream.message().unwrap()["id"], 3);
    }
    let mut client = Client::initialized(&http, "2025-06-18");
    client.post_accepted(&request(
        4,
        "tools/call",
        json!({ "name": "test_elicitation", "arguments": { "message": "?" } }),
    ));
    let question = client.stream.message().unwrap();
    assert_eq!(question["method"], "elicitation/create", "{question}");
    client
        .post_accepted(&json!({ "jsonrpc": "2.0", "id": question["id"], "result": { "action": "decline" } }));
    assert!(text(&client.stream.message().unwrap()).contains("decline"));
}

#[test]
fn answers_a_batch_with_one_message() {
    let workspace = workspace("");
    let http = Http::start(&workspace);
    let batch = json!([request(7, "ping", json!({})), request(8, "ping", json!({}))]);
    let mut client = Client::initialized(&http, "2025-03-26");
    client.post_accepted(&batch);
    assert_eq!(client.stream.message().unwrap().as_array().map(Vec::len), Some(2));
    let mut client = Client::initialized(&http, "2025-06-18");
    client.post_accepted(&batch);
    assert_eq!(client.stream.message().unwrap()["error"]["code"], -32600);
}

#[test]
fn disconnecting_cancels_running_calls() {
    let workspace = workspace("");
    let http = Http::start(&workspace);
    let client = Client::initialized(&http, "2024-11-05");
    for id in 1..=4 {
        client.post_accepted(&request(id, "tools/call", json!({ "name": "zoo_sleep_forever" })));
    }
    let Client { stream, uri, .. } = client;
    drop(stream);
    // The session ends with the connection.
    let post = || {
        let ping = request(9, "ping", json!({})).to_string();
        http.send("POST", &uri, &[("Content-Type", "application/json")], ping.as_bytes()).status
    };
    while post() != 404 {
        moongate_tests::pause_between_polls();
    }
    let (status, log) = http.terminate();
    assert!(status.success() && !log.contains("dropped"), "{log}");
}

#[test]
fn cancelled_call_gets_no_response() {
    let workspace = workspace("");
    let http = Http::start(&workspace);
    let mut client = Client::initialized(&http, "2024-11-05");
    client.post_accepted(&request(5, "tools/call", json!({ "name": "zoo_sleep_forever" })));
    client.post_accepted(
        &json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": 5 } }),
    );
    client.request_and_wait(6, "ping", json!({}));
}

#[test]
fn applies_the_endpoints_http_checks() {
    let workspace = workspace(
        "max_body = \"10KiB\"\nauth.tokens = [\n  { name = \"ann\", token = { file = \"ann\" } },\n  { name = \"bob\", token = { file = \"bob\" } },\n]",
    );
    workspace.write("ann", "ann-has-a-long-secret");
    workspace.write("bob", "bob-has-a-long-secret");
    let http = Http::start(&workspace);
    let ann = ("Authorization", "Bearer ann-has-a-long-secret");
    let bob = ("Authorization", "Bearer bob-has-a-long-secret");
    let evil = ("Origin", "http://evil.example.com");
    let json = ("Content-Type", "application/json");
    let mut client = Client::connect(&http, &[ann]);
    let uri = client.uri.clone();
    let ping = request(1, "ping", json!({})).to_string().into_bytes();
    let large = vec![b' '; 11 * 1024];
    for (verb, path, headers, body, status) in [
        ("GET", "/sse", vec![], &b""[..], 401),
        ("GET", "/sse", vec![ann, evil], b"", 403),
        ("GET", "/sse", vec![ann, ("Host", "evil.example.com")], b"", 403),
        ("GET", "/sse", vec![ann, ("Accept", "application/json")], b"", 406),
        ("POST", "/sse", vec![ann, json], &ping, 405),
        ("GET", &uri, vec![ann], b"", 405),
        ("POST", &uri, vec![json], &ping, 401),
        ("POST", &uri, vec![ann, json, evil], &ping, 403),
        ("POST", &uri, vec![bob, json], &ping, 404),
        ("POST", "/messages", vec![ann, json], &ping, 404),
        ("POST", "/messages?sessionId=guessed", vec![ann, json], &ping, 404),
        ("POST", &uri, vec![ann, ("Content-Type", "text/plain")], &ping, 415),
        ("POST", &uri, vec![ann, json], &large, 413),
        ("POST", &uri, vec![ann, json], b"{", 400),
        ("POST", &uri, vec![ann, json], b"1", 400),
        ("POST", &uri, vec![ann, json], &ping, 202),
    ] {
        let reply = http.send(verb, path, &headers, body);
        assert_eq!(reply.status, status, "{verb} {path} {headers:?}: {reply:?}");
        let allow = if path == "/sse" { "GET, OPTIONS" } else { "POST, OPTIONS" };
        assert_eq!(reply.header("allow"), (status == 405).then_some(allow), "{reply:?}");
    }
    assert_eq!(client.stream.message().unwrap()["id"], 1, "expected only the last response");
}

#[test]
fn limits_clients_and_unread_requests() {
    let workspace = workspace("max_sessions = 2\nkeep_alive = \"50ms\"");
    let http = Http::start(&workspace);
    let mut clients = [Client::connect(&http, &[]), Client::connect(&http, &[])];
    assert_ne!(clients[0].uri, clients[1].uri);
    assert_eq!(http.send("GET", "/sse", &[("Accept", "text/event-stream")], b"").status, 503);
    assert!(clients[0].stream.event().unwrap().is_comment, "expected a keep-alive comment");
    let call_status = |client: &Client<'_>, id| {
        let call = request(id, "tools/call", json!({ "name": "zoo_sleep_forever" }));
        client.post(call.to_string().as_bytes()).status
    };
    let mut params = initialize_params("2024-11-05");
    params["capabilities"] = json!({});
    let answer = loop {
        clients[1].post_accepted(&request(0, "initialize", params.clone()));
        if let Some(answer) = clients[1].stream.message() {
            break answer;
        }
    };
    assert_eq!(answer["id"], 0);
    let rejected = (1..1_000).find(|id| call_status(&clients[1], *id) == 503);
    assert!(rejected.is_some_and(|id| id > 32), "{rejected:?}");
    clients[1].post_accepted(
        &json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": 1 } }),
    );
    while call_status(&clients[1], 2_000) == 503 {
        moongate_tests::pause_between_polls();
    }
}

#[test]
fn idle_clients_do_not_delay_shutdown() {
    let http = Http::start(&workspace(""));
    let client = Client::initialized(&http, "2024-11-05");
    let Client { mut stream, .. } = client;
    let ended = std::thread::spawn(move || http.terminate());
    assert_eq!(stream.event(), None);
    let (status, log) = ended.join().unwrap();
    assert!(status.success(), "{log}");
}
