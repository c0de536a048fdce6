//! Places where two values differ.

use serde_json::{Value, json};

use super::places;

fn found(theirs: &Value, ours: &Value) -> Vec<String> {
    places(theirs, ours).into_iter().map(|(at, _, _)| at).collect()
}

#[test]
fn finds_the_deepest_differing_places() {
    let theirs = json!({ "a": [1, { "b": 2 }], "c/d": 1, "gone": 1, "same": [1, 2] });
    let ours = json!({ "same": [1, 2], "a": [1, { "b": 3 }], "c/d": 2, "new": null });
    assert_eq!(found(&theirs, &ours), ["/a/1/b", "/c~1d", "/gone", "/new"]);
}

#[test]
fn lists_of_different_lengths_differ_as_a_whole() {
    assert_eq!(found(&json!({ "a": [1] }), &json!({ "a": [1, 2] })), ["/a"]);
}

#[test]
fn equal_values_have_no_differences() {
    assert!(found(&json!({ "a": 1, "b": 2 }), &json!({ "b": 2, "a": 1 })).is_empty());
}

#[test]
fn our_descriptions_can_quote_more() {
    let of = |description: Value| json!({ "items": { "t": { "description": description } } });
    let (few, many) = (json!({ "a": true }), json!({ "a": true, "b": true }));
    assert!(found(&of(few.clone()), &of(many.clone())).is_empty());
    assert_eq!(found(&of(many), &of(few.clone())), ["/items/t/description/b"]);
    assert!(found(&json!({ "items": { "t": {} } }), &of(few.clone())).is_empty());
    assert_eq!(found(&of(few), &json!({ "items": { "t": {} } })), ["/items/t/description"]);
}
