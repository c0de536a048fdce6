//! Questions to the client, passed on unchanged, including invalid ones.

use moongate_sdk::{Context, InputRequest, NeedInput, ToolError};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};

/// One question.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
pub(crate) struct Question {
    /// The key of its answer.
    key: String,
    /// The MCP method.
    method: String,
    /// The parameters of the method.
    params: Option<Value>,
}

/// A form with one text field.
pub(crate) fn form(key: &str, message: &str) -> Question {
    let schema = json!({ "type": "object", "properties": { key: { "type": "string" } }, "required": [key] });
    let params = json!({ "message": message, "requestedSchema": schema });
    Question { key: key.to_owned(), method: "elicitation/create".to_owned(), params: Some(params) }
}

/// Returns the answers to all questions, by key.
pub(crate) fn ask(
    ctx: &Context,
    questions: &[Question],
    state_bytes: Option<usize>,
) -> Result<Value, ToolError> {
    let answers: Option<Map<String, Value>> = questions
        .iter()
        .map(|question| Some((question.key.clone(), ctx.answer::<Value>(&question.key)?)))
        .collect();
    answers.map(Value::Object).ok_or_else(|| need(questions, state_bytes.map(|length| vec![b'x'; length])))
}

/// Asks for a name and greets.
pub(crate) fn name(ctx: &Context) -> Result<String, ToolError> {
    let answer = ask(ctx, &[form("name", "What is your name?")], None)?["name"].take();
    Ok(match answer["action"].as_str() {
        Some("accept") => format!("Hello, {}!", answer["content"]["name"].as_str().unwrap_or("stranger")),
        action => format!("the user chose to {}", action.unwrap_or("say nothing")),
    })
}

/// Asks `rounds` times, one after the other, with its own state in between.
pub(crate) fn in_rounds(ctx: &Context, rounds: usize) -> Result<String, ToolError> {
    let state = ctx.state().unwrap_or_default();
    if state.len() >= rounds {
        return Ok(format!("asked {} times: {}", state.len(), String::from_utf8_lossy(&state)));
    }
    let key = format!("round{}", state.len());
    let kept = [&state[..], b"x"].concat();
    Err(need(&[form(&key, "Once more?")], Some(kept)))
}

fn need(questions: &[Question], state: Option<Vec<u8>>) -> ToolError {
    let request = |question: &Question| InputRequest {
        key: question.key.clone(),
        method: question.method.clone(),
        params: question.params.as_ref().map(Value::to_string),
    };
    let requests = questions.iter().map(request).collect();
    ToolError::need_input(NeedInput { requests, state, meta: None, extra: None })
}
