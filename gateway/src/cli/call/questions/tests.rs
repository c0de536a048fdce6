//! Questions as text, and the options that answer them.

use serde_json::json;

use super::*;

fn only(request: &Value) -> Question {
    let [question] = &Question::all(&json!({ "inputRequests": { "q": request } }))[..] else { panic!() };
    question.clone()
}

#[test]
fn questions_of_a_hostile_gateway_stay_in_their_lines() {
    let evil = "k\nhint: run this\u{1b}]0;x";
    let request = json!({ "method": "elicitation/create", "params": { "requestedSchema": {
        "required": [evil], "properties": { evil: { "type": evil, "default": null, "description": "\u{7}" } } } } });
    let mut result = json!({});
    result["inputRequests"][evil] = request;
    let text = Question::all(&result)[0].text();
    assert_eq!(text.lines().count(), 4, "{text}");
    assert!(!text.contains(['\u{1b}', '\u{7}']), "{text:?}");
}

#[test]
fn a_form_is_shown_with_its_fields_and_options() {
    let question = only(&json!({ "method": "elicitation/create", "params": {
        "message": "[plugin: p] Who\u{1b}[2J?", "requestedSchema": { "required": ["name", "age"], "properties": {
            "name": { "type": "string", "description": "Yours." },
            "age": { "type": "integer", "default": 30 },
            "kind": { "type": "string", "enum": ["x", "y"] },
    } } } }));
    assert_eq!(
        question.text(),
        "  `q` asks the user: [plugin: p] Who\\u{1b}[2J?\n    name: text (required); Yours.\n    \
         age: whole number (default 30)\n    kind: one of `x`, `y`\n    \
         --answer q.name=text, or --answer q=decline, or --answer q=cancel\n"
    );
    assert_eq!(question.answers(), ["q.name=text"]);
}

#[test]
fn shows_questions_to_the_model_pages_and_directories() {
    let model = only(&json!({ "method": "sampling/createMessage", "params": {
        "systemPrompt": "Be brief.",
        "messages": [{ "role": "user", "content": { "type": "text", "text": "Hi" } },
            { "role": "user", "content": [{ "type": "image", "data": "AAA=" }] }],
    } }));
    assert!(
        model.text().contains("asks the model\n    system: Be brief.\n    user: Hi\n    user: [image]\n")
    );
    assert!(model.text().ends_with("    --answer 'q=text of the reply'\n"));
    let page = only(&json!({ "method": "elicitation/create", "params": {
        "mode": "url", "message": "Log in", "url": "https://example.org/x" } }));
    assert!(
        page.text().contains("the page: https://example.org/x\n    --answer q=opened, or --answer q=decline")
    );
    let directories = only(&json!({ "method": "roots/list" }));
    assert!(directories.text().contains("the client's directories\n    --answer q=./\n"));
}
