//! 2026-07-28: the envelope, the headers that mirror it, and the order of the checks.

use moongate_tests::{Http, Stdio, Workspace, envelope, request, stateless_request};
use serde_json::{Value, json};

#[test]
fn discover_describes_the_server_over_both_transports() {
    let workspace = Workspace::with_plugin("time");
    let http = Http::start(&workspace);
    let mut stdio = Stdio::start(&workspace);
    let result = http.request_and_wait("server/discover", json!({})).json()["result"].clone();
    assert_eq!(result["resultType"], "complete");
    assert_eq!(result["supportedVersions"], json!(["2026-07-28"]));
    assert!(result["ttlMs"].is_u64() && result["cacheScope"].is_string(), "{result}");
    assert_eq!(result["_meta"]["io.modelcontextprotocol/serverInfo"]["name"], "moongate");
    stdio.send(&stateless_request(1, "server/discover", json!({})));
    assert_eq!(stdio.response(1)["result"], result);
}

#[test]
fn calls_need_no_handshake() {
    let workspace = Workspace::with_plugin("time");
    let http = Http::start(&workspace);
    let arguments = json!({ "source_timezone": "UTC", "time": "12:00", "target_timezone": "Asia/Kathmandu" });
    let answer = http.call("time_convert_time", arguments.clone());
    assert_eq!(answer["result"]["resultType"], "complete", "{answer}");
    assert!(answer["result"]["content"][0]["text"].as_str().unwrap().contains("+5.75h"), "{answer}");
    let mut stdio = Stdio::start(&workspace);
    stdio.send(&stateless_request(
        9,
        "tools/call",
        json!({ "name": "time_convert_time", "arguments": arguments }),
    ));
    assert_eq!(stdio.response(9)["result"]["content"], answer["result"]["content"]);
}

#[test]
fn names_each_missing_envelope_member() {
    let workspace = Workspace::with_plugin("time");
    let http = Http::start(&workspace);
    let headers = [("MCP-Protocol-Version", "2026-07-28"), ("Mcp-Method", "server/discover")];
    let version = "io.modelcontextprotocol/protocolVersion";
    let capabilities = "io.modelcontextprotocol/clientCapabilities";
    for (id, params, named) in [
        (101, Value::Null, version),
        (102, json!({}), capabilities),
        (103, json!({ "_meta": { capabilities: {} } }), version),
        (104, json!({ "_meta": { version: "2026-07-28" } }), capabilities),
        (105, json!({ "_meta": { version: "2026-07-28", capabilities: [] } }), capabilities),
        (106, json!({ "_meta": 1 }), version),
    ] {
        let reply = http.post(&headers, &request(id, "server/discover", params));
        let body = reply.json();
        assert_eq!(
            (reply.status, &body["error"]["code"], &body["id"]),
            (400, &json!(-32602), &json!(id)),
            "{body}"
        );
        assert!(body["error"]["message"].as_str().unwrap().contains(named), "{body}");
    }
    let mut without_client = envelope();
    without_client.as_object_mut().unwrap().remove("io.modelcontextprotocol/clientInfo");
    let reply = http.post(&headers, &request(1, "server/discover", json!({ "_meta": without_client })));
    assert_eq!(reply.status, 200, "`clientInfo` is optional: {reply:?}");
}

#[test]
fn rejects_unknown_revision_and_lists_supported_ones() {
    let workspace = Workspace::with_plugin("time");
    let http = Http::start(&workspace);
    let mut meta = envelope();
    meta["io.modelcontextprotocol/protocolVersion"] = json!("v999.0.0");
    let message = request(7, "server/discover", json!({ "_meta": meta }));
    let both =
        http.post(&[("MCP-Protocol-Version", "v999.0.0"), ("Mcp-Method", "server/discover")], &message);
    assert_eq!((both.status, &both.json()["error"]["code"]), (400, &json!(-32022)), "{both:?}");
    assert_eq!(both.json()["error"]["data"], json!({ "supported": ["2026-07-28"], "requested": "v999.0.0" }));
    let body_only =
        http.post(&[("MCP-Protocol-Version", "2026-07-28"), ("Mcp-Method", "server/discover")], &message);
    assert_eq!(
        (body_only.status, &body_only.json()["error"]["code"]),
        (400, &json!(-32020)),
        "{body_only:?}"
    );
    let mut stdio = Stdio::start(&workspace);
    stdio.send(&message);
    assert_eq!(stdio.response(7)["error"]["code"], -32022);
}

