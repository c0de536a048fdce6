//! Whatever waits for clients that don't read stays within `[gateway] memory`, and other clients are served.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use moongate_tests::{
    Http, Workspace, initialize_params, peak_memory, request, stateless_request, wait_until,
};
use serde_json::{Value, json};

const MEMORY_MIB: u64 = 256;

/// The size of a large result, in bytes, below the limit of a result.
const RESULT_BYTES: usize = 7_900_000;

const GREEDY: (&str, &str) = ("Authorization", "Bearer greedy-token-0123456789");
const HONEST: (&str, &str) = ("Authorization", "Bearer honest-token-0123456789");

/// A gateway with little memory, and its peak before the test.
struct Gateway {
    http: Http,
    memory_mib: u64,
    idle: u64,
}

impl Gateway {
    fn start() -> Self {
        Self::start_with(MEMORY_MIB, "")
    }

    /// A gateway with this much memory, and more plugins.
    fn start_with(memory_mib: u64, plugins: &str) -> Self {
        let workspace = Workspace::new(&format!(
            r#"
            [gateway]
            memory = "{memory_mib}MiB"
            [http]
            listen = "127.0.0.1:0"
            legacy_sse = true
            [[http.auth.tokens]]
            name = "greedy"
            token = {{ file = "greedy" }}
            [[http.auth.tokens]]
            name = "honest"
            token = {{ file = "honest" }}
            [admin]
            listen = "127.0.0.1:0"
            [plugins.zoo]
            source = "@zoo@"
            allow.client = ["elicitation", "sampling"]
            {plugins}
            "#
        ));
        workspace.write("greedy", "greedy-token-0123456789");
        workspace.write("honest", "honest-token-0123456789");
        let http = Http::start(&workspace);
        let gateway = Self { idle: 0, memory_mib, http };
        gateway.assert_other_is_served();
        Self { idle: peak_memory(gateway.http.pid()), ..gateway }
    }

    /// Posts a message on a connection that isn't read.
    fn post(&self, path: &str, headers: &[(&str, &str)], message: &Value) -> TcpStream {
        let mut stream = TcpStream::connect(self.http.address()).expect("the gateway listens");
        stream.set_read_timeout(Some(Duration::from_secs(30))).expect("a timeout");
        let body = message.to_string();
        let mut head = format!(
            "POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n\
             Accept: application/json, text/event-stream\r\nContent-Length: {}\r\n{}: {}\r\n",
            body.len(),
            GREEDY.0,
            GREEDY.1
        );
        headers.iter().for_each(|(name, value)| head.push_str(&format!("{name}: {value}\r\n")));
        // A refused connection may be closed meanwhile.
        let _ = stream.write_all(format!("{head}\r\n{body}").as_bytes());
        stream
    }

    fn call(&self, tool: &str, arguments: &Value, reports: bool) -> TcpStream {
        let mut message = stateless_request(1, "tools/call", json!({ "name": tool, "arguments": arguments }));
        if reports {
            message["params"]["_meta"]["progressToken"] = json!("t");
        }
        let headers =
            [("MCP-Protocol-Version", "2026-07-28"), ("Mcp-Method", "tools/call"), ("Mcp-Name", tool)];
        self.post("/mcp", &headers, &message)
    }

    fn open_session(&self, revision: &str) -> Option<String> {
        let mut params = initialize_params(revision);
        params["capabilities"] = json!({ "sampling": {}, "elicitation": {} });
        let reply = self.http.post(&[GREEDY], &request(1, "initialize", params));
        let session = reply.header("mcp-session-id")?.to_owned();
        let ready = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
        let _ = self.http.post(&[GREEDY, ("Mcp-Session-Id", &session)], &ready);
        Some(session)
    }

    fn call_in_session(&self, session: &str, id: u64, tool: &str, arguments: &Value) -> TcpStream {
        let meta = json!({ "progressToken": id });
        let call = request(id, "tools/call", json!({ "name": tool, "arguments": arguments, "_meta": meta }));
        self.post("/mcp", &[("Mcp-Session-Id", session)], &call)
    }

    /// Waits until no call runs or waits, and checks the memory.
    #[track_caller]
    fn assert_bounded(&self) {
        let admin = self.http.admin();
        let mut quiet = 0;
        wait_until("all calls have ended", || {
            let count = |name: &str| admin.metric(&format!("{name}{{plugin=\"zoo\"}}")).unwrap_or(0.0);
            let busy = count("moongate_plugin_instances") + count("moongate_plugin_calls_waiting");
            quiet = if busy == 0.0 { quiet + 1 } else { 0 };
            quiet == 3
        });
        let more = peak_memory(self.http.pid()).saturating_sub(self.idle) >> 20;
        assert!(more <= self.memory_mib + self.memory_mib / 10, "{more} MiB more than idle");
        self.assert_other_is_served();
    }

