//! Plugins built for an earlier version of the contract still run.

use moongate_tests::{Stdio, Workspace, initialize_params, project_root, request, text};
use serde_json::{Value, json};

/// A client of a plugin of contract 0.1.0 that is granted everything it needs.
fn old() -> (Workspace, Stdio) {
    let component = project_root().join("tests/contract-0.1.0/plugin.wasm");
    let workspace = Workspace::new(&format!(
        "[plugins.old]\nsource = {:?}\n\
         [plugins.old.allow]\nstate = true\nclient = [\"roots\"]\n\
         [plugins.old.config]\ncolour = \"red\"\n",
        component.display().to_string()
    ));
    let mut client = Stdio::start(&workspace);
    let mut greeting = initialize_params("2025-11-25");
    greeting["capabilities"] = json!({ "roots": {} });
    let _ = client.request_and_wait("initialize", greeting);
    client.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
    (workspace, client)
}

#[test]
fn lists_a_plugin_of_contract_0_1_0() {
    let (_workspace, mut client) = old();
    let mut names = |method: &str, list: &str, name: &str| -> Vec<Value> {
        let answer = client.request_and_wait(method, json!({}));
        let items = answer["result"][list].as_array().unwrap_or_else(|| panic!("{answer}"));
        items.iter().map(|item| item[name].clone()).collect()
    };
    assert_eq!(names("tools/list", "tools", "name"), ["old_echo", "old_touch", "old_ask", "old_fail"]);
    assert_eq!(names("resources/list", "resources", "uri"), ["old://page"]);
    assert_eq!(names("resources/templates/list", "resourceTemplates", "uriTemplate"), ["old://pages/{name}"]);
    assert_eq!(names("prompts/list", "prompts", "name"), ["old_greet"]);
}

#[test]
fn plugin_of_contract_0_1_0_answers_all_requests() {
    let (_workspace, mut client) = old();
    let echo = client.call("old_echo", json!({ "a": 1 }));
    let content = echo["result"]["content"].as_array().unwrap();
    assert_eq!(content[0]["text"].as_str().unwrap().replace(' ', ""), r#"{"a":1}"#);
    let kinds: Vec<&Value> = content.iter().map(|block| &block["type"]).collect();
    assert_eq!(kinds, ["text", "image", "resource_link", "resource"]);
    let failed = client.call("old_fail", json!({}));
    assert_eq!((&failed["error"]["code"], &failed["error"]["data"]), (&json!(-32602), &json!(1)));

    let read = client.request_and_wait("resources/read", json!({ "uri": "old://pages/x" }));
    assert_eq!(read["result"]["contents"][0]["text"], "a page");
    assert_eq!(read["result"]["contents"][1]["blob"], "AA==");
    let got = client
        .request_and_wait("prompts/get", json!({ "name": "old_greet", "arguments": { "name": "Ada" } }));
    assert_eq!(got["result"]["messages"][0]["content"]["text"], "Ada");
    let reference = json!({ "type": "ref/prompt", "name": "old_greet" });
    let argument = json!({ "name": "name", "value": "A" });
    let completed =
        client.request_and_wait("completion/complete", json!({ "ref": reference, "argument": argument }));
    assert_eq!(completed["result"]["completion"]["values"], json!(["A", "Ada"]));
}

#[test]
fn plugin_of_contract_0_1_0_resolves_all_imports() {
    let (_workspace, mut client) = old();
    let touched = client.call("old_touch", json!({}));
    // The text lists the imports that behave differently from 0.1.0.
    assert_eq!(text(&touched), "", "{touched}");
    assert_eq!(touched["result"]["structuredContent"], json!({ "touched": 17 }));

    client.send(&request(70, "tools/call", json!({ "name": "old_ask", "arguments": {} })));
    let question = client.receive();
    assert_eq!(question["method"], "roots/list", "{question}");
    client.send(&json!({ "jsonrpc": "2.0", "id": question["id"], "result": { "roots": [] } }));
    assert_eq!(text(&client.response(70)).replace(' ', ""), r#"{"roots":[]}"#);
}
