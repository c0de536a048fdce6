//! Rates of calls and concurrent calls of a caller: who is refused, who isn't, and what the refusal says.

use moongate_tests::{
    AuthorizationServer, Http, SigningKey, Stdio, Workspace, initialize_params, request, stateless_request,
    text, wait_until,
};
use serde_json::{Value, json};

const REVISIONS: [&str; 4] = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"];

/// A gateway with the callers `one` and `two`.
fn gateway(configuration: &str) -> (Workspace, Http) {
    let workspace = Workspace::new(&with_callers(configuration));
    for name in ["one", "two"] {
        workspace.write(name, secret(name));
    }
    let http = Http::start(&workspace);
    (workspace, http)
}

fn with_callers(configuration: &str) -> String {
    format!(
        "[http]\nauth.tokens = [{{ name = \"one\", token = {{ file = \"one\" }} }}, {{ name = \"two\", token = {{ file = \"two\" }} }}]\n\
         [admin]\nlisten = \"127.0.0.1:0\"\n[plugins.zoo]\nsource = \"@zoo@\"\n{configuration}"
    )
}

fn secret(name: &str) -> String {
    format!("{name}-has-a-long-secret-of-its-own")
}

fn send(http: &Http, caller: &str, method: &str, params: Value) -> Value {
    let token = format!("Bearer {}", secret(caller));
    let name = params["name"].as_str().map(str::to_owned);
    let mut headers =
        vec![("Authorization", &*token), ("MCP-Protocol-Version", "2026-07-28"), ("Mcp-Method", method)];
    headers.extend(name.as_deref().map(|name| ("Mcp-Name", name)));
    http.post(&headers, &stateless_request(1, method, params)).json()
}

/// Calls a tool of the zoo, and returns true if it was refused because of a rate.
fn is_limited(http: &Http, caller: &str, tool: &str) -> bool {
    let arguments = if tool == "echo" { json!({ "text": "a" }) } else { json!({}) };
    let answer =
        send(http, caller, "tools/call", json!({ "name": format!("zoo_{tool}"), "arguments": arguments }));
    let error = &answer["error"];
    assert!(
        answer["id"] == 1 && (answer["result"].is_object() || error["data"]["reason"] == "rate_limited"),
        "{answer}"
    );
    !error.is_null()
}

fn results(http: &Http, calls: &[(&str, &str)]) -> Vec<bool> {
    calls.iter().map(|(caller, tool)| is_limited(http, caller, tool)).collect()
}

/// Changes the configuration, and waits until it is in use.
fn reload(workspace: &Workspace, http: &Http, configuration: &str) {
    let zoo = moongate_tests::component("zoo").to_string_lossy().into_owned();
    let text = with_callers(configuration).replace("@zoo@", &zoo);
    workspace.write("gateway.toml", format!("version = 1\n{text}"));
    let _ = http.admin().reload();
}

#[test]
fn the_rate_of_a_caller_covers_all_its_calls_and_nobody_elses() {
    let (_workspace, http) = gateway("[callers]\ncalls = \"2/h\"\n");
    let calls = [("one", "echo"), ("one", "error_result"), ("one", "echo"), ("one", "error_result")];
    assert_eq!(results(&http, &calls), [false, false, true, true]);
    assert_eq!(results(&http, &[("two", "echo"), ("two", "echo"), ("two", "echo")]), [false, false, true]);
    // Lists and the like aren't calls.
    for (method, params) in
        [("tools/list", json!({})), ("prompts/list", json!({})), ("server/discover", json!({}))]
    {
        for _ in 0..3 {
            let answer = send(&http, "one", method, params.clone());
            assert!(answer["result"].is_object(), "{method}: {answer}");
        }
    }
    let token = format!("Bearer {}", secret("one"));
    let session = http.open_session(&[("Authorization", &token)], "2025-11-25");
    let headers = [("Authorization", &*token), ("Mcp-Session-Id", &*session)];
    for _ in 0..3 {
        assert_eq!(http.post(&headers, &request(2, "ping", json!({}))).json()["result"], json!({}));
    }
    let metric = |name: &str| http.admin().metric(name);
    assert_eq!(metric("moongate_refused_calls_total{reason=\"caller_rate\"}"), Some(3.0));
    assert_eq!(metric("moongate_caller_calls_total{caller=\"one\",outcome=\"rate_limited\"}"), Some(2.0));
    assert_eq!(metric("moongate_caller_calls_total{caller=\"two\",outcome=\"ok\"}"), Some(2.0));
}

