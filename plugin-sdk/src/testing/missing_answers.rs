//! Errors for missing and invalid answers, with the code that adds them to a test.

use serde_json::Value;

use crate::InputRequest;

/// The error for missing answers. `given` are the keys of the answers that the client has.
pub(super) fn answers<'a>(requests: &[InputRequest], given: impl Iterator<Item = &'a str>) -> String {
    let given: Vec<&str> = given.collect();
    let missing: Vec<&InputRequest> =
        requests.iter().filter(|request| !given.contains(&request.key.as_str())).collect();
    if missing.is_empty() {
        return "the call ended with `NeedInput` but asked no question; add a request to `NeedInput::requests`"
            .to_owned();
    }
    let names: Vec<String> = missing.iter().map(|request| format!("`{}`", request.key)).collect();
    let calls: Vec<String> = missing.iter().map(|request| format!("`{}`", call(request))).collect();
    let questions = if names.len() == 1 { "question" } else { "questions" };
    let mut message = format!(
        "no answer to the {questions} {}; add {} to the client",
        names.join(", "),
        calls.join(" and ")
    );
    if !given.is_empty() {
        let given: Vec<String> = given.iter().map(|key| format!("`{key}`")).collect();
        message.push_str(&format!(" (answers exist for {})", given.join(", ")));
    }
    message
}

/// The error for an answer that no client could send, such as the content alone.
pub(super) fn wrong_answer(request: &InputRequest, answer: &Value) -> Option<String> {
    let member = match request.method.as_str() {
        "elicitation/create" => "action",
        "sampling/createMessage" => "content",
        "roots/list" => "roots",
        _ => return None, // a plugin's own request
    };
    (answer.get(member).is_none()).then(|| {
        format!(
            "the answer to the question `{}` isn't a result of `{}`, which has the member `{member}`; write `{}`",
            request.key,
            request.method,
            call(request)
        )
    })
}

/// The code that answers a question.
fn call(request: &InputRequest) -> String {
    let params: Value =
        request.params.as_deref().and_then(|json| serde_json::from_str(json).ok()).unwrap_or_default();
    let result = match request.method.as_str() {
        "elicitation/create" => format!("testing::accepted(json!({}))", content(&params)),
        "sampling/createMessage" => "testing::sampled(\"…\")".to_owned(),
        "roots/list" => "testing::roots(&[\"file:///…\"])".to_owned(),
        _ => "json!({ … })".to_owned(),
    };
    format!(".answer({:?}, {result})", request.key)
}

/// The content of a filled-in form.
fn content(params: &Value) -> String {
    let fields = params["requestedSchema"]["properties"].as_object().into_iter().flatten();
    let fields: Vec<String> = fields.map(|(name, field)| format!("{name:?}: {}", value(field))).collect();
    if fields.is_empty() { "{}".to_owned() } else { format!("{{ {} }}", fields.join(", ")) }
}

fn value(field: &Value) -> String {
    let choice = field["enum"].get(0).or_else(|| field["oneOf"].get(0).map(|one| &one["const"]));
    match (choice, field["type"].as_str()) {
        (Some(choice), _) => choice.to_string(),
        (None, Some("boolean")) => "true".to_owned(),
        (None, Some("integer" | "number")) => "1".to_owned(),
        (None, Some("array")) => "[]".to_owned(),
        (None, _) => "\"…\"".to_owned(),
    }
}
