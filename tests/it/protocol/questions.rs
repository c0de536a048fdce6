//! Requests to the client (elicitation, sampling, roots) in the handshake revisions, over stdio and HTTP.

use std::fs;

use moongate_tests::{EventStream, Http, Stdio, Workspace, component, initialize_params, request, text};
use serde_json::{Value, json};

/// The zoo, with these `client` grants.
fn zoo(granted: &str) -> Workspace {
    Workspace::new(&format!("[plugins.zoo]\nsource = \"@zoo@\"\n[plugins.zoo.allow]\nclient = [{granted}]\n"))
}

/// The zoo, with all `client` grants.
pub(crate) fn zoo_with_all_grants() -> Workspace {
    zoo("\"elicitation\", \"sampling\", \"roots\"")
}

/// The capabilities of a client that supports everything.
pub(crate) fn all_capabilities(revision: &str) -> Value {
    match revision {
        "2024-11-05" | "2025-03-26" => json!({ "sampling": {}, "roots": {} }),
        "2025-06-18" => json!({ "elicitation": {}, "sampling": {}, "roots": {} }),
        _ => json!({ "elicitation": { "form": {}, "url": {} }, "sampling": {}, "roots": {} }),
    }
}

fn initialize_with(revision: &str, declared: Value) -> Value {
    let mut params = initialize_params(revision);
    params["capabilities"] = declared;
    params
}

pub(crate) fn initialized_client(workspace: &Workspace, revision: &str, declared: Value) -> Stdio {
    let mut stdio = Stdio::start(workspace);
    let answer = stdio.request_and_wait("initialize", initialize_with(revision, declared));
    assert_eq!(answer["result"]["protocolVersion"], revision, "{answer}");
    stdio.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
    stdio
}

fn call(id: u64, tool: &str, arguments: Value) -> Value {
    let mut params = json!({ "name": tool });
    params["arguments"] = arguments;
    request(id, "tools/call", params)
}

pub(crate) fn accept_result(content: Value) -> Value {
    let mut answer = json!({ "action": "accept" });
    answer["content"] = content;
    answer
}

pub(crate) fn sampling_result(words: &str) -> Value {
    json!({ "role": "assistant", "content": { "type": "text", "text": words }, "model": "m", "stopReason": "endTurn" })
}

/// An elicitation, a sampling and a roots request at once.
pub(crate) fn three_questions() -> Value {
    let schema = json!({ "type": "object", "properties": { "ok": { "type": "boolean" } } });
    let message = json!({ "role": "user", "content": { "type": "text", "text": "Say hello" } });
    json!({ "questions": [
        { "key": "person", "method": "elicitation/create", "params": { "message": "Fine?", "requestedSchema": schema } },
        { "key": "model", "method": "sampling/createMessage", "params": { "messages": [message], "maxTokens": 9 } },
        { "key": "host", "method": "roots/list" },
    ] })
}

fn answer_to(question: &Value) -> Value {
    let result = match question["method"].as_str().unwrap() {
        "elicitation/create" => accept_result(json!({ "ok": true })),
        "sampling/createMessage" => sampling_result("hello"),
        "roots/list" => json!({ "roots": [{ "uri": "file:///home", "name": "home" }] }),
        other => panic!("unexpected request {other}"),
    };
    json!({ "jsonrpc": "2.0", "id": question["id"], "result": result })
}

#[test]
fn elicits_forms_in_every_supporting_revision() {
    let workspace = zoo_with_all_grants();
    for revision in ["2025-06-18", "2025-11-25"] {
        let mut stdio = initialized_client(&workspace, revision, all_capabilities(revision));
        stdio.send(&call(50, "zoo_ask_name", json!({})));
        let question = stdio.receive();
        assert_eq!(question["method"], "elicitation/create", "{question}");
        assert_eq!(question["params"]["message"], "[plugin: zoo] What is your name?");
        let result = accept_result(json!({ "name": "Ann" }));
        stdio.send(&json!({ "jsonrpc": "2.0", "id": question["id"], "result": result }));
        assert_eq!(text(&stdio.response(50)), "Hello, Ann!", "{revision}");
    }
}