    #[track_caller]
    fn assert_other_is_served(&self) {
        let reply = self.http.post(&[HONEST], &request(1, "initialize", initialize_params("2025-11-25")));
        assert_eq!(reply.status, 200, "{reply:?}");
    }
}

/// An idle connection keeps buffers, which nothing else counts.
#[test]
fn connections_have_room_in_memory() {
    let workspace = Workspace::new(
        "[gateway]\nmemory = \"64MiB\"\n[http]\nlisten = \"127.0.0.1:0\"\nmax_connections = 1000\n\
         [plugins.zoo]\nsource = \"@zoo@\"\n",
    );
    let http = Http::start(&workspace);
    http.wait_for_log("`max_connections` in `[http]` is more than the memory allows");
    http.wait_for_log("most=256");
}

#[test]
fn unread_responses_stay_within_the_memory() {
    for arguments in [
        json!({ "bytes": RESULT_BYTES }),
        json!({ "bytes": RESULT_BYTES, "control": true }),
        json!({ "bytes": 500_000, "control": true }),
    ] {
        let gateway = Gateway::start();
        let unread: Vec<_> = (0..60).map(|_| gateway.call("zoo_huge_result", &arguments, false)).collect();
        gateway.assert_bounded();
        drop(unread);
    }
}

#[test]
fn unread_streams_stay_within_the_memory() {
    let arguments = json!({ "bytes": RESULT_BYTES, "reports": 5_000 });
    let gateway = Gateway::start();
    let unread: Vec<_> = (0..60).map(|_| gateway.call("zoo_huge_result", &arguments, true)).collect();
    gateway.assert_other_is_served();
    drop(unread);
    let gateway = Gateway::start();
    let session = gateway.open_session("2025-11-25").expect("a session");
    let call = |id| gateway.call_in_session(&session, id, "zoo_huge_result", &arguments);
    let unread: Vec<_> = (1..60).map(call).collect();
    gateway.assert_bounded();
    drop(unread);
}

#[test]
fn responses_that_nobody_resumes_stay_within_the_memory() {
    let gateway = Gateway::start();
    for id in 1..60 {
        let Some(session) = gateway.open_session("2025-11-25") else { continue };
        let arguments = json!({ "bytes": RESULT_BYTES, "reports": 2 });
        let mut stream = gateway.call_in_session(&session, id, "zoo_huge_result", &arguments);
        let _ = stream.read(&mut [0; 16]);
    }
    gateway.assert_bounded();
}

#[test]
fn a_batch_of_large_results_stays_within_the_memory() {
    let gateway = Gateway::start();
    let session = gateway.open_session("2025-03-26").expect("a session");
    let arguments = json!({ "bytes": RESULT_BYTES });
    let call = |id| request(id, "tools/call", json!({ "name": "zoo_huge_result", "arguments": arguments }));
    let batch = Value::Array((1..=100).map(call).collect());
    let unread = gateway.post("/mcp", &[("Mcp-Session-Id", &session)], &batch);
    let mut first = [0; 12];
    (&unread).read_exact(&mut first).expect("a response");
    assert_eq!(&first, b"HTTP/1.1 200");
    gateway.assert_bounded();
}

#[test]
fn open_questions_stay_within_the_memory() {
    let gateway = Gateway::start();
    let text = json!({ "type": "text", "text": "x".repeat(1_000_000) });
    let params = json!({ "messages": [{ "role": "user", "content": text }], "maxTokens": 10 });
    let question = json!({ "key": "a", "method": "sampling/createMessage", "params": params });
    let mut unread = Vec::new();
    let session = gateway.open_session("2025-11-25").expect("a session");
    for id in 1..60 {
        let questions = json!({ "questions": [question] });
        unread.push(gateway.call_in_session(&session, id, "zoo_ask", &questions));
    }
    gateway.assert_bounded();
}