#[test]
fn completions_have_a_rate_of_their_own() {
    let (_workspace, http) = gateway(
        "[plugins.everything]\nsource = \"@everything@\"\n[callers]\ncalls = \"1/d\"\ncompletions = \"2/d\"\n",
    );
    let complete = |prompt: &str| {
        let reference = json!({ "type": "ref/prompt", "name": prompt });
        let argument = json!({ "name": "arg1", "value": "t" });
        let params = json!({ "ref": reference, "argument": argument });
        let answer = send(&http, "one", "completion/complete", params);
        answer["error"]["data"]["reason"].as_str().unwrap_or("none").to_owned()
    };
    let arguments = "everything_test_prompt_with_arguments";
    let reasons = ["zoo_nope", arguments, "zoo_nope", arguments, arguments].map(complete);
    assert_eq!(reasons, ["none", "none", "none", "none", "rate_limited"]);
    assert_eq!(results(&http, &[("one", "echo"); 2]), [false, true]);
    let metric =
        |reason: &str| http.admin().metric(&format!("moongate_refused_calls_total{{reason=\"{reason}\"}}"));
    assert_eq!((metric("completion_rate"), metric("caller_rate")), (Some(1.0), Some(1.0)));
}

#[test]
fn prompts_with_invalid_arguments_count() {
    let (_workspace, http) = gateway(
        "[plugins.everything]\nsource = \"@everything@\"\n[callers]\ncalls = { rate = \"1/d\", burst = 2 }\n",
    );
    let codes = [(); 3].map(|()| {
        let params = json!({ "name": "everything_test_prompt_with_arguments", "arguments": {} });
        let error = &send(&http, "one", "prompts/get", params)["error"];
        error["data"]["reason"].as_str().unwrap_or("invalid").to_owned()
    });
    assert_eq!(codes, ["invalid", "invalid", "rate_limited"]);
}

#[test]
fn the_rate_of_a_tool_counts_the_calls_of_all_callers() {
    let (_workspace, http) = gateway("[plugins.zoo.rates.echo]\ncalls = { rate = \"1/d\", burst = 2 }\n");
    let calls = [("one", "echo"), ("two", "echo"), ("one", "echo"), ("two", "echo"), ("one", "error_result")];
    assert_eq!(results(&http, &calls), [false, false, true, true, false]);
}

#[test]
fn the_rate_per_caller_counts_each_tool_and_each_caller() {
    let rates = "[plugins.zoo.rates]\n\"*\" = { per_caller = { rate = \"1/h\", burst = 2 } }\nerror_result = { per_caller = \"1/h\" }\n";
    let (_workspace, http) = gateway(rates);
    assert_eq!(results(&http, &[("one", "echo"); 3]), [false, false, true]);
    assert_eq!(results(&http, &[("one", "error_result"); 2]), [false, true], "a rate of its own");
    assert_eq!(results(&http, &[("two", "echo"), ("two", "error_result")]), [false, false]);
}

#[test]
fn a_call_that_one_rate_refuses_counts_for_no_other() {
    let (_workspace, http) =
        gateway("[callers]\ncalls = \"2/h\"\n[plugins.zoo.rates.echo]\ncalls = \"1/h\"\n");
    let calls =
        [("one", "echo"), ("one", "echo"), ("one", "echo"), ("one", "error_result"), ("one", "error_result")];
    assert_eq!(results(&http, &calls), [false, true, true, false, true]);
}

