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
fn thoughts_are_counted_over_calls_and_branches_are_named() {
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
fn the_text_is_the_structured_content_laid_out() {
    let result =
        Client::<SequentialThinking>::new().call("sequentialthinking", thought(1, &json!({}))).unwrap();
    assert_eq!(result.all_text(), serde_json::to_string_pretty(&result.structured_value()).unwrap());
}

#[test]
fn callers_think_apart() {
    let client = Client::new().principal("ada");
    think(&client, 1, &json!({}));
    let client = client.principal("bob");
    assert_eq!(think(&client, 1, &json!({}))["thoughtHistoryLength"], 1);
    let client = client.principal("ada");
    assert_eq!(think(&client, 2, &json!({}))["thoughtHistoryLength"], 2);
}

#[test]
fn without_state_a_thought_says_itself_how_far_it_has_come() {
    let client = Client::new().kv_denied();
    let standing = think(&client, 7, &json!({ "branchFromThought": 2, "branchId": "b" }));
    assert_eq!((&standing["thoughtHistoryLength"], &standing["branches"]), (&json!(7), &json!(["b"])));
    assert!(client.logs().iter().all(|line| line.level == LogLevel::Debug), "{:?}", client.logs());
}

#[test]
fn what_cannot_be_remembered_is_no_reason_to_stop_thinking() {
    let client = Client::new().kept("thoughts", "a text of somebody else");
    assert_eq!(think(&client, 2, &json!({}))["thoughtHistoryLength"], 2);
    let logs = client.logs();
    let warning = logs.iter().find(|line| line.level == LogLevel::Warning).unwrap();
    assert!(warning.data.as_str().unwrap().starts_with("this thought isn't remembered: "), "{warning:?}");
    assert_eq!(client.kv::<String>("thoughts").unwrap(), "a text of somebody else");
}

#[test]
fn thoughts_are_logged_for_those_who_want_every_detail() {
    let client = Client::new();
    think(&client, 1, &json!({}));
    assert_eq!(client.logs()[0].data, "thought 1/3: hm");
    assert_eq!(client.logs()[0].level, LogLevel::Debug);
    assert!(!client.kv::<Value>("thoughts").unwrap().to_string().contains("hm"), "their text isn't kept");
}

#[test]
fn a_wrong_argument_is_refused() {
    let client = Client::<SequentialThinking>::new();
    let result = client.call("sequentialthinking", thought(1, &json!({ "isRevision": "maybe" }))).unwrap();
    assert!(result.failed());
    assert!(result.all_text().contains("expected true or false, got \"maybe\""), "{}", result.all_text());
    assert_eq!(client.kv::<Value>("thoughts"), None);
}
