//! Change notifications: subscriptions, notification streams, and how they end.

use std::hash::{BuildHasher as _, RandomState};
use std::time::{Duration, Instant};

use moongate_tests::{EventStream, Http, Stdio, Workspace, request, stateless_request};
use serde_json::{Value, json};

/// The tools of the fixture that cause a change, and the notification for each.
const CHANGE_TOOLS: [(&str, &str); 4] = [
    ("everything_test_trigger_tool_change", "notifications/tools/list_changed"),
    ("everything_test_trigger_prompt_change", "notifications/prompts/list_changed"),
    ("everything_test_trigger_resource_change", "notifications/resources/list_changed"),
    ("everything_test_trigger_resource_update", "notifications/resources/updated"),
];

/// The resource that the last of them changes.
const WATCHED_URI: &str = "test://watched-resource";

/// A resource of the zoo.
const ZOO_TEXT_URI: &str = "zoo://text";

const SUBSCRIPTION_ID_KEY: &str = "io.modelcontextprotocol/subscriptionId";

/// Less than the shutdown timeout of HTTP requests, and far more than the gateway needs.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(20);

/// The fixture, with state, so that it can change.
///
/// A random setting gives it a cached description of its own. Otherwise a gateway could start with the description of
/// another test's changed plugin, correct it, and notify its clients of that.
fn fixture() -> Workspace {
    let run = RandomState::new().hash_one("run");
    Workspace::new(&format!(
        "[plugins.everything]\nsource = \"@everything@\"\nallow.state = true\nconfig.run = \"{run:x}\"\n"
    ))
}

/// Causes a change in the fixture.
fn trigger(stdio: &mut Stdio, tool: &str) {
    let answer = stdio.call(tool, json!({}));
    assert!(answer["result"]["content"].is_array() && answer["result"]["isError"] != true, "{answer}");
}

fn full_filter(uri: &str) -> Value {
    json!({ "notifications": {
        "toolsListChanged": true, "promptsListChanged": true, "resourcesListChanged": true,
        "resourceSubscriptions": [uri],
    } })
}

/// Requests a stream; the response can be an error.
fn open_listen_request(http: &Http, id: u64, filter: Value) -> EventStream {
    let headers = [
        ("Content-Type", "application/json"),
        ("Accept", "application/json, text/event-stream"),
        ("MCP-Protocol-Version", "2026-07-28"),
        ("Mcp-Method", "subscriptions/listen"),
    ];
    http.open("POST", &headers, stateless_request(id, "subscriptions/listen", filter).to_string().as_bytes())
}

/// Opens a stream over HTTP.
fn listen(http: &Http, id: u64, filter: Value) -> EventStream {
    let mut stream = open_listen_request(http, id, filter);
    assert_eq!(stream.reply.header("content-type"), Some("text/event-stream"));
    let first = stream.message().unwrap();
    assert_eq!(first["method"], "notifications/subscriptions/acknowledged", "{first}");
    assert_eq!(first["params"]["_meta"][SUBSCRIPTION_ID_KEY], id);
    stream
}

#[test]
fn shutdown_ends_http_subscriptions_with_results() {
    let workspace = Workspace::with_plugin("zoo");
    let http = Http::start(&workspace);
    let mut streams: Vec<_> = (1..=8).map(|id| (id, listen(&http, id, full_filter(ZOO_TEXT_URI)))).collect();
    let before = Instant::now();
    let ended = std::thread::spawn(move || http.terminate());
    for (id, stream) in &mut streams {
        let end = stream.message().unwrap();
        assert_eq!(end["id"], *id);
        assert_eq!(end["result"]["resultType"], "complete");
        assert_eq!(end["result"]["_meta"][SUBSCRIPTION_ID_KEY], *id);
        assert_eq!(stream.message(), None, "a message follows the result");
    }
    let (status, log) = ended.join().unwrap();
    assert!(status.success(), "{log}");
    assert!(before.elapsed() < SHUTDOWN_TIMEOUT, "the shutdown waited for the streams: {log}");
}

