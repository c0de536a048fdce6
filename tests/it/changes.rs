//! How changes reach clients: what they subscribe to, the streams that they open, and how these end.

use std::time::{Duration, Instant};

use moongate_tests::{EventStream, Http, Stdio, Workspace, request, stateless};
use serde_json::{Value, json};

/// The resource of the zoo that clients can subscribe to.
const TEXT: &str = "zoo://text";

const KEY: &str = "io.modelcontextprotocol/subscriptionId";

/// Less than what requests over HTTP get when the gateway stops, and far more than it needs.
const SOON: Duration = Duration::from_secs(20);

fn all() -> Value {
    json!({ "notifications": {
        "toolsListChanged": true, "promptsListChanged": true, "resourcesListChanged": true,
        "resourceSubscriptions": [TEXT],
    } })
}

fn listen(http: &Http, id: u64, filter: Value) -> EventStream {
    let headers = [
        ("Content-Type", "application/json"),
        ("Accept", "application/json, text/event-stream"),
        ("MCP-Protocol-Version", "2026-07-28"),
        ("Mcp-Method", "subscriptions/listen"),
    ];
    let mut stream =
        http.open("POST", &headers, stateless(id, "subscriptions/listen", filter).to_string().as_bytes());
    assert_eq!(stream.reply.header("content-type"), Some("text/event-stream"));
    let first = stream.message().unwrap();
    assert_eq!(first["method"], "notifications/subscriptions/acknowledged", "{first}");
    assert_eq!(first["params"]["_meta"][KEY], id);
    stream
}

#[test]
fn streams_over_http_end_with_their_result_when_the_gateway_stops_and_hold_nothing_up() {
    let workspace = Workspace::with_plugin("zoo");
    let http = Http::start(&workspace);
    let mut streams: Vec<_> = (1..=8).map(|id| (id, listen(&http, id, all()))).collect();
    let before = Instant::now();
    let ended = std::thread::spawn(move || http.terminate());
    for (id, stream) in &mut streams {
        let end = stream.message().unwrap();
        assert_eq!(end["id"], *id);
        assert_eq!(end["result"]["resultType"], "complete");
        assert_eq!(end["result"]["_meta"][KEY], *id);
        assert_eq!(stream.message(), None, "nothing follows the result");
    }
    let (status, log) = ended.join().unwrap();
    assert!(status.success(), "{log}");
    assert!(before.elapsed() < SOON, "it waited for the end of the streams: {log}");
}

#[test]
fn streams_over_stdio_end_with_the_input_and_a_cancelled_one_before_without_a_word() {
    let workspace = Workspace::with_plugin("zoo");
    let mut stdio = Stdio::start(&workspace);
    for id in [10, 11] {
        stdio.send(&stateless(id, "subscriptions/listen", all()));
        let first = stdio.receive();
        assert_eq!(first["params"]["_meta"][KEY], id);
        assert_eq!(first["params"]["notifications"], all()["notifications"]);
    }
    let answer = stdio.ask("tools/list", stateless(0, "", json!({}))["params"].clone());
    assert!(answer.get("result").is_some(), "a stream holds nothing up: {answer}");
    stdio.send(
        &json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": 10 } }),
    );
    let (left, status, log) = stdio.finish();
    // A stream that has to be dropped has no result.
    let [end] = left.as_slice() else { panic!("not one message: {left:?}") };
    assert_eq!((&end["id"], &end["result"]["_meta"][KEY]), (&json!(11), &json!(11)));
    assert!(status.success(), "{log}");
}

#[test]
fn a_session_subscribes_over_both_transports_to_what_some_plugin_has() {
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
