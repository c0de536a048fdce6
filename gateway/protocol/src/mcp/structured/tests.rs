//! Tests of wrapped schemas and values.

use super::*;

fn json(text: &str) -> Json {
    Json::parse(text).unwrap()
}

#[test]
fn wraps_lists_for_older_revisions() {
    let schema = json(
        r##"{"$schema":"x","type":"array","items":{"$ref":"#/$defs/a"},"$defs":{"a":{"const":{"$ref":"#/$defs/a"}}}}"##,
    );
    let shown = object_schema(&schema).to_value().unwrap();
    assert_eq!(
        shown,
        json!({
            "$schema": "x", "type": "object", "required": ["result"],
            "properties": { "result": {
                "type": "array", "items": { "$ref": "#/properties/result/$defs/a" },
                "$defs": { "a": { "const": { "$ref": "#/$defs/a" } } },
            } },
        })
    );
    assert_eq!(Wrapping::for_schema(Some(&schema)), Wrapping::Always);
    assert_eq!(Wrapping::Always.apply(&json("[1,2]")).get(), r#"{"result":[1,2]}"#);
}

#[test]
fn does_not_wrap_objects() {
    let schema = json(r#"{"type":"object"}"#);
    assert_eq!(*object_schema(&schema), schema);
    assert_eq!(Wrapping::for_schema(Some(&schema)), Wrapping::IfNeeded);
    assert_eq!(Wrapping::IfNeeded.apply(&json(r#"{"a":1}"#)).get(), r#"{"a":1}"#);
    assert_eq!(Wrapping::IfNeeded.apply(&json("null")).get(), r#"{"result":null}"#);
    assert_eq!(Wrapping::for_schema(None), Wrapping::IfNeeded);
}

#[test]
fn keeps_references_of_schemas_with_an_id() {
    let schema = json(r##"{"$id":"https://x/y","type":"array","items":{"$ref":"#/$defs/a"}}"##);
    let shown = object_schema(&schema).to_value().unwrap();
    assert_eq!(shown["properties"]["result"]["items"]["$ref"], "#/$defs/a");
}

#[test]
fn spells_out_boolean_schemas_for_older_revisions() {
    let schema =
        json(r#"{"type":"object","properties":{"any":true,"none":false,"some":{"items":true}},"not":false}"#);
    let shown = json!({
        "type": "object", "not": false,
        "properties": { "any": {}, "none": { "not": {} }, "some": { "items": true } },
    });
    assert_eq!(plain_properties(&schema).to_value().unwrap(), shown);
    assert_eq!(object_schema(&schema).to_value().unwrap(), shown);
    assert_eq!(object_schema(&json("true")).to_value().unwrap()["properties"], json!({ "result": {} }));
    let exact = json(r#"{"type":"object","properties":{"a":{"maximum":1.50}}}"#);
    assert_eq!(plain_properties(&exact).get(), exact.get(), "nothing else is rewritten");
    assert!(matches!(plain_properties(&exact), Cow::Borrowed(_)));
    let escaped = json(r#"{ "type" : "object", "prop\u0065rties" : { "any" : true } }"#);
    assert_eq!(plain_properties(&escaped).to_value().unwrap()["properties"], json!({ "any": {} }));
}
