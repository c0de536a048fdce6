//! One caller takes as much as it can of everything that callers share. Another one must be served at once, and keep its
//! sessions and streams.

use std::time::{Duration, Instant};

use moongate_tests::{
    EventStream, Http, Reply, Workspace, envelope, initialize_params, request, stateless_request, text,
    wait_until,
};
use serde_json::{Value, json};

/// The time within which a request must be answered, even while another caller takes all that it can. On an idle
/// machine it takes milliseconds.
const SERVED_WITHIN: Duration = Duration::from_secs(10);

/// A gateway with two tokens, and a caller for each.
struct Callers {
    http: Http,
    hostile: Caller,
    honest: Caller,
    _workspace: Workspace,
}

struct Caller(String);

impl Callers {
    fn start(configuration: &str) -> Self {
        let workspace = Workspace::new(&format!(
            "[http]\nlegacy_sse = true\nmax_sessions = 40\n\
             auth.tokens = [{{ name = \"hostile\", token = {{ file = \"hostile\" }} }}, {{ name = \"honest\", token = {{ file = \"honest\" }} }}]\n\
             [admin]\nlisten = \"127.0.0.1:0\"\n\
             [defaults.limits]\ntimeout = \"1h\"\n{configuration}"
        ));
        let [hostile, honest] = ["hostile", "honest"].map(|name| {
            workspace.write(name, format!("{name}-has-a-long-secret-of-its-own"));
            Caller(format!("Bearer {name}-has-a-long-secret-of-its-own"))
        });
        Self { http: Http::start(&workspace), hostile, honest, _workspace: workspace }
    }

    fn waiting_calls(&self, plugin: &str) -> f64 {
        let gauge = format!("moongate_plugin_calls_waiting{{plugin=\"{plugin}\"}}");
        self.http.admin().metric(&gauge).unwrap_or(0.0)
    }

    fn running_calls(&self, plugin: &str) -> f64 {
        let gauge = format!("moongate_plugin_instances{{plugin=\"{plugin}\"}}");
        self.http.admin().metric(&gauge).unwrap_or(0.0)
    }
}

impl Caller {
    fn headers<'a>(&'a self, more: &[(&'a str, &'a str)]) -> Vec<(&'a str, &'a str)> {
        [&[("Authorization", self.0.as_str())], more].concat()
    }

    /// Opens a session of a client that answers questions.
    fn open_session(&self, http: &Http) -> String {
        let mut params = initialize_params("2025-11-25");
        params["capabilities"]["elicitation"] = json!({});
        let reply = http.post(&self.headers(&[]), &request(1, "initialize", params));
        assert_eq!(reply.status, 200, "{reply:?}");
        reply.header("mcp-session-id").unwrap().to_owned()
    }

    fn is_open(&self, http: &Http, session: &str) -> bool {
        let headers = self.headers(&[("Mcp-Session-Id", session)]);
        match http.post(&headers, &request(2, "ping", json!({}))) {
            Reply { status: 200, .. } => true,
            Reply { status: 404, .. } => false,
            other => panic!("{other:?}"),
        }
    }

    /// Calls a tool of 2026-07-28, which must be served at once.
    #[track_caller]
    fn is_served(&self, http: &Http, tool: &str, arguments: &Value) -> Value {
        let headers =
            [("MCP-Protocol-Version", "2026-07-28"), ("Mcp-Method", "tools/call"), ("Mcp-Name", tool)];
        let call = stateless_request(1, "tools/call", json!({ "name": tool, "arguments": arguments }));
        let started = Instant::now();
        let answer = http.post(&self.headers(&headers), &call).json();
        assert!(answer["result"]["isError"].is_null(), "{answer}");
        assert!(started.elapsed() < SERVED_WITHIN, "it took {:?}", started.elapsed());
        answer
    }

    fn listen(&self, http: &Http) -> EventStream {
        let headers = self.headers(&[
            ("Content-Type", "application/json"),
            ("Accept", "application/json, text/event-stream"),
            ("MCP-Protocol-Version", "2026-07-28"),
            ("Mcp-Method", "subscriptions/listen"),
        ]);
        let listen = request(
            1,
            "subscriptions/listen",
            json!({ "notifications": { "toolsListChanged": true }, "_meta": envelope() }),
        );
        http.open("POST", &headers, listen.to_string().as_bytes())
    }
}

