//! Descriptions of schemas, and valid examples.

use super::*;

fn lines(schema: &Value) -> Vec<String> {
    super::field_lines(&fields(schema))
}

#[test]
fn describes_each_kind_of_field() {
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
            "many: list (at least 1 values) of: one of `u` (U)",
            "when: text (date, such as 2026-01-31)",
            "ref: one of `red`, `blue`; Which?",
            "maybe: one of `red`, `blue`; A color.",
            "any: any JSON",
        ]
    );
}

#[test]
fn an_example_is_parsed_as_a_valid_value() {
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
        let example = field.example(&mut ExampleBudget::new());
        let value = parse_typed(example.strip_prefix("f=").unwrap(), Some(field.schema));
        let validator = moongate_protocol::catalog::Schema::compile(
            &moongate_model::json::Json::from_value(&root),
            moongate_model::policy::SchemaBounds { max_size: bytesize::ByteSize::kib(64), max_depth: 64 },
        );
        assert!(validator.unwrap().check(&json!({ "f": value })).is_ok(), "{example} doesn't fit {root}");
    }
}

#[test]
fn a_schema_that_refers_to_itself_ends() {
    let root = json!({ "properties": { "a": { "$ref": "#/properties/a" }, "t": { "$ref": "#/$defs/t" } },
        "$defs": { "t": { "type": "array", "items": { "$ref": "#/$defs/t" } } } });
    assert_eq!(lines(&root).len(), 2);
    assert_eq!(
        fields(&root).iter().map(|field| field.example(&mut ExampleBudget::new())).collect::<Vec<_>>().len(),
        2
    );
}

/// The output is bounded, however often a schema contains itself.
#[test]
fn bounds_the_output_of_exploding_schemas() {
    let size = |root: &Value| {
        let fields = fields(root);
        let lines: usize = super::field_lines(&fields).iter().map(String::len).sum();
        let mut budget = ExampleBudget::new();
        let examples: usize = fields.iter().map(|field| field.example(&mut budget).len()).sum();
        (lines, examples)
    };
    let types = json!({ "required": ["x"], "properties": {
        "x": { "type": vec!["array"; 100], "items": { "$ref": "#/properties/x" } } } });
    assert_eq!(lines(&types), ["x: list of: list of: list of: list (required)"]);
    assert!(size(&types).1 < 40, "{:?}", size(&types));

    let names: Vec<String> = (0..400).map(|number| format!("m{number}")).collect();
    let members: serde_json::Map<String, Value> =
        names.iter().map(|name| (name.clone(), json!({ "$ref": "#" }))).collect();
    let itself = json!({ "type": "object", "required": names, "properties": members });
    let (told, shown) = size(&itself);
    assert!(told < 100 * 50 && shown < 20 << 10, "{told} {shown}");

    let long = "x".repeat(1 << 20);
    for value in [json!({ "default": [long] }), json!({ "enum": [long, [long]] }), json!({ "format": long })]
    {
        let (told, shown) = size(&json!({ "required": ["a"], "properties": { "a": value } }));
        assert!(told < 20 << 10 && shown < 5 << 10, "{told} {shown}");
    }
    let unknown: Vec<String> = (0..1000).map(|number| format!("{number}{}", "t".repeat(1000))).collect();
    assert!(size(&json!({ "properties": { "a": { "type": unknown } } })).0 < 20 << 10);
}
