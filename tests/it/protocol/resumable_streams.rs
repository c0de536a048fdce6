//! HTTP session streams: resuming after a lost connection, and unsolicited notifications.

use std::time::{Duration, Instant};

use moongate_tests::{Event, EventStream, Http, Workspace, initialize_params, request, text};
use serde_json::{Value, json};

/// Less than the shutdown timeout of HTTP requests, and far more than the gateway needs.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(20);

/// An HTTP session.
struct Session<'a> {
    http: &'a Http,
    id: String,
}

impl<'a> Session<'a> {
    /// Opens a session for a client with elicitation.
    fn open(http: &'a Http, revision: &str) -> Self {
        let mut params = initialize_params(revision);
        params["capabilities"]["elicitation"] = json!({});
        let reply = http.post(&[], &request(1, "initialize", params));
        let session = Self { http, id: reply.header("mcp-session-id").expect("a session").to_owned() };
        session.notify(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
        session
    }

    fn post(&self, message: &Value) -> moongate_tests::Reply {
        self.http.post(&[("Mcp-Session-Id", &self.id)], message)
    }

    /// Posts a message that has no response.
    #[track_caller]
    fn notify(&self, message: &Value) {
        assert_eq!(self.post(message).status, 202, "{message}");
    }

    /// Calls a tool with a progress token and returns the response stream.
    fn call(&self, id: u64, tool: &str, arguments: Value) -> EventStream {
        let meta = json!({ "progressToken": id });
        let params = Value::from_iter([("name", tool.into()), ("arguments", arguments), ("_meta", meta)]);
        let headers = [
            ("Content-Type", "application/json"),
            ("Accept", "application/json, text/event-stream"),
            ("Mcp-Session-Id", &self.id),
        ];
        self.http.open("POST", &headers, request(id, "tools/call", params).to_string().as_bytes())
    }

    /// Opens a stream, after the event with this id if there is one.
    fn listen(&self, after: Option<&str>) -> EventStream {
        let mut headers = vec![("Accept", "text/event-stream"), ("Mcp-Session-Id", &self.id)];
        headers.extend(after.map(|id| ("Last-Event-ID", id)));
        let stream = self.http.open("GET", &headers, b"");
        assert_eq!(
            (stream.reply.status, stream.reply.header("content-type")),
            (200, Some("text/event-stream"))
        );
        stream
    }

    /// Requests a stream after this event and expects an error.
    fn rejected_stream(&self, after: &str) -> moongate_tests::Reply {
        let headers =
            [("Accept", "text/event-stream"), ("Mcp-Session-Id", &self.id), ("Last-Event-ID", after)];
        self.http.send("GET", "/mcp", &headers, b"")
    }
}

fn workspace_with_http(http: &str) -> Workspace {
    Workspace::new(&format!(
        "[http]\nlisten = \"127.0.0.1:0\"\n{http}\n[plugins.everything]\nsource = \"@everything@\"\nprefix = \"\"\nallow.client = [\"elicitation\"]\n"
    ))
}

fn message(event: &Event) -> Value {
    serde_json::from_str(&event.data).unwrap_or_else(|_| panic!("not a message: {event:?}"))
}

fn id(event: &Event) -> &str {
    event.id.as_deref().unwrap_or_else(|| panic!("no id: {event:?}"))
}

fn is_priming_event(event: &Event) -> bool {
    event.data.is_empty() && event.id.is_some() && event.retry.is_some_and(|after| after > 0)
}

/// Reads all remaining events.
fn remaining_events(stream: &mut EventStream) -> Vec<Event> {
    std::iter::from_fn(|| stream.event()).filter(|event| !event.is_comment).collect()
}

#[test]
fn broken_connection_loses_no_question_or_result() {
    let workspace = workspace_with_http("");
    let http = Http::start(&workspace);
    let session = Session::open(&http, "2025-11-25");
    let mut stream = session.call(7, "test_elicitation", json!({ "message": "Who are you?" }));
    let priming_event = stream.event().unwrap();
    assert!(is_priming_event(&priming_event), "{priming_event:?}");
    let question_event = stream.event().unwrap();
    let question = message(&question_event);
    assert_eq!(question["method"], "elicitation/create", "{question}");
    drop(stream);

    let mut resumed = session.listen(Some(id(&priming_event)));
    assert!(is_priming_event(&resumed.event().unwrap()));
    assert_eq!(resumed.event().unwrap(), question_event, "the question is replayed with the same id");
    let mut newer = session.listen(Some(id(&question_event)));
    assert_eq!(resumed.event(), None, "the newer stream takes over");
    let answer = json!({ "action": "accept", "content": { "username": "ann", "email": "ann@example.com" } });
    session.notify(&json!({ "jsonrpc": "2.0", "id": question["id"], "result": answer }));
    let events = remaining_events(&mut newer);
    assert!(is_priming_event(&events[0]), "{events:?}");
    let [result] = &events[1..] else { panic!("expected only the result: {events:?}") };
    let response = message(result);
    assert_eq!(response["id"], 7);
    assert!(text(&response).contains("accept"), "{response}");

    let resumed = remaining_events(&mut session.listen(Some(id(&question_event))));
    assert_eq!(resumed[1..], events[1..], "a second resume replays the same events");
    assert_eq!(session.rejected_stream(id(result)).status, 204, "there is nothing left to resume");
}

#[test]
fn primes_only_2025_11_25_streams_but_resumes_all() {
    let workspace = workspace_with_http("");
    let http = Http::start(&workspace);
    for revision in ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"] {
        let session = Session::open(&http, revision);
        let mut stream = session.call(3, "test_tool_with_progress", json!({}));
        let mut events = remaining_events(&mut stream);
        if revision == "2025-11-25" {
            assert!(is_priming_event(&events.remove(0)), "{events:?}");
        }
        let ids: Vec<&str> = events.iter().map(id).collect();
        assert_eq!(events.len(), 4, "{revision}: {events:?}");
        assert!(events.iter().all(|event| event.retry.is_none() && !event.data.is_empty()), "{events:?}");
        assert_eq!(message(&events[3])["id"], 3);
        for from in 0..3 {
            let resumed: Vec<Event> = remaining_events(&mut session.listen(Some(ids[from])));
            let resumed: Vec<&Event> = resumed.iter().filter(|event| !event.data.is_empty()).collect();
            assert_eq!(resumed, events[from + 1..].iter().collect::<Vec<_>>(), "{revision}");
        }
    }
}