#[test]
fn every_revision_and_transport_gets_the_same_refusal() {
    let configuration = "[http]\nlegacy_sse = true\n[callers]\ncalls = { rate = \"1/d\", burst = 1 }\n\
                         [plugins.zoo]\nsource = \"@zoo@\"\n";
    let workspace = Workspace::new(configuration);
    let call = |id| request(id, "tools/call", json!({ "name": "zoo_echo", "arguments": { "text": "a" } }));
    let mut refusals = Vec::new();
    for revision in REVISIONS {
        let mut stdio = Stdio::initialized(&workspace, revision);
        assert!(stdio.call("zoo_echo", json!({ "text": "a" }))["result"].is_object(), "{revision}");
        refusals.push(stdio.call("zoo_echo", json!({ "text": "a" })));
    }
    let http = Http::start(&workspace);
    assert!(http.call("zoo_echo", json!({ "text": "a" }))["result"].is_object());
    refusals.push(http.call("zoo_echo", json!({ "text": "a" })));
    for revision in REVISIONS {
        let session = http.open_session(&[], revision);
        let headers = [("Mcp-Session-Id", &*session)];
        let reply = http.post(&headers, &call(7));
        assert_eq!(reply.status, 200, "{reply:?}");
        refusals.extend(reply.messages());
        if revision == "2025-03-26" {
            let answers = http.post(&headers, &json!([call(8), call(9)])).messages();
            let answers: Vec<Value> = answers
                .into_iter()
                .flat_map(|it| it.as_array().cloned().unwrap_or_else(|| vec![it]))
                .collect();
            assert_eq!(answers.len(), 2, "{answers:?}");
            refusals.extend(answers);
        }
    }
    refusals.push(call_over_legacy_sse(&http, &call(10)));
    for refusal in &refusals {
        assert!(refusal["id"].is_u64(), "{refusal}");
        let error = &refusal["error"];
        let seconds = error["data"]["retryAfterSeconds"].as_u64().unwrap_or_else(|| panic!("{refusal}"));
        assert!((86_000..=86_400).contains(&seconds), "{refusal}");
        assert_eq!((&error["code"], &error["data"]["retry"]), (&json!(-32603), &json!(true)), "{refusal}");
        let message = error["message"].as_str().unwrap();
        let start = "plugin `zoo`: too many calls: the limit is 1 a day for one caller; try again in ";
        assert!(message.starts_with(start), "{message}");
    }
    assert_eq!(refusals.len(), 4 + 1 + 4 + 2 + 1);
}

fn call_over_legacy_sse(http: &Http, call: &Value) -> Value {
    let mut stream = http.open_at("GET", "/sse", &[("Accept", "text/event-stream")], b"");
    let path = format!("/{}", stream.event().unwrap().data.trim_start_matches('/'));
    let mut answer = |message: &Value| {
        let headers = [("Content-Type", "application/json")];
        assert_eq!(http.send("POST", &path, &headers, message.to_string().as_bytes()).status, 202);
        stream.message().unwrap()
    };
    answer(&request(1, "initialize", initialize_params("2024-11-05")));
    answer(call)
}

#[test]
fn tokens_sessions_and_connections_of_a_subject_are_one_caller() {
    let key = SigningKey::p256("k");
    let issuer = AuthorizationServer::start(&[&key]);
    let resource = "https://gate.example/mcp";
    let workspace = Workspace::new(&format!(
        "[http.auth]\nresource = \"{resource}\"\n[[http.auth.issuers]]\nissuer = \"{}\"\n\
         [plugins.zoo]\nsource = \"@zoo@\"\n[callers]\ncalls = \"4/d\"\n",
        issuer.issuer()
    ));
    let http = Http::start(&workspace);
    let is_limited = |subject: &str, number: u32| {
        let mut claims = issuer.claims(resource, subject);
        claims["jti"] = json!(number);
        claims["scope"] = json!(format!("scope-{number}"));
        let token = format!("Bearer {}", key.token(&claims));
        let session = http.open_session(&[("Authorization", &token)], "2025-11-25");
        let headers = [("Authorization", &*token), ("Mcp-Session-Id", &*session)];
        let call = request(2, "tools/call", json!({ "name": "zoo_echo", "arguments": { "text": "a" } }));
        let answers = http.post(&headers, &call).messages();
        answers.last().is_some_and(|answer| answer["error"]["data"]["reason"] == "rate_limited")
    };
    let limited: Vec<_> = (0..6).map(|number| is_limited("7", number)).collect();
    assert_eq!(limited, [false, false, false, false, true, true]);
    assert!(!is_limited("8", 0));
}

