//! Missing and unknown arguments.

use super::*;

#[test]
fn finds_missing_and_unknown_arguments() {
    let mut schema = json!({ "properties": { "a": { "type": "integer" }, "b": {} }, "required": ["a", "b"] });
    let given = Json::from_value(&json!({ "b": null, "c": 1 }));
    let missing: Vec<&str> = missing_fields(&schema, &given).iter().map(|field| field.name).collect();
    assert_eq!((missing, unknown_arguments(&schema, &given)), (vec!["a"], vec!["c".to_owned()]));
    schema["additionalProperties"] = json!({});
    assert!(unknown_arguments(&schema, &given).is_empty());
    assert!(unknown_arguments(&json!({ "type": "object" }), &given).is_empty());
}

#[test]
fn moves_the_value_of_a_misspelt_name() {
    let schema = json!({
        "properties": { "timezone": { "type": "string" }, "count": { "type": "integer" } },
        "required": ["timezone", "count"],
    });
    let given = Json::from_value(&json!({ "timezne": "UTC", "colour": "red" }));
    let typed = ["timezne=UTC", "colour=red"].map(str::to_owned).to_vec();
    assert_eq!(completed_pairs(&schema, &given, typed), ["timezone=UTC", "count=1"]);
    assert_eq!(completed_object(&schema, &given), json!({ "timezone": "UTC", "count": 1 }));
}

#[test]
fn notes_unknown_arguments_in_one_sentence() {
    let schema = json!({ "properties": { "timezone": {}, "format": {}, "count": {} } });
    let said = |given: Value| unknown_arguments_note(&schema, &Json::from_value(&given));
    assert_eq!(said(json!({ "count": 1 })), None);
    for (given, sentence) in [
        (
            json!({ "timezne": "UTC" }),
            "`timezne` isn't in the tool's schema and is passed on; did you mean `timezone`?",
        ),
        (
            json!({ "timezne": "UTC", "formt": "x", "q": 1 }),
            "`timezne`, `formt` and `q` aren't in the tool's schema and are passed on; did you mean `timezone` and \
             `format`?",
        ),
        (
            // An argument that is present isn't suggested.
            json!({ "timezne": "UTC", "timezone": "UTC" }),
            "`timezne` isn't in the tool's schema and is passed on; the schema has `timezone`, `format` and `count`",
        ),
    ] {
        assert_eq!(said(given).as_deref(), Some(sentence));
    }
}
