//! Parsing of thoughts, and their log messages.

use serde_json::{Value, json};

use super::{SCHEMA, Thought};

/// Thought 2 of 3 with additional or different members.
fn with(more: &Value) -> Result<Thought, String> {
    let mut args =
        json!({ "thought": "hm", "nextThoughtNeeded": true, "thoughtNumber": 2, "totalThoughts": 3 });
    for (key, value) in more.as_object().unwrap() {
        args[key] = value.clone();
    }
    serde_json::from_value(args).map_err(|error| error.to_string())
}

#[test]
fn accepts_strings_and_integral_floats() {
    for (number, read) in
        [(json!("7"), 7), (json!(7.0), 7), (json!(9_007_199_254_740_991_u64), 9_007_199_254_740_991)]
    {
        assert_eq!(with(&json!({ "thoughtNumber": number })).unwrap().number, read);
    }
    let wrong =
        [json!(0), json!(-1), json!(1.5), json!("0"), json!("x"), json!(""), json!(null), json!(true)];
    for number in wrong.into_iter().chain([json!(9_007_199_254_740_992_u64), json!(1e300)]) {
        let error = with(&json!({ "totalThoughts": number })).unwrap_err();
        assert!(error.starts_with("expected an integer from 1 to "), "{number}: {error}");
    }
}

#[test]
fn accepts_booleans_as_words() {
    for (flag, read) in [(json!("TRUE"), true), (json!("false"), false), (json!(false), false)] {
        assert_eq!(with(&json!({ "nextThoughtNeeded": flag })).unwrap().next_needed, read);
    }
    for flag in [json!("yes"), json!(1), json!(null), json!("")] {
        let error = with(&json!({ "needsMoreThoughts": flag })).unwrap_err();
        assert_eq!(error, format!("expected true or false, got {flag}"));
    }
}

#[test]
fn requires_name_and_start_of_a_branch() {
    let branch = |more: &Value| with(more).unwrap().branch().map(str::to_owned);
    assert_eq!(branch(&json!({ "branchFromThought": 1, "branchId": "b" })).as_deref(), Some("b"));
    for more in [
        json!({ "branchId": "b" }),
        json!({ "branchFromThought": 1 }),
        json!({ "branchFromThought": 1, "branchId": "" }),
    ] {
        assert_eq!(branch(&more), None);
    }
}

#[test]
fn log_message_names_revisions_and_branches() {
    for (more, line) in [
        (json!({}), "thought 2/3: hm"),
        (json!({ "thoughtNumber": 5 }), "thought 5/5: hm"),
        (json!({ "isRevision": true, "revisesThought": 1 }), "thought 2/3, revising 1: hm"),
        (json!({ "isRevision": "true" }), "thought 2/3, a revision: hm"),
        (json!({ "branchFromThought": 1, "branchId": "b" }), "thought 2/3, on branch `b` from 1: hm"),
    ] {
        assert_eq!(with(&more).unwrap().to_string(), line);
    }
}

#[test]
fn schema_is_valid_json() {
    let schema: Value = serde_json::from_str(SCHEMA).unwrap();
    assert_eq!(schema["properties"].as_object().unwrap().len(), 9);
}
