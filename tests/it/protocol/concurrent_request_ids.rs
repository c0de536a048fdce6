//! Clients with equal request ids at the same time: each gets its own responses, under load and while others
//! disconnect, and no token sees another token's data.

use std::io::Write as _;
use std::net::TcpStream;
use std::thread;

use moongate_tests::{
    EventStream, Http, Reply, Stdio, Workspace, initialize_params, request, stateless_request, text,
};
use serde_json::{Value, json};

/// A gateway with two tokens and plugins that answer, notify and elicit.
fn gateway() -> (Workspace, Http) {
    let workspace = Workspace::new(
        "[http]\nlisten = \"127.0.0.1:0\"\n[http.auth]\ntokens = [\n  { name = \"ann\", token = { file = \"ann\" } },\n  { name = \"bob\", token = { file = \"bob\" } },\n]\n[plugins.everything]\nsource = \"@everything@\"\nprefix = \"\"\nallow.client = [\"elicitation\"]\n[plugins.zoo]\nsource = \"@zoo@\"\n",
    );
    workspace.write("ann", "ann-has-a-long-secret");
    workspace.write("bob", "bob-has-a-long-secret");
    let http = Http::start(&workspace);
    (workspace, http)
}

/// A client, with or without a session. All clients count their requests from 2.
struct Client<'a> {
    http: &'a Http,
    /// The token's owner.
    token: &'static str,
    /// The text that this client sends and must get back.
    name: String,
    session: Option<String>,
}

