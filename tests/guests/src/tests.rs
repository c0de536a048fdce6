//! The tools do what their descriptions say, as far as that is safe in a native test.

use moongate_sdk::testing::{Client, accepted, roots};
use moongate_sdk::{Content, Failure};
use serde_json::{Value, json};

use super::Zoo;

#[test]
fn tools_run_without_optional_arguments() {
    let needing: Vec<String> = Client::<Zoo>::new()
        .tools()
        .into_iter()
        .filter(|tool| serde_json::from_str::<Value>(&tool.input_schema).unwrap().get("required").is_some())
        .map(|tool| tool.name)
        .collect();
    assert_eq!(
        needing,
        [
            "echo",
            "sleep",
            "config_get",
            "ask",
            "compute_then",
            "report_and_wait",
            "last_words",
            "connect",
            "resolve_name",
            "listen",
            "send_datagram",
            "list_dir",
            "read_file",
            "need_file",
            "write_file",
            "file_steps",
            "read_without_end",
            "write_without_end",
            "http_request",
            "http_many",
            "http_at_once",
            "http_upload",
            "http_lie",
            "http_header",
            "http_hoard",
            "http_hoard_answers",
            "http_pass_on",
            "http_and_hang"
        ]
    );
}

#[test]
fn echo_returns_its_text() {
    let client = Client::<Zoo>::new();
    assert_eq!(client.call("echo", json!({ "text": "hello" })).unwrap().all_text(), "hello");
}

#[test]
fn bad_results_are_invalid() {
    let client = Client::<Zoo>::new();
    let structured = client.call("structured_with_newlines", json!({})).unwrap().structured.unwrap();
    assert!(structured.contains('\n'));
    assert_eq!(client.call("huge_result", json!({ "bytes": 5 })).unwrap().all_text(), "xxxxx");
    assert_eq!(
        client.call("many_blocks", json!({ "count": 2 })).unwrap().content,
        vec![Content::text("x"); 2]
    );
}

#[test]
#[should_panic(expected = "the structured content of `broken_structured` isn't valid JSON")]
fn broken_structured_content_is_invalid_json() {
    let _ = Client::<Zoo>::new().call("broken_structured", json!({}));
}

#[test]
#[should_panic(expected = "`/n` is \"not a number\", not of type")]
fn reports_mismatched_structured_content() {
    let _ = Client::<Zoo>::new().call("bad_structured", json!({}));
}

#[test]
fn errors_have_their_kind() {
    let client = Client::<Zoo>::new();
    let failure = |tool: &str| client.call(tool, json!({})).unwrap_err();
    assert!(matches!(failure("protocol_error_invalid_params"), Failure::InvalidParams(_)));
    assert!(matches!(failure("protocol_error_not_found"), Failure::NotFound(_)));
    assert!(matches!(failure("protocol_error_internal"), Failure::Internal(_)));
    assert!(matches!(failure("protocol_error_missing_capability"), Failure::MissingCapability(_)));
    assert!(matches!(failure("protocol_error_custom"), Failure::Custom(_)));
    assert!(client.call("error_result", json!({})).unwrap().failed());
}

#[test]
fn floods_produce_output() {
    let client = Client::<Zoo>::new();
    client.call("log_flood", json!({ "lines": 3 })).unwrap();
    client.call("progress_flood", json!({ "reports": 2 })).unwrap();
    client.call("changes_flood", json!({ "count": 1 })).unwrap();
    assert_eq!((client.logs().len(), client.progress().len(), client.changes().len()), (3, 2, 4));
}

#[test]
fn asks_questions_and_returns_answers() {
    let client = Client::<Zoo>::new().answer("name", accepted(json!({ "name": "Ann" })));
    assert_eq!(client.call("ask_name", json!({})).unwrap().all_text(), "Hello, Ann!");
    let client = Client::<Zoo>::new().answer("directories", roots(&["file:///ann"]));
    let questions = json!({ "questions": [{ "key": "directories", "method": "roots/list" }] });
    assert!(client.call("ask", questions).unwrap().all_text().contains("file:///ann"));
    let client = Client::<Zoo>::new()
        .answer("round0", accepted(json!({ "round0": "y" })))
        .answer("round1", accepted(json!({ "round1": "y" })));
    let error_text = client.call("ask_in_rounds", json!({ "rounds": 2 })).unwrap().all_text();
    assert_eq!(error_text, "asked 2 times: xx");
}
