//! The stdio transport: one message per line, nothing else on stdout, and exit at the end of stdin.

use std::time::{Duration, Instant};

use moongate_tests::{Stdio, Workspace, request, text};
use serde_json::{Value, json};

/// The zoo with limits that suit both a test and a busy machine.
fn zoo() -> Workspace {
    Workspace::new("[plugins.zoo]\nsource = \"@zoo@\"\n[plugins.time]\nsource = \"@time@\"\n")
}

#[test]
fn answers_invalid_lines_and_reads_the_next() {
    let workspace = Workspace::with_plugin("time");
    let mut stdio = Stdio::initialized(&workspace, "2025-06-18");
    for (line, code, id) in [
        (&b"{\n"[..], -32700, Value::Null),
        (b"\xff\xfe\n", -32700, Value::Null),
        (b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"} x\n", -32700, json!(1)),
        (b"42\n", -32600, Value::Null),
        (b"[]\n", -32600, Value::Null),
        (b"{\"jsonrpc\":\"2.0\",\"id\":{},\"method\":\"ping\"}\n", -32600, Value::Null),
    ] {
        stdio.send_raw(line);
        let answer = stdio.receive();
        assert_eq!(answer["error"]["code"], code, "{answer}");
        assert_eq!(answer.get("id"), Some(&id), "{answer}");
    }
    stdio.send_raw(b"\r\n   \n\n{\"jsonrpc\":\"2.0\",\"id\":\"x\",\"method\":\"ping\"}\r\n");
    assert_eq!(stdio.receive(), json!({ "jsonrpc": "2.0", "id": "x", "result": {} }));
}

#[test]
fn returns_ids_exactly_as_sent() {
    let workspace = Workspace::with_plugin("time");
    let mut stdio = Stdio::initialized(&workspace, "2025-11-25");
    for id in ["0", "-7", "9007199254740993", "18446744073709551615", "\"\"", "\"a\\u00e9\\n\"", "\"1\""] {
        stdio.send_raw(format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"ping\"}}\n").as_bytes());
        let answer = stdio.receive();
        assert_eq!(answer["id"], serde_json::from_str::<Value>(id).unwrap());
        assert_eq!(answer["result"], json!({}));
    }
}

#[test]
fn rejects_oversized_line_and_reads_the_next() {
    let workspace = Workspace::with_plugin("time");
    let mut stdio = Stdio::initialized(&workspace, "2025-11-25");
    let mut line = vec![b'x'; 11 << 20];
    line.push(b'\n');
    stdio.send_raw(&line);
    assert!(stdio.receive()["error"]["code"].is_i64());
    assert_eq!(stdio.request_and_wait("ping", json!({}))["result"], json!({}));
}

#[test]
fn reads_last_line_without_newline() {
    let workspace = Workspace::with_plugin("time");
    let mut stdio = Stdio::initialized(&workspace, "2025-11-25");
    stdio.send_raw(b"{\"jsonrpc\":\"2.0\",\"id\":77,\"method\":\"ping\"}");
    let (left, status, log) = stdio.finish();
    assert_eq!(left, [json!({ "jsonrpc": "2.0", "id": 77, "result": {} })]);
    assert!(status.success(), "{status}: {log}");
}

#[test]
fn never_answers_notifications_or_responses() {
    let workspace = Workspace::with_plugin("time");
    let mut stdio = Stdio::initialized(&workspace, "2025-11-25");
    for message in [
        json!({ "jsonrpc": "2.0", "method": "notifications/unknown" }),
        json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": [] } }),
        json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": 99 } }),
        json!({ "jsonrpc": "2.0", "method": "tools/call", "params": { "name": "time_get_current_time" } }),
        json!({ "jsonrpc": "2.0", "id": 5, "result": {} }),
        json!({ "jsonrpc": "2.0", "id": null, "error": { "code": 1, "message": "x" } }),
    ] {
        stdio.send(&message);
    }
    assert_eq!(
        stdio.request_and_wait("ping", json!({}))["result"],
        json!({}),
        "the first response belongs to the only request"
    );
}

#[test]
fn plugin_output_never_reaches_stdout() {
    let workspace = zoo();
    let mut stdio = Stdio::initialized(&workspace, "2025-11-25");
    for tool in
        ["print_json_rpc", "stdout_flood", "stderr_flood", "log_flood", "panic", "structured_with_newlines"]
    {
        let answer = stdio.call(&format!("zoo_{tool}"), json!({}));
        assert!(answer["result"]["content"].is_array(), "{tool}: {answer}");
    }
    let (left, status, log) = stdio.finish();
    assert_eq!(left, Vec::<Value>::new(), "a plugin wrote to stdout");
    assert!(status.success());
    assert!(log.contains("zoo"), "the plugin's output is missing in the log: {log}");
}

#[test]
fn answers_32_concurrent_calls_of_64_kib() {
    let workspace = zoo();
    let mut stdio = Stdio::initialized(&workspace, "2025-11-25");
    let payload = |id: u64| format!("{id:>5}{}", "x".repeat(64 * 1024));
    let mut bytes = Vec::new();
    for id in 100..132 {
        let call = json!({ "name": "zoo_echo", "arguments": { "text": payload(id) } });
        bytes.extend_from_slice(request(id, "tools/call", call).to_string().as_bytes());
        bytes.push(b'\n');
    }
    stdio.send_raw(&bytes);
    for id in 100..132 {
        assert_eq!(text(&stdio.response(id)), payload(id), "response {id} belongs to another call");
    }
}

#[test]
fn rejects_a_concurrent_call_with_the_same_id() {
    let workspace = zoo();
    let mut stdio = Stdio::initialized(&workspace, "2025-11-25");
    let call = |id| request(id, "tools/call", json!({ "name": "zoo_sleep_forever", "arguments": {} }));
    stdio.send(&call(50));
    stdio.send(&call(50));
    let rejected = stdio.response(50);
    assert_eq!(rejected["error"]["code"], -32600, "{rejected}");
    stdio.send(
        &json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": 50 } }),
    );
    assert_eq!(stdio.request_and_wait("ping", json!({}))["result"], json!({}));
}

#[test]
fn cancelled_call_is_stopped_without_response() {
    let workspace = zoo();
    let mut stdio = Stdio::initialized(&workspace, "2025-11-25");
    for id in [60, 61] {
        stdio.send(&request(id, "tools/call", json!({ "name": "zoo_spin_forever", "arguments": {} })));
    }
    for id in [60, 61] {
        stdio.send(
            &json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": id } }),
        );
    }
    let echo = stdio.call("zoo_echo", json!({ "text": "still here" }));
    assert_eq!(text(&echo), "still here");
    let (left, status, _) = stdio.finish();
    assert_eq!(left, Vec::<Value>::new(), "a cancelled call got a response");
    assert!(status.success());
}

#[test]
fn looping_tool_blocks_no_other_request() {
    let workspace = zoo();
    let mut stdio = Stdio::initialized(&workspace, "2025-11-25");
    for id in 70..74 {
        stdio.send(&request(id, "tools/call", json!({ "name": "zoo_spin_forever", "arguments": {} })));
    }
    assert!(stdio.request_and_wait("tools/list", json!({}))["result"]["tools"].is_array());
    let time = stdio.call("time_get_current_time", json!({ "timezone": "UTC" }));
    assert!(time["result"]["isError"].is_null(), "{time}");
    let started = Instant::now();
    let (_, status, log) = stdio.finish();
    assert!(status.success(), "{status}: {log}");
    assert!(started.elapsed() < Duration::from_secs(25), "the exit waited for the tool's limit");
}
