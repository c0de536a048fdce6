//! Requests to the client in 2026-07-28: results that ask, and retried requests with the answers.

use moongate_tests::{Http, Reply, Stdio, Workspace, stateless_request, text};
use serde_json::{Value, json};

use crate::protocol::questions::{
    accept_result, all_capabilities, sampling_result, three_questions, zoo_with_all_grants,
};

const CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";

const ANN_TOKEN: &str = "token-of-ann-and-nobody-else";
const BOB_TOKEN: &str = "token-of-bob-and-nobody-else";

/// A `tools/call` of a client with these capabilities.
fn call(id: u64, tool: &str, arguments: &Value, declared: Value, more: &Value) -> Value {
    let mut params = json!({ "name": tool, "arguments": arguments });
    params.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    let mut message = stateless_request(id, "tools/call", params);
    message["params"]["_meta"][CAPABILITIES] = declared;
    message
}

/// Posts a call over HTTP with a token.
fn post_as(http: &Http, token: &str, message: &Value) -> Reply {
    let token = format!("Bearer {token}");
    let method = message["method"].as_str().unwrap();
    let name = message["params"]["name"].as_str().unwrap();
    let headers = [
        ("Authorization", token.as_str()),
        ("MCP-Protocol-Version", "2026-07-28"),
        ("Mcp-Method", method),
        ("Mcp-Name", name),
    ];
    http.post(&headers, message)
}

fn post(http: &Http, tool: &str, arguments: &Value, more: &Value) -> Value {
    post_as(http, "none", &call(1, tool, arguments, all_capabilities("2026-07-28"), more)).json()
}

/// The questions and the request state of a result.
fn questions_and_state(response: &Value) -> (Value, String) {
    let result = &response["result"];
    assert_eq!(result["resultType"], "input_required", "{response}");
    (result["inputRequests"].clone(), result["requestState"].as_str().unwrap().to_owned())
}

fn retry(state: &str, responses: Value) -> Value {
    let mut more = json!({ "requestState": state });
    more["inputResponses"] = responses;
    more
}

#[test]
fn elicits_forms_over_stdio_and_http() {
    let workspace = zoo_with_all_grants();
    let http = Http::start(&workspace);
    let mut stdio = Stdio::start(&workspace);
    let mut over_stdio = |id: u64, more: &Value| {
        stdio.send(&call(id, "zoo_ask_name", &json!({}), all_capabilities("2026-07-28"), more));
        stdio.response(id)
    };
    let (questions, state) = questions_and_state(&over_stdio(1, &json!({})));
    let question = &questions["name"];
    assert_eq!(question["method"], "elicitation/create");
    assert_eq!(question["params"]["message"], "[plugin: zoo] What is your name?");
    assert!(question.get("id").is_none() && question.get("jsonrpc").is_none());
    let answers = json!({ "name": accept_result(json!({ "name": "Ann" })) });
    let done = over_stdio(2, &retry(&state, answers.clone()));
    assert_eq!((text(&done), &done["result"]["resultType"]), ("Hello, Ann!", &json!("complete")));

    let (_, state) = questions_and_state(&post(&http, "zoo_ask_name", &json!({}), &json!({})));
    let done = post(&http, "zoo_ask_name", &json!({}), &retry(&state, answers.clone()));
    assert_eq!(text(&done), "Hello, Ann!");
    let (_, state) = questions_and_state(&post(&http, "zoo_ask_name", &json!({}), &json!({})));
    let no = json!({ "name": { "action": "cancel" } });
    let done = post(&http, "zoo_ask_name", &json!({}), &retry(&state, no));
    assert_eq!(text(&done), "the user chose to cancel");
    let ahead = json!({ "inputResponses": answers });
    assert_eq!(text(&post(&http, "zoo_ask_name", &json!({}), &ahead)), "Hello, Ann!");
}

#[test]
fn asks_again_only_for_missing_answers() {
    let http = Http::start(&zoo_with_all_grants());
    let (questions, state) = questions_and_state(&post(&http, "zoo_ask", &three_questions(), &json!({})));
    assert_eq!(questions.as_object().unwrap().len(), 3);
    let some = json!({ "person": accept_result(json!({ "ok": true })), "model": sampling_result("hello"), "else": 1 });
    let (questions, state) =
        questions_and_state(&post(&http, "zoo_ask", &three_questions(), &retry(&state, some)));
    assert_eq!(questions.as_object().unwrap().keys().collect::<Vec<_>>(), ["host"]);
    let rest = json!({ "host": { "roots": [{ "uri": "file:///home" }] } });
    let done = post(&http, "zoo_ask", &three_questions(), &retry(&state, rest));
    let answers: Value = serde_json::from_str(text(&done)).unwrap();
    assert_eq!(
        (&answers["model"], &answers["person"]["content"]["ok"]),
        (&sampling_result("hello"), &json!(true))
    );
}

