//! Schemas in words, and examples that fit them.

use super::*;

fn lines(schema: &Value) -> Vec<String> {
    fields(schema).iter().map(Field::line).collect()
}

#[test]
fn each_kind_of_field_has_words() {
    let schema = json!({ "required": ["b", "name"], "properties": {
        "a": { "type": "integer", "minimum": 1, "maximum": 6, "default": 2 },
        "b": { "type": "boolean", "description": "Delete them all?\nReally." },
        "name": { "type": ["string", "null"], "maxLength": 9 },
        "pet": { "type": "string", "oneOf": [{ "const": "cat", "title": "Cat" }, { "const": "dog", "title": "Dog" }] },
        "old": { "type": "string", "enum": ["x", "y"], "enumNames": ["X", "Y"] },
        "many": { "type": "array", "minItems": 1, "items": { "anyOf": [{ "const": "u", "title": "U" }] } },
        "when": { "type": "string", "format": "date" },
        "ref": { "$ref": "#/$defs/Color", "description": "Which?" },
        "maybe": { "anyOf": [{ "$ref": "#/$defs/Color" }, { "type": "null" }], "default": null },
        "any": true,
    }, "$defs": { "Color": { "type": "string", "enum": ["red", "blue"], "description": "A color." } } });
    assert_eq!(
        lines(&schema),
        [
            "b: true or false (required); Delete them all?",
            "name: text up to 9 characters (required)",
            "a: whole number from 1 to 6 (default 2)",
            "pet: one of `cat` (Cat), `dog` (Dog)",
            "old: one of `x` (X), `y` (Y)",
            "many: list from 1 values on of: one of `u` (U)",
            "when: text (date, as 2026-01-31)",
            "ref: one of `red`, `blue`; Which?",
            "maybe: one of `red`, `blue`; A color.",
            "any: any JSON",
        ]
    );
}

#[test]
fn an_example_is_read_as_a_value_that_fits() {
    for schema in [
        json!({ "type": "integer", "minimum": 7 }),
        json!({ "type": "number", "maximum": 0.5 }),
        json!({ "type": "boolean" }),
        json!({ "type": "string", "minLength": 11 }),
        json!({ "type": "string", "maxLength": 2 }),
        json!({ "type": "string", "enum": ["1", "2"] }),
        json!({ "enum": ["1", "2"] }),
        json!({ "type": "array", "items": { "type": "string" } }),
        json!({ "type": "object", "required": ["a"], "properties": { "a": { "type": "integer" } } }),
        json!({ "type": ["string", "null"] }),
        json!({ "anyOf": [{ "type": "integer" }, { "type": "null" }] }),
        json!({ "$ref": "#/$defs/d" }),
    ] {
        let root = json!({ "properties": { "f": schema }, "required": ["f"], "$defs": { "d": { "type": "boolean" } } });
        let [field] = &fields(&root)[..] else { panic!("{root}") };
        let example = field.example();
        let value = read(example.strip_prefix("f=").unwrap(), Some(field.schema));
        let validator = moongate_core::catalog::Schema::compile(
            &moongate_core::json::Json::from_value(&root),
            moongate_core::catalog::Bounds { most: bytesize::ByteSize::kib(64), depth: 64 },
        );
        assert!(validator.unwrap().check(&json!({ "f": value })).is_ok(), "{example} doesn't fit {root}");
    }
}

#[test]
fn a_schema_that_refers_to_itself_ends() {
    let root = json!({ "properties": { "a": { "$ref": "#/properties/a" }, "t": { "$ref": "#/$defs/t" } },
        "$defs": { "t": { "type": "array", "items": { "$ref": "#/$defs/t" } } } });
    assert_eq!(lines(&root).len(), 2);
    assert_eq!(fields(&root).iter().map(Field::example).count(), 2);
}