#[test]
fn long_calls_switch_to_polling_when_configured() {
    let workspace = Workspace::new(
        "[http]\nlisten = \"127.0.0.1:0\"\nclose_streams_after = \"100ms\"\n[plugins.zoo]\nsource = \"@zoo@\"\n",
    );
    let http = Http::start(&workspace);
    let session = Session::open(&http, "2025-11-25");
    let params = json!({ "name": "zoo_sleep", "arguments": { "milliseconds": 1500 } });
    let headers = [
        ("Content-Type", "application/json"),
        ("Accept", "application/json, text/event-stream"),
        ("Mcp-Session-Id", &session.id),
    ];
    // The call sends nothing, and is still moved to polling.
    let mut stream = http.open("POST", &headers, request(4, "tools/call", params).to_string().as_bytes());
    let events = remaining_events(&mut stream);
    let [priming_event] = &events[..] else { panic!("expected only a priming event: {events:?}") };
    assert!(is_priming_event(priming_event), "{priming_event:?}");
    let mut polls = 0;
    let response = loop {
        polls += 1;
        let events = remaining_events(&mut session.listen(Some(id(priming_event))));
        assert_eq!(id(&events[0]), id(priming_event), "{events:?}");
        if let Some(result) = events.get(1) {
            break message(result);
        }
    };
    assert_eq!(response["id"], 4);
    assert!(text(&response).contains("1500"), "{response}");
    assert!(polls > 1, "the connection stayed open until the result");
    let events = remaining_events(&mut session.listen(None));
    assert!(events.len() == 1 && is_priming_event(&events[0]), "{events:?}");

    let older = Session::open(&http, "2025-06-18");
    let params = json!({ "name": "zoo_sleep", "arguments": { "milliseconds": 300 } });
    let whole = older.post(&request(4, "tools/call", params));
    assert_eq!(
        whole.header("content-type"),
        Some("application/json"),
        "older revisions must get the result on the first connection: {whole:?}"
    );
}

#[test]
fn newest_stream_gets_notifications_and_replays_missed_ones() {
    let workspace = Workspace::new("[plugins.keeper]\nsource = \"@keeper@\"\nallow.state = true\n");
    let http = Http::start(&workspace);
    let session = Session::open(&http, "2025-11-25");
    let call = |tool: &str, arguments: Value| {
        let reply = session.post(&request(9, "tools/call", json!({ "name": tool, "arguments": arguments })));
        assert!(reply.json()["result"]["isError"].as_bool() != Some(true), "{reply:?}");
    };
    let change = || call("keeper_report_often", json!({ "count": 1 }));
    let mut older = session.listen(None);
    assert!(is_priming_event(&older.event().unwrap()));
    call("keeper_offer", json!({ "key": "keeper://state" }));
    assert_eq!(message(&older.event().unwrap())["method"], "notifications/resources/list_changed");
    let subscribed = session.post(&request(2, "resources/subscribe", json!({ "uri": "keeper://state" })));
    assert_eq!(subscribed.json()["result"], json!({}));

    let mut newer = session.listen(None);
    let priming_event = newer.event().unwrap();
    change();
    let notification = newer.event().unwrap();
    assert_eq!(message(&notification)["method"], "notifications/resources/updated");
    assert_eq!(message(&notification)["params"], json!({ "uri": "keeper://state" }));
    drop(newer);
    let mut resumed = session.listen(Some(id(&priming_event)));
    assert!(is_priming_event(&resumed.event().unwrap()));
    assert_eq!(resumed.event().unwrap(), notification, "the last notification is replayed");
    drop(resumed);

    drop(older);
    change();
    let mut resumed = session.listen(Some(id(&notification)));
    assert!(is_priming_event(&resumed.event().unwrap()));
    let next = resumed.event().unwrap();
    assert_eq!(message(&next), message(&notification), "the notification without a listener");
    assert_ne!(id(&next), id(&notification));
    let mut older = session.listen(None);
    assert!(is_priming_event(&older.event().unwrap()));
    assert_eq!(http.send("DELETE", "/mcp", &[("Mcp-Session-Id", &session.id)], b"").status, 200);
    assert_eq!(
        (older.event(), resumed.event()),
        (None, None),
        "nothing is repeated, and the session is over"
    );
    assert_eq!(session.rejected_stream(id(&next)).status, 404);
}