#[test]
fn all_rounds_of_a_call_count_once() {
    let (_workspace, http) = gateway(
        "allow.client = [\"elicitation\"]\n[callers]\ncalls = \"2/d\"\n[plugins.zoo.rates]\n\"*\" = { per_caller = \"2/d\" }\n",
    );
    let ask = |more: Value| {
        let mut params = json!({ "name": "zoo_ask_name", "arguments": {} });
        params.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let mut message = stateless_request(1, "tools/call", params);
        message["params"]["_meta"]["io.modelcontextprotocol/clientCapabilities"] =
            json!({ "elicitation": { "form": {} } });
        let token = format!("Bearer {}", secret("one"));
        let headers = [
            ("Authorization", &*token),
            ("MCP-Protocol-Version", "2026-07-28"),
            ("Mcp-Method", "tools/call"),
            ("Mcp-Name", "zoo_ask_name"),
        ];
        http.post(&headers, &message).json()
    };
    let answers = json!({ "name": { "action": "accept", "content": { "name": "Ann" } } });
    let mut states = Vec::new();
    for _ in 0..2 {
        let asked = ask(json!({}));
        assert_eq!(asked["result"]["resultType"], "input_required", "{asked}");
        states.push(asked["result"]["requestState"].clone());
    }
    let limited = ask(json!({}));
    assert_eq!(limited["error"]["data"]["reason"], "rate_limited", "{limited}");
    for state in &states {
        // Asking again changes nothing: each call can be continued once.
        let again = ask(json!({ "requestState": state }));
        let next = again["result"]["requestState"].clone();
        let done = ask(json!({ "requestState": next, "inputResponses": answers }));
        assert_eq!(text(&done), "Hello, Ann!");
        for used in [state, &next] {
            let refused = ask(json!({ "requestState": used, "inputResponses": answers }));
            assert!(refused["error"].is_object(), "{refused}");
        }
    }
    // Answers without a state belong to a new call.
    for more in [json!({ "inputResponses": answers }), json!({ "requestState": "made up" })] {
        assert!(ask(more)["error"].is_object());
    }
}

#[test]
fn roles_set_other_limits() {
    let roles = |limits: &str| {
        format!(
            "[callers]\ncalls = \"1/d\"\n\
             [roles.all]\nmembers = [{{ caller = \"any\" }}]\nallow.plugins = [\"*\"]\n\
             [roles.one]\nmembers = [{{ token = \"one\" }}]\nlimits.calls = \"{limits}\"\n\
             [roles.slow]\nmembers = [{{ token = \"one\" }}]\nlimits = {{ calls = \"2/d\", concurrency = 1 }}\n"
        )
    };
    let (workspace, http) = gateway(&roles("3/d"));
    assert_eq!(results(&http, &[("one", "echo"); 4]), [false, false, false, true]);
    assert_eq!(results(&http, &[("two", "echo"); 2]), [false, true]);
    reload(&workspace, &http, &roles("5/d"));
    assert_eq!(results(&http, &[("one", "echo"); 3]), [false, false, true]);
    assert_eq!(results(&http, &[("two", "echo")]), [true]);
}

