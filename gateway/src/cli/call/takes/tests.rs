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