#[test]
fn rejects_invalid_and_foreign_stream_requests() {
    let workspace = workspace_with_http("");
    let http = Http::start(&workspace);
    let ann = Session::open(&http, "2025-11-25");
    let bob = Session::open(&http, "2025-11-25");
    let session = ("Mcp-Session-Id", ann.id.as_str());
    let events = ("Accept", "text/event-stream");
    for (headers, status) in [
        (vec![events], 400),
        (vec![events, ("Mcp-Session-Id", "nobody")], 404),
        (vec![events, session, ("MCP-Protocol-Version", "1999-01-01")], 400),
        (vec![events, session, ("MCP-Protocol-Version", "2026-07-28")], 405),
        (vec![session, ("Accept", "application/json")], 406),
        (vec![session, ("Accept", "application/json, text/event-stream;q=0")], 406),
        (vec![events, session, ("Last-Event-ID", "no-such-event")], 400),
        (vec![events, session, ("Last-Event-ID", "1"), ("Last-Event-ID", "2")], 400),
    ] {
        let reply = http.send("GET", "/mcp", &headers, b"");
        assert_eq!(reply.status, status, "{headers:?}: {reply:?}");
        assert!(reply.json()["error"]["message"].is_string(), "{reply:?}");
        assert_eq!(reply.header("allow"), (status == 405).then_some("POST, OPTIONS"), "{reply:?}");
    }
    for headers in
        [vec![session], vec![session, ("Accept", "*/*")], vec![session, events, ("Last-Event-ID", "")]]
    {
        assert_eq!(http.open("GET", &headers, b"").reply.status, 200, "{headers:?}");
    }
    let mut stream = ann.call(5, "test_elicitation", json!({ "message": "?" }));
    let priming_event = stream.event().unwrap();
    let question_event = stream.event().unwrap();
    for event in [&priming_event, &question_event] {
        assert_eq!(bob.rejected_stream(id(event)).status, 400, "the event belongs to another session");
    }
    let unknown = format!("{}9", id(&question_event));
    assert_eq!(ann.rejected_stream(&unknown).status, 400, "the event wasn't sent yet");
}

#[test]
fn cancelled_call_ends_its_stream_without_response() {
    let workspace = workspace_with_http("");
    let http = Http::start(&workspace);
    let session = Session::open(&http, "2025-11-25");
    let mut stream = session.call(5, "test_elicitation", json!({ "message": "?" }));
    let question_events = [stream.event().unwrap(), stream.event().unwrap()];
    session.notify(
        &json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": 5 } }),
    );
    let remaining = remaining_events(&mut stream);
    assert!(
        remaining.iter().all(|event| message(event).get("method").is_some()),
        "unexpected response: {remaining:?}"
    );
    let last = remaining.last().unwrap_or(&question_events[1]);
    assert_eq!(session.rejected_stream(id(last)).status, 204, "a polling client must stop");
}

#[test]
fn idle_streams_send_keep_alives() {
    let workspace = workspace_with_http("keep_alive = \"50ms\"");
    let http = Http::start(&workspace);
    let session = Session::open(&http, "2025-06-18");
    let mut listening = session.listen(None);
    let mut calling = session.call(5, "test_elicitation", json!({ "message": "?" }));
    assert_eq!(message(&calling.event().unwrap())["method"], "elicitation/create");
    for stream in [&mut listening, &mut calling] {
        for _ in 0..3 {
            assert!(stream.event().unwrap().is_comment);
        }
    }
}

#[test]
fn shutdown_ends_notification_streams() {
    let workspace = Workspace::with_plugin("time");
    let http = Http::start(&workspace);
    let session = Session::open(&http, "2025-11-25").id;
    let headers = [("Accept", "text/event-stream"), ("Mcp-Session-Id", session.as_str())];
    let mut stream = http.open("GET", &headers, b"");
    assert!(is_priming_event(&stream.event().unwrap()));
    let before = Instant::now();
    let ended = std::thread::spawn(move || http.terminate());
    assert_eq!(stream.event(), None);
    let (status, log) = ended.join().unwrap();
    assert!(status.success(), "{log}");
    assert!(before.elapsed() < SHUTDOWN_TIMEOUT, "the shutdown waited for the stream: {log}");
}
