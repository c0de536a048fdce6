//! What a client answers, as the result of the method that it was asked.

use serde_json::{Value, json};

/// The person filled in the form; of a page they were asked to open, `json!({})`.
#[must_use]
#[expect(clippy::needless_pass_by_value, reason = "`json!(…)` is written in the call")]
pub fn accepted(content: Value) -> Value {
    json!({ "action": "accept", "content": content })
}

/// The person said no.
#[must_use]
pub fn declined() -> Value {
    json!({ "action": "decline" })
}

/// The person closed the question without choosing.
#[must_use]
pub fn dismissed() -> Value {
    json!({ "action": "cancel" })
}

/// The model said this.
#[must_use]
pub fn sampled(text: &str) -> Value {
    let content = json!({ "type": "text", "text": text });
    json!({ "role": "assistant", "content": content, "model": "test", "stopReason": "endTurn" })
}

/// The client works in these folders.
#[must_use]
pub fn roots(uris: &[&str]) -> Value {
    let roots: Vec<Value> = uris.iter().map(|uri| json!({ "uri": uri })).collect();
    json!({ "roots": roots })
}
