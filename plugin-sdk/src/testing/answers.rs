//! A client's answers, as results of the methods in its questions.

use serde_json::{Value, json};

/// The user filled in the form. For a page that the user agreed to open, pass `json!({})`.
#[must_use]
#[expect(clippy::needless_pass_by_value, reason = "`json!(…)` is written in the call")]
pub fn accepted(content: Value) -> Value {
    json!({ "action": "accept", "content": content })
}

/// The user declined.
#[must_use]
pub fn declined() -> Value {
    json!({ "action": "decline" })
}

/// The user dismissed the question.
#[must_use]
pub fn dismissed() -> Value {
    json!({ "action": "cancel" })
}

/// The model's response.
#[must_use]
pub fn sampled(text: &str) -> Value {
    let content = json!({ "type": "text", "text": text });
    json!({ "role": "assistant", "content": content, "model": "test", "stopReason": "endTurn" })
}

/// The client's workspace directories.
#[must_use]
pub fn roots(uris: &[&str]) -> Value {
    let roots: Vec<Value> = uris.iter().map(|uri| json!({ "uri": uri })).collect();
    json!({ "roots": roots })
}
