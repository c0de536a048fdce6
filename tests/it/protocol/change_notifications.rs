//! Change notifications: subscriptions, notification streams, and how they end.

use std::time::{Duration, Instant};

use moongate_tests::{EventStream, Http, Stdio, Workspace, request, stateless};
use serde_json::{Value, json};

/// The tools of the fixture that cause a change, and the notification for each.
const TRIGGERS: [(&str, &str); 4] = [
    ("everything_test_trigger_tool_change", "notifications/tools/list_changed"),
    ("everything_test_trigger_prompt_change", "notifications/prompts/list_changed"),
    ("everything_test_trigger_resource_change", "notifications/resources/list_changed"),
    ("everything_test_trigger_resource_update", "notifications/resources/updated"),
];

/// The resource that the last of them changes.
const WATCHED: &str = "test://watched-resource";

/// A resource of the zoo.
const TEXT: &str = "zoo://text";

const KEY: &str = "io.modelcontextprotocol/subscriptionId";

/// Less than the shutdown time-out of HTTP requests, and far more than the gateway needs.
const SOON: Duration = Duration::from_secs(20);

/// The fixture, with state, so that it can change.
fn fixture() -> Workspace {
    Workspace::new("[plugins.everything]\nsource = \"@everything@\"\nallow.state = true\n")
}

/// Causes a change in the fixture.
fn trigger(stdio: &mut Stdio, tool: &str) {
    let answer = stdio.call(tool, json!({}));
    assert!(answer["result"]["content"].is_array() && answer["result"]["isError"] != true, "{answer}");
}

fn all(uri: &str) -> Value {
    json!({ "notifications": {
        "toolsListChanged": true, "promptsListChanged": true, "resourcesListChanged": true,
        "resourceSubscriptions": [uri],
    } })
}

/// Requests a stream; the response can be an error.
fn asked(http: &Http, id: u64, filter: Value) -> EventStream {
    let headers = [
        ("Content-Type", "application/json"),
        ("Accept", "application/json, text/event-stream"),
        ("MCP-Protocol-Version", "2026-07-28"),
        ("Mcp-Method", "subscriptions/listen"),
    ];
    http.open("POST", &headers, stateless(id, "subscriptions/listen", filter).to_string().as_bytes())
}

/// Opens a stream over HTTP.
fn listen(http: &Http, id: u64, filter: Value) -> EventStream {
    let mut stream = asked(http, id, filter);
    assert_eq!(stream.reply.header("content-type"), Some("text/event-stream"));
    let first = stream.message().unwrap();
    assert_eq!(first["method"], "notifications/subscriptions/acknowledged", "{first}");
    assert_eq!(first["params"]["_meta"][KEY], id);
    stream
}

#[test]
fn shutdown_ends_http_subscriptions_with_results() {
    let workspace = Workspace::with_plugin("zoo");
    let http = Http::start(&workspace);
    let mut streams: Vec<_> = (1..=8).map(|id| (id, listen(&http, id, all(TEXT)))).collect();
    let before = Instant::now();
    let ended = std::thread::spawn(move || http.terminate());
    for (id, stream) in &mut streams {
        let end = stream.message().unwrap();
        assert_eq!(end["id"], *id);
        assert_eq!(end["result"]["resultType"], "complete");
        assert_eq!(end["result"]["_meta"][KEY], *id);
        assert_eq!(stream.message(), None, "a message follows the result");
    }
    let (status, log) = ended.join().unwrap();
    assert!(status.success(), "{log}");
    assert!(before.elapsed() < SOON, "the shutdown waited for the streams: {log}");
}

