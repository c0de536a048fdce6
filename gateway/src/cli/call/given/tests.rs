//! What is typed as an answer, and what a tool is told.

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

/// The only answer that is made of these.
fn answer(question: &Question, typed: &[&str]) -> Result<Value, String> {
    let typed: Vec<String> = typed.iter().map(|text| (*text).to_owned()).collect();
    let mut answers = Answers::read(&typed).unwrap();
    let answer = answers.to(question).map(|answer| answer.expect("there is one"));
    assert!(answers.unused().is_empty());
    answer
}

#[test]
fn a_form_is_filled_in_by_fields_as_a_whole_and_by_defaults() {
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
fn a_person_may_say_no() {
    for action in ["decline", "cancel"] {
        assert_eq!(answer(&pet(), &[&format!("pet={action}")]), Ok(json!({ "action": action })));
    }
    let page =
        question("login", "elicitation/create", json!({ "mode": "url", "url": "https://example.org" }));
    assert_eq!(answer(&page, &["login=accept"]), Ok(json!({ "action": "accept" })));
    assert!(answer(&page, &["login=yes"]).unwrap_err().contains("neither `accept`"));
}

#[test]
fn what_does_not_fit_the_form_is_named() {
    for (typed, what) in [
        (&["pet.nam=x"][..], "no field `nam`; it has `name`, `age`, `colors`, `a=b`"),
        (&["pet={\"nam\": 1}"], "no field `nam`"),
        (&["pet.name=x", "pet.name=y"], "`name` is given twice"),
        (&["pet=decline", "pet=cancel"], "given twice"),
        (&["pet=decline", "pet.name=x"], "choose one"),
        (&["pet=x"], "write `pet.FIELD=VALUE`"),
        (&["pet={"], "it is no JSON"),
    ] {
        let why = answer(&pet(), typed).unwrap_err();
        assert!(
            why.starts_with("the answer to `pet` can't be given: ") && why.contains(what),
            "{typed:?}: {why}"
        );
    }
}

#[test]
fn a_model_says_a_text_and_folders_become_uris() {
    let poem = question("poem", "sampling/createMessage", json!({}));
    let said = answer(&poem, &["poem={\"x\": 1}"]).unwrap();
    assert_eq!((&said["role"], &said["content"]["text"]), (&json!("assistant"), &json!("{\"x\": 1}")));
    assert!(answer(&poem, &["poem.text=x"]).unwrap_err().contains("it has no fields"));
    let folders = question("f", "roots/list", Value::Null);
    let roots = |typed: &[&str]| answer(&folders, typed).unwrap()["roots"].clone();
    assert_eq!(
        roots(&["f=/a b", "f=file:///c"]),
        json!([{ "uri": "file:///a%20b" }, { "uri": "file:///c" }])
    );
    assert_eq!(roots(&["f=[\"/a\", \"/b\"]"]).as_array().unwrap().len(), 2);
    assert_eq!(roots(&["f="]), json!([]));
}

#[test]
fn an_answer_goes_to_its_own_question_once_and_what_is_left_is_known() {
    let typed = ["a.b=x", "a=decline", "later=1"].map(str::to_owned);
    let mut answers = Answers::read(&typed).unwrap();
    let page = |key: &str| question(key, "sampling/createMessage", json!({}));
    assert_eq!(answers.to(&page("a.b")).unwrap().unwrap()["content"]["text"], "x");
    assert_eq!(answers.to(&pet()), Ok(None));
    assert_eq!(answers.unused(), ["a=decline", "later=1"]);
    assert!(answers.answered("a.b") && answers.to(&page("a.b")).unwrap().is_none());
    assert!(Answers::read(&["sure".to_owned()]).unwrap_err().contains("`--answer sure` is no answer"));
}
