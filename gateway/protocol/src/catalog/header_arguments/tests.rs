//! Tests of valid annotations, and of the removal of invalid ones.

use serde_json::json;

use super::*;

/// The names that are found, and the locations of removed annotations.
fn seen(mut schema: Value) -> (Vec<String>, Vec<String>, Value) {
    let (found, wrong) = find_annotations(&mut schema);
    let names = found.iter().map(|it| format!("{} at {}", it.name, it.path.join(" ")));
    (names.collect(), wrong.into_iter().map(|it| it.pointer).collect(), schema)
}

#[test]
fn finds_annotations_at_any_depth() {
    let schema = json!({
        "type": "object",
        "properties": {
            "region": { "type": "string", "x-mcp-header": "Region" },
            "deep": { "type": "object", "properties": { "er": { "type": "boolean", "x-mcp-header": "X.~1" } } },
            "x-mcp-header": { "type": "integer", "x-mcp-header": "own" },
        },
    });
    let (names, wrong, after) = seen(schema.clone());
    assert_eq!(names, ["Region at region", "X.~1 at deep er", "own at x-mcp-header"]);
    assert_eq!((wrong, after), (Vec::new(), schema));
}

#[test]
fn removes_invalid_annotations_only() {
    let it = |kind: &str, name: Value| json!({ "z": 1, "type": kind, "x-mcp-header": name, "a": 2 });
    let schema = json!({
        "x-mcp-header": "Root",
        "type": "object",
        "properties": {
            "first": it("string", json!("Same")),
            "again": it("string", json!("sAME")),
            "number": it("number", json!("N")),
            "object": it("object", json!("O")),
            "either": { "type": ["string", "null"], "x-mcp-header": "E" },
            "untyped": { "x-mcp-header": "U" },
            "empty": it("string", json!("")),
            "blank": it("string", json!("a b")),
            "break": it("string", json!("a\r\nb")),
            "letter": it("string", json!("é")),
            "list": { "type": "array", "items": it("string", json!("I")) },
            "any": { "anyOf": [{ "properties": { "x": it("string", json!("A")) } }] },
            "data": { "const": { "x-mcp-header": "stays" }, "enum": [{ "x-mcp-header": "stays" }] },
            "not a string": it("string", json!(7)),
        },
        "additionalProperties": it("string", json!("P")),
        "$defs": { "d": it("string", json!("D")) },
    });
    let (names, mut wrong, after) = seen(schema);
    assert_eq!(names, ["Same at first"]);
    wrong.sort_unstable();
    let under = |names: &[&str]| names.iter().map(|name| format!("/properties/{name}")).collect::<Vec<_>>();
    let mut expected = under(&[
        "again",
        "any/anyOf/0/properties/x",
        "blank",
        "break",
        "either",
        "empty",
        "letter",
        "list/items",
        "not a string",
        "number",
        "object",
        "untyped",
    ]);
    expected.extend([String::new(), "/additionalProperties".to_owned(), "/$defs/d".to_owned()]);
    expected.sort_unstable();
    assert_eq!(wrong, expected);
    assert_eq!(after["properties"]["number"].to_string(), r#"{"z":1,"type":"number","a":2}"#);
    assert_eq!(
        after.to_string().matches("x-mcp-header").count(),
        3,
        "one that holds, two that are data: {after}"
    );
}

#[test]
fn finds_header_argument_by_path() {
    let argument = HeaderArgument { name: "X".to_owned(), path: vec!["a".to_owned(), "0".to_owned()] };
    assert_eq!(argument.value(&json!({ "a": { "0": false } })), Some(&json!(false)));
    for none in
        [json!({ "a": { "0": null } }), json!({ "a": [1] }), json!({ "a": 1 }), json!({}), json!(null)]
    {
        assert_eq!(argument.value(&none), None, "{none}");
    }
}

#[test]
fn an_annotation_with_an_escaped_name_is_searched_for() {
    assert!(may_have_annotations(r#"{"properties":{"a":{"x-mcp-header":"A"}}}"#));
    assert!(may_have_annotations(r#"{"properties":{"a":{"x-mcp-\u0068eader":"A"}}}"#));
    assert!(!may_have_annotations(r#"{"properties":{"header":{"type":"string"}}}"#));
}