#[test]
fn idle_sessions_of_a_caller_make_room_for_another() {
    let callers = Callers::start("");
    let Callers { http, hostile, honest, .. } = &callers;
    for _ in 0..40 {
        hostile.open_session(http);
    }
    let sessions: Vec<_> = (0..20).map(|_| honest.open_session(http)).collect();
    for _ in 0..40 {
        hostile.open_session(http);
    }
    assert!(sessions.iter().all(|session| honest.is_open(http, session)), "it lost a session");
}

#[test]
fn sessions_that_wait_for_answers_make_room_for_another() {
    let callers = Callers::start("[plugins.zoo]\nsource = \"@zoo@\"\nallow.client = [\"elicitation\"]\n");
    let Callers { http, hostile, honest, .. } = &callers;
    let sessions: Vec<_> = (0..40).map(|_| hostile.open_session(http)).collect();
    for session in &sessions {
        let headers = hostile.headers(&[
            ("Content-Type", "application/json"),
            ("Accept", "application/json, text/event-stream"),
            ("Mcp-Session-Id", session),
        ]);
        let ask = request(3, "tools/call", json!({ "name": "zoo_ask_name" }));
        let mut stream = http.open("POST", &headers, ask.to_string().as_bytes());
        assert_eq!(stream.message().unwrap()["method"], "elicitation/create");
    }
    let own: Vec<_> = (0..20).map(|_| honest.open_session(http)).collect();
    assert!(own.iter().all(|session| honest.is_open(http, session)), "it lost a session");
    let left = sessions.iter().filter(|session| hostile.is_open(http, session)).count();
    assert_eq!(left, 20);
}

#[test]
fn questions_with_large_requests_leave_memory_for_another_caller() {
    let callers = Callers::start(
        "[gateway]\nmemory = \"128MiB\"\n[plugins.zoo]\nsource = \"@zoo@\"\nallow.client = [\"elicitation\"]\n",
    );
    let Callers { http, hostile, honest, .. } = &callers;
    let session = hostile.open_session(http);
    let headers = hostile.headers(&[
        ("Content-Type", "application/json"),
        ("Accept", "application/json, text/event-stream"),
        ("Mcp-Session-Id", &session),
    ]);
    let asked = (1..=64).take_while(|id| {
        let padding = "x".repeat(1_000_000);
        let ask = request(*id, "tools/call", json!({ "name": "zoo_ask_name", "padding": padding }));
        // The connection is closed, but the question stays open for ten minutes.
        let mut stream = http.open("POST", &headers, ask.to_string().as_bytes());
        stream.reply.status == 200 && stream.message().is_some_and(|it| it["method"] == "elicitation/create")
    });
    let asked = asked.count();
    assert!((4..64).contains(&asked), "{asked} questions were asked");
    for _ in 0..5 {
        let large = "x".repeat(100_000);
        assert_eq!(text(&honest.is_served(http, "zoo_echo", &json!({ "text": large }))), large);
    }
}

#[test]
fn a_full_queue_of_a_plugin_leaves_room_for_another_caller() {
    let callers = Callers::start("[plugins.zoo]\nsource = \"@zoo@\"\n");
    let Callers { http, hostile, honest, .. } = &callers;
    let calls: Vec<_> = (0..272)
        .map(|_| http.start_call_with(&hostile.headers(&[]), "zoo_sleep_forever", json!({})))
        .collect();
    wait_until("the plugin is as busy as one caller can make it", || {
        (callers.running_calls("zoo"), callers.waiting_calls("zoo")) == (14.0, 224.0)
    });
    for _ in 0..5 {
        assert_eq!(text(&honest.is_served(http, "zoo_echo", &json!({ "text": "x" }))), "x");
    }
    let headers =
        [("MCP-Protocol-Version", "2026-07-28"), ("Mcp-Method", "tools/call"), ("Mcp-Name", "zoo_echo")];
    let call =
        stateless_request(1, "tools/call", json!({ "name": "zoo_echo", "arguments": { "text": "x" } }));
    let refused = http.post(&hostile.headers(&headers), &call).json();
    let words = "busy: 14 of your calls are running and 224 are waiting, as many as one caller can have";
    assert!(text(&refused).contains(words), "{refused}");
    drop(calls);
}