#[test]
fn stdin_eof_and_cancellation_end_stdio_subscriptions() {
    let workspace = Workspace::with_plugin("zoo");
    let mut stdio = Stdio::start(&workspace);
    for id in [10, 11] {
        stdio.send(&stateless_request(id, "subscriptions/listen", full_filter(ZOO_TEXT_URI)));
        let first = stdio.receive();
        assert_eq!(first["params"]["_meta"][SUBSCRIPTION_ID_KEY], id);
        assert_eq!(first["params"]["notifications"], full_filter(ZOO_TEXT_URI)["notifications"]);
    }
    let answer = stdio.request_and_wait("tools/list", stateless_request(0, "", json!({}))["params"].clone());
    assert!(answer.get("result").is_some(), "the stream blocked another request: {answer}");
    stdio.send(
        &json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": 10 } }),
    );
    let (remaining, status, log) = stdio.finish();
    // A dropped stream has no result.
    let [end] = remaining.as_slice() else { panic!("expected one message: {remaining:?}") };
    assert_eq!((&end["id"], &end["result"]["_meta"][SUBSCRIPTION_ID_KEY]), (&json!(11), &json!(11)));
    assert!(status.success(), "{log}");
}

#[test]
fn sessions_subscribe_only_to_existing_resources() {
    let workspace = Workspace::with_plugin("zoo");
    let http = Http::start(&workspace);
    for revision in ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"] {
        let mut stdio = Stdio::initialized(&workspace, revision);
        let session = http.open_session(&[], revision);
        let mut ask = |method: &str, uri: &str| {
            let over_http =
                http.post(&[("Mcp-Session-Id", &session)], &request(7, method, json!({ "uri": uri }))).json();
            let over_stdio = stdio.request_and_wait(method, json!({ "uri": uri }));
            assert_eq!(over_http.get("result"), over_stdio.get("result"));
            assert_eq!(over_http.get("error"), over_stdio.get("error"));
            over_stdio
        };
        assert_eq!(ask("resources/subscribe", ZOO_TEXT_URI)["result"], json!({}));
        assert_eq!(ask("resources/unsubscribe", ZOO_TEXT_URI)["result"], json!({}));
        assert_eq!(ask("resources/unsubscribe", "nobody://x")["result"], json!({}));
        let rejected = ask("resources/subscribe", "nobody://x");
        assert_eq!(rejected["error"]["code"], -32002, "{rejected}");
        assert_eq!(rejected["error"]["data"], json!({ "uri": "nobody://x" }));
    }
}

#[test]
fn releases_streams_of_disconnected_clients() {
    const MAX_STREAMS: u64 = 64;
    let workspace = Workspace::with_plugin("zoo");
    let http = Http::start(&workspace);
    let streams: Vec<_> = (1..=MAX_STREAMS).map(|id| listen(&http, id, full_filter(ZOO_TEXT_URI))).collect();
    let rejected = http.request_and_wait("subscriptions/listen", full_filter(ZOO_TEXT_URI)).json();
    assert_eq!(rejected["error"]["code"], -32603, "{rejected}");
    drop(streams);
    let started = Instant::now();
    while open_listen_request(&http, 1, full_filter(ZOO_TEXT_URI)).reply.header("content-type")
        != Some("text/event-stream")
    {
        assert!(started.elapsed() < SHUTDOWN_TIMEOUT, "closed streams still count");
    }
}

#[test]
fn stdio_session_gets_each_change_once() {
    for revision in ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"] {
        let workspace = fixture();
        let mut stdio = Stdio::initialized(&workspace, revision);
        assert_eq!(
            stdio.request_and_wait("resources/subscribe", json!({ "uri": WATCHED_URI }))["result"],
            json!({})
        );
        for (tool, method) in CHANGE_TOOLS {
            trigger(&mut stdio, tool);
            let mut expected = json!({ "jsonrpc": "2.0", "method": method });
            if method == "notifications/resources/updated" {
                expected["params"] = json!({ "uri": WATCHED_URI });
            }
            assert_eq!(stdio.receive(), expected, "{revision}");
        }
        let listed = stdio.request_and_wait("tools/list", json!({}))["result"]["tools"].clone();
        let names: Vec<_> =
            listed.as_array().unwrap().iter().filter_map(|tool| tool["name"].as_str()).collect();
        assert!(names.contains(&"everything_test_changing_tool"), "{names:?}");
        let (remaining, ..) = stdio.finish();
        assert_eq!(remaining, Vec::<Value>::new(), "{revision}");
    }
}