impl<'a> Client<'a> {
    fn with_session(http: &'a Http, token: &'static str, name: String) -> Self {
        let mut params = initialize_params("2025-11-25");
        params["capabilities"]["elicitation"] = json!({});
        let client = Self { http, token, name, session: None };
        let authorization = client.authorization();
        let reply = http.post(&[("Authorization", &authorization)], &request(1, "initialize", params));
        let session = reply.header("mcp-session-id").expect("a session").to_owned();
        let client = Self { session: Some(session), ..client };
        client.notify(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
        client
    }

    fn without_session(http: &'a Http, token: &'static str, name: String) -> Self {
        Self { http, token, name, session: None }
    }

    fn authorization(&self) -> String {
        format!("Bearer {}-has-a-long-secret", self.token)
    }

    /// The headers of a call, or of another message in a session.
    fn headers(&self, tool: &str) -> Vec<(&'static str, String)> {
        let mut headers = vec![("Authorization", self.authorization())];
        match &self.session {
            Some(session) => headers.push(("Mcp-Session-Id", session.clone())),
            None => headers.extend([
                ("MCP-Protocol-Version", "2026-07-28".to_owned()),
                ("Mcp-Method", "tools/call".to_owned()),
                ("Mcp-Name", tool.to_owned()),
            ]),
        }
        headers
    }

    fn post(&self, tool: &str, message: &Value) -> Reply {
        let headers = self.headers(tool);
        self.http.post(&as_str_pairs(&headers), message)
    }

    /// Posts a message that has no response.
    #[track_caller]
    fn notify(&self, message: &Value) {
        assert_eq!(self.post("", message).status, 202, "{message}");
    }

    /// The message of a call. All calls of all clients use the same progress token.
    fn message(&self, id: u64, tool: &str, arguments: Value) -> Value {
        let params = Value::from_iter([("name", Value::from(tool)), ("arguments", arguments)]);
        let mut message = match &self.session {
            Some(_) => request(id, "tools/call", params),
            None => stateless_request(id, "tools/call", params),
        };
        let meta = &mut message["params"]["_meta"];
        meta["progressToken"] = json!(1);
        if self.session.is_none() {
            meta["io.modelcontextprotocol/clientCapabilities"] = json!({ "elicitation": {} });
        }
        message
    }

    /// Calls a tool; returns the notifications and the response, which must be for this request.
    #[track_caller]
    fn call(&self, id: u64, tool: &str, arguments: Value) -> (Vec<Value>, Value) {
        let mut messages = self.post(tool, &self.message(id, tool, arguments)).messages();
        let response = messages.pop().expect("a response");
        assert_eq!(response["id"], id, "{}: {response}", self.name);
        (messages, response)
    }

    /// Calls a tool and returns the response stream.
    fn open(&self, id: u64, tool: &str, arguments: Value) -> EventStream {
        let mut headers = self.headers(tool);
        headers.push(("Content-Type", "application/json".to_owned()));
        headers.push(("Accept", "application/json, text/event-stream".to_owned()));
        self.http.open(
            "POST",
            &as_str_pairs(&headers),
            self.message(id, tool, arguments).to_string().as_bytes(),
        )
    }

    /// Opens the session's GET stream.
    fn listen(&self) -> EventStream {
        let mut headers = self.headers("");
        headers.push(("Accept", "text/event-stream".to_owned()));
        let stream = self.http.open("GET", &as_str_pairs(&headers), b"");
        assert_eq!(stream.reply.status, 200, "{:?}", stream.reply);
        stream
    }

    /// Calls a tool that notifies, and closes the connection before the response.
    fn call_and_disconnect(&self, id: u64) {
        let tool = "test_tool_with_progress";
        let body = self.message(id, tool, json!({})).to_string();
        let mut head = format!("POST /mcp HTTP/1.1\r\nHost: {}\r\n", self.http.address());
        for (name, value) in self.headers(tool) {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        head.push_str("Content-Type: application/json\r\nAccept: application/json, text/event-stream\r\n");
        head.push_str(&format!("Content-Length: {}\r\n\r\n{body}", body.len()));
        let mut connection = TcpStream::connect(self.http.address()).unwrap();
        connection.write_all(head.as_bytes()).unwrap();
    }

    /// Calls a tool that asks for the name, and answers with this client's name.
    #[track_caller]
    fn answer_elicitation(&self, id: u64) {
        let tool = "test_elicitation";
        let arguments = json!({ "message": format!("Who is {}?", self.name) });
        let form = json!({ "username": self.name, "email": "someone@example.com" });
        let answer = json!({ "action": "accept", "content": form });
        let response = if self.session.is_some() {
            let mut stream = self.open(id, tool, arguments);
            let elicitation = stream.message().expect("an elicitation request");
            self.assert_own(&elicitation["params"]["message"]);
            self.notify(&json!({ "jsonrpc": "2.0", "id": elicitation["id"], "result": answer }));
            stream.message().expect("a response")
        } else {
            let elicitation = self.call(id, tool, arguments.clone()).1["result"].clone();
            let (key, question) = elicitation["inputRequests"].as_object().unwrap().iter().next().unwrap();
            self.assert_own(&question["params"]["message"]);
            let mut again = self.message(id, tool, arguments);
            again["params"]["inputResponses"] = json!({ key: answer });
            again["params"]["requestState"] = elicitation["requestState"].clone();
            self.post(tool, &again).messages().pop().expect("a response")
        };
        assert_eq!(response["id"], id, "{}: {response}", self.name);
        self.assert_own(&json!(text(&response)));
    }

    #[track_caller]
    fn assert_own(&self, received: &Value) {
        let own = received.as_str().is_some_and(|received| received.contains(&self.name));
        assert!(own, "{} got another client's message: {received}", self.name);
    }

    /// Sends one request of each kind; returns the next id.
    #[track_caller]
    fn send_each_request(&self, id: u64) -> u64 {
        let (_, echoed) = self.call(id, "zoo_echo", json!({ "text": format!("{} {id}", self.name) }));
        assert_eq!(text(&echoed), format!("{} {id}", self.name));
        let (notes, _) = self.call(id + 1, "test_tool_with_progress", json!({}));
        let progress: Vec<_> = notes.iter().map(|note| note["params"]["progress"].as_f64()).collect();
        assert_eq!(progress, [Some(0.0), Some(50.0), Some(100.0)], "{}: {notes:?}", self.name);
        let (_, about) = self.call(id + 2, "zoo_echo_context", json!({}));
        assert_eq!(about["result"]["structuredContent"]["principal"], self.token, "{}", self.name);
        self.answer_elicitation(id + 3);
        id + 4
    }
}

fn as_str_pairs<'a>(headers: &'a [(&'static str, String)]) -> Vec<(&'a str, &'a str)> {
    headers.iter().map(|(name, value)| (*name, value.as_str())).collect()
}

/// The work of one client thread.
fn run_client(client: &Client<'_>, disconnects: bool) {
    let mut own = client.session.is_some().then(|| client.listen());
    let mut id = 2;
    for _ in 0..3 {
        if disconnects {
            // Without a session, the gateway doesn't track ids.
            client.call_and_disconnect(if client.session.is_some() { id + 1000 } else { id });
        }
        id = client.send_each_request(id);
    }
    if let Some(own) = &mut own {
        let ended = client.http.send("DELETE", "/mcp", &as_str_pairs(&client.headers("")), b"");
        assert!((200..300).contains(&ended.status), "{ended:?}");
        let message = own.message();
        assert_eq!(message, None, "{} got a call's message on its session's stream", client.name);
    }
}

#[test]
fn clients_with_equal_ids_get_their_own_responses() {
    let (_workspace, http) = gateway();
    thread::scope(|scope| {
        for number in 0..16 {
            let http = &http;
            scope.spawn(move || {
                let token = if number % 2 == 0 { "ann" } else { "bob" };
                let name = format!("client-{number}-of-{token}");
                let client = if number % 4 < 2 {
                    Client::with_session(http, token, name)
                } else {
                    Client::without_session(http, token, name)
                };
                run_client(&client, number % 8 < 4);
            });
        }
    });
}

#[test]
fn other_sessions_cannot_answer_cancel_or_read() {
    let (_workspace, http) = gateway();
    let ann = Client::with_session(&http, "ann", "ann-herself".into());
    let mut stream = ann.open(5, "test_elicitation", json!({ "message": "Who is there?" }));
    let event_id = stream.event().and_then(|event| event.id).expect("a resumable event id");
    let elicitation = stream.message().expect("an elicitation request");

    // With another token, the session doesn't exist.
    let thief =
        Client { session: ann.session.clone(), ..Client::without_session(&http, "bob", "bob".into()) };
    let answer = |name: &str| {
        let content = json!({ "username": name, "email": "someone@example.com" });
        json!({ "jsonrpc": "2.0", "id": elicitation["id"], "result": { "action": "accept", "content": content } })
    };
    assert_eq!(thief.post("", &answer("bob")).status, 404);
    let mut headers = thief.headers("");
    headers.push(("Accept", "text/event-stream".to_owned()));
    assert_eq!(http.send("GET", "/mcp", &as_str_pairs(&headers), b"").status, 404);
    headers.push(("Last-Event-ID", event_id.clone()));
    assert_eq!(http.send("GET", "/mcp", &as_str_pairs(&headers), b"").status, 404);
    assert_eq!(http.send("DELETE", "/mcp", &as_str_pairs(&headers), b"").status, 404);

    // In another session, the same ids refer to other requests, whatever the token.
    for token in ["bob", "ann"] {
        let other = Client::with_session(&http, token, format!("another-of-{token}"));
        other.notify(&answer(&other.name));
        let cancelled = json!({ "method": "notifications/cancelled", "params": { "requestId": 5 } });
        other.notify(
            &json!({ "jsonrpc": "2.0", "method": cancelled["method"], "params": cancelled["params"] }),
        );
        let mut headers = other.headers("");
        headers.extend([("Accept", "text/event-stream".to_owned()), ("Last-Event-ID", event_id.clone())]);
        assert_eq!(
            http.send("GET", "/mcp", &as_str_pairs(&headers), b"").status,
            400,
            "the event belongs to another session"
        );
        other.answer_elicitation(5);
    }

    ann.notify(&answer("ann-herself"));
    let response = stream.message().expect("a response");
    assert_eq!(response["id"], 5);
    ann.assert_own(&json!(text(&response)));
}

#[test]
fn request_state_is_bound_to_its_token() {
    let (_workspace, http) = gateway();
    let tool = "test_input_required_result_request_state";
    let ann = Client::without_session(&http, "ann", "ann".into());
    let bob = Client::without_session(&http, "bob", "bob".into());
    let elicitation = ann.call(2, tool, json!({})).1["result"].clone();
    assert_eq!(elicitation["resultType"], "input_required", "{elicitation}");
    for (client, code) in [(&bob, json!(-32602)), (&ann, Value::Null)] {
        let mut again = client.message(2, tool, json!({}));
        again["params"]["inputResponses"] =
            json!({ "confirm": { "action": "accept", "content": { "ok": true } } });
        again["params"]["requestState"] = elicitation["requestState"].clone();
        let response = client.post(tool, &again).messages().pop().expect("a response");
        assert_eq!(response["error"]["code"], code, "{}: {response}", client.name);
    }
}

#[test]
fn stdio_requires_no_http_token() {
    let workspace = Workspace::new(
        "[http]\nlisten = \"127.0.0.1:8931\"\n[http.auth]\ntokens = [\n  { name = \"ci\", token = { env = \"CI_TOKEN\" } },\n  { name = \"ann\", token = { file = \"ann\" } },\n]\n[plugins.time]\nsource = \"@time@\"\n",
    );
    let mut stdio = Stdio::initialized(&workspace, "2025-11-25");
    assert!(text(&stdio.call("time_get_current_time", json!({ "timezone": "UTC" }))).contains("UTC"));
    let called = workspace.run(&["call", "time_get_current_time", "timezone=UTC"]);
    assert_eq!((called.status.code(), called.stderr), (Some(0), Vec::new()));
    let over_stdio =
        workspace.command(&["client", "cursor"]).env("CI_TOKEN", "an-unguessable-token").output().unwrap();
    assert!(!String::from_utf8(over_stdio.stderr).unwrap().contains("CI_TOKEN"));
    let over_http = workspace.run(&["client", "cursor", "--http"]);
    assert!(String::from_utf8(over_http.stdout).unwrap().contains("MOONGATE_TOKEN"));
    // Over HTTP, missing tokens prevent startup, even at another address, and the error names both.
    let listening: [&[&str]; 4] = [
        &["check"],
        &["serve"],
        &["serve", "--http", "127.0.0.1:0"],
        &["serve", "--stdio", "--http", "127.0.0.1:0"],
    ];
    for words in listening {
        let output = workspace.run(words);
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(78), "{words:?}: {stderr}");
        assert!(
            stderr.contains("`CI_TOKEN` isn't set") && stderr.contains("secret file `ann`"),
            "{words:?}: {stderr}"
        );
    }
}
