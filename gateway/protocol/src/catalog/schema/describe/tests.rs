//! Tests of the limits on error messages, and of listing known names.

use serde_json::{Map, json};

use super::*;

/// The messages for a value, and the remaining budgets.
fn told<'s>(schema: &'s Value, value: &Value) -> (Vec<String>, ErrorDescriber<'s>) {
    let validator = jsonschema::validator_for(schema).unwrap();
    let mut words = ErrorDescriber::new(schema);
    let told = validator.iter_errors(value).map(|error| words.describe(&error).message).collect();
    (told, words)
}

#[test]
fn lists_known_names_without_a_suggestion() {
    let schema = json!({ "properties": { "name": {}, "style": {} }, "additionalProperties": false });
    for (value, message) in [
        (json!({ "nmae": 1 }), "`nmae` is unknown (did you mean `name`?)"),
        (
            json!({ "zzz": 1, "nmae": 1 }),
            "`zzz` is unknown; `nmae` is unknown (did you mean `name`?); known members are `name`, `style`",
        ),
        (
            json!({ "nmae": 1, "zzz": 1 }),
            "`nmae` is unknown (did you mean `name`?); `zzz` is unknown; known members are `name`, `style`",
        ),
        (
            json!({ "nmae": 1, "stile": 1 }),
            "`nmae` is unknown (did you mean `name`?); `stile` is unknown (did you mean `style`?)",
        ),
    ] {
        assert_eq!(told(&schema, &value).0, [message]);
    }
}

/// An object with `most` members and one more.
fn members(most: usize, last: &str) -> Value {
    let mut members: Map<String, Value> =
        (0..most).map(|at| (format!("member_{at:04}"), json!(true))).collect();
    members.insert(last.to_owned(), json!(true));
    Value::Object(members)
}

#[test]
fn compares_at_most_a_hundred_names() {
    let open = json!({ "required": ["a_long_name"] });
    let closed = |most| json!({ "properties": members(most, "a_long_name"), "additionalProperties": false });
    let is_found = |schema: &Value, value: &Value| told(schema, value).0[0].contains("did you");
    assert!(is_found(&open, &members(MAX_COMPARED_MEMBERS - 1, "a_lnog_name")));
    assert!(!is_found(&open, &members(MAX_COMPARED_MEMBERS, "a_lnog_name")));
    assert!(is_found(&closed(MAX_COMPARED_MEMBERS - 1), &json!({ "a_lnog_name": 1 })));
    assert!(!is_found(&closed(MAX_COMPARED_MEMBERS), &json!({ "a_lnog_name": 1 })));
}

#[test]
fn bounds_comparisons_of_one_answer() {
    let wanted: Vec<_> = (0..300).map(|at| format!("{at:04}{}", "x".repeat(120))).collect();
    let given: Map<String, Value> =
        (0..100).map(|at| (format!("{at:04}{}", "y".repeat(120)), json!(1))).collect();
    let schema = json!({ "required": wanted });
    let (said, words) = told(&schema, &Value::Object(given));
    assert_eq!((said.len(), words.budget.char_pairs_left()), (300, 0));
}

#[test]
fn bounds_nested_forms() {
    let mut form = json!({ "required": ["name"] });
    for level in 0..4 {
        form = json!({ "anyOf": (0..4).map(|at| json!({ "allOf": [form], "title": format!("{level}.{at}") })).collect::<Vec<_>>() });
    }
    let (said, words) = told(&form, &json!({ "nmae": 1 }));
    assert!(said.len() == 1 && said[0].contains("matches none of the forms"), "{said:?}");
    // The forms are examined four per level down to the deepest one, and then upwards until the budget is used up.
    assert_eq!(words.forms_left, 0);
    let small = json!({ "anyOf": [{ "type": "null" }, { "required": ["name"] }] });
    let (said, words) = told(&small, &json!({ "nmae": 1 }));
    assert_eq!(said, ["`name` is missing (did you mean `nmae`?)"]);
    assert_eq!(words.forms_left, MAX_FORMS_PER_ANSWER - 2);
}