#[test]
fn handles_decline_and_questions_of_resources_and_prompts() {
    let mut stdio = initialized_client(&zoo_with_all_grants(), "2025-11-25", all_capabilities("2025-11-25"));
    let calls = [
        call(60, "zoo_ask_name", json!({})),
        request(61, "resources/read", json!({ "uri": "zoo://asked" })),
        request(62, "prompts/get", json!({ "name": "zoo_asking_prompt" })),
    ];
    for (id, message) in (60..).zip(calls) {
        stdio.send(&message);
        let question = stdio.receive();
        stdio.send(&json!({ "jsonrpc": "2.0", "id": question["id"], "result": { "action": "decline" } }));
        let response = stdio.response(id);
        assert!(response["result"].to_string().contains("the user chose to decline"), "{response}");
    }
}

#[test]
fn asks_several_questions_at_once() {
    let workspace = zoo_with_all_grants();
    for revision in ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"] {
        let mut stdio = initialized_client(&workspace, revision, all_capabilities(revision));
        let mut questions = three_questions();
        if !all_capabilities(revision)["elicitation"].is_object() {
            questions["questions"].as_array_mut().unwrap().remove(0);
        }
        let count = questions["questions"].as_array().unwrap().len();
        stdio.send(&call(50, "zoo_ask", questions));
        let questions_received: Vec<Value> = (0..count).map(|_| stdio.receive()).collect();
        for question in questions_received.iter().rev() {
            stdio.send(&answer_to(question));
        }
        let response = stdio.response(50);
        let answers: Value = serde_json::from_str(text(&response)).unwrap();
        assert_eq!(answers["model"], sampling_result("hello"), "{revision}: {response}");
        assert_eq!(answers["host"]["roots"][0]["uri"], "file:///home");
        assert_eq!(answers.as_object().unwrap().len(), count);
    }
}

#[test]
fn keeps_state_between_rounds_and_limits_their_number() {
    let mut stdio = initialized_client(&zoo_with_all_grants(), "2025-11-25", all_capabilities("2025-11-25"));
    for (id, rounds, end) in
        [(50, json!(2), "asked 2 times: xx"), (51, json!(null), "asked the client 8 times")]
    {
        stdio.send(&call(id, "zoo_ask_in_rounds", json!({ "rounds": rounds })));
        let response = loop {
            let message = stdio.receive();
            if message.get("method").is_none() {
                break message;
            }
            let properties = message["params"]["requestedSchema"]["properties"].as_object().unwrap();
            let field = properties.keys().next().unwrap();
            let result = accept_result(json!({ field: "y" }));
            stdio.send(&json!({ "jsonrpc": "2.0", "id": message["id"], "result": result }));
        };
        assert!(response["id"] == id && text(&response).contains(end), "{response}");
    }
}

#[test]
fn cancels_a_call_with_an_open_question() {
    let mut stdio = initialized_client(&zoo_with_all_grants(), "2025-11-25", all_capabilities("2025-11-25"));
    stdio.send(&call(50, "zoo_ask_name", json!({})));
    let question = stdio.receive();
    stdio.send(
        &json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": 50 } }),
    );
    let withdrawal = stdio.receive();
    assert_eq!(withdrawal["method"], "notifications/cancelled", "{withdrawal}");
    assert_eq!(withdrawal["params"]["requestId"], question["id"]);
    let late = accept_result(json!({ "name": "too late" }));
    stdio.send(&json!({ "jsonrpc": "2.0", "id": question["id"], "result": late }));
    let echo = stdio.call("zoo_echo", json!({ "text": "still here" }));
    assert_eq!(text(&echo), "still here");
    let (remaining, status, _) = stdio.finish();
    assert_eq!(
        (remaining, status.success()),
        (Vec::<Value>::new(), true),
        "the cancelled call got a response"
    );
}