#[test]
fn dual_era_stdio_client_gets_each_change_once_per_era() {
    let workspace = fixture();
    let mut stdio = Stdio::initialized(&workspace, "2025-11-25");
    stdio.request_and_wait("resources/subscribe", json!({ "uri": WATCHED_URI }));
    stdio.send(&stateless_request(99, "subscriptions/listen", full_filter(WATCHED_URI)));
    assert_eq!(stdio.receive()["method"], "notifications/subscriptions/acknowledged");
    for (tool, method) in CHANGE_TOOLS {
        trigger(&mut stdio, tool);
        let mut ways: Vec<_> = [stdio.receive(), stdio.receive()]
            .iter()
            .map(|notification| {
                assert_eq!(notification["method"], method);
                notification["params"]["_meta"][SUBSCRIPTION_ID_KEY].as_u64()
            })
            .collect();
        ways.sort_unstable();
        assert_eq!(ways, [None, Some(99)]);
    }
    let (remaining, ..) = stdio.finish();
    assert_eq!(
        remaining.iter().map(|message| &message["id"]).collect::<Vec<_>>(),
        [99],
        "expected only the stream's result: {remaining:?}"
    );
}

#[test]
fn http_subscription_gets_only_requested_changes() {
    let workspace = fixture();
    let http = Http::start(&workspace);
    let mut whole = listen(&http, 1, full_filter(WATCHED_URI));
    let mut tools = listen(&http, 2, json!({ "notifications": { "toolsListChanged": true } }));
    for (tool, method) in CHANGE_TOOLS.into_iter().rev() {
        let answer = http.call(tool, json!({}));
        assert!(answer["result"]["content"].is_array() && answer["result"]["isError"] != true, "{answer}");
        let notification = whole.message().unwrap();
        assert_eq!(
            (&notification["method"], &notification["params"]["_meta"][SUBSCRIPTION_ID_KEY]),
            (&json!(method), &json!(1))
        );
    }
    let notification = tools.message().unwrap();
    assert_eq!(
        notification["method"], "notifications/tools/list_changed",
        "another notification arrived first"
    );
    let ended = std::thread::spawn(move || http.terminate());
    for (stream, id) in [(&mut whole, 1), (&mut tools, 2)] {
        assert_eq!(stream.message().unwrap()["id"], id, "another message arrived before the result");
    }
    assert!(ended.join().unwrap().0.success());
}

#[test]
fn drops_empty_reports_and_coalesces_bursts() {
    let workspace = Workspace::with_plugin("zoo");
    let mut stdio = Stdio::initialized(&workspace, "2025-11-25");
    stdio.request_and_wait("resources/subscribe", json!({ "uri": ZOO_TEXT_URI }));
    for _ in 0..2 {
        stdio.call("zoo_changes_flood", json!({ "count": 500 }));
        assert_eq!(stdio.receive()["params"], json!({ "uri": ZOO_TEXT_URI }));
    }
    let (remaining, ..) = stdio.finish();
    assert_eq!(remaining, Vec::<Value>::new(), "notified although the lists didn't change");
}

#[test]
fn http_session_stream_delivers_earlier_changes() {
    let workspace = fixture();
    let http = Http::start(&workspace);
    for revision in ["2025-03-26", "2025-06-18", "2025-11-25"] {
        let session = http.open_session(&[], revision);
        let header = [("Mcp-Session-Id", session.as_str())];
        let initialized = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
        assert_eq!(http.post(&header, &initialized).status, 202);
        let subscribed =
            http.post(&header, &request(2, "resources/subscribe", json!({ "uri": WATCHED_URI })));
        assert_eq!(subscribed.json()["result"], json!({}));
        let trigger = |tool: &str| {
            let answer = http.post(&header, &request(3, "tools/call", json!({ "name": tool }))).json();
            assert!(
                answer["result"]["content"].is_array() && answer["result"]["isError"] != true,
                "{answer}"
            );
        };
        let (before, after) = CHANGE_TOOLS.split_at(2);
        before.iter().for_each(|(tool, _)| trigger(tool));
        let mut stream = http.open("GET", &[header[0], ("Accept", "text/event-stream")], b"");
        assert_eq!(stream.reply.status, 200, "{:?}", stream.reply);
        after.iter().for_each(|(tool, _)| trigger(tool));
        let mut received: Vec<_> = (0..4).map(|_| stream.message().unwrap()["method"].clone()).collect();
        let mut expected: Vec<_> = CHANGE_TOOLS.iter().map(|(_, method)| json!(method)).collect();
        for methods in [&mut received, &mut expected] {
            methods.sort_unstable_by_key(ToString::to_string);
        }
        assert_eq!(received, expected, "{revision}");
        let ended = http.send("DELETE", "/mcp", &header, b"");
        assert_eq!(ended.status, 200);
        assert_eq!(stream.message(), None, "a notification was repeated");
    }
}
