//! Change notifications, in a session and on listen streams.

use futures_util::FutureExt as _;

use crate::catalog::Catalog;
use crate::changes::ResourceUpdates;
use crate::names::ResourceUri;

use super::*;

const A: &str = "test://a";
const B: &str = "test://b/1";

/// A gateway whose catalog changes.
struct Changing {
    server: Arc<Server>,
    publish: watch::Sender<Arc<Catalog>>,
    updates: Arc<ResourceUpdates>,
}

/// One plugin with these tools, the resource [`A`], and a template over [`B`].
fn offering(tools: &[&str]) -> Arc<Catalog> {
    let object = json!({ "type": "object" });
    let mut fake = tools.iter().fold(FakePlugin::new("a"), |fake, name| fake.tool(name, &object, None));
    fake.on_tool = Some(Box::new(|_, _| ready(Ok(Outcome::Done(ToolResult::default())))));
    catalog(vec![fake.resource(A).template("test://b/{id}").into_catalog_plugin(|_| {})])
}

impl Changing {
    fn new() -> Self {
        let (publish, seen) = watch::channel(offering(&["one"]));
        let updates: Arc<ResourceUpdates> = Arc::default();
        Self { server: serving_from(seen, Arc::clone(&updates)), publish, updates }
    }

    fn updated(&self, uri: &str) {
        self.updates.report(&ResourceUri::new(uri).unwrap());
    }

    /// A stdio peer that has sent `initialize` in `revision`, but not `notifications/initialized`.
    async fn greeted(&self, revision: &str) -> Arc<StdioConnection> {
        let connection = StdioConnection::new();
        let params = json!({ "protocolVersion": revision, "capabilities": {}, "clientInfo": { "name": "t", "version": "1" } });
        line(&self.server, &connection, &request(0, "initialize", &params)).await.unwrap();
        connection
    }

    /// Opens a stream over stdio; `id` is its JSON.
    fn listen(&self, connection: &Arc<StdioConnection>, id: &str, filter: &Value) -> ResponseStream {
        match self.server.stdio_line(connection, listen(id, filter).as_bytes()) {
            LineReply::Stream(messages) => messages,
            other => panic!("{other:?}"),
        }
    }

    async fn post(&self, filter: &Value, streaming: StreamSupport) -> HttpAnswer {
        let headers = Pairs(vec![
            ("mcp-protocol-version", "2026-07-28".to_owned()),
            ("mcp-method", "subscriptions/listen".to_owned()),
        ]);
        let body = listen("5", filter);
        let caller = &Caller::LOOPBACK;
        self.server
            .post(HttpPost { memory: None, caller, headers: &headers, body: body.as_bytes(), streaming })
            .await
    }
}

fn listen(id: &str, filter: &Value) -> String {
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
        "io.modelcontextprotocol/logLevel": "debug",
        "progressToken": 1,
    });
    let params = json!({ "notifications": filter, "_meta": meta });
    format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"subscriptions/listen","params":{params}}}"#)
}

const INITIALIZED: &[u8] = br#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;

/// The next notification of a session, if one is ready.
fn next_notification(connection: &StdioConnection) -> Option<Value> {
    let message = connection.next_notification().now_or_never()?;
    Some(serde_json::from_slice(&message).unwrap())
}

/// The next message of a stream, if one is ready. Its end is `null`.
fn next_message(messages: &mut ResponseStream) -> Option<Value> {
    // A stream can wake itself, which doesn't matter here.
    let message = (0..4).find_map(|_| messages.next().now_or_never())?;
    Some(message.map_or(Value::Null, |message| serde_json::from_slice(&message.into_message()).unwrap()))
}

fn list_changed(kind: &str) -> Value {
    json!({ "jsonrpc": "2.0", "method": format!("notifications/{kind}/list_changed") })
}