#[test]
fn stdin_eof_cancels_open_questions() {
    let mut stdio = initialized_client(&zoo_with_all_grants(), "2025-11-25", all_capabilities("2025-11-25"));
    stdio.send(&call(50, "zoo_ask_name", json!({})));
    let question = stdio.receive();
    let (remaining, status, log) = stdio.finish();
    assert!(status.success(), "{status}: {log}");
    assert_eq!(remaining.len(), 2, "{remaining:?}");
    assert_eq!(
        remaining[0]["params"]["requestId"], question["id"],
        "the question wasn't cancelled: {remaining:?}"
    );
    assert!(
        remaining[1]["id"] == 50 && text(&remaining[1]).contains("the client can't answer any more"),
        "{remaining:?}"
    );
}

#[test]
fn quotes_the_clients_refusal() {
    let mut stdio = initialized_client(&zoo_with_all_grants(), "2025-11-25", all_capabilities("2025-11-25"));
    stdio.send(&call(50, "zoo_ask_name", json!({})));
    let question = stdio.receive();
    let error = json!({ "code": -1, "message": "user rejected the request" });
    stdio.send(&json!({ "jsonrpc": "2.0", "id": question["id"], "error": error }));
    let response = stdio.response(50);
    assert_eq!(response["result"]["isError"], true);
    assert!(text(&response).contains("the client refused: user rejected the request"), "{response}");
}

#[test]
fn reports_ungranted_undeclared_and_invalid_questions() {
    let workspace = zoo("\"sampling\"");
    let mut stdio = initialized_client(&workspace, "2025-11-25", json!({ "sampling": {} }));
    let not_granted = stdio.call("zoo_ask_name", json!({}));
    assert_eq!(not_granted["result"]["isError"], true);
    let line = "asking the client for elicitation is not granted; an operator can allow it";
    assert!(text(&not_granted).contains(line), "{not_granted}");
    let prompt = stdio.request_and_wait("prompts/get", json!({ "name": "zoo_asking_prompt" }));
    assert_eq!(prompt["error"]["code"], -32603, "{prompt}");
    let without_messages =
        json!([{ "key": "k", "method": "sampling/createMessage", "params": { "maxTokens": 1 } }]);
    let wrong = stdio.call("zoo_ask", json!({ "questions": without_messages }));
    assert!(text(&wrong).contains("the question `k` can't be asked: `messages` must be a list"), "{wrong}");

    let mut silent = initialized_client(&zoo_with_all_grants(), "2025-11-25", json!({}));
    let undeclared = silent.call("zoo_ask_name", json!({}));
    assert!(text(&undeclared).contains("the client doesn't support: elicitation.form"), "{undeclared}");
}

#[test]
fn logs_ungranted_questions_once_with_a_hint() {
    for (tool, expected) in [
        (
            "zoo_ask_name",
            "asking the client for elicitation is not granted; to allow it, add `client = [\"elicitation\"]` to \
             `[plugins.zoo.allow]`",
        ),
        (
            "zoo_echo_context",
            "plugin `zoo` was not allowed to ask the client for elicitation; to allow it, add \
             `client = [\"elicitation\"]` to `[plugins.zoo.allow]`",
        ),
    ] {
        let mut stdio = initialized_client(&zoo(""), "2025-11-25", all_capabilities("2025-11-25"));
        for _ in 0..3 {
            let _ = stdio.call(tool, json!({}));
        }
        let (_, _, log) = stdio.finish();
        let is_refusal = |line: &&str| line.contains("the client for elicitation");
        let lines: Vec<_> = log.lines().filter(is_refusal).collect();
        let [line] = &lines[..] else { panic!("{lines:?}") };
        assert!(line.contains("WARN") && line.contains(expected), "{line}");
    }
}

