//! Questions to the client in the revisions with a handshake: requests of the gateway's, over stdio and over HTTP.

use moongate_tests::{EventStream, Http, Stdio, Workspace, hello, request, text};
use serde_json::{Value, json};

/// The zoo, and what it may ask.
fn zoo(granted: &str) -> Workspace {
    Workspace::new(&format!("[plugins.zoo]\nsource = \"@zoo@\"\n[plugins.zoo.allow]\nclient = [{granted}]\n"))
}

/// The zoo, free to ask whatever there is.
pub(crate) fn free() -> Workspace {
    zoo("\"elicitation\", \"sampling\", \"roots\"")
}

/// What a client that answers everything declares.
pub(crate) fn everything(revision: &str) -> Value {
    match revision {
        "2024-11-05" | "2025-03-26" => json!({ "sampling": {}, "roots": {} }),
        "2025-06-18" => json!({ "elicitation": {}, "sampling": {}, "roots": {} }),
        _ => json!({ "elicitation": { "form": {}, "url": {} }, "sampling": {}, "roots": {} }),
    }
}

fn greeting(revision: &str, declared: Value) -> Value {
    let mut params = hello(revision);
    params["capabilities"] = declared;
    params
}

pub(crate) fn greeted(workspace: &Workspace, revision: &str, declared: Value) -> Stdio {
    let mut stdio = Stdio::start(workspace);
    let answer = stdio.ask("initialize", greeting(revision, declared));
    assert_eq!(answer["result"]["protocolVersion"], revision, "{answer}");
    stdio.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
    stdio
}

fn call(id: u64, tool: &str, arguments: Value) -> Value {
    let mut params = json!({ "name": tool });
    params["arguments"] = arguments;
    request(id, "tools/call", params)
}

pub(crate) fn accepted(content: Value) -> Value {
    let mut answer = json!({ "action": "accept" });
    answer["content"] = content;
    answer
}

pub(crate) fn said(words: &str) -> Value {
    json!({ "role": "assistant", "content": { "type": "text", "text": words }, "model": "m", "stopReason": "endTurn" })
}

/// Questions to a person, to a model, and to the host, at once.
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
        "elicitation/create" => accepted(json!({ "ok": true })),
        "sampling/createMessage" => said("hello"),
        "roots/list" => json!({ "roots": [{ "uri": "file:///home", "name": "home" }] }),
        other => panic!("asked for {other}"),
    };
    json!({ "jsonrpc": "2.0", "id": question["id"], "result": result })
}

#[test]
fn a_form_is_filled_in_over_stdio_in_every_revision_that_has_forms() {
    let workspace = free();
    for revision in ["2025-06-18", "2025-11-25"] {
        let mut stdio = greeted(&workspace, revision, everything(revision));
        stdio.send(&call(50, "zoo_ask_name", json!({})));
        let question = stdio.receive();
        assert_eq!(question["method"], "elicitation/create", "{question}");
        assert_eq!(question["params"]["message"], "[plugin: zoo] What is your name?");
        let result = accepted(json!({ "name": "Ann" }));
        stdio.send(&json!({ "jsonrpc": "2.0", "id": question["id"], "result": result }));
        assert_eq!(text(&stdio.response(50)), "Hello, Ann!", "{revision}");
    }
}

#[test]
fn a_person_may_decline_and_resources_and_prompts_ask_too() {
    let mut stdio = greeted(&free(), "2025-11-25", everything("2025-11-25"));
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
        assert!(response["result"].to_string().contains("the person chose to decline"), "{response}");
    }
}

