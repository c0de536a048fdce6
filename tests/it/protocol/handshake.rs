//! The handshake revisions, over stdio and HTTP: negotiation in `initialize`, and sessions.

use moongate_tests::{Http, Stdio, Workspace, initialize_params, request};
use serde_json::json;

const REVISIONS: [&str; 4] = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"];

#[test]
fn negotiates_every_handshake_revision() {
    let workspace = Workspace::with_plugin("time");
    let http = Http::start(&workspace);
    for revision in REVISIONS {
        let mut stdio = Stdio::initialized(&workspace, revision);
        let tools = stdio.request_and_wait("tools/list", json!({}));
        assert_eq!(tools["result"]["tools"].as_array().map(Vec::len), Some(2), "{tools}");
        let session = http.open_session(&[], revision);
        let over_http = http.post(&[("Mcp-Session-Id", &session)], &request(2, "tools/list", json!({})));
        assert_eq!(over_http.json()["result"], tools["result"], "{revision}");
    }
}

#[test]
fn unknown_revision_negotiates_the_newest_handshake_one() {
    let workspace = Workspace::with_plugin("time");
    for requested in ["2026-07-28", "2024-10-07", "1.0", ""] {
        let mut stdio = Stdio::start(&workspace);
        let answer = stdio.request_and_wait("initialize", initialize_params(requested));
        assert_eq!(answer["result"]["protocolVersion"], "2025-11-25", "{requested}: {answer}");
    }
}

#[test]
fn initialize_result_fits_the_revision() {
    let workspace = Workspace::with_plugin("time");
    let mut oldest = Stdio::start(&workspace);
    let answer = oldest.request_and_wait("initialize", initialize_params("2024-11-05"));
    assert_eq!(
        answer["result"]["capabilities"],
        json!({
            "tools": {"listChanged": true},
            "resources": {"subscribe": true, "listChanged": true},
            "prompts": {"listChanged": true},
            "logging": {},
        })
    );
    assert!(answer["result"]["serverInfo"].get("title").is_none());
    assert!(answer["result"].get("resultType").is_none());
    let ping = oldest.request_and_wait("ping", json!({}));
    assert_eq!(ping["result"], json!({}), "a strict client rejects any other member");
}