#[test]
fn what_a_role_hides_is_refused_like_an_unknown_name() {
    let (_workspace, http) = gateway(
        "[callers]\ncalls = \"2/d\"\n[plugins.zoo.rates]\nerror_result = { calls = \"1/d\" }\n\
         [roles.all]\nmembers = [{ caller = \"any\" }]\nallow.plugins = [\"*\"]\n\
         [roles.one]\nmembers = [{ token = \"one\" }]\ndeny.tools = [\"*_error_result\"]\n",
    );
    assert_eq!(results(&http, &[("two", "error_result"); 2]), [false, true], "the rate is used up");
    let unknown = |name: &str| {
        let answer = send(&http, "one", "tools/call", json!({ "name": name, "arguments": {} }));
        assert_eq!(answer["error"]["code"], -32602, "{answer}");
        // Suggestions depend on the name.
        answer["error"]["message"].as_str().unwrap().split(';').next().unwrap().replace(name, "NAME")
    };
    for _ in 0..3 {
        assert_eq!(unknown("zoo_error_result"), unknown("zoo_made_up"));
    }
    assert_eq!(results(&http, &[("one", "echo"); 3]), [false, false, true], "neither was counted");
    assert_eq!(unknown("zoo_error_result"), unknown("zoo_made_up"), "neither is refused for a rate");
}

#[test]
fn a_reload_changes_rates() {
    let (workspace, http) =
        gateway("[callers]\ncalls = \"1/h\"\n[plugins.zoo.rates.echo]\ncalls = \"9/h\"\n");
    assert_eq!(results(&http, &[("one", "echo"); 2]), [false, true]);
    let change = |configuration: &str| reload(&workspace, &http, configuration);
    change("[callers]\ncalls = \"100/h\"\n[plugins.zoo.rates.echo]\ncalls = \"2/h\"\n");
    // The tool's rate counts one earlier call.
    assert_eq!(results(&http, &[("one", "echo"); 2]), [false, true]);
    change("[callers]\nconcurrency = 1\n");
    assert_eq!(results(&http, &[("one", "echo"); 4]), [false; 4]);
}

#[test]
fn concurrent_calls_of_a_caller_wait_for_each_other_only() {
    let (_workspace, http) = gateway("[callers]\nconcurrency = 2\n[plugins.zoo.limits]\ntimeout = \"1h\"\n");
    let token = format!("Bearer {}", secret("one"));
    let headers = [("Authorization", &*token)];
    let admin = http.admin();
    let gauge =
        |name: &str| admin.metric(&format!("moongate_plugin_{name}{{plugin=\"zoo\"}}")).unwrap_or(0.0);
    let mut calls: Vec<_> =
        (0..5).map(|_| http.start_call_with(&headers, "zoo_sleep_forever", json!({}))).collect();
    wait_until("two calls run", || gauge("instances") == 2.0 && gauge("calls_waiting") == 3.0);
    assert_eq!(results(&http, &[("two", "echo"); 2]), [false, false]);
    calls.remove(0);
    wait_until("the next one runs", || gauge("instances") == 2.0 && gauge("calls_waiting") == 2.0);
    drop(calls);
    wait_until("all ended", || gauge("instances") == 0.0 && gauge("calls_waiting") == 0.0);
    assert_eq!(results(&http, &[("one", "echo")]), [false]);
}

#[test]
fn rates_of_unknown_tools_are_reported() {
    let workspace =
        Workspace::new("[plugins.zoo]\nsource = \"@zoo@\"\n[plugins.zoo.rates.ecko]\ncalls = \"1/h\"\n");
    let output = workspace.run(&["check"]);
    let stderr =
        String::from_utf8_lossy(&output.stderr).into_owned() + &String::from_utf8_lossy(&output.stdout);
    assert!(stderr.contains("plugin `zoo` has no tool `ecko`, which `rates` names"), "{stderr}");
    assert!(stderr.contains("did you mean `echo`?"), "{stderr}");
}

#[test]
fn stdio_has_the_limits_of_a_caller() {
    let workspace = Workspace::new("[callers]\ncalls = \"1/h\"\n[plugins.zoo]\nsource = \"@zoo@\"\n");
    let mut stdio = Stdio::start(&workspace);
    let initialized = stdio.request_and_wait("initialize", initialize_params("2025-11-25"));
    assert!(initialized["result"].is_object(), "{initialized}");
    assert!(stdio.call("zoo_echo", json!({ "text": "a" }))["result"].is_object());
    assert!(stdio.call("zoo_echo", json!({ "text": "a" }))["error"].is_object());
    assert!(stdio.request_and_wait("tools/list", json!({}))["result"].is_object());
}
