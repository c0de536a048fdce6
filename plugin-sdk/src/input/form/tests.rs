//! Forms and pages: what is sent, and how answers are read.

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
fn a_form_says_what_is_wanted() {
    let params = Form::<Name>::new("Who?").params().unwrap();
    let schema =
        json!({ "type": "object", "properties": { "name": { "type": "string" } }, "required": ["name"] });
    assert_eq!(params, json!({ "mode": "form", "message": "Who?", "requestedSchema": schema }));
    let params = Url::new("Log in.", "https://example.com/login").params().unwrap();
    assert_eq!(params, json!({ "mode": "url", "message": "Log in.", "url": "https://example.com/login" }));
}

#[test]
fn an_answer_is_read_and_a_refusal_ends_the_call() {
    let form = Form::<Name>::new("Who?");
    let ada = json!({ "action": "accept", "content": { "name": "Ada" } });
    assert_eq!(form.read(ada.clone()).unwrap(), Name { name: "Ada".to_owned() });
    for (answer, wanted) in [
        (json!({ "action": "decline" }), "\"Who?\" and declined it"),
        (json!({ "action": "cancel" }), "\"Who?\" and dismissed it"),
        (json!({ "action": "accept" }), "missing field `name`"),
        (json!({ "action": "accept", "content": { "name": 1 } }), "expected a string"),
        (json!({ "action": "perhaps" }), "unknown variant"),
        (json!(1), "the client's answer isn't one to a question"),
    ] {
        let error = format!("{:?}", form.read(answer).unwrap_err());
        assert!(error.contains("Failed") && error.replace('\\', "").contains(wanted), "{error}");
    }
    assert_eq!(Url::new("", "").read(json!({ "action": "accept" })).unwrap(), ());
    assert_eq!(form.may_decline().read(ada).unwrap().accepted().unwrap().name, "Ada");
}

#[test]
fn a_refusal_can_be_an_answer() {
    let form = Form::<Map<String, Value>>::with_schema("Who?", json!({})).may_decline();
    assert_eq!(form.read(json!({ "action": "decline" })).unwrap(), Decision::Declined);
    assert_eq!(form.read(json!({ "action": "cancel" })).unwrap(), Decision::Dismissed);
    let page = Url::new("", "").may_decline();
    assert_eq!(page.read(json!({ "action": "accept" })).unwrap(), Decision::Accepted(()));
}