#[tokio::test]
async fn sessions_subscribe_in_every_supporting_revision() {
    let gateway = Changing::new();
    for revision in ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"] {
        let connection = gateway.greeted(revision).await;
        let ask = async |method: &str, params: Value| {
            line(&gateway.server, &connection, &request(1, method, &params)).await.unwrap()
        };
        for uri in [A, A, B] {
            let answer = ask("resources/subscribe", json!({ "uri": uri })).await;
            assert_eq!(answer, json!({ "jsonrpc": "2.0", "id": 1, "result": {} }), "{revision}");
        }
        for uri in ["test://unknown", "no uri"] {
            let error = &ask("resources/subscribe", json!({ "uri": uri })).await["error"];
            assert_eq!((&error["code"], &error["data"]), (&json!(-32002), &json!({ "uri": uri })));
        }
        gateway.updated(A);
        gateway.updated(A);
        let expected =
            json!({ "jsonrpc": "2.0", "method": "notifications/resources/updated", "params": { "uri": A } });
        assert_eq!(next_notification(&connection), Some(expected), "{revision}");
        assert_eq!(next_notification(&connection), None);
        for uri in [A, A, "test://unknown", "no uri"] {
            let answer = ask("resources/unsubscribe", json!({ "uri": uri })).await;
            assert_eq!(answer["result"], json!({}), "{answer}");
        }
        gateway.updated(A);
        assert_eq!(next_notification(&connection), None);
        for method in ["resources/subscribe", "resources/unsubscribe"] {
            for params in [json!({}), json!({ "uri": 1 })] {
                let error = &ask(method, params).await["error"];
                assert_eq!((&error["code"], &error["data"]["at"]), (&json!(-32602), &json!("/uri")));
            }
        }
        let answer = ask("subscriptions/listen", json!({ "notifications": {} })).await;
        assert_eq!(answer["error"]["code"], -32601, "{revision} has no streams: {answer}");
    }
}

#[tokio::test]
async fn stateless_revisions_have_no_session_subscriptions() {
    let gateway = Changing::new();
    let connection = StdioConnection::new();
    for method in ["resources/subscribe", "resources/unsubscribe"] {
        let text = listen("1", &json!({})).replace("subscriptions/listen", method);
        let answer = line(&gateway.server, &connection, text.as_bytes()).await.unwrap();
        assert_eq!(answer["error"]["code"], -32601, "{answer}");
    }
}

#[tokio::test]
async fn limits_subscriptions_per_session() {
    let gateway = Changing::new();
    let connection = gateway.greeted("2025-11-25").await;
    let mut answer = Value::Null;
    for number in 0..=1024 {
        let params = json!({ "uri": format!("test://b/{number}") });
        answer =
            line(&gateway.server, &connection, &request(1, "resources/subscribe", &params)).await.unwrap();
        assert!(number == 1024 || answer.get("result").is_some(), "{number}: {answer}");
    }
    assert_eq!(answer["error"]["code"], -32602);
    assert!(answer["error"]["message"].as_str().unwrap().contains("1024"), "{answer}");
}

