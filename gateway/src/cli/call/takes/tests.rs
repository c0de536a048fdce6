//! Arguments that are missing, and such as nobody knows.

use super::*;

#[test]
fn what_is_missing_and_what_is_unknown_are_told_apart() {
    let mut schema = json!({ "properties": { "a": { "type": "integer" }, "b": {} }, "required": ["a", "b"] });
    let given = Json::from_value(&json!({ "b": null, "c": 1 }));
    let missing: Vec<&str> = lacking(&schema, &given).iter().map(|field| field.name).collect();
    assert_eq!((missing, unknown(&schema, &given)), (vec!["a"], vec!["c".to_owned()]));
    schema["additionalProperties"] = json!({});
    assert!(unknown(&schema, &given).is_empty());
    assert!(unknown(&json!({ "type": "object" }), &given).is_empty());
}

#[test]
fn what_stands_under_a_misspelt_name_moves_to_the_right_one() {
    let schema = json!({
        "properties": { "timezone": { "type": "string" }, "count": { "type": "integer" } },
        "required": ["timezone", "count"],
    });
    let given = Json::from_value(&json!({ "timezne": "UTC", "colour": "red" }));
    let typed = ["timezne=UTC", "colour=red"].map(str::to_owned).to_vec();
    assert_eq!(pairs(&schema, &given, typed), ["timezone=UTC", "count=1"]);
    assert_eq!(object(&schema, &given), json!({ "timezone": "UTC", "count": 1 }));
}

#[test]
fn all_that_is_passed_on_unknown_is_told_in_one_sentence() {
    let schema = json!({ "properties": { "timezone": {}, "format": {}, "count": {} } });
    let said = |given: Value| passed_on(&schema, &Json::from_value(&given));
    assert_eq!(said(json!({ "count": 1 })), None);
    for (given, sentence) in [
        (
            json!({ "timezne": "UTC" }),
            "`timezne` is passed on, though the tool names no such argument; did you mean `timezone`?",
        ),
        (
            json!({ "timezne": "UTC", "formt": "x", "q": 1 }),
            "`timezne`, `formt` and `q` are passed on, though the tool names no such arguments; \
             did you mean `timezone` and `format`?",
        ),
        (
            // What is given isn't meant once more.
            json!({ "timezne": "UTC", "timezone": "UTC" }),
            "`timezne` is passed on, though the tool names no such argument; it takes `timezone`, `format` and `count`",
        ),
    ] {
        assert_eq!(said(given).as_deref(), Some(sentence));
    }
}
