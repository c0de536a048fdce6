//! Callers with different roles at once, with static tokens and as subjects of an issuer, in every revision: nothing
//! that one of them receives contains a name or a text of another.

use std::thread::{self, JoinHandle};

use moongate_tests::{
    AuthorizationServer, EventStream, Http, SigningKey, WebSocket, initialize_params, request,
    stateless_request,
};
use serde_json::{Value, json};

use super::oauth::{RESOURCE, bearer, workspace};
use super::roles::{listen, replace_in_config};

/// The callers. Each name is also that of a plugin, and part of every text of its caller.
const CALLERS: [&str; 4] = ["walnut", "juniper", "saffron", "mistral"];

/// The callers with static tokens; the others are subjects of the issuer.
const WITH_STATIC_TOKEN: [&str; 2] = ["walnut", "juniper"];

/// A caller that only listens.
const IDLE: &str = "idler";

const REVISIONS: [&str; 5] = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"];

const ROUNDS: u64 = 2;

/// Fails if a received text contains the name of another caller.
#[track_caller]
fn assert_has_no_other(own: &str, received: &str) {
    let received = received.to_ascii_lowercase();
    for other in CALLERS.iter().filter(|other| **other != own) {
        assert!(!received.contains(other), "{own} received something of {other}: {received}");
    }
}

/// A client of a caller.
struct Client<'a> {
    http: &'a Http,
    caller: &'a str,
    authorization: &'a str,
    /// The session, or `None` without sessions.
    session: Option<String>,
}

impl<'a> Client<'a> {
    fn connect(http: &'a Http, caller: &'a str, authorization: &'a str, revision: &str) -> Self {
        let mut client = Self { http, caller, authorization, session: None };
        if revision < "2026" {
            let mut params = initialize_params(revision);
            params["clientInfo"]["name"] = json!(format!("client-of-{caller}"));
            let reply = http.post(&[("Authorization", authorization)], &request(1, "initialize", params));
            assert_has_no_other(caller, &format!("{reply:?}"));
            let session = reply.header("mcp-session-id").expect("a session");
            let headers = [("Authorization", authorization), ("Mcp-Session-Id", session)];
            let initialized = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
            assert_eq!(http.post(&headers, &initialized).status, 202);
            client.session = Some(session.to_owned());
        }
        client
    }

    /// Opens the stream for notifications.
    fn listen(&self) -> EventStream {
        match &self.session {
            Some(session) => {
                let headers = [
                    ("Accept", "text/event-stream"),
                    ("Authorization", self.authorization),
                    ("Mcp-Session-Id", session),
                ];
                self.http.open("GET", &headers, b"")
            }
            None => listen(self.http, self.authorization.trim_start_matches("Bearer "), &[]),
        }
    }

    /// Sends a request; returns the response.
    #[track_caller]
    fn request(&self, method: &str, params: Value) -> Value {
        let subject = params.get("name").or(params.get("uri")).and_then(Value::as_str).map(str::to_owned);
        let mut headers = vec![("Authorization", self.authorization)];
        let mut message = match &self.session {
            Some(session) => {
                headers.push(("Mcp-Session-Id", session));
                request(7, method, params)
            }
            None => {
                headers.extend([("MCP-Protocol-Version", "2026-07-28"), ("Mcp-Method", method)]);
                headers.extend(subject.as_deref().map(|subject| ("Mcp-Name", subject)));
                let mut message = stateless_request(7, method, params);
                message["params"]["_meta"]["io.modelcontextprotocol/clientInfo"]["name"] =
                    json!(format!("client-of-{}", self.caller));
                message
            }
        };
        if method == "tools/call" {
            message["params"]["_meta"]["progressToken"] = json!(self.caller);
        }
        let reply = self.http.post(&headers, &message);
        assert_has_no_other(self.caller, &format!("{reply:?}"));
        reply.messages().pop().unwrap_or_else(|| panic!("no response: {reply:?}"))
    }