#[test]
fn several_things_are_asked_at_once_in_every_revision() {
    let workspace = free();
    for revision in ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"] {
        let mut stdio = greeted(&workspace, revision, everything(revision));
        let mut questions = three_questions();
        if !everything(revision)["elicitation"].is_object() {
            questions["questions"].as_array_mut().unwrap().remove(0);
        }
        let count = questions["questions"].as_array().unwrap().len();
        stdio.send(&call(50, "zoo_ask", questions));
        let asked: Vec<Value> = (0..count).map(|_| stdio.receive()).collect();
        for question in asked.iter().rev() {
            stdio.send(&answer_to(question));
        }
        let response = stdio.response(50);
        let answers: Value = serde_json::from_str(text(&response)).unwrap();
        assert_eq!(answers["model"], said("hello"), "{revision}: {response}");
        assert_eq!(answers["host"]["roots"][0]["uri"], "file:///home");
        assert_eq!(answers.as_object().unwrap().len(), count);
    }
}

#[test]
fn a_plugin_keeps_its_state_from_round_to_round_and_has_only_so_many() {
    let mut stdio = greeted(&free(), "2025-11-25", everything("2025-11-25"));
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
            let result = accepted(json!({ field: "y" }));
            stdio.send(&json!({ "jsonrpc": "2.0", "id": message["id"], "result": result }));
        };
        assert!(response["id"] == id && text(&response).contains(end), "{response}");
    }
}

#[test]
fn a_call_is_cancelled_while_its_question_is_open() {
    let mut stdio = greeted(&free(), "2025-11-25", everything("2025-11-25"));
    stdio.send(&call(50, "zoo_ask_name", json!({})));
    let question = stdio.receive();
    stdio.send(
        &json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": 50 } }),
    );
    let withdrawal = stdio.receive();
    assert_eq!(withdrawal["method"], "notifications/cancelled", "{withdrawal}");
    assert_eq!(withdrawal["params"]["requestId"], question["id"]);
    let late = accepted(json!({ "name": "too late" }));
    stdio.send(&json!({ "jsonrpc": "2.0", "id": question["id"], "result": late }));
    let echo = stdio.call("zoo_echo", json!({ "text": "still here" }));
    assert_eq!(text(&echo), "still here");
    let (left, status, _) = stdio.finish();
    assert_eq!((left, status.success()), (Vec::<Value>::new(), true), "the cancelled call was answered");
}

#[test]
fn nobody_waits_for_an_answer_once_stdin_has_ended() {
    let mut stdio = greeted(&free(), "2025-11-25", everything("2025-11-25"));
    stdio.send(&call(50, "zoo_ask_name", json!({})));
    let question = stdio.receive();
    let (left, status, log) = stdio.finish();
    assert!(status.success(), "{status}: {log}");
    assert_eq!(left.len(), 2, "{left:?}");
    assert_eq!(left[0]["params"]["requestId"], question["id"], "the question wasn't withdrawn: {left:?}");
    assert!(left[1]["id"] == 50 && text(&left[1]).contains("the client can't answer any more"), "{left:?}");
}

#[test]
fn a_client_that_refuses_is_quoted() {
    let mut stdio = greeted(&free(), "2025-11-25", everything("2025-11-25"));
    stdio.send(&call(50, "zoo_ask_name", json!({})));
    let question = stdio.receive();
    let error = json!({ "code": -1, "message": "user rejected the request" });
    stdio.send(&json!({ "jsonrpc": "2.0", "id": question["id"], "error": error }));
    let response = stdio.response(50);
    assert_eq!(response["result"]["isError"], true);
    assert!(text(&response).contains("the client refused: user rejected the request"), "{response}");
}