#[test]
fn carries_state_between_rounds() {
    let http = Http::start(&zoo_with_all_grants());
    let arguments = json!({ "rounds": 2 });
    let (_, first) = questions_and_state(&post(&http, "zoo_ask_in_rounds", &arguments, &json!({})));
    let answer = json!({ "round0": accept_result(json!({ "round0": "y" })) });
    let (questions, second) =
        questions_and_state(&post(&http, "zoo_ask_in_rounds", &arguments, &retry(&first, answer)));
    assert!(questions.get("round1").is_some() && first != second, "{questions}");
    let answer = json!({ "round1": accept_result(json!({ "round1": "y" })) });
    let done = post(&http, "zoo_ask_in_rounds", &arguments, &retry(&second, answer));
    assert_eq!(text(&done), "asked 2 times: xx");
}

#[test]
fn names_undeclared_capabilities_without_asking() {
    let http = Http::start(&zoo_with_all_grants());
    let message = call(7, "zoo_ask", &three_questions(), json!({ "sampling": {} }), &json!({}));
    let reply = post_as(&http, "none", &message);
    assert_eq!((reply.status, &reply.json()["error"]["code"]), (400, &json!(-32021)), "{reply:?}");
    let needed = json!({ "requiredCapabilities": { "elicitation": { "form": {} }, "roots": {} } });
    assert_eq!(reply.json()["error"]["data"], needed);
}

#[test]
fn state_is_bound_to_request_caller_and_one_retry() {
    let workspace = Workspace::new(
        "[plugins.zoo]\nsource = \"@zoo@\"\n[plugins.zoo.allow]\nclient = [\"elicitation\"]\n[http.auth]\ntokens = [{ name = \"ann\", token = { file = \"ann.token\" } }, { name = \"bob\", token = { file = \"bob.token\" } }]\n",
    );
    workspace.write("ann.token", ANN_TOKEN);
    workspace.write("bob.token", BOB_TOKEN);
    let http = Http::start(&workspace);
    let call_as = |token: &str, tool: &str, more: &Value| {
        post_as(&http, token, &call(1, tool, &json!({}), all_capabilities("2026-07-28"), more)).json()
    };
    let answers = json!({ "name": accept_result(json!({ "name": "Ann" })) });
    let (_, state) = questions_and_state(&call_as(ANN_TOKEN, "zoo_ask_name", &json!({})));
    for (token, tool, state) in [
        (ANN_TOKEN, "zoo_ask_name", format!("{state}-TAMPERED")),
        (ANN_TOKEN, "zoo_ask_name", "x".repeat(100)),
        (ANN_TOKEN, "zoo_ask_in_rounds", state.clone()),
        (BOB_TOKEN, "zoo_ask_name", state.clone()),
    ] {
        let rejected = call_as(token, tool, &retry(&state, answers.clone()));
        assert_eq!(rejected["error"]["code"], -32602, "{rejected}");
        assert_eq!(rejected["error"]["data"]["reason"], "invalid_request_state", "{rejected}");
    }
    let done = call_as(ANN_TOKEN, "zoo_ask_name", &retry(&state, answers.clone()));
    assert_eq!(text(&done), "Hello, Ann!");
    let again = call_as(ANN_TOKEN, "zoo_ask_name", &retry(&state, answers));
    assert_eq!(again["error"]["data"]["reason"], "invalid_request_state", "{again}");
}

#[test]
fn gateways_with_a_shared_sealing_key_accept_each_others_state() {
    let workspace = Workspace::new(
        "[gateway]\nsealing_key = { file = \"sealing.key\" }\n[plugins.zoo]\nsource = \"@zoo@\"\n[plugins.zoo.allow]\nclient = [\"elicitation\"]\n",
    );
    workspace.write("sealing.key", "a secret of many bytes that nobody guesses");
    let one = Http::start(&workspace);
    let two = Http::start(&workspace);
    let (_, state) = questions_and_state(&post(&one, "zoo_ask_name", &json!({}), &json!({})));
    let answers = json!({ "name": accept_result(json!({ "name": "Ann" })) });
    let done = post(&two, "zoo_ask_name", &json!({}), &retry(&state, answers));
    assert_eq!(text(&done), "Hello, Ann!");
}
