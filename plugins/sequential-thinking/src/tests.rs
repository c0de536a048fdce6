//! The tool as a client sees it.

use moongate_sdk::LogLevel;
use moongate_sdk::testing::Client;
use serde_json::{Value, json};

use super::SequentialThinking;

fn thought(number: u64, more: &Value) -> Value {
    let mut args =
        json!({ "thought": "hm", "nextThoughtNeeded": true, "thoughtNumber": number, "totalThoughts": 3 });
    for (key, value) in more.as_object().unwrap() {
        args[key] = value.clone();
    }
    args
}

fn think(client: &Client<SequentialThinking>, number: u64, more: &Value) -> Value {
    client.call("sequentialthinking", thought(number, more)).unwrap().structured_value()
}

#[test]
fn counts_thoughts_and_lists_branches() {
    let client = Client::new().client_info("host", "1");
    think(&client, 1, &json!({}));
    think(&client, 2, &json!({ "branchFromThought": 1, "branchId": "other" }));
    think(&client, 3, &json!({ "branchFromThought": 1, "branchId": "another" }));
    let standing = think(
        &client,
        4,
        &json!({ "branchFromThought": "1", "branchId": "other", "nextThoughtNeeded": "False" }),
    );
    assert_eq!(
        standing,
        json!({
            "thoughtNumber": 4, "totalThoughts": 4, "nextThoughtNeeded": false,
            "branches": ["other", "another"], "thoughtHistoryLength": 4,
        })
    );
}

#[test]
fn text_is_the_pretty_printed_content() {
    let result =
        Client::<SequentialThinking>::new().call("sequentialthinking", thought(1, &json!({}))).unwrap();
    assert_eq!(result.all_text(), serde_json::to_string_pretty(&result.structured_value()).unwrap());
}

#[test]
fn separates_callers() {
    let client = Client::new().principal("ada");
    think(&client, 1, &json!({}));
    let client = client.principal("bob");
    assert_eq!(think(&client, 1, &json!({}))["thoughtHistoryLength"], 1);
    let client = client.principal("ada");
    assert_eq!(think(&client, 2, &json!({}))["thoughtHistoryLength"], 2);
}

#[test]
fn works_without_state() {
    let client = Client::new().kv_denied();
    let standing = think(&client, 7, &json!({ "branchFromThought": 2, "branchId": "b" }));
    assert_eq!((&standing["thoughtHistoryLength"], &standing["branches"]), (&json!(7), &json!(["b"])));
    assert!(client.logs().iter().all(|line| line.level == LogLevel::Debug), "{:?}", client.logs());
}

#[test]
fn continues_if_the_history_is_unreadable() {
    let client = Client::new().kept("thoughts", "not a history");
    assert_eq!(think(&client, 2, &json!({}))["thoughtHistoryLength"], 2);
    let logs = client.logs();
    let warning = logs.iter().find(|line| line.level == LogLevel::Warning).unwrap();
    assert!(warning.data.as_str().unwrap().starts_with("cannot store this thought: "), "{warning:?}");
    assert_eq!(client.kv::<String>("thoughts").unwrap(), "not a history");
}

#[test]
fn logs_thoughts_at_debug_level() {
    let client = Client::new();
    think(&client, 1, &json!({}));
    assert_eq!(client.logs()[0].data, "thought 1/3: hm");
    assert_eq!(client.logs()[0].level, LogLevel::Debug);
    assert!(!client.kv::<Value>("thoughts").unwrap().to_string().contains("hm"), "their text isn't stored");
}

#[test]
fn refuses_invalid_arguments() {
    let client = Client::<SequentialThinking>::new();
    let result = client.call("sequentialthinking", thought(1, &json!({ "isRevision": "maybe" }))).unwrap();
    assert!(result.failed());
    assert!(result.all_text().contains("expected true or false, got \"maybe\""), "{}", result.all_text());
    assert_eq!(client.kv::<Value>("thoughts"), None);
}