#[test]
fn what_was_not_granted_or_declared_or_can_not_be_asked_is_said() {
    let workspace = zoo("\"sampling\"");
    let mut stdio = greeted(&workspace, "2025-11-25", json!({ "sampling": {} }));
    let not_granted = stdio.call("zoo_ask_name", json!({}));
    assert_eq!(not_granted["result"]["isError"], true);
    let line = "add `client = [\"elicitation\"]` to `[plugins.zoo.allow]`";
    assert!(text(&not_granted).contains(line), "{not_granted}");
    let prompt = stdio.ask("prompts/get", json!({ "name": "zoo_asking_prompt" }));
    assert_eq!(prompt["error"]["code"], -32603, "{prompt}");
    let without_messages =
        json!([{ "key": "k", "method": "sampling/createMessage", "params": { "maxTokens": 1 } }]);
    let wrong = stdio.call("zoo_ask", json!({ "questions": without_messages }));
    assert!(text(&wrong).contains("the question `k` can't be asked: `messages` must be a list"), "{wrong}");

    let mut silent = greeted(&free(), "2025-11-25", json!({}));
    let undeclared = silent.call("zoo_ask_name", json!({}));
    assert!(text(&undeclared).contains("the client doesn't support: elicitation.form"), "{undeclared}");
}

#[test]
fn what_is_not_granted_is_logged_once_with_the_line_that_grants_it() {
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
        let mut stdio = greeted(&zoo(""), "2025-11-25", everything("2025-11-25"));
        for _ in 0..3 {
            let _ = stdio.call(tool, json!({}));
        }
        let (_, _, log) = stdio.finish();
        let told = |line: &&str| line.contains("the client for elicitation");
        let lines: Vec<_> = log.lines().filter(told).collect();
        let [line] = &lines[..] else { panic!("{lines:?}") };
        assert!(line.contains("WARN") && line.contains(expected), "{line}");
    }
}

/// A session over HTTP: what belongs on each of its requests.
fn session(http: &Http, revision: &str) -> Vec<(&'static str, String)> {
    let hello = request(1, "initialize", greeting(revision, everything(revision)));
    let id = http.post(&[], &hello).header("mcp-session-id").expect("a session").to_owned();
    vec![
        ("Content-Type", "application/json".to_owned()),
        ("Accept", "application/json, text/event-stream".to_owned()),
        ("Mcp-Session-Id", id),
        ("MCP-Protocol-Version", revision.to_owned()),
    ]
}

fn borrowed<'a>(headers: &'a [(&'static str, String)]) -> Vec<(&'static str, &'a str)> {
    headers.iter().map(|(name, value)| (*name, value.as_str())).collect()
}

/// The next message that is a request or a response.
fn next(stream: &mut EventStream) -> Value {
    stream.message().expect("a message before the end of the stream")
}

#[test]
fn over_http_the_question_comes_on_the_stream_and_the_answer_with_a_post() {
    let http = Http::start(&free());
    for revision in ["2025-06-18", "2025-11-25"] {
        let headers = session(&http, revision);
        let stranger = session(&http, revision);
        let ask = call(7, "zoo_ask_name", json!({})).to_string();
        let mut stream = http.open("POST", &borrowed(&headers), ask.as_bytes());
        let question = next(&mut stream);
        assert_eq!(question["method"], "elicitation/create", "{question}");
        let answer = |name: &str| json!({ "jsonrpc": "2.0", "id": question["id"], "result": accepted(json!({ "name": name })) });
        assert_eq!(http.post(&borrowed(&stranger)[2..], &answer("a stranger")).status, 202);
        assert_eq!(http.post(&borrowed(&headers)[2..], &answer("Ann")).status, 202);
        assert_eq!(text(&next(&mut stream)), "Hello, Ann!", "{revision}");
    }
}

#[test]
fn a_session_that_ends_takes_its_questions_with_it() {
    let http = Http::start(&free());
    let headers = session(&http, "2025-11-25");
    let ask = call(7, "zoo_ask_name", json!({})).to_string();
    let mut stream = http.open("POST", &borrowed(&headers), ask.as_bytes());
    assert_eq!(next(&mut stream)["method"], "elicitation/create");
    assert_eq!(http.send("DELETE", "/mcp", &borrowed(&headers)[2..], b"").status, 200);
    while let Some(message) = stream.message() {
        assert_eq!(message["method"], "notifications/cancelled", "{message}");
    }
}
