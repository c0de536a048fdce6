//! Cancelled calls: the plugin is notified, can clean up within its grace, and nothing more is sent.

use std::io::Write as _;
use std::net::TcpStream;
use std::time::{Duration, Instant};

use moongate_tests::{Http, Stdio, Workspace, envelope, request, stateless_request, text};
use serde_json::{Value, json};

/// How long a test waits for an immediate effect. Generous, because the machine can be busy.
const WAIT_TIMEOUT: Duration = Duration::from_secs(60);

/// A grace long enough for any machine.
const STATEFUL_WITH_LONG_GRACE: &str =
    "[plugins.stateful]\nsource = \"@stateful@\"\nallow.state = true\nlimits.cancel_grace = \"30s\"\n";

/// A call that waits until it is cancelled, and then stores `tidied` under `key`.
fn wait_call_params(key: &str) -> Value {
    json!({ "name": "stateful_wait_and_tidy", "arguments": { "key": key }, "_meta": { "progressToken": "token" } })
}

/// The same call in 2026-07-28.
fn stateless_wait_call(id: u64, key: &str) -> Value {
    let mut message = stateless_request(id, "tools/call", wait_call_params(key));
    message["params"]["_meta"]["progressToken"] = json!("token");
    message["params"]["_meta"]["io.modelcontextprotocol/logLevel"] = json!("debug");
    message
}

const STATELESS_HEADERS: [(&str, &str); 5] = [
    ("Content-Type", "application/json"),
    ("Accept", "application/json, text/event-stream"),
    ("MCP-Protocol-Version", "2026-07-28"),
    ("Mcp-Method", "tools/call"),
    ("Mcp-Name", "stateful_wait_and_tidy"),
];

#[track_caller]
fn wait_until_tidied(mut get: impl FnMut() -> Value) {
    let started = Instant::now();
    while text(&get()) != "tidied" {
        assert!(started.elapsed() < WAIT_TIMEOUT, "the call wasn't cancelled, or had no time to clean up");
    }
}

#[test]
fn stdio_cancellation_runs_cleanup_and_sends_nothing() {
    let workspace = Workspace::new(STATEFUL_WITH_LONG_GRACE);
    let mut stdio = Stdio::initialized(&workspace, "2025-11-25");
    let _ = stdio.request_and_wait("logging/setLevel", json!({ "level": "debug" }));
    for (id, message, cancel) in [
        (100, request(100, "tools/call", wait_call_params("100")), ("notifications/cancelled", "requestId")),
        (101, request(101, "tools/call", wait_call_params("101")), ("$/cancelRequest", "id")),
        (102, stateless_wait_call(102, "102"), ("notifications/cancelled", "requestId")),
    ] {
        stdio.send(&message);
        assert_eq!(stdio.receive()["params"]["progress"], 1);
        let (method, member) = cancel;
        stdio.send(&json!({ "jsonrpc": "2.0", "method": method, "params": { member: id } }));
        wait_until_tidied(|| stdio.call("stateful_get", json!({ "key": id.to_string() })));
    }
    let (remaining, _, log) = stdio.finish();
    assert_eq!(remaining, Vec::<Value>::new(), "a message was sent after the cancellation");
    assert_eq!(log.matches("said too late").count(), 3, "the log contains the late messages: {log}");
}

#[test]
fn cancelled_call_frees_its_id_during_cleanup() {
    let workspace = Workspace::new(STATEFUL_WITH_LONG_GRACE);
    let mut stdio = Stdio::initialized(&workspace, "2025-11-25");
    stdio.send(&request(100, "tools/call", json!({ "name": "stateful_wait_for_ever", "arguments": {} })));
    stdio.send(
        &json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": 100 } }),
    );
    stdio.send(&request(100, "ping", json!({})));
    assert_eq!(stdio.response(100)["result"], json!({}));
}

#[test]
fn lost_connection_cancels_stateless_http_calls() {
    let workspace = Workspace::new(STATEFUL_WITH_LONG_GRACE);
    let http = Http::start(&workspace);
    let mut stream =
        http.open("POST", &STATELESS_HEADERS, stateless_wait_call(1, "lost").to_string().as_bytes());
    assert_eq!(stream.message().unwrap()["params"]["progress"], 1);
    drop(stream);
    wait_until_tidied(|| http.call("stateful_get", json!({ "key": "lost" })));
}