#[test]
fn stdin_eof_and_cancellation_end_stdio_subscriptions() {
    let workspace = Workspace::with_plugin("zoo");
    let mut stdio = Stdio::start(&workspace);
    for id in [10, 11] {
        stdio.send(&stateless(id, "subscriptions/listen", all(TEXT)));
        let first = stdio.receive();
        assert_eq!(first["params"]["_meta"][KEY], id);
        assert_eq!(first["params"]["notifications"], all(TEXT)["notifications"]);
    }
    let answer = stdio.ask("tools/list", stateless(0, "", json!({}))["params"].clone());
    assert!(answer.get("result").is_some(), "the stream blocked another request: {answer}");
    stdio.send(
        &json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": 10 } }),
    );
    let (left, status, log) = stdio.finish();
    // A dropped stream has no result.
    let [end] = left.as_slice() else { panic!("expected one message: {left:?}") };
    assert_eq!((&end["id"], &end["result"]["_meta"][KEY]), (&json!(11), &json!(11)));
    assert!(status.success(), "{log}");
}

#[test]
fn sessions_subscribe_only_to_existing_resources() {
    let workspace = Workspace::with_plugin("zoo");
    let http = Http::start(&workspace);
    for revision in ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"] {
        let mut stdio = Stdio::greeted(&workspace, revision);
        let session = http.greet(&[], revision);
        let mut ask = |method: &str, uri: &str| {
            let over_http =
                http.post(&[("Mcp-Session-Id", &session)], &request(7, method, json!({ "uri": uri }))).json();
            let over_stdio = stdio.ask(method, json!({ "uri": uri }));
            assert_eq!(over_http.get("result"), over_stdio.get("result"));
            assert_eq!(over_http.get("error"), over_stdio.get("error"));
            over_stdio
        };
        assert_eq!(ask("resources/subscribe", TEXT)["result"], json!({}));
        assert_eq!(ask("resources/unsubscribe", TEXT)["result"], json!({}));
        assert_eq!(ask("resources/unsubscribe", "nobody://x")["result"], json!({}));
        let refused = ask("resources/subscribe", "nobody://x");
        assert_eq!(refused["error"]["code"], -32002, "{refused}");
        assert_eq!(refused["error"]["data"], json!({ "uri": "nobody://x" }));
    }
}

#[test]
fn releases_streams_of_disconnected_clients() {
    const MOST: u64 = 64;
    let workspace = Workspace::with_plugin("zoo");
    let http = Http::start(&workspace);
    let streams: Vec<_> = (1..=MOST).map(|id| listen(&http, id, all(TEXT))).collect();
    let refused = http.ask("subscriptions/listen", all(TEXT)).json();
    assert_eq!(refused["error"]["code"], -32603, "{refused}");
    drop(streams);
    let begun = Instant::now();
    while asked(&http, 1, all(TEXT)).reply.header("content-type") != Some("text/event-stream") {
        assert!(begun.elapsed() < SOON, "closed streams still count");
    }
}

#[test]
fn stdio_session_gets_each_change_once() {
    let workspace = fixture();
    for revision in ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"] {
        let mut stdio = Stdio::greeted(&workspace, revision);
        assert_eq!(stdio.ask("resources/subscribe", json!({ "uri": WATCHED }))["result"], json!({}));
        for (tool, method) in TRIGGERS {
            trigger(&mut stdio, tool);
            let mut expected = json!({ "jsonrpc": "2.0", "method": method });
            if method == "notifications/resources/updated" {
                expected["params"] = json!({ "uri": WATCHED });
            }
            assert_eq!(stdio.receive(), expected, "{revision}");
        }
        let listed = stdio.ask("tools/list", json!({}))["result"]["tools"].clone();
        let names: Vec<_> =
            listed.as_array().unwrap().iter().filter_map(|tool| tool["name"].as_str()).collect();
        assert!(names.contains(&"everything_test_changing_tool"), "{names:?}");
        let (left, ..) = stdio.finish();
        assert_eq!(left, Vec::<Value>::new(), "{revision}");
    }
}

