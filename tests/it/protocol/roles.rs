//! Roles: what is hidden from a caller is answered exactly like what doesn't exist, in every operation and revision.

use std::fs;

use moongate_tests::{EventStream, Http, Stdio, Workspace, initialize_params, request, stateless_request};
use serde_json::{Value, json};

use super::oauth::bearer;

/// The revisions with sessions.
const HANDSHAKE_REVISIONS: [&str; 4] = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"];

pub(super) const EVERYTHING: &str = "[plugins.everything]\nsource = \"@everything@\"\nallow.state = true\n";

const ZOO: &str = "[plugins.zoo]\nsource = \"@zoo@\"\n";

/// The token of a caller.
pub(super) fn token(name: &str) -> String {
    format!("the-secret-token-of-{name}")
}

/// A gateway with these tables, and a token for each of three callers.
pub(super) fn workspace(tables: &str) -> Workspace {
    workspace_with(tables, "")
}

/// The same with more keys of `[http]`.
fn workspace_with(tables: &str, http: &str) -> Workspace {
    let mut text = format!("[http]\n{http}");
    for name in ["ann", "bob", "eve"] {
        text.push_str(&format!("[[http.auth.tokens]]\nname = \"{name}\"\ntoken = {{ file = \"{name}\" }}\n"));
    }
    let workspace = Workspace::new(&format!("{text}{tables}"));
    for name in ["ann", "bob", "eve"] {
        workspace.write(name, token(name));
    }
    workspace
}

/// Changes the configuration of a running gateway.
pub(super) fn replace_in_config(workspace: &Workspace, before: &str, after: &str) {
    let text = fs::read_to_string(workspace.config()).unwrap();
    assert!(text.contains(before), "{before:?} isn't in {text}");
    workspace.write("gateway.toml", text.replace(before, after));
}

/// The status and body of the answer to a stateless request.
pub(super) fn stateless(http: &Http, name: &str, method: &str, params: Value) -> (u16, String) {
    stateless_with(http, &token(name), method, params)
}

/// The same for any token.
pub(super) fn stateless_with(http: &Http, token: &str, method: &str, params: Value) -> (u16, String) {
    let subject = params.get("name").or(params.get("uri")).and_then(Value::as_str).map(str::to_owned);
    let authorization = bearer(token);
    let mut headers = vec![
        ("Authorization", &*authorization),
        ("MCP-Protocol-Version", "2026-07-28"),
        ("Mcp-Method", method),
    ];
    headers.extend(subject.as_deref().map(|subject| ("Mcp-Name", subject)));
    let reply = http.post(&headers, &stateless_request(1, method, params));
    (reply.status, reply.body)
}

/// The result of a stateless request.
pub(super) fn result(http: &Http, name: &str, method: &str, params: Value) -> Value {
    let (_, body) = stateless(http, name, method, params);
    let answer: Value = serde_json::from_str(&body).unwrap();
    assert!(answer.get("result").is_some(), "{method}: {answer}");
    answer["result"].clone()
}

/// The names in a list.
pub(super) fn names(list: &Value, kind: &str, key: &str) -> Vec<String> {
    list[kind].as_array().unwrap().iter().map(|item| item[key].as_str().unwrap().to_owned()).collect()
}

pub(super) fn tools(http: &Http, name: &str) -> Vec<String> {
    names(&result(http, name, "tools/list", json!({})), "tools", "name")
}

/// Opens a notification stream.
pub(super) fn listen(http: &Http, token: &str, uris: &[&str]) -> EventStream {
    let authorization = bearer(token);
    let headers = [
        ("Authorization", &*authorization),
        ("Content-Type", "application/json"),
        ("Accept", "application/json, text/event-stream"),
        ("MCP-Protocol-Version", "2026-07-28"),
        ("Mcp-Method", "subscriptions/listen"),
    ];
    let filter = json!({ "notifications": {
        "toolsListChanged": true, "promptsListChanged": true, "resourcesListChanged": true,
        "resourceSubscriptions": uris,
    } });
    http.open("POST", &headers, stateless_request(1, "subscriptions/listen", filter).to_string().as_bytes())
}