    /// Calls a tool. The response must contain a text.
    #[track_caller]
    fn call(&self, tool: &str, arguments: Value, expected: &str) {
        let params = Value::from_iter([("name", Value::from(tool)), ("arguments", arguments)]);
        let answer = self.request("tools/call", params);
        assert!(answer["result"].to_string().contains(expected), "{tool}: {answer}");
    }

    /// Sends a request that is refused.
    #[track_caller]
    fn fail(&self, method: &str, params: Value) {
        let answer = self.request(method, params);
        assert!(answer.get("error").is_some() || answer["result"]["isError"] == true, "{method}: {answer}");
    }

    /// Sends requests of every kind.
    fn work(&self, number: &str) {
        let own = self.caller;
        let tools = self.request("tools/list", json!({}));
        assert!(tools["result"].to_string().contains(&format!("{own}_set")), "{tools}");
        for list in ["prompts/list", "resources/list", "resources/templates/list"] {
            assert!(self.request(list, json!({})).get("result").is_some(), "{list}");
        }
        let text = format!("a text of {own}, {number}");
        self.call("zoo_echo", json!({ "text": text }), &text);
        self.call("zoo_echo_context", json!({}), own);
        self.call("zoo_progress_backwards", json!({}), "content");
        self.call(&format!("{own}_set"), json!({ "key": number, "value": text }), "content");
        self.call(&format!("{own}_get"), json!({ "key": number }), &text);
        // All callers have the same keys in the plugin that all of them use.
        self.call("notes_set", json!({ "key": number, "value": text }), "content");
        self.call("notes_get", json!({ "key": number }), &text);
        self.call("notes_keys", json!({}), number);
        self.call(&format!("{own}_offer"), json!({ "key": format!("of-{own}-{number}") }), "offered");
        // Errors with suggestions.
        for tool in ["set", "get", "_set", "notes_gett", "zoo_made_up", &format!("{own}_gett"), "unknown"] {
            self.fail("tools/call", json!({ "name": tool, "arguments": {} }));
        }
        self.fail("tools/call", json!({ "name": "zoo_echo", "arguments": { "text": 7, "txt": own } }));
        self.fail("prompts/get", json!({ "name": "offer" }));
        self.fail("resources/read", json!({ "uri": "stateful://stat" }));
        self.fail("unknown/method", json!({}));
        let reference = json!({ "type": "ref/prompt", "name": "unknown" });
        self.fail(
            "completion/complete",
            json!({ "ref": reference, "argument": { "name": "a", "value": "" } }),
        );
    }
}

/// Sends requests over a WebSocket. Notifications arrive between the responses. Returns the keys of `notes`.
fn work_over_websocket(http: &Http, own: &str, authorization: &str) -> Value {
    let mut socket = WebSocket::connect(http, &[("authorization", authorization)]).expect("a WebSocket");
    let mut id = 0;
    let mut answer_to = |method: &str, params: Value| {
        id += 1;
        socket.send(&request(id, method, params));
        loop {
            let message = socket.receive();
            assert_has_no_other(own, &message.to_string());
            if message["id"] == id {
                return message;
            }
        }
    };
    answer_to("initialize", initialize_params("2025-11-25"));
    let mut call = |tool: &str, arguments: Value| {
        answer_to("tools/call", json!({ "name": tool, "arguments": arguments }))["result"].clone()
    };
    for round in 0..4 * ROUNDS {
        let text = format!("a text of {own} over a WebSocket, {round}");
        for (tool, arguments) in [
            ("zoo_echo", json!({ "text": text })),
            ("notes_set", json!({ "key": format!("socket-of-{own}-{round}"), "value": text })),
            (&*format!("{own}_offer"), json!({ "key": format!("socket-of-{own}-{round}") })),
        ] {
            assert!(!call(tool, arguments)["content"].is_null(), "{tool}");
        }
        call("set", json!({}));
    }
    let keys = call("notes_keys", json!({}));
    let tools = answer_to("tools/list", json!({}));
    assert!(tools.to_string().contains(&format!("{own}_set")), "{tools}");
    keys
}