/// A list is shared by all that ask for it, until it is rendered.
#[test]
fn batches_of_large_lists_stay_within_the_memory() {
    let table = |number: u32| format!("[plugins.zoo{number}]\nsource = \"@zoo@\"\n");
    let gateway = Gateway::start_with(64, &(0..14).map(table).collect::<String>());
    let session = gateway.open_session("2025-03-26").expect("a session");
    let list = |id| request(id, "tools/list", json!({}));
    let batch = |turn: u64| Value::Array((1..=100).map(|id| list(turn * 100 + id)).collect());
    let unread: Vec<_> =
        (0..6).map(|turn| gateway.post("/mcp", &[("Mcp-Session-Id", &session)], &batch(turn))).collect();
    let mut first = [0; 12];
    (&unread[0]).read_exact(&mut first).expect("a response");
    assert_eq!(&first, b"HTTP/1.1 200");
    gateway.assert_bounded();
}

/// An error repeats little of its request, and it counts as well.
#[test]
fn errors_about_large_requests_stay_within_the_memory() {
    let gateway = Gateway::start_with(64, "");
    let long = "k".repeat(1_000_000);
    let duplicates = format!("{{\"{long}\":1,\"{long}\":1}}");
    for message in [
        json!({ "jsonrpc": "2.0", "id": 1, "method": "ping", "params": { "@": 1 } }).to_string(),
        json!({ "jsonrpc": "2.0", "id": 1, "method": long, "params": {} }).to_string(),
        request(1, "resources/read", json!({ "uri": format!("zoo://bytes/{long}") })).to_string(),
        request(1, "tools/call", json!({ "name": "zoo_echo", "arguments": { "@": 1 } })).to_string(),
        request(1, "tools/call", json!({ "name": long, "arguments": {} })).to_string(),
        request(1, "prompts/get", json!({ "name": long })).to_string(),
    ] {
        let message = message.replace("{\"@\":1}", &duplicates);
        let session = gateway.open_session("2025-06-18").expect("a session");
        let headers = [
            GREEDY,
            ("Mcp-Session-Id", &*session),
            ("Content-Type", "application/json"),
            ("Accept", "application/json, text/event-stream"),
        ];
        let reply = gateway.http.send("POST", "/mcp", &headers, message.as_bytes());
        assert!(reply.body.len() < 10_000, "{}: {} bytes", &message[..60], reply.body.len());
    }
    gateway.assert_bounded();
}

#[test]
fn sessions_keep_little_of_their_clients_descriptions() {
    let gateway = Gateway::start_with(64, "");
    let mut params = initialize_params("2025-11-25");
    params["clientInfo"]["icons"] =
        json!([{ "src": format!("data:image/png;base64,{}", "A".repeat(60_000)) }]);
    params["clientInfo"]["title"] = json!("x".repeat(4_000));
    for _ in 0..1_000 {
        let reply = gateway.http.post(&[GREEDY], &request(1, "initialize", params.clone()));
        assert_eq!(reply.status, 200, "{reply:?}");
    }
    let more = peak_memory(gateway.http.pid()).saturating_sub(gateway.idle) >> 20;
    assert!(more < 32, "{more} MiB more than idle");
    gateway.assert_bounded();
}

/// Results wait for their check with all of their parts.
#[test]
fn results_that_wait_for_their_check_stay_within_the_memory() {
    let gateway = Gateway::start();
    let arguments = json!({ "count": 30_000, "text_bytes": 7_000_000 });
    let calls: Vec<_> = (0..60).map(|_| gateway.call("zoo_many_objects", &arguments, false)).collect();
    gateway.assert_bounded();
    drop(calls);
}

/// A plugin's state waits for the answer with the question.
#[test]
fn states_of_open_questions_stay_within_the_memory() {
    let gateway = Gateway::start_with(64, "");
    let params = json!({ "message": "?", "requestedSchema": { "type": "object", "properties": {} } });
    let questions = json!([{ "key": "a", "method": "elicitation/create", "params": params }]);
    let arguments = |bytes: usize| json!({ "questions": questions, "state_bytes": bytes });
    let session = gateway.open_session("2025-11-25").expect("a session");
    let too_long = gateway.call_in_session(&session, 1, "zoo_ask", &arguments(300_000));
    let mut reply = String::new();
    let _ = (&too_long).take(2_000).read_to_string(&mut reply);
    assert!(reply.contains("its state is longer than 256 KiB"), "{reply}");
    let mut unread = Vec::new();
    // There are at most 256 connections with this memory.
    for number in 0..3 {
        let session = gateway.open_session("2025-11-25").expect("a session");
        let call = |id| gateway.call_in_session(&session, id, "zoo_ask", &arguments(250_000));
        unread.extend((1..60).map(|id| call(number * 100 + id)));
    }
    gateway.assert_bounded();
}