#[test]
fn initialize_names_missing_parameters() {
    let workspace = Workspace::with_plugin("time");
    for (params, at) in [
        (json!({"capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}), "/protocolVersion"),
        (json!({"protocolVersion": 1, "capabilities": {}, "clientInfo": {}}), "/protocolVersion"),
        (
            json!({"protocolVersion": "2025-11-25", "clientInfo": {"name": "t", "version": "1"}}),
            "/capabilities",
        ),
        (json!({"protocolVersion": "2025-11-25", "capabilities": []}), "/capabilities"),
        (json!({"protocolVersion": "2025-11-25", "capabilities": {}}), "/clientInfo"),
    ] {
        let mut stdio = Stdio::start(&workspace);
        let answer = stdio.request_and_wait("initialize", params);
        assert_eq!(answer["error"]["code"], -32602, "{answer}");
        assert_eq!(answer["error"]["data"]["at"], at, "{answer}");
        let answer = stdio.request_and_wait("initialize", initialize_params("2025-11-25"));
        assert!(answer.get("result").is_some(), "a failed handshake can be retried: {answer}");
    }
}

#[test]
fn only_ping_precedes_the_single_handshake() {
    let workspace = Workspace::with_plugin("time");
    let mut stdio = Stdio::start(&workspace);
    assert_eq!(stdio.request_and_wait("ping", json!({}))["result"], json!({}));
    assert_eq!(stdio.request_and_wait("tools/list", json!({}))["error"]["code"], -32600);
    assert!(stdio.request_and_wait("initialize", initialize_params("2025-06-18")).get("result").is_some());
    let before_initialized = stdio.request_and_wait("tools/list", json!({}));
    assert!(
        before_initialized.get("result").is_some(),
        "requests can arrive before `initialized`: {before_initialized}"
    );
    assert_eq!(
        stdio.request_and_wait("initialize", initialize_params("2025-06-18"))["error"]["code"],
        -32600
    );
    for method in
        ["server/discover", "subscriptions/listen", "nope", "rpc.discover", "notifications/initialized"]
    {
        assert_eq!(stdio.request_and_wait(method, json!({}))["error"]["code"], -32601, "{method}");
    }
}

#[test]
fn http_sessions_are_random_required_and_deletable() {
    let workspace = Workspace::with_plugin("time");
    let http = Http::start(&workspace);
    let one = http.open_session(&[], "2025-11-25");
    let two = http.open_session(&[], "2025-11-25");
    assert_ne!(one, two);
    assert!(one.len() >= 32 && one.bytes().all(|byte| byte.is_ascii_graphic()), "{one}");

    let list = request(5, "tools/list", json!({}));
    let without = http.post(&[], &list);
    assert_eq!((without.status, &without.json()["id"]), (400, &json!(5)), "{without:?}");
    let unknown = http.post(&[("Mcp-Session-Id", "nobody")], &list);
    assert_eq!((unknown.status, &unknown.json()["id"]), (404, &json!(5)), "{unknown:?}");
    let again =
        http.post(&[("Mcp-Session-Id", &one)], &request(6, "initialize", initialize_params("2025-11-25")));
    assert_eq!((again.status, &again.json()["error"]["code"]), (400, &json!(-32600)), "{again:?}");

    let initialized = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    let accepted = http.post(&[("Mcp-Session-Id", &one)], &initialized);
    assert_eq!((accepted.status, accepted.body.as_str()), (202, ""));
    assert_eq!(http.send("DELETE", "/mcp", &[("Mcp-Session-Id", &one)], b"").status, 200);
    assert_eq!(http.send("DELETE", "/mcp", &[("Mcp-Session-Id", &one)], b"").status, 404);
    assert_eq!(http.post(&[("Mcp-Session-Id", &one)], &list).status, 404);
    assert_eq!(http.post(&[("Mcp-Session-Id", &two)], &list).status, 200);
}

#[test]
fn rejects_unknown_revision_headers() {
    let workspace = Workspace::with_plugin("time");
    let http = Http::start(&workspace);
    let session = http.open_session(&[("MCP-Protocol-Version", "1999-01-01")], "2025-06-18");
    let list = request(2, "tools/list", json!({}));
    for (revision, status) in [("2025-06-18", 200), ("2025-11-25", 200), ("1999-01-01", 400)] {
        let reply = http.post(&[("Mcp-Session-Id", &session), ("MCP-Protocol-Version", revision)], &list);
        assert_eq!(reply.status, status, "{revision}: {reply:?}");
    }
}

#[test]
fn answers_batches_only_in_2025_03_26() {
    let workspace = Workspace::with_plugin("time");
    let batch = json!([
        request(7, "ping", json!({})),
        { "jsonrpc": "2.0", "method": "notifications/initialized" },
        1,
        request(8, "tools/call", json!({ "name": "time_get_current_time", "arguments": { "timezone": "UTC" } })),
    ]);
    let mut with = Stdio::initialized(&workspace, "2025-03-26");
    with.send(&batch);
    let answers = with.receive();
    let answers = answers.as_array().expect("an array");
    assert_eq!(answers.len(), 3, "{answers:?}");
    assert!(answers.iter().any(|answer| answer["id"] == 7 && answer["result"] == json!({})));
    assert!(answers.iter().any(|answer| answer["id"] == 8 && answer["result"]["content"].is_array()));
    assert!(answers.iter().any(|answer| answer["id"].is_null() && answer["error"]["code"] == -32600));

    let mut without = Stdio::initialized(&workspace, "2025-06-18");
    without.send(&batch);
    assert_eq!(without.receive()["error"]["code"], -32600);

    let http = Http::start(&workspace);
    let session = http.open_session(&[], "2025-03-26");
    let reply = http.post(&[("Mcp-Session-Id", &session)], &batch);
    assert_eq!(reply.json().as_array().map(Vec::len), Some(3), "{reply:?}");
    let silent = json!([{ "jsonrpc": "2.0", "method": "notifications/initialized" }]);
    assert_eq!(http.post(&[("Mcp-Session-Id", &session)], &silent).status, 202);
    let greeting = json!([request(9, "initialize", initialize_params("2025-03-26"))]);
    assert_eq!(http.post(&[("Mcp-Session-Id", &session)], &greeting).status, 400);
}