/// Reads a stream to its end. Returns the methods of the received notifications.
fn collect(own: &'static str, mut stream: EventStream) -> JoinHandle<Vec<String>> {
    assert_has_no_other(own, &format!("{:?}", stream.reply));
    thread::spawn(move || {
        let mut methods = Vec::new();
        while let Some(event) = stream.event() {
            assert_has_no_other(own, &format!("{event:?}"));
            let message: Value = serde_json::from_str(&event.data).unwrap_or_default();
            methods.extend(message["method"].as_str().map(str::to_owned));
        }
        methods
    })
}

/// Tables for the callers.
fn tables() -> String {
    let mut tables = "[gateway]\nstate = \"state\"\n\
                      [plugins.notes]\nsource = \"@stateful@\"\nallow.state = true\nallow.state_scope = \"caller\"\n\
                      [roles.idler]\nmembers = [{ subject = \"idler\" }]\nallow.plugins = [\"zoo\", \"notes\"]\n"
        .to_owned();
    for caller in CALLERS {
        let member = if WITH_STATIC_TOKEN.contains(&caller) { "token" } else { "subject" };
        tables.push_str(&format!(
            "[plugins.{caller}]\nsource = \"@stateful@\"\nallow.state = true\n\
             [roles.{caller}]\nmembers = [{{ {member} = \"{caller}\" }}]\nallow.plugins = [\"{caller}\", \"zoo\", \"notes\"]\n"
        ));
    }
    tables
}

#[test]
fn callers_at_once_receive_nothing_of_each_other() {
    let key = SigningKey::p256("k");
    let issuer = AuthorizationServer::start(&[&key]);
    let secret = |caller: &str| format!("the-long-secret-token-{}", caller.len() * 31);
    let tokens = WITH_STATIC_TOKEN
        .map(|caller| format!("{{ name = \"{caller}\", token = {{ file = \"{caller}\" }} }}"))
        .join(", ");
    let workspace = workspace(&issuer.issuer(), &format!("tokens = [{tokens}]"), &tables());
    for caller in WITH_STATIC_TOKEN {
        workspace.write(caller, secret(caller));
    }
    replace_in_config(&workspace, "[http]\n", "[http]\nwebsocket = true\n");
    let http = Http::start(&workspace);
    let authorization = |caller: &'static str| {
        if WITH_STATIC_TOKEN.contains(&caller) {
            bearer(&secret(caller))
        } else {
            bearer(&key.token(&issuer.claims(RESOURCE, caller)))
        }
    };
    let mut streams = Vec::new();
    let idle = listen(&http, authorization(IDLE).trim_start_matches("Bearer "), &[]);
    let idle = collect(IDLE, idle);
    thread::scope(|scope| {
        let mut clients = Vec::new();
        for caller in CALLERS {
            let (server, token) = (&http, authorization(caller));
            scope.spawn(move || {
                let keys = work_over_websocket(server, caller, &token).to_string();
                assert!(keys.contains(&format!("socket-of-{caller}-0")), "{keys}");
            });
            for revision in REVISIONS {
                let (http, authorization) = (&http, authorization(caller));
                let (started, stream) = std::sync::mpsc::channel();
                clients.push(stream);
                scope.spawn(move || {
                    let client = Client::connect(http, caller, &authorization, revision);
                    started.send(collect(caller, client.listen())).unwrap();
                    for round in 0..ROUNDS {
                        client.work(&format!("{revision}-{round}"));
                    }
                });
            }
        }
        streams.extend(clients.into_iter().map(|stream| stream.recv().unwrap()));
    });
    let (status, log) = http.terminate();
    assert!(status.success(), "{log}");
    for stream in streams {
        assert!(stream.join().is_ok(), "a stream contained something of another caller");
    }
    let received = idle.join().expect("nothing of other callers");
    assert_eq!(received, ["notifications/subscriptions/acknowledged"], "changes that it can't see");
}