/// Requests that name the tool, prompt, resources and template.
fn requests(tool: &str, prompt: &str, uris: &[&str], template: &str) -> Vec<(&'static str, Value)> {
    let argument = json!({ "name": "count", "value": "" });
    let mut requests = vec![
        ("tools/list", json!({})),
        ("prompts/list", json!({})),
        ("resources/list", json!({})),
        ("resources/templates/list", json!({})),
        ("tools/call", json!({ "name": tool, "arguments": {} })),
        ("tools/call", json!({ "name": tool, "arguments": { "unknown": 1 } })),
        ("prompts/get", json!({ "name": prompt })),
        (
            "completion/complete",
            json!({ "ref": { "type": "ref/prompt", "name": prompt }, "argument": { "name": "arg1", "value": "" } }),
        ),
        (
            "completion/complete",
            json!({ "ref": { "type": "ref/resource", "uri": template }, "argument": argument }),
        ),
    ];
    requests.extend(uris.iter().map(|uri| ("resources/read", json!({ "uri": uri }))));
    requests
}

/// Compares every answer of two gateways to one caller.
fn assert_same_answers(
    one: &Http,
    other: &Http,
    name: &str,
    requests: &[(&'static str, Value)],
    uris: &[&str],
) {
    let discovered = |http| stateless(http, name, "server/discover", json!({}));
    assert_eq!(discovered(one), discovered(other));
    for (method, params) in requests {
        let answers = [one, other].map(|http| stateless(http, name, method, params.clone()));
        assert_eq!(answers[0], answers[1], "{method} {params}");
    }
    let mut streams = [one, other].map(|http| listen(http, &token(name), uris));
    let first = streams.each_mut().map(|stream| stream.message().unwrap());
    assert_eq!(first[0], first[1]);

    let authorization = bearer(&token(name));
    for revision in HANDSHAKE_REVISIONS {
        let sessions = [one, other].map(|http| {
            let greeting = request(1, "initialize", initialize_params(revision));
            let reply = http.post(&[("Authorization", &authorization)], &greeting);
            (http, reply.header("mcp-session-id").unwrap().to_owned(), reply.body)
        });
        assert_eq!(sessions[0].2, sessions[1].2, "{revision}");
        let subscriptions = uris.iter().map(|uri| ("resources/subscribe", json!({ "uri": uri })));
        for (method, params) in requests.iter().cloned().chain(subscriptions) {
            let answers = sessions.each_ref().map(|(http, session, _)| {
                let headers = [("Authorization", &*authorization), ("Mcp-Session-Id", session)];
                let reply = http.post(&headers, &request(7, method, params.clone()));
                (reply.status, reply.body)
            });
            assert_eq!(answers[0], answers[1], "{revision}: {method} {params}");
        }
    }
}

#[test]
fn hidden_plugin_is_answered_like_no_plugin() {
    let roles = "[roles.admin]\nmembers = [{ token = \"ann\" }]\nallow.plugins = [\"*\"]\n\
                 [roles.user]\nmembers = [{ token = \"bob\" }]\nallow.plugins = [\"everything\"]\n";
    let with = workspace(&format!("{EVERYTHING}{ZOO}{roles}"));
    let without = workspace(&format!("{EVERYTHING}{roles}"));
    let [with, without] = [&with, &without].map(Http::start);
    let uris = ["zoo://text", "zoo://bytes/3", "zoo://asked", "ZOO://text", "test://static-text"];
    let requests = requests("zoo_echo", "zoo_asking_prompt", &uris, "zoo://bytes/{count}");
    assert_same_answers(&with, &without, "bob", &requests, &uris);
    let seen = tools(&with, "ann");
    assert!(seen.iter().any(|name| name.starts_with("zoo_")), "{seen:?}");
    assert!(tools(&with, "bob").iter().all(|name| name.starts_with("everything_")));
}

#[test]
fn hidden_items_are_answered_like_items_not_offered() {
    let denied = "tools = [\"everything_test_image_*\", \"*_error_handling\"]\n\
                  prompts = [\"everything_test_prompt_with_arguments\"]\n\
                  resources = [\"test://static-binary\", \"test://template/{id}/data\"]\n";
    let hidden = workspace(&format!(
        "{EVERYTHING}[roles.user]\nmembers = [{{ token = \"bob\" }}]\nallow.plugins = [\"everything\"]\n[roles.user.deny]\n{denied}"
    ));
    let not_offered = workspace(&format!(
        "{EVERYTHING}tools.deny = [\"test_image_content\", \"test_error_handling\"]\n\
         prompts.deny = [\"test_prompt_with_arguments\"]\n\
         resources.deny = [\"test://static-binary\", \"test://template/{{id}}/data\"]\n\
         [roles.user]\nmembers = [{{ token = \"bob\" }}]\nallow.plugins = [\"*\"]\n"
    ));
    let [hidden, not_offered] = [&hidden, &not_offered].map(Http::start);
    let uris = [
        "test://static-binary",
        "test://static%2Dbinary",
        "test://x/../static-binary",
        "test://template/1/data",
        "test://static-text",
    ];
    let requests = requests(
        "everything_test_image_content",
        "everything_test_prompt_with_arguments",
        &uris,
        "test://template/{id}/data",
    );
    assert_same_answers(&hidden, &not_offered, "bob", &requests, &uris);
    assert!(tools(&hidden, "bob").contains(&"everything_test_simple_text".to_owned()));
}

#[test]
fn callers_without_a_role_see_nothing() {
    let roles = "[roles.admin]\nmembers = [{ token = \"ann\" }]\nallow.plugins = [\"*\"]\n";
    let with = workspace(&format!("{EVERYTHING}{roles}"));
    let without = workspace(&format!("{ZOO}{roles}"));
    let [with, without] = [&with, &without].map(Http::start);
    let uris = ["test://static-text", "test://template/1/data"];
    let requests = requests(
        "everything_test_simple_text",
        "everything_test_simple_prompt",
        &uris,
        "test://template/{id}/data",
    );
    assert_same_answers(&with, &without, "eve", &requests, &uris);
    assert_eq!(tools(&with, "eve"), [""; 0]);
}

#[test]
fn roles_add_up_and_denied_items_stay_hidden() {
    let workspace = workspace(&format!(
        "{EVERYTHING}{ZOO}\
         [roles.texts]\nmembers = [{{ token = \"ann\" }}, {{ token = \"bob\" }}]\nallow.tools = [\"*_simple_text\"]\n\
         [roles.prompts]\nmembers = [{{ token = \"ann\" }}]\nallow.prompts = [\"everything_*\"]\nallow.tools = [\"zoo_echo\"]\n\
         [roles.careful]\nmembers = [{{ token = \"ann\" }}]\ndeny.prompts = [\"*_image\"]\n"
    ));
    let http = Http::start(&workspace);
    assert_eq!(tools(&http, "bob"), ["everything_test_simple_text"]);
    let all = tools(&http, "ann");
    assert!(all.contains(&"everything_test_simple_text".to_owned()), "{all:?}");
    let prompts = |name| names(&result(&http, name, "prompts/list", json!({})), "prompts", "name");
    assert_eq!(prompts("bob"), [""; 0]);
    let all = prompts("ann");
    assert!(all.contains(&"everything_test_simple_prompt".to_owned()), "{all:?}");
    assert!(!all.contains(&"everything_test_prompt_with_image".to_owned()), "{all:?}");
}

#[test]
fn lists_are_private_once_there_are_roles() {
    let without = Workspace::new(EVERYTHING);
    let with = Workspace::new(&format!(
        "{EVERYTHING}[roles.all]\nmembers = [{{ caller = \"anonymous\" }}]\nallow.plugins = [\"*\"]\n"
    ));
    for (workspace, scope) in [(&without, "public"), (&with, "private")] {
        let http = Http::start(workspace);
        for method in ["tools/list", "server/discover"] {
            let result = http.request_and_wait(method, json!({})).json()["result"].clone();
            assert_eq!(result["cacheScope"], scope, "{method}");
        }
        let tools = http.request_and_wait("tools/list", json!({})).json();
        assert_ne!(tools["result"]["tools"], json!([]));
    }
}

#[test]
fn cursors_of_another_view_are_invalid() {
    let workspace = workspace(&format!(
        "[gateway]\npage_size = 2\n{EVERYTHING}\
         [roles.admin]\nmembers = [{{ token = \"ann\" }}]\nallow.plugins = [\"*\"]\n\
         [roles.user]\nmembers = [{{ token = \"bob\" }}, {{ token = \"eve\" }}]\nallow.tools = [\"everything_test_*\"]\n"
    ));
    let http = Http::start(&workspace);
    let page = |name, cursor: &Value| {
        let params = if cursor.is_null() { json!({}) } else { json!({ "cursor": cursor }) };
        let (_, body) = stateless(&http, name, "tools/list", params);
        serde_json::from_str::<Value>(&body).unwrap()
    };
    let first = page("bob", &Value::Null)["result"].clone();
    let cursor = &first["nextCursor"];
    assert!(cursor.is_string(), "{first}");
    assert_eq!(page("ann", cursor)["error"]["code"], -32602);
    // Callers with the same roles share a view.
    let next = page("eve", cursor)["result"].clone();
    assert_eq!(next["tools"].as_array().unwrap().len(), 2, "{next}");
    assert_eq!(page("bob", cursor)["result"]["tools"], next["tools"]);
}

#[test]
fn hidden_resources_are_dropped_from_content() {
    let workspace = workspace(&format!(
        "{EVERYTHING}[roles.all]\nmembers = [{{ caller = \"any\" }}]\nallow.plugins = [\"*\"]\n\
         [roles.careful]\nmembers = [{{ token = \"bob\" }}]\ndeny.resources = [\"test://static-*\"]\n"
    ));
    let http = Http::start(&workspace);
    let get = |name, uri| {
        let params = json!({ "name": "everything_test_prompt_with_embedded_resource", "arguments": { "resourceUri": uri } });
        result(&http, name, "prompts/get", params)["messages"].as_array().unwrap().len()
    };
    let whole = get("ann", "test://static-text");
    assert_eq!(get("bob", "test://static-text"), whole - 1);
    assert_eq!(get("bob", "test://elsewhere"), whole, "nobody has it, so it isn't hidden");
    assert_eq!(get("ann", "test://elsewhere"), whole);
}

/// A gateway with files of which bob can't see those in `Gehälter`.
fn gateway_with_salaries() -> (Workspace, Http) {
    let workspace = workspace(
        "[plugins.files]\nsource = \"@filesystem@\"\nallow.dirs = [{ host = \"notes\", guest = \"/notes\" }]\n\
         [roles.all]\nmembers = [{ caller = \"any\" }]\nallow.plugins = [\"*\"]\n\
         [roles.bob]\nmembers = [{ token = \"bob\" }]\ndeny.resources = [\"file:///notes/Geh%C3%A4lter*\"]\n",
    );
    workspace.write("notes/Geh\u{e4}lter/2027.txt", "salaries");
    workspace.write("notes/plan.txt", "plan");
    let http = Http::start(&workspace);
    (workspace, http)
}

#[test]
fn a_denied_file_is_denied_in_another_unicode_normalization() {
    let (_workspace, http) = gateway_with_salaries();
    for name in
        ["Geh%C3%A4lter", "Geha%CC%88lter", "Geh\u{e4}lter", "Geha\u{308}lter", "%FF/../Geha%CC%88lter"]
    {
        let params = json!({ "uri": format!("file:///notes/{name}/2027.txt") });
        let (_, body) = stateless(&http, "bob", "resources/read", params);
        assert!(body.contains("\"error\"") && !body.contains("salaries"), "{name}: {body}");
    }
    let params = json!({ "uri": "file:///notes/Geha%CC%88lter/2027.txt" });
    assert_eq!(result(&http, "ann", "resources/read", params)["contents"][0]["text"], "salaries");
}

#[test]
fn completions_do_not_tell_hidden_resources_from_missing_ones() {
    let (_workspace, http) = gateway_with_salaries();
    let complete = |name: &str, value: &str| {
        let argument = json!({ "name": "path", "value": value });
        let reference = json!({ "type": "ref/resource", "uri": "file:///{+path}" });
        let params = json!({ "ref": reference, "argument": argument });
        result(&http, name, "completion/complete", params)["completion"].clone()
    };
    let missing = complete("bob", "notes/x");
    for hidden in ["notes/G", "notes/Geh\u{e4}lter/2", "notes/Geha\u{308}lter/2", "notes/Geh\u{e4}lter/3"] {
        assert_eq!(complete("bob", hidden), missing, "{hidden}");
    }
    assert_eq!(complete("bob", "notes/p")["values"], json!(["notes/plan.txt"]));
    assert_eq!(complete("ann", "notes/Geh\u{e4}lter/2")["values"], json!(["notes/Geh\u{e4}lter/2027.txt"]));
}

#[test]
fn stdio_has_roles_too() {
    let workspace = workspace(&format!(
        "{EVERYTHING}[roles.local]\nmembers = [{{ caller = \"stdio\" }}]\nallow.tools = [\"*_simple_text\"]\n"
    ));
    for revision in HANDSHAKE_REVISIONS {
        let mut stdio = Stdio::initialized(&workspace, revision);
        let listed = stdio.request_and_wait("tools/list", json!({}))["result"].clone();
        assert_eq!(names(&listed, "tools", "name"), ["everything_test_simple_text"], "{revision}");
        let unknown = stdio.call("everything_test_image_content", json!({}));
        assert_eq!(unknown["error"]["code"], -32602, "{unknown}");
    }
    let mut stdio = Stdio::start(&workspace);
    let params = stateless_request(0, "", json!({}))["params"].clone();
    let listed = stdio.request_and_wait("tools/list", params)["result"].clone();
    assert_eq!(names(&listed, "tools", "name"), ["everything_test_simple_text"]);
}

#[test]
fn legacy_sse_has_roles_too() {
    let workspace = workspace_with(
        &format!(
            "{EVERYTHING}[roles.user]\nmembers = [{{ token = \"bob\" }}]\nallow.tools = [\"*_simple_text\"]\n"
        ),
        "legacy_sse = true\n",
    );
    let http = Http::start(&workspace);
    let authorization = bearer(&token("bob"));
    let headers = [("Authorization", &*authorization), ("Accept", "text/event-stream")];
    let mut stream = http.open_at("GET", "/sse", &headers, b"");
    let endpoint = stream.event().unwrap().data;
    let headers = [("Authorization", &*authorization), ("Content-Type", "application/json")];
    let mut ask = |message: Value| {
        let path = format!("/{}", endpoint.trim_start_matches('/'));
        assert_eq!(http.send("POST", &path, &headers, message.to_string().as_bytes()).status, 202);
        stream.message().unwrap()
    };
    ask(request(1, "initialize", initialize_params("2024-11-05")));
    let listed = ask(request(2, "tools/list", json!({})))["result"].clone();
    assert_eq!(names(&listed, "tools", "name"), ["everything_test_simple_text"]);
    let unknown =
        ask(request(3, "tools/call", json!({ "name": "everything_test_image_content", "arguments": {} })));
    assert_eq!(unknown["error"]["code"], -32602, "{unknown}");
}
