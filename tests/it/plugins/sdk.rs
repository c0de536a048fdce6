//! Questions and state of SDK plugins with the real gateway. The SDK's own tests use a fake host.

use std::thread;

use moongate_tests::{Http, Stdio, Workspace, initialize_params, request, stateless_request, text};
use serde_json::{Value, json};

const ASKING: &str = r#"
[plugins.everything]
source = "@everything@"
prefix = ""
[plugins.everything.allow]
client = ["elicitation", "sampling", "roots"]
state = true
"#;

const KEEPING: &str = "[plugins.keeper]\nsource = \"@keeper@\"\nprefix = \"\"\n";

/// The answer from a client that fills in each form.
fn answer(message: &str) -> Value {
    let content = if message.ends_with("Step 1: What is your name?") {
        json!({ "name": "Ada" })
    } else {
        assert!(message.ends_with("Step 2: What is your favorite color?"), "{message}");
        json!({ "color": "blue" })
    };
    json!({ "action": "accept", "content": content })
}

#[test]
fn a_multi_round_call_keeps_its_progress_with_elicitation() {
    let workspace = Workspace::new(ASKING);
    let mut stdio = Stdio::start(&workspace);
    let mut greeting = initialize_params("2025-11-25");
    greeting["capabilities"] = json!({ "elicitation": {} });
    let _ = stdio.request_and_wait("initialize", greeting);
    stdio.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
    let tool = json!({ "name": "test_input_required_result_multi_round", "arguments": {} });
    stdio.send(&request(70, "tools/call", tool));
    for _ in 0..2 {
        let question = stdio.receive();
        let result = answer(question["params"]["message"].as_str().unwrap());
        stdio.send(&json!({ "jsonrpc": "2.0", "id": question["id"], "result": result }));
    }
    assert_eq!(text(&stdio.response(70)), "Hello, Ada! Your color is blue.");
}

#[test]
fn a_multi_round_call_keeps_its_progress_in_request_state() {
    let workspace = Workspace::new(ASKING);
    let http = Http::start(&workspace);
    let name = "test_input_required_result_multi_round";
    let headers = [("MCP-Protocol-Version", "2026-07-28"), ("Mcp-Method", "tools/call"), ("Mcp-Name", name)];
    let mut params = json!({ "name": name, "arguments": {} });
    for key in ["step1", "step2"] {
        let mut message = stateless_request(1, "tools/call", params.clone());
        message["params"]["_meta"]["io.modelcontextprotocol/clientCapabilities"] =
            json!({ "elicitation": {} });
        let result = http.post(&headers, &message).json()["result"].clone();
        let question = &result["inputRequests"][key];
        let answer = answer(question["params"]["message"].as_str().unwrap_or_else(|| panic!("{result}")));
        params["inputResponses"] = json!({ key: answer });
        params["requestState"] = result["requestState"].clone();
    }
    assert_eq!(
        text(&http.post(&headers, &stateless_request(1, "tools/call", params)).json()),
        "Hello, Ada! Your color is blue."
    );
}

#[test]
fn concurrent_state_updates_lose_nothing() {
    const CLIENTS: usize = 4;
    const CALLS: usize = 10;
    let workspace = Workspace::new(&format!("{KEEPING}allow.state = true\n"));
    let http = Http::start(&workspace);
    thread::scope(|scope| {
        for _ in 0..CLIENTS {
            scope.spawn(|| {
                for _ in 0..CALLS {
                    let answer = http.call("note", json!({ "key": "notes", "value": "x" }));
                    assert!(text(&answer).ends_with("there: true, keys: 2"), "{answer}");
                }
            });
        }
    });
    let last = http.call("note", json!({ "key": "notes", "value": "x" }));
    assert!(text(&last).starts_with(&format!("{} lines", CLIENTS * CALLS + 1)), "{last}");
}

#[test]
fn state_errors_are_distinguishable() {
    let call = |more: &str, arguments: Value| {
        let workspace = Workspace::new(&format!("{KEEPING}{more}"));
        let mut stdio = Stdio::initialized(&workspace, "2025-11-25");
        text(&stdio.call("note", arguments)).to_owned()
    };
    assert_eq!(call("", json!({ "key": "a" })), "NotGranted");
    let full = "allow.state = true\n[plugins.keeper.limits]\nstate = \"10KiB\"\n";
    let refused = call(full, json!({ "key": "a", "value": "x", "count": 20_000 }));
    assert!(refused.starts_with("Full(") && refused.contains("10.0 KiB"), "{refused}");
    let long = call("allow.state = true\n", json!({ "key": "k".repeat(2_000) }));
    assert!(long.starts_with("Other("), "{long}");
}