#[test]
fn connection_lost_before_any_response_cancels_the_call() {
    let workspace = Workspace::new(STATEFUL_WITH_LONG_GRACE);
    let http = Http::start(&workspace);
    let body = stateless_request(1, "tools/call", wait_call_params("silent"));
    let body = body.to_string().replace("progressToken", "nothing");
    let mut head =
        format!("POST /mcp HTTP/1.1\r\nHost: {}\r\nContent-Length: {}\r\n", http.address(), body.len());
    for (name, value) in STATELESS_HEADERS {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    let mut connection = TcpStream::connect(http.address()).unwrap();
    connection.write_all(format!("{head}\r\n{body}").as_bytes()).unwrap();
    let get = || http.call("stateful_get", json!({ "key": "silent" }));
    let started = Instant::now();
    while text(&get()) != "begun" {
        assert!(started.elapsed() < WAIT_TIMEOUT, "the call didn't start");
    }
    drop(connection);
    wait_until_tidied(get);
}

#[test]
fn sessions_cancel_by_notification_or_delete() {
    let workspace = Workspace::new(STATEFUL_WITH_LONG_GRACE);
    let http = Http::start(&workspace);
    let session = http.open_session(&[], "2025-11-25");
    let headers = [("Mcp-Session-Id", session.as_str()), ("MCP-Protocol-Version", "2025-11-25")];
    let all = [&STATELESS_HEADERS[..2], &headers[..]].concat();
    for (id, method, member) in
        [(10, "notifications/cancelled", "requestId"), (11, "$/cancelRequest", "id"), (12, "", "")]
    {
        let key = id.to_string();
        let call = request(id, "tools/call", wait_call_params(&key)).to_string();
        let mut stream = http.open("POST", &all, call.as_bytes());
        let mut progress = stream.message();
        while progress.as_ref().is_some_and(|message| message["method"] != "notifications/progress") {
            progress = stream.message();
        }
        assert_eq!(progress.unwrap()["params"]["progress"], 1);
        if method.is_empty() {
            assert_eq!(http.send("DELETE", "/mcp", &headers, b"").status, 200);
        } else {
            let cancel = json!({ "jsonrpc": "2.0", "method": method, "params": { member: id } });
            assert_eq!(http.post(&headers, &cancel).status, 202);
        }
        wait_until_tidied(|| http.call("stateful_get", json!({ "key": key })));
        assert_eq!(stream.message(), None, "a message was sent after the cancellation");
    }
}

#[test]
fn aborts_calls_that_ignore_cancellation_after_grace() {
    let workspace = Workspace::new(
        "[plugins.stateful]\nsource = \"@stateful@\"\nallow.state = true\n[plugins.stateful.limits]\nconcurrency = 1\n\
         cancel_grace = \"100ms\"\ntimeout = \"1h\"\n",
    );
    let mut stdio = Stdio::initialized(&workspace, "2025-11-25");
    let http = Http::start(&workspace);
    let call = json!({
        "name": "stateful_wait_for_ever",
        "arguments": { "key": "n" },
        "_meta": { "progressToken": 1 },
    });
    stdio.send(&request(100, "tools/call", call.clone()));
    assert_eq!(stdio.receive()["params"]["progress"], 1);
    stdio.send(
        &json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": 100 } }),
    );
    let notified = stdio.call("stateful_get", json!({ "key": "n" }));
    assert!(
        text(&notified).parse::<u32>().is_ok_and(|times| times > 0),
        "the call wasn't cancelled: {notified}"
    );

    let mut message = request(1, "tools/call", call);
    message["params"]["_meta"].as_object_mut().unwrap().extend(envelope().as_object().unwrap().clone());
    let headers = [&STATELESS_HEADERS[..4], &[("Mcp-Name", "stateful_wait_for_ever")]].concat();
    let mut stream = http.open("POST", &headers, message.to_string().as_bytes());
    assert_eq!(stream.message().unwrap()["params"]["progress"], 1);
    drop(stream);
    let notified = http.call("stateful_get", json!({ "key": "n" }));
    assert!(
        text(&notified).parse::<u32>().is_ok_and(|times| times > 0),
        "the call wasn't cancelled: {notified}"
    );
}