#[test]
fn headers_must_match_the_body() {
    let workspace = Workspace::with_plugin("time");
    let http = Http::start(&workspace);
    let call = json!({ "name": "time_get_current_time", "arguments": { "timezone": "UTC" } });
    let message = stateless_request(3, "tools/call", call);
    let version = ("MCP-Protocol-Version", "2026-07-28");
    let name = ("Mcp-Name", "time_get_current_time");
    let method = ("Mcp-Method", "tools/call");
    for (headers, status) in [
        (vec![version, method, name], 200),
        (vec![version, ("mcp-method", "tools/call"), ("MCP-NAME", "  time_get_current_time  ")], 200),
        (vec![version, method, ("Mcp-Name", "=?base64?dGltZV9nZXRfY3VycmVudF90aW1l?=")], 200),
        (vec![version, method], 400),
        (vec![version, name], 400),
        (vec![method, name], 400),
        (vec![version, ("Mcp-Method", "TOOLS/CALL"), name], 400),
        (vec![version, ("Mcp-Method", "=?base64?dG9vbHMvY2FsbA==?="), name], 400),
        (vec![version, method, ("Mcp-Name", "other")], 400),
        (vec![version, method, ("Mcp-Name", "=?base64?dGltZV9nZXRfY3VycmVudF90aW1l")], 400),
        (vec![version, method, ("Mcp-Name", "=?base64?dGltZV9nZXRfY3VycmVudF90aW1l!?=")], 400),
        (vec![version, method, name, ("Mcp-Name", "other")], 400),
        (vec![("MCP-Protocol-Version", "2025-11-25"), method, name], 400),
    ] {
        let reply = http.post(&headers, &message);
        assert_eq!(reply.status, status, "{headers:?}: {reply:?}");
        assert_eq!(reply.json()["id"], 3);
        if status == 400 {
            assert_eq!(reply.json()["error"]["code"], -32020, "{headers:?}: {reply:?}");
        }
    }
}

#[test]
fn handshake_methods_do_not_exist() {
    let workspace = Workspace::with_plugin("time");
    let http = Http::start(&workspace);
    for method in [
        "initialize",
        "ping",
        "logging/setLevel",
        "resources/subscribe",
        "resources/unsubscribe",
        "unknown/method",
    ] {
        let reply = http.request_and_wait(method, json!({}));
        assert_eq!(
            (reply.status, &reply.json()["error"]["code"]),
            (404, &json!(-32601)),
            "{method}: {reply:?}"
        );
    }
    let headers = [("MCP-Protocol-Version", "2026-07-28")];
    let bare =
        http.post(&headers, &request(1, "initialize", moongate_tests::initialize_params("2025-11-25")));
    assert_eq!((bare.status, &bare.json()["error"]["code"]), (400, &json!(-32020)), "{bare:?}");
}

#[test]
fn ignores_stale_session_header() {
    let workspace = Workspace::with_plugin("time");
    let http = Http::start(&workspace);
    let headers = [
        ("MCP-Protocol-Version", "2026-07-28"),
        ("Mcp-Method", "tools/list"),
        ("Mcp-Session-Id", "long-gone"),
    ];
    let reply = http.post(&headers, &stateless_request(1, "tools/list", json!({})));
    assert_eq!(reply.status, 200, "{reply:?}");
    assert!(reply.header("mcp-session-id").is_none());
    let notification =
        json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": 1 } });
    assert_eq!(http.post(&headers[..1], &notification).status, 202);
    let response = json!({ "jsonrpc": "2.0", "id": 1, "result": {} });
    assert_eq!(http.post(&headers[..1], &response).status, 400);
    let batch = json!([stateless_request(1, "tools/list", json!({}))]);
    assert_eq!(http.post(&[], &batch).status, 400);
    assert_eq!(http.send("DELETE", "/mcp", &headers, b"").status, 405);
    assert_eq!(http.send("GET", "/mcp", &headers, b"").status, 405);
}

#[test]
fn both_eras_share_a_stdio_process_and_its_ids() {
    let workspace = Workspace::with_plugin("time");
    let mut stdio = Stdio::start(&workspace);
    stdio.send(&stateless_request(1, "server/discover", json!({})));
    assert!(stdio.response(1).get("result").is_some());
    stdio.send(&request(2, "initialize", moongate_tests::initialize_params("2025-11-25")));
    assert!(stdio.response(2).get("result").is_some(), "some clients send both");
    stdio.send(&request(3, "tools/list", json!({})));
    assert!(stdio.response(3)["result"].get("resultType").is_none());
    stdio.send(&stateless_request(4, "tools/list", json!({})));
    assert_eq!(stdio.response(4)["result"]["resultType"], "complete");
}
