//! Calls that wait for an answer while their plugin is replaced.

use std::fs;

use moongate_tests::{Stdio, Workspace, component, hello, request, text};
use serde_json::json;

/// The zoo in its own file, and a client with an open question from it.
fn asked() -> (Workspace, Stdio, serde_json::Value) {
    let workspace = Workspace::new(
        "[plugins.zoo]\nsource = \"zoo.wasm\"\n[plugins.zoo.allow]\nclient = [\"elicitation\"]\n",
    );
    workspace.write("zoo.wasm", fs::read(component("zoo")).unwrap());
    let mut stdio = Stdio::start(&workspace);
    let mut params = hello("2025-11-25");
    params["capabilities"] = json!({ "elicitation": {} });
    stdio.ask("initialize", params);
    stdio.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
    stdio.send(&request(50, "tools/call", json!({ "name": "zoo_ask_name", "arguments": {} })));
    let question = stdio.receive();
    assert_eq!(question["method"], "elicitation/create", "{question}");
    (workspace, stdio, question)
}

fn until_listed_anew(stdio: &mut Stdio) {
    while stdio.receive()["method"] != "notifications/tools/list_changed" {}
}

#[test]
fn late_answer_reaches_the_replaced_version() {
    let (workspace, mut stdio, question) = asked();
    // The new version has no such tool.
    workspace.write("zoo.wasm", fs::read(component("time")).unwrap());
    until_listed_anew(&mut stdio);
    let answer = json!({ "action": "accept", "content": { "name": "Ann" } });
    stdio.send(&json!({ "jsonrpc": "2.0", "id": question["id"], "result": answer }));
    assert_eq!(text(&stdio.response(50)), "Hello, Ann!");
    let now = stdio.call("zoo_get_current_time", json!({ "timezone": "UTC" }));
    assert!(text(&now).contains("UTC"), "{now}");
}