#[test]
fn slow_calls_to_several_plugins_leave_room_for_another_caller() {
    let plugins: String =
        ["a", "b", "c", "d", "e"].iter().map(|id| format!("[plugins.{id}]\nsource = \"@zoo@\"\n")).collect();
    let callers = Callers::start(&plugins.replacen("@zoo@\"", "@zoo@\"\nuris = [\"zoo://\"]", 1));
    let Callers { http, hostile, honest, .. } = &callers;
    let mut calls = Vec::new();
    for plugin in ["a", "b", "c", "d"] {
        for _ in 0..16 {
            let tool = format!("{plugin}_sleep_forever");
            calls.push(http.start_call_with(&hostile.headers(&[]), &tool, json!({})));
        }
    }
    wait_until("the gateway is as busy as one caller can make it", || {
        ["a", "b", "c", "d"].map(|plugin| callers.running_calls(plugin)).iter().sum::<f64>() >= 56.0
    });
    for tool in ["e_echo", "a_echo", "d_echo"] {
        honest.is_served(http, tool, &json!({ "text": "x" }));
    }
    drop(calls);
}

#[test]
fn a_call_that_waits_for_its_whole_time_limit_ends() {
    let workspace = Workspace::new(
        "[gateway]\nconcurrency = 1\n[plugins.zoo]\nsource = \"@zoo@\"\nlimits.timeout = \"1h\"\n\
         [plugins.time]\nsource = \"@time@\"\nlimits.timeout = \"300ms\"\n[admin]\nlisten = \"127.0.0.1:0\"\n",
    );
    let http = Http::start(&workspace);
    let running = http.start_call("zoo_sleep_forever", json!({}));
    wait_until("it runs", || http.admin().metric("moongate_plugin_instances{plugin=\"zoo\"}") == Some(1.0));
    let answer = http.call("time_get_current_time", json!({ "timezone": "UTC" }));
    let words = "waited for the whole time limit of 300ms and didn't run";
    assert!(
        text(&answer).contains(words) && text(&answer).contains("plugins.time.limits.timeout"),
        "{answer}"
    );
    drop(running);
}

#[test]
fn notification_streams_of_a_caller_leave_room_for_another() {
    let callers = Callers::start("");
    let Callers { http, hostile, honest, .. } = &callers;
    let streams: Vec<_> = (0..64).map(|_| hostile.listen(http)).collect();
    assert!(streams.iter().all(|stream| stream.reply.header("content-type") == Some("text/event-stream")));
    let refused = hostile.listen(http);
    assert_eq!(refused.reply.header("content-type"), Some("application/json"), "one more than the limit");
    let mut stream = honest.listen(http);
    assert_eq!(stream.message().unwrap()["method"], "notifications/subscriptions/acknowledged");
}

#[test]
fn http_sse_clients_of_a_caller_make_room_for_another() {
    let callers = Callers::start("");
    let Callers { http, hostile, honest, .. } = &callers;
    let connect = |caller: &Caller| {
        http.open_at("GET", "/sse", &caller.headers(&[("Accept", "text/event-stream")]), b"")
    };
    let mut all: Vec<_> = (0..40).map(|_| connect(hostile)).collect();
    assert_eq!(connect(hostile).reply.status, 503);
    let mut own: Vec<_> = (0..20).map(|_| connect(honest)).collect();
    for stream in &mut own {
        assert_eq!((stream.reply.status, stream.event().unwrap().name.as_str()), (200, "endpoint"));
    }
    for (number, stream) in all.iter_mut().enumerate().take(20) {
        assert_eq!(stream.event().unwrap().name, "endpoint");
        assert_eq!(stream.event(), None, "{number} made room");
    }
    assert_eq!((connect(hostile).reply.status, connect(honest).reply.status), (503, 503));
}