#[test]
fn dual_era_stdio_client_gets_each_change_once_per_era() {
    let workspace = fixture();
    let mut stdio = Stdio::greeted(&workspace, "2025-11-25");
    stdio.ask("resources/subscribe", json!({ "uri": WATCHED }));
    stdio.send(&stateless(99, "subscriptions/listen", all(WATCHED)));
    assert_eq!(stdio.receive()["method"], "notifications/subscriptions/acknowledged");
    for (tool, method) in TRIGGERS {
        trigger(&mut stdio, tool);
        let mut ways: Vec<_> = [stdio.receive(), stdio.receive()]
            .iter()
            .map(|news| {
                assert_eq!(news["method"], method);
                news["params"]["_meta"][KEY].as_u64()
            })
            .collect();
        ways.sort_unstable();
        assert_eq!(ways, [None, Some(99)]);
    }
    let (left, ..) = stdio.finish();
    assert_eq!(
        left.iter().map(|message| &message["id"]).collect::<Vec<_>>(),
        [99],
        "expected only the stream's result: {left:?}"
    );
}

#[test]
fn http_subscription_gets_only_requested_changes() {
    let workspace = fixture();
    let http = Http::start(&workspace);
    let mut whole = listen(&http, 1, all(WATCHED));
    let mut tools = listen(&http, 2, json!({ "notifications": { "toolsListChanged": true } }));
    for (tool, method) in TRIGGERS.into_iter().rev() {
        let answer = http.call(tool, json!({}));
        assert!(answer["result"]["content"].is_array() && answer["result"]["isError"] != true, "{answer}");
        let news = whole.message().unwrap();
        assert_eq!((&news["method"], &news["params"]["_meta"][KEY]), (&json!(method), &json!(1)));
    }
    let news = tools.message().unwrap();
    assert_eq!(news["method"], "notifications/tools/list_changed", "another notification arrived first");
    let ended = std::thread::spawn(move || http.terminate());
    for (stream, id) in [(&mut whole, 1), (&mut tools, 2)] {
        assert_eq!(stream.message().unwrap()["id"], id, "another message arrived before the result");
    }
    assert!(ended.join().unwrap().0.success());
}

#[test]
fn drops_empty_reports_and_coalesces_bursts() {
    let workspace = Workspace::with_plugin("zoo");
    let mut stdio = Stdio::greeted(&workspace, "2025-11-25");
    stdio.ask("resources/subscribe", json!({ "uri": TEXT }));
    for _ in 0..2 {
        stdio.call("zoo_changes_flood", json!({ "count": 500 }));
        assert_eq!(stdio.receive()["params"], json!({ "uri": TEXT }));
    }
    let (left, ..) = stdio.finish();
    assert_eq!(left, Vec::<Value>::new(), "notified although the lists didn't change");
}

#[test]
fn http_session_stream_delivers_earlier_changes() {
    let workspace = fixture();
    let http = Http::start(&workspace);
    for revision in ["2025-03-26", "2025-06-18", "2025-11-25"] {
        let session = http.greet(&[], revision);
        let header = [("Mcp-Session-Id", session.as_str())];
        let initialized = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
        assert_eq!(http.post(&header, &initialized).status, 202);
        let subscribed = http.post(&header, &request(2, "resources/subscribe", json!({ "uri": WATCHED })));
        assert_eq!(subscribed.json()["result"], json!({}));
        let trigger = |tool: &str| {
            let answer = http.post(&header, &request(3, "tools/call", json!({ "name": tool }))).json();
            assert!(
                answer["result"]["content"].is_array() && answer["result"]["isError"] != true,
                "{answer}"
            );
        };
        let (before, after) = TRIGGERS.split_at(2);
        before.iter().for_each(|(tool, _)| trigger(tool));
        let mut stream = http.open("GET", &[header[0], ("Accept", "text/event-stream")], b"");
        assert_eq!(stream.reply.status, 200, "{:?}", stream.reply);
        after.iter().for_each(|(tool, _)| trigger(tool));
        let mut told: Vec<_> = (0..4).map(|_| stream.message().unwrap()["method"].clone()).collect();
        let mut expected: Vec<_> = TRIGGERS.iter().map(|(_, method)| json!(method)).collect();
        for methods in [&mut told, &mut expected] {
            methods.sort_unstable_by_key(ToString::to_string);
        }
        assert_eq!(told, expected, "{revision}");
        let ended = http.send("DELETE", "/mcp", &header, b"");
        assert_eq!(ended.status, 200);
        assert_eq!(stream.message(), None, "a notification was repeated");
    }
}