#[tokio::test]
async fn sends_no_notification_before_initialized() {
    let gateway = Changing::new();
    let ways: [(&[u8], bool); 3] = [
        (INITIALIZED, true),
        (br#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#, true),
        (br#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#, false),
    ];
    for (way, is_ready) in ways {
        let connection = gateway.greeted("2025-11-25").await;
        gateway.publish.send_replace(offering(&["two"]));
        assert_eq!(next_notification(&connection), None);
        line(&gateway.server, &connection, way).await;
        assert_eq!(next_notification(&connection), is_ready.then(|| list_changed("tools")));
        assert_eq!(next_notification(&connection), None);
        gateway.publish.send_replace(offering(&["one"]));
    }
}

#[tokio::test]
async fn a_listen_stream_starts_with_an_acknowledgement() {
    let gateway = Changing::new();
    let connection = StdioConnection::new();
    let filter = json!({
        "toolsListChanged": true, "promptsListChanged": false, "tasks": ["x"],
        "resourceSubscriptions": [B, "test://unknown", A, B],
    });
    for id in ["9007199254740993", "\"9007199254740993\"", "-1", "\"\\u0041\""] {
        let mut stream = gateway.listen(&connection, id, &filter);
        let Some(OutgoingMessage::Notification(first)) = stream.next().await else {
            panic!("no acknowledgement")
        };
        let first = String::from_utf8(first.to_vec()).unwrap();
        assert!(first.contains(&format!(r#""io.modelcontextprotocol/subscriptionId":{id}"#)), "{first}");
        let first: Value = serde_json::from_str(&first).unwrap();
        assert_eq!(first["method"], "notifications/subscriptions/acknowledged");
        let honoured = json!({ "toolsListChanged": true, "resourceSubscriptions": [B, A] });
        assert_eq!(first["params"]["notifications"], honoured, "missing values are omitted");
        assert_eq!(next_message(&mut stream), None);
        gateway.publish.send_replace(Arc::new(Catalog::empty()));
        gateway.updated(A);
        let id: Value = serde_json::from_str(id).unwrap();
        let meta = json!({ "io.modelcontextprotocol/subscriptionId": id });
        let tools = json!({ "jsonrpc": "2.0", "method": "notifications/tools/list_changed", "params": { "_meta": meta } });
        assert_eq!(next_message(&mut stream), Some(tools));
        let updated = json!({ "jsonrpc": "2.0", "method": "notifications/resources/updated", "params": { "uri": A, "_meta": meta } });
        assert_eq!(next_message(&mut stream), Some(updated));
        assert_eq!(next_message(&mut stream), None, "resources also changed, but weren't requested");
        gateway.publish.send_replace(offering(&["one"]));
        drop(stream);
    }
}

#[tokio::test]
async fn a_cancelled_listen_stream_sends_nothing_more() {
    let gateway = Changing::new();
    let connection = StdioConnection::new();
    let all = json!({ "toolsListChanged": true });
    let mut stream = gateway.listen(&connection, "7", &all);
    assert!(next_message(&mut stream).is_some());
    let again = line(&gateway.server, &connection, listen("7", &all).as_bytes()).await.unwrap();
    assert_eq!(again["error"]["code"], -32600, "{again}");
    gateway.publish.send_replace(offering(&["two"]));
    let cancel = br#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}}"#;
    assert!(line(&gateway.server, &connection, cancel).await.is_none());
    let mut again = gateway.listen(&connection, "7", &all);
    assert_eq!(next_message(&mut stream), Some(Value::Null), "it ends without a message");
    assert_eq!(next_message(&mut again).unwrap()["method"], "notifications/subscriptions/acknowledged");
    assert_eq!(next_message(&mut again), None, "the change was before this stream");
}

#[tokio::test]
async fn a_client_of_both_eras_is_notified_once_per_subscription() {
    let gateway = Changing::new();
    let stateless = StdioConnection::new();
    let both = gateway.greeted("2025-11-25").await;
    line(&gateway.server, &both, INITIALIZED).await;
    let filter = json!({ "toolsListChanged": true });
    let mut streams = [gateway.listen(&stateless, "1", &filter), gateway.listen(&both, "1", &filter)];
    for stream in &mut streams {
        assert!(next_message(stream).is_some());
    }
    gateway.publish.send_replace(offering(&["two"]));
    assert_eq!(next_notification(&stateless), None, "without a handshake nothing is sent unasked");
    assert_eq!(next_notification(&both), Some(list_changed("tools")));
    assert_eq!(next_notification(&both), None);
    for stream in &mut streams {
        assert_eq!(next_message(stream).unwrap()["method"], "notifications/tools/list_changed");
        assert_eq!(next_message(stream), None);
    }
}

#[tokio::test]
async fn a_listen_stream_ends_with_its_result() {
    for stops in [true, false] {
        let gateway = Changing::new();
        let connection = StdioConnection::new();
        let mut stream = gateway.listen(&connection, "\"x\"", &json!({ "toolsListChanged": true }));
        assert!(next_message(&mut stream).is_some());
        if stops {
            gateway.server.close_streams();
        } else {
            connection.close_streams();
        }
        let end = next_message(&mut stream).unwrap();
        assert_eq!((&end["id"], &end["result"]["resultType"]), (&json!("x"), &json!("complete")));
        let meta = &end["result"]["_meta"];
        assert_eq!(meta["io.modelcontextprotocol/subscriptionId"], "x");
        assert_eq!(meta["io.modelcontextprotocol/serverInfo"]["name"], "moongate");
        assert_eq!(next_message(&mut stream), Some(Value::Null));
    }
}

#[tokio::test]
async fn http_listen_streams_end_when_the_gateway_stops() {
    let gateway = Changing::new();
    let filter = json!({ "resourcesListChanged": true });
    // A client that accepts anything gets an event stream, because nothing else is possible.
    let HttpAnswer::Events(events) = gateway.post(&filter, StreamSupport::Unknown).await else {
        panic!("no events")
    };
    assert_eq!(events.lifetime(), StreamLifetime::UntilClosed, "its connection can be evicted");
    let mut rest: ResponseStream = Box::pin(events.map(|event| match event {
        SseEvent::Message { id: None, message } => OutgoingMessage::Notification(message),
        other => panic!("this stream can't be resumed: {other:?}"),
    }));
    let first = next_message(&mut rest).unwrap();
    assert_eq!(first["params"]["_meta"], json!({ "io.modelcontextprotocol/subscriptionId": 5 }));
    assert_eq!(first["params"]["notifications"], filter);
    gateway.publish.send_replace(Arc::new(Catalog::empty()));
    assert_eq!(next_message(&mut rest).unwrap()["method"], "notifications/resources/list_changed");
    assert_eq!(next_message(&mut rest), None);
    gateway.server.close_streams();
    assert_eq!(next_message(&mut rest).unwrap()["result"]["resultType"], "complete");
    assert_eq!(next_message(&mut rest), Some(Value::Null));
}

#[tokio::test]
async fn listen_requires_support_for_event_streams() {
    let gateway = Changing::new();
    let HttpAnswer::Whole(reply) = gateway.post(&json!({}), StreamSupport::Unsupported).await else {
        panic!("events")
    };
    assert_eq!((reply.status, &body(&reply)["error"]["code"]), (406, &json!(-32600)));
    assert!(body(&reply)["error"]["message"].as_str().unwrap().contains("text/event-stream"));
}

#[tokio::test]
async fn listen_rejects_invalid_filters() {
    let gateway = Changing::new();
    let connection = StdioConnection::new();
    let many: Vec<_> = (0..=1024).map(|number| format!("test://b/{number}")).collect();
    let too_many: Vec<_> = (0..=4096).map(|number| format!("test://none/{number}")).collect();
    for (filter, at) in [
        (json!(null), "/notifications"),
        (json!([]), "/notifications"),
        (json!({ "toolsListChanged": "yes" }), "/notifications/toolsListChanged"),
        (json!({ "resourceSubscriptions": A }), "/notifications/resourceSubscriptions"),
        (json!({ "resourceSubscriptions": [A, 1] }), "/notifications/resourceSubscriptions"),
        (json!({ "resourceSubscriptions": many }), "/notifications/resourceSubscriptions"),
        (json!({ "resourceSubscriptions": too_many }), "/notifications/resourceSubscriptions"),
    ] {
        let answer = line(&gateway.server, &connection, listen("1", &filter).as_bytes()).await.unwrap();
        assert_eq!((&answer["error"]["code"], &answer["error"]["data"]["at"]), (&json!(-32602), &json!(at)));
    }
    let missing = listen("1", &json!({})).replace("notifications", "other");
    let answer = line(&gateway.server, &connection, missing.as_bytes()).await.unwrap();
    assert_eq!(answer["error"]["code"], -32602, "{answer}");
}

#[tokio::test]
async fn limits_listen_streams_per_caller() {
    let gateway = Changing::new();
    let connection = gateway.greeted("2025-11-25").await;
    let filter = json!({ "resourceSubscriptions": [A] });
    let mut streams: Vec<_> =
        (1..=64).map(|id: u64| gateway.listen(&connection, &id.to_string(), &filter)).collect();
    for stream in &mut streams {
        assert!(next_message(stream).is_some());
    }
    let refused = line(&gateway.server, &connection, listen("65", &filter).as_bytes()).await.unwrap();
    assert_eq!(refused["error"]["code"], -32603, "{refused}");
    let answer = line(&gateway.server, &connection, &call(66, "a_one")).await.unwrap();
    assert!(answer.get("result").is_some(), "{answer}");
    assert!(
        matches!(gateway.post(&filter, StreamSupport::Supported).await, HttpAnswer::Events(_)),
        "others may"
    );
    streams.pop();
    let mut stream = gateway.listen(&connection, "65", &filter);
    assert!(next_message(&mut stream).is_some());
    drop(streams);
    gateway.updated(A);
    assert_eq!(next_message(&mut stream).unwrap()["params"]["uri"], A);
}

#[tokio::test]
async fn every_revision_announces_list_changes() {
    let gateway = Changing::new();
    for revision in ["2024-11-05", "2025-11-25"] {
        let params = json!({ "protocolVersion": revision, "capabilities": {}, "clientInfo": { "name": "t", "version": "1" } });
        let initialize = request(1, "initialize", &params);
        let answer = line(&gateway.server, &StdioConnection::new(), &initialize).await.unwrap();
        promises(&answer);
    }
    let discover = listen("1", &json!({})).replace("subscriptions/listen", "server/discover");
    promises(&line(&gateway.server, &StdioConnection::new(), discover.as_bytes()).await.unwrap());
}

fn promises(answer: &Value) {
    let capabilities = &answer["result"]["capabilities"];
    for kind in ["tools", "prompts", "resources"] {
        assert_eq!(capabilities[kind]["listChanged"], true, "{answer}");
    }
    assert_eq!(capabilities["resources"]["subscribe"], true, "{answer}");
}
