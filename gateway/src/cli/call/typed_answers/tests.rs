//! Answers on the command line, and the responses that are sent.

use super::*;

fn question(key: &str, method: &str, params: Value) -> Question {
    let mut request = json!({ "method": method });
    request["params"] = params;
    Question { key: key.to_owned(), request }
}

fn form(key: &str, properties: &Value) -> Question {
    question(
        key,
        "elicitation/create",
        json!({ "mode": "form", "requestedSchema": { "properties": properties } }),
    )
}

fn pet() -> Question {
    form(
        "pet",
        &json!({
            "name": { "type": "string" }, "age": { "type": "integer", "default": 3 },
            "colors": { "type": "array", "items": { "type": "string" } }, "a=b": { "type": "string" },
        }),
    )
}

/// The only answer from these values.
fn answer(question: &Question, typed: &[&str]) -> Result<Value, String> {
    whole_answer(question, typed).map(|answer| answer.response)
}

fn whole_answer(question: &Question, typed: &[&str]) -> Result<SentAnswer, String> {
    let typed: Vec<String> = typed.iter().map(|text| (*text).to_owned()).collect();
    let mut answers = TypedAnswers::read(&typed).unwrap();
    let answer = answers.to(question).map(|answer| answer.expect("there is one"));
    assert!(answers.unused().is_empty());
    answer
}

#[test]
fn fills_in_a_form_by_fields_as_a_whole_and_by_defaults() {
    let accepted = |content: Value| Ok(json!({ "action": "accept", "content": content }));
    assert_eq!(answer(&pet(), &["pet.name=007", "pet.age=4"]), accepted(json!({ "name": "007", "age": 4 })));
    assert_eq!(answer(&pet(), &["pet.a=b=c"]), accepted(json!({ "a=b": "c", "age": 3 })));
    let colors = json!({ "colors": ["red", "blue"], "age": 3 });
    assert_eq!(answer(&pet(), &["pet.colors=red, blue"]), accepted(colors.clone()));
    assert_eq!(answer(&pet(), &["pet.colors=red", "pet.colors=blue"]), accepted(colors.clone()));
    assert_eq!(answer(&pet(), &["pet={\"colors\": [\"red\", \"blue\"]}"]), accepted(colors));
    assert_eq!(answer(&pet(), &["pet=accept"]), accepted(json!({ "age": 3 })));
    let sure = form("sure", &json!({ "sure": { "type": "boolean" } }));
    assert_eq!(answer(&sure, &["sure=true"]), accepted(json!({ "sure": true })));
}

#[test]
fn a_question_can_be_declined_or_cancelled() {
    for action in ["decline", "cancel"] {
        assert_eq!(answer(&pet(), &[&format!("pet={action}")]), Ok(json!({ "action": action })));
    }
    let page =
        question("login", "elicitation/create", json!({ "mode": "url", "url": "https://example.org" }));
    assert_eq!(answer(&page, &["login=opened"]), Ok(json!({ "action": "accept" })));
    assert!(answer(&page, &["login=yes"]).unwrap_err().contains("isn't `opened`"));
}

#[test]
fn names_the_part_that_does_not_fit_the_form() {
    for (typed, what) in [
        (&["pet.nam=x"][..], "no field `nam`; its fields are `name`, `age`, `colors`, `a=b`"),
        (&["pet={\"nam\": 1}"], "no field `nam`"),
        (&["pet.name=x", "pet.name=y"], "two values for the field `name`"),
        (&["pet=decline", "pet=cancel"], "two answers"),
        (&["pet=decline", "pet.name=x"], "not both"),
        (&["pet=x"], "write `pet.FIELD=VALUE`"),
        (&["pet={"], "not valid JSON"),
    ] {
        let why = answer(&pet(), typed).unwrap_err();
        assert!(why.starts_with("invalid answer to `pet`: ") && why.contains(what), "{typed:?}: {why}");
    }
}

