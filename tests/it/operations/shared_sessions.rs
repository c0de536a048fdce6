//! Sessions that two gateways serve together: requests alternate between them.

use moongate_tests::{
    Event, EventStream, Http, Reply, StoreServer, Workspace, initialize_params, request, send_signal, text,
    wait_until,
};
use serde_json::{Value, json};

fn workspace(store: &StoreServer) -> Workspace {
    workspace_with(store, "")
}

/// A workspace with more tables.
fn workspace_with(store: &StoreServer, tables: &str) -> Workspace {
    let workspace = Workspace::new(&format!(
        "[gateway]\nsealing_key = {{ file = \"sealing-key\" }}\n[store]\nurl = \"{}\"\n[plugins.everything]\nsource = \
         \"@everything@\"\nprefix = \"\"\nallow.client = [\"elicitation\"]\n{tables}",
        store.url()
    ));
    workspace.write("sealing-key", "0123456789abcdef0123456789abcdef");
    workspace
}

/// A session, and the gateways that serve it in turn.
struct Session<'a> {
    gateways: [&'a Http; 2],
    id: String,
}

impl<'a> Session<'a> {
    fn open(gateways: [&'a Http; 2]) -> Self {
        let mut params = initialize_params("2025-11-25");
        params["capabilities"]["elicitation"] = json!({});
        let reply = gateways[0].post(&[], &request(1, "initialize", params));
        let id = reply.header("mcp-session-id").unwrap_or_else(|| panic!("no session: {reply:?}")).to_owned();
        let session = Self { gateways, id };
        let initialized = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
        assert_eq!(session.post(1, &initialized).status, 202);
        session
    }

    fn post(&self, gateway: usize, message: &Value) -> Reply {
        self.gateways[gateway].post(&[("Mcp-Session-Id", &self.id)], message)
    }

    fn ping(&self, gateway: usize) -> Reply {
        self.post(gateway, &request(90, "ping", json!({})))
    }

    /// Calls a tool with a progress token and returns the response stream.
    fn call(&self, gateway: usize, id: u64, tool: &str, arguments: Value) -> EventStream {
        let meta = json!({ "progressToken": id });
        let params = Value::from_iter([("name", tool.into()), ("arguments", arguments), ("_meta", meta)]);
        let headers = [
            ("Content-Type", "application/json"),
            ("Accept", "application/json, text/event-stream"),
            ("Mcp-Session-Id", &self.id),
        ];
        let body = request(id, "tools/call", params).to_string();
        self.gateways[gateway].open("POST", &headers, body.as_bytes())
    }

    fn listen(&self, gateway: usize, after: Option<&str>) -> EventStream {
        let mut headers = vec![("Accept", "text/event-stream"), ("Mcp-Session-Id", &self.id)];
        headers.extend(after.map(|id| ("Last-Event-ID", id)));
        let stream = self.gateways[gateway].open("GET", &headers, b"");
        assert_eq!(stream.reply.status, 200, "{:?}", stream.reply);
        stream
    }
}

/// The next event with a message.
fn next(stream: &mut EventStream) -> (Event, Value) {
    loop {
        let event = stream.event().expect("the stream ended early");
        if !event.is_comment && !event.data.is_empty() {
            let message = serde_json::from_str(&event.data).unwrap();
            return (event, message);
        }
    }
}

#[test]
fn requests_alternate_between_gateways() {
    let Some(store) = StoreServer::start(&[]) else { return };
    let workspace = workspace(&store);
    let a = Http::start(&workspace);
    let b = a.start_replica(&workspace);
    let session = Session::open([&a, &b]);
    for id in 2..20 {
        let params = json!({ "name": "test_simple_text", "arguments": {} });
        let reply = session.post(usize::from(id % 2 == 0), &request(id, "tools/call", params));
        assert_eq!(reply.status, 200, "{reply:?}");
        assert!(!text(&reply.json()).is_empty());
    }
    let reply = b.send("DELETE", "/mcp", &[("Mcp-Session-Id", &session.id)], b"");
    assert_eq!(reply.status, 200, "{reply:?}");
    assert_eq!(session.ping(1).status, 404);
    wait_until("the other gateway has ended the session", || session.ping(0).status == 404);
}

#[test]
fn a_question_and_its_result_cross_gateways() {
    let Some(store) = StoreServer::start(&[]) else { return };
    let workspace = workspace(&store);
    let a = Http::start(&workspace);
    let b = a.start_replica(&workspace);
    let session = Session::open([&a, &b]);
    let mut stream = session.call(0, 7, "test_elicitation", json!({ "message": "Who are you?" }));
    let (event, question) = next(&mut stream);
    assert_eq!(question["method"], "elicitation/create", "{question}");
    drop(stream);
    let mut resumed = session.listen(1, event.id.as_deref());
    let answer = json!({ "action": "accept", "content": { "username": "ann", "email": "ann@example.com" } });
    let answer = json!({ "jsonrpc": "2.0", "id": question["id"], "result": answer });
    assert_eq!(session.post(1, &answer).status, 202);
    let (event, response) = next(&mut resumed);
    assert_eq!(response["id"], 7);
    assert!(text(&response).contains("accept"), "{response}");
    assert_eq!(resumed.event(), None);
    let headers = [
        ("Accept", "text/event-stream"),
        ("Mcp-Session-Id", &*session.id),
        ("Last-Event-ID", event.id.as_deref().unwrap()),
    ];
    for gateway in [&a, &b] {
        assert_eq!(gateway.send("GET", "/mcp", &headers, b"").status, 204);
    }
}

#[test]
fn calls_of_a_killed_gateway_end_with_an_error() {
    let Some(store) = StoreServer::start(&[]) else { return };
    let workspace = workspace(&store);
    let a = Http::start(&workspace);
    let b = a.start_replica(&workspace);
    let session = Session::open([&a, &b]);
    let mut stream = session.call(0, 7, "test_elicitation", json!({ "message": "Who are you?" }));
    let (event, _) = next(&mut stream);
    drop(stream);
    // The other gateway can send the stream, so its events are stored.
    drop(session.listen(1, event.id.as_deref()));
    send_signal(a.pid(), "KILL");
    let session = Session { gateways: [&b, &b], id: session.id };
    let mut resumed = session.listen(1, event.id.as_deref());
    let (_, response) = next(&mut resumed);
    assert_eq!((&response["id"], &response["error"]["code"]), (&json!(7), &json!(-32603)));
    assert_eq!(response["error"]["data"], json!({ "reason": "replica_lost", "retry": true }));
    assert_eq!(session.ping(1).status, 200, "the session continues");
}

#[test]
fn a_store_that_lost_its_data_ends_sessions() {
    let Some(mut store) = StoreServer::start(&[]) else { return };
    let workspace = workspace(&store);
    let a = Http::start(&workspace);
    let b = a.start_replica(&workspace);
    let session = Session::open([&a, &b]);
    store.kill();
    wait_until("both notice", || session.ping(0).status == 503 && session.ping(1).status == 503);
    let error = session.ping(1).json();
    assert_eq!(error["error"]["data"], json!({ "reason": "store_unavailable", "retry": true }));
    let stateless = a.call("test_simple_text", json!({}));
    assert!(stateless.get("result").is_some(), "stateless calls continue: {stateless}");
    store.restart();
    wait_until("clients must start again", || session.ping(0).status == 404 && session.ping(1).status == 404);
    let session = Session::open([&a, &b]);
    assert_eq!(session.ping(0).status, 200);
}

#[test]
fn reports_of_changed_lists_are_shared_at_most_once_a_second() {
    let Some(store) = StoreServer::start(&[]) else { return };
    let workspace =
        workspace_with(&store, "[plugins.stateful]\nsource = \"@stateful@\"\nallow.state = true\n");
    let a = Http::start(&workspace);
    let b = a.start_replica(&workspace);
    let length = || {
        let length = store.query("XLEN moongate:session:journal");
        length[1..].parse::<u32>().unwrap_or_else(|_| panic!("{length}"))
    };
    const CALLS: u32 = 200;
    for _ in 0..CALLS {
        assert_eq!(text(&a.call("stateful_offer", json!({ "key": "new" }))), "offered");
    }
    wait_until("the other gateway has asked the plugin", || {
        b.call("stateful_new", json!({ "key": "a" })).to_string().contains("was offered")
    });
    assert!(length() < CALLS / 2, "{} entries for {CALLS} calls", length());
}

#[test]
fn a_notification_that_an_abandoned_stream_took_is_delivered() {
    let Some(store) = StoreServer::start(&[]) else { return };
    let workspace = workspace_with(&store, "[plugins.zoo]\nsource = \"@zoo@\"\n");
    let a = Http::start(&workspace);
    let b = a.start_replica(&workspace);
    let session = Session::open([&a, &b]);
    let subscribe = request(2, "resources/subscribe", json!({ "uri": "zoo://text" }));
    assert_eq!(session.post(0, &subscribe).status, 200);
    let change = || {
        let params = json!({ "name": "zoo_changes_flood", "arguments": { "count": 1 } });
        assert_eq!(session.post(1, &request(3, "tools/call", params)).status, 200);
    };
    let first = session.listen(0, None).event().and_then(|event| event.id).expect("an id before any event");
    let mut stream = session.listen(1, Some(&first));
    // The first gateway was stopped, for example, and serves a request whose client is at the second one now.
    let mut abandoned = session.listen(0, Some(&first));
    change();
    let (taken, _) = next(&mut abandoned);
    drop(abandoned);
    let (event, notification) = next(&mut stream);
    assert_eq!((&event.id, &notification["method"]), (&taken.id, &json!("notifications/resources/updated")));
    change();
    let (second, _) = next(&mut stream);
    assert_ne!(second.id, taken.id);
    drop(stream);
    let (event, _) = next(&mut session.listen(0, taken.id.as_deref()));
    assert_eq!(event.id, second.id, "nothing is lost or repeated");
}

#[test]
fn changed_lists_reach_the_clients_of_all_gateways() {
    let Some(store) = StoreServer::start(&[]) else { return };
    let stateful = "[plugins.stateful]\nsource = \"@stateful@\"\nallow.state = true\n";
    let workspace = workspace_with(&store, stateful);
    let a = Http::start(&workspace);
    let b = a.start_replica(&workspace);
    let session = Session::open([&a, &b]);
    let mut stream = session.listen(1, None);
    let offer = json!({ "name": "stateful_offer", "arguments": { "key": "new" } });
    assert_eq!(session.post(0, &request(2, "tools/call", offer)).status, 200);
    let (_, notification) = next(&mut stream);
    assert_eq!(notification["method"], "notifications/tools/list_changed");
    for gateway in [1, 0] {
        wait_until("every gateway lists the new tool", || {
            let list = session.post(gateway, &request(3, "tools/list", json!({})));
            list.body.contains("\"stateful_new\"")
        });
    }
}
