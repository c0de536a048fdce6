//! Long strings from a plugin are truncated: descriptions, log lines, progress and error messages.

use moongate_tests::{Stdio, Workspace, initialize_params, text};
use serde_json::{Value, json};

const WORDY: &str = r#"
[plugins.zoo]
source = "@zoo@"
[plugins.malformed]
source = "@malformed@"
[plugins.wordy]
source = "@malformed@"
config = { describes = "long texts" }
allow.instructions = true
"#;

/// The maximum length of the text that the gateway adds to a plugin's message: the plugin, and in the log the time
/// and the target.
const MAX_PREFIX_BYTES: usize = 300;

/// The parameters of the first message with this method.
#[track_caller]
fn params_of<'a>(messages: &'a [Value], method: &str) -> &'a Value {
    let found = messages.iter().find(|message| message["method"] == method);
    &found.unwrap_or_else(|| panic!("no {method}: {messages:?}"))["params"]
}

fn length(text: &Value) -> usize {
    text.as_str().unwrap_or_else(|| panic!("no text: {text}")).len()
}

#[test]
fn truncates_long_log_lines_and_progress() {
    let mut stdio = Stdio::initialized(&Workspace::new(WORDY), "2025-11-25");
    stdio.request_and_wait("logging/setLevel", json!({ "level": "debug" }));
    for (bytes, name, message, value) in
        [(100, 100, 100, 100), (60_000, 128, 4 << 10, 60_000), (500_000, 128, 4 << 10, 4 << 10)]
    {
        let params = json!({ "name": "zoo_long_words", "arguments": { "bytes": bytes }, "_meta": { "progressToken": bytes } });
        let answer = stdio.request_and_wait("tools/call", params);
        assert_eq!(text(&answer), "the words were said");
        let messages = stdio.take_queued();
        let log = params_of(&messages, "notifications/message");
        let progress = params_of(&messages, "notifications/progress");
        let its = |length: usize, most: usize| (most.saturating_sub(3)..=most).contains(&length);
        assert!(its(length(&log["logger"]), name), "{bytes}: the logger");
        assert!(its(length(&progress["message"]), message), "{bytes}: progress");
        assert!(its(length(&log["data"]), value), "{bytes}: the log line");
    }
    let (_, _, log) = stdio.finish();
    let longest = log.lines().map(str::len).max().unwrap();
    assert!((4 << 10..(4 << 10) + MAX_PREFIX_BYTES).contains(&longest), "a line of {longest} bytes");
}

#[test]
fn truncates_a_long_error_message() {
    let mut stdio = Stdio::initialized(&Workspace::new(WORDY), "2025-11-25");
    let answer = stdio.call("malformed_fail_hugely", json!({}));
    let message = length(&answer["error"]["message"]);
    assert!((4 << 10..=(4 << 10) + MAX_PREFIX_BYTES).contains(&message), "{message} bytes");
}

#[test]
fn limits_completions_to_one_hundred() {
    let mut stdio = Stdio::initialized(&Workspace::new(WORDY), "2025-11-25");
    let prompt = json!({ "type": "ref/prompt", "name": "malformed_speech" });
    let asked = json!({ "ref": prompt, "argument": { "name": "word", "value": "many" } });
    let answer = stdio.request_and_wait("completion/complete", asked);
    let completion = &answer["result"]["completion"];
    assert_eq!(completion["values"].as_array().map(Vec::len), Some(100), "{answer}");
    assert_eq!((&completion["hasMore"], &completion["total"]), (&json!(true), &json!(1_000)), "{answer}");
}

#[test]
fn truncates_long_descriptions() {
    let workspace = Workspace::new(WORDY);
    let mut stdio = Stdio::start(&workspace);
    let greeting = stdio.request_and_wait("initialize", initialize_params("2025-11-25"));
    let instructions = length(&greeting["result"]["instructions"]);
    assert!((3_900..=4_000).contains(&instructions), "{instructions} bytes of instructions");
    stdio.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
    let list = stdio.request_and_wait("tools/list", json!({}));
    let tools = list["result"]["tools"].as_array().unwrap();
    let wordy = tools.iter().find(|tool| tool["name"] == "wordy_wordy").unwrap();
    assert_eq!((length(&wordy["title"]), length(&wordy["description"])), (256, 16 << 10));
}