#[test]
fn model_answers_are_text_and_directories_are_uris() {
    let poem = question("poem", "sampling/createMessage", json!({}));
    let said = answer(&poem, &["poem={\"x\": 1}"]).unwrap();
    assert_eq!((&said["role"], &said["content"]["text"]), (&json!("assistant"), &json!("{\"x\": 1}")));
    assert!(answer(&poem, &["poem.text=x"]).unwrap_err().contains("has no fields"));
    let directories = question("f", "roots/list", Value::Null);
    let roots = |typed: &[&str]| answer(&directories, typed).unwrap()["roots"].clone();
    assert_eq!(
        roots(&["f=/a b", "f=file:///c"]),
        json!([{ "uri": "file:///a%20b" }, { "uri": "file:///c" }])
    );
    assert_eq!(roots(&["f=[\"/a\", \"/b\"]"]).as_array().unwrap().len(), 2);
    assert_eq!(roots(&["f="]), json!([]));
}

#[test]
fn an_answer_is_used_once_for_its_own_question() {
    let typed = ["a.b=x", "a=decline", "later=1"].map(str::to_owned);
    let mut answers = TypedAnswers::read(&typed).unwrap();
    let text = |key: &str| form(key, &json!({ "said": { "type": "string" } }));
    assert_eq!(answers.to(&text("a.b")).unwrap().unwrap().response["content"]["said"], "x");
    assert_eq!(answers.to(&pet()), Ok(None));
    assert_eq!(answers.unused(), ["a=decline", "later=1"]);
    assert!(answers.answered("a.b") && answers.to(&text("a.b")).unwrap().is_none());
    assert!(TypedAnswers::read(&["sure".to_owned()]).unwrap_err().contains("invalid `--answer sure`"));
}

/// A tool can ask another question with the same key after it was answered.
#[test]
fn an_answer_to_one_kind_of_question_is_invalid_for_another() {
    let directories = |key: &str| question(key, "roots/list", Value::Null);
    let model = |key: &str| question(key, "sampling/createMessage", json!({}));
    let page = |key: &str| {
        question(key, "elicitation/create", json!({ "mode": "url", "url": "https://evil.example" }))
    };
    for typed in ["k=Ada", "k=true", "k=.", "k=~", "k={\"a\": \"/x\"}", "k=https://example.org", "k=a/b"] {
        let why = answer(&directories("k"), &[typed]).unwrap_err();
        assert!(why.contains("start its path with `/`, `./` or `../`, or its URI with `file://`"), "{why}");
    }
    for typed in ["k=accept", "k=true", "k={}", "k="] {
        assert!(answer(&page("k"), &[typed]).unwrap_err().contains("isn't `opened`"), "{typed}");
    }
    for question in [directories("k.sure"), model("k.sure"), page("k.sure"), model("k.sure=a")] {
        let why = answer(&question, &["k.sure=a=/x"]).unwrap_err();
        assert!(why.contains("could be for a field of a form"), "{why}");
        assert!(question.answers().is_empty(), "{}", question.text());
    }
}

/// A form can have more fields than when it was answered.
#[test]
fn the_shown_answer_includes_defaults() {
    let sure = form(
        "sure",
        &json!({ "sure": { "type": "boolean" }, "pay": { "default": 1000 },
        "note": { "default": "x".repeat(5000) }, "b\n": { "default": "\u{202e}" } }),
    );
    let SentAnswer { response, shown } = whole_answer(&sure, &["sure.sure=true"]).unwrap();
    assert_eq!(response["content"]["pay"], 1000);
    assert!(shown.starts_with(r#"{"sure":true,"#) && shown.contains(r#""pay":1000 (default)"#), "{shown}");
    assert!(shown.len() < 500 && shown.contains("\"b\\n\":\"\\u{202e}\" (default)"), "{shown}");
    assert_eq!(whole_answer(&sure, &["sure=decline"]).unwrap().shown, "decline");
    let directories = question("f", "roots/list", Value::Null);
    assert_eq!(
        whole_answer(&directories, &["f=/a b", "f=file:///c"]).unwrap().shown,
        "file:///a%20b, file:///c"
    );
    let model = question("m", "sampling/createMessage", json!({}));
    assert_eq!(whole_answer(&model, &["m=Hi\n"]).unwrap().shown, r#""Hi\n""#);
}