/// Opens an HTTP session and returns the headers for its requests.
fn session(http: &Http, revision: &str) -> Vec<(&'static str, String)> {
    let initialize = request(1, "initialize", initialize_with(revision, all_capabilities(revision)));
    let id = http.post(&[], &initialize).header("mcp-session-id").expect("a session").to_owned();
    vec![
        ("Content-Type", "application/json".to_owned()),
        ("Accept", "application/json, text/event-stream".to_owned()),
        ("Mcp-Session-Id", id),
        ("MCP-Protocol-Version", revision.to_owned()),
    ]
}

fn as_str_pairs<'a>(headers: &'a [(&'static str, String)]) -> Vec<(&'static str, &'a str)> {
    headers.iter().map(|(name, value)| (*name, value.as_str())).collect()
}

/// The next message that is a request or a response.
fn next_message(stream: &mut EventStream) -> Value {
    stream.message().expect("a message before the stream ends")
}

#[test]
fn asks_on_the_http_stream_and_accepts_posted_answers() {
    let http = Http::start(&zoo_with_all_grants());
    for revision in ["2025-06-18", "2025-11-25"] {
        let headers = session(&http, revision);
        let stranger = session(&http, revision);
        let ask = call(7, "zoo_ask_name", json!({})).to_string();
        let mut stream = http.open("POST", &as_str_pairs(&headers), ask.as_bytes());
        let question = next_message(&mut stream);
        assert_eq!(question["method"], "elicitation/create", "{question}");
        let answer = |name: &str| json!({ "jsonrpc": "2.0", "id": question["id"], "result": accept_result(json!({ "name": name })) });
        assert_eq!(http.post(&as_str_pairs(&stranger)[2..], &answer("a stranger")).status, 202);
        assert_eq!(http.post(&as_str_pairs(&headers)[2..], &answer("Ann")).status, 202);
        assert_eq!(text(&next_message(&mut stream)), "Hello, Ann!", "{revision}");
    }
}

#[test]
fn ending_a_session_cancels_its_questions() {
    let http = Http::start(&zoo_with_all_grants());
    let headers = session(&http, "2025-11-25");
    let ask = call(7, "zoo_ask_name", json!({})).to_string();
    let mut stream = http.open("POST", &as_str_pairs(&headers), ask.as_bytes());
    assert_eq!(next_message(&mut stream)["method"], "elicitation/create");
    assert_eq!(http.send("DELETE", "/mcp", &as_str_pairs(&headers)[2..], b"").status, 200);
    while let Some(message) = stream.message() {
        assert_eq!(message["method"], "notifications/cancelled", "{message}");
    }
}

/// The zoo in its own file, and a client with an open question from it.
fn zoo_with_open_question() -> (Workspace, Stdio, Value) {
    let workspace = Workspace::new(
        "[plugins.zoo]\nsource = \"zoo.wasm\"\n[plugins.zoo.allow]\nclient = [\"elicitation\"]\n",
    );
    workspace.write("zoo.wasm", fs::read(component("zoo")).unwrap());
    let mut stdio = initialized_client(&workspace, "2025-11-25", json!({ "elicitation": {} }));
    stdio.send(&call(50, "zoo_ask_name", json!({})));
    let question = stdio.receive();
    assert_eq!(question["method"], "elicitation/create", "{question}");
    (workspace, stdio, question)
}

fn wait_for_tools_list_changed(stdio: &mut Stdio) {
    while stdio.receive()["method"] != "notifications/tools/list_changed" {}
}

#[test]
fn late_answer_reaches_the_replaced_version() {
    let (workspace, mut stdio, question) = zoo_with_open_question();
    // The new version has no such tool.
    workspace.write("zoo.wasm", fs::read(component("time")).unwrap());
    wait_for_tools_list_changed(&mut stdio);
    let answer = json!({ "action": "accept", "content": { "name": "Ann" } });
    stdio.send(&json!({ "jsonrpc": "2.0", "id": question["id"], "result": answer }));
    assert_eq!(text(&stdio.response(50)), "Hello, Ann!");
    let now = stdio.call("zoo_get_current_time", json!({ "timezone": "UTC" }));
    assert!(text(&now).contains("UTC"), "{now}");
}
