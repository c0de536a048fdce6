//! Serialization of forms and pages, and parsing of answers.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::{Decision, Form, Url};
use crate::input::Question;

#[derive(Debug, PartialEq, Deserialize, JsonSchema)]
struct Name {
    name: String,
}

#[test]
fn serializes_the_form() {
    let params = Form::<Name>::new("Who?").params().unwrap();
    let schema =
        json!({ "type": "object", "properties": { "name": { "type": "string" } }, "required": ["name"] });
    assert_eq!(params, json!({ "mode": "form", "message": "Who?", "requestedSchema": schema }));
    let params = Url::new("Log in.", "https://example.com/login").params().unwrap();
    assert_eq!(params, json!({ "mode": "url", "message": "Log in.", "url": "https://example.com/login" }));
}

#[test]
fn parses_answers_and_fails_on_refusal() {
    let form = Form::<Name>::new("Who?");
    let ada = json!({ "action": "accept", "content": { "name": "Ada" } });
    assert_eq!(form.read(ada.clone()).unwrap(), Name { name: "Ada".to_owned() });
    for (answer, wanted) in [
        (json!({ "action": "decline" }), "the user declined the question \"Who?\""),
        (json!({ "action": "cancel" }), "the user dismissed the question \"Who?\""),
        (json!({ "action": "accept" }), "missing field `name`"),
        (json!({ "action": "accept", "content": { "name": 1 } }), "expected a string"),
        (json!({ "action": "perhaps" }), "unknown variant"),
        (json!(1), "the client's answer isn't an answer to a question"),
    ] {
        let error = format!("{:?}", form.read(answer).unwrap_err());
        assert!(error.contains("Failed") && error.replace('\\', "").contains(wanted), "{error}");
    }
    assert_eq!(Url::new("", "").read(json!({ "action": "accept" })).unwrap(), ());
    assert_eq!(form.may_decline().read(ada).unwrap().accepted().unwrap().name, "Ada");
}

#[test]
fn returns_a_refusal_if_allowed() {
    let form = Form::<Map<String, Value>>::with_schema("Who?", json!({})).may_decline();
    assert_eq!(form.read(json!({ "action": "decline" })).unwrap(), Decision::Declined);
    assert_eq!(form.read(json!({ "action": "cancel" })).unwrap(), Decision::Dismissed);
    let page = Url::new("", "").may_decline();
    assert_eq!(page.read(json!({ "action": "accept" })).unwrap(), Decision::Accepted(()));
}
