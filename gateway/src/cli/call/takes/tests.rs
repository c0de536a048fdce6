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
    let (lacking, strays) = (lacking(&schema, &given), unknown(&schema, &given));
    let words = ["call", "now", "timezne=UTC", "colour=red"].map(str::to_owned).to_vec();
    assert_eq!(pairs(&lacking, &strays, words), ["call", "now", "timezone=UTC", "count=1"]);
    assert_eq!(object(&lacking, &strays, &given), json!({ "timezone": "UTC", "count": 1 }));
}
