//! Tests that portable schemas contain nothing that clients reject, and forbid nothing that the plugin allows.

use serde_json::json;

use super::*;
use crate::catalog::Schema;
use crate::json::Json;
use crate::policy::SchemaBounds;

fn shown(schema: &Value) -> Value {
    portable(schema, SchemaSubject::Arguments)
}

#[test]
fn inlines_references() {
    let schema = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "$defs": {
            "place": { "type": "object", "properties": { "at": { "$ref": "#point" } } },
            "p": { "$anchor": "point", "type": "array", "title": "A point" },
        },
        "properties": {
            "from": { "$ref": "#/$defs/place", "description": "Where to start" },
            "to": { "$ref": "#/%24defs/place" },
            "rest": true,
        },
        "required": ["from"],
        "additionalProperties": true,
    });
    let point = json!({ "type": "array", "title": "A point", "items": anything() });
    let place = json!({ "type": "object", "properties": { "at": point } });
    let mut from = place.clone();
    from["description"] = json!("Where to start");
    assert_eq!(
        shown(&schema),
        json!({
            "type": "object",
            "properties": { "from": from, "to": place, "rest": anything() },
            "required": ["from"],
        })
    );
}

#[test]
fn replaces_recursive_references_by_their_type() {
    let schema = json!({
        "type": "object",
        "properties": { "tree": { "$ref": "#/$defs/node" } },
        "$defs": { "node": { "type": "object", "description": "A node", "properties": {
            "children": { "type": "array", "items": { "$ref": "#/$defs/node" } },
        } } },
    });
    let node = &shown(&schema)["properties"]["tree"];
    assert_eq!(node["properties"]["children"]["items"], json!({ "type": "object", "description": "A node" }));
}

#[test]
fn merges_top_level_alternatives() {
    let schema = json!({
        "description": "Moves or stops",
        "oneOf": [
            { "type": "object", "properties": { "do": { "const": "move" }, "to": { "type": "string" } },
              "required": ["do", "to"], "additionalProperties": false },
            { "type": "object", "properties": { "do": { "const": "stop" }, "to": { "type": "integer" } },
              "required": ["do"], "additionalProperties": false },
            { "type": "null" },
        ],
    });
    assert_eq!(
        shown(&schema),
        json!({
            "description": "Moves or stops",
            "properties": {
                "do": { "type": "string", "enum": ["move", "stop"] },
                "to": { "anyOf": [{ "type": "string" }, { "type": "integer" }] },
            },
            "required": ["do"],
            "type": "object",
        })
    );
}

#[test]
fn merges_all_of_and_conditions() {
    let schema = json!({
        "type": "object",
        "properties": { "a": { "type": "string", "x-mcp-header": "A" } },
        "allOf": [
            { "$ref": "#/$defs/paged" },
            { "properties": { "a": { "minLength": 1 } }, "required": ["a"] },
            { "anyOf": [{ "properties": { "c": { "type": "string" } } }] },
        ],
        "if": { "properties": { "a": { "const": "x" } } },
        "then": { "properties": { "b": { "type": "boolean" } }, "required": ["b"] },
        "not": { "required": ["z"] },
        "$defs": { "paged": { "properties": { "page": { "type": "integer" } }, "required": ["page"] } },
    });
    assert_eq!(
        shown(&schema),
        json!({
            "type": "object",
            "properties": {
                "a": { "type": "string", "x-mcp-header": "A", "minLength": 1 },
                "page": { "type": "integer" },
                "c": { "type": "string" },
                "b": { "type": "boolean" },
            },
            "required": ["page", "a"],
        })
    );
}

#[test]
fn keeps_portable_schemas_unchanged() {
    let schema = json!({
        "type": "object",
        "properties": { "$ref": { "type": "string" }, "anyOf": { "type": "string", "enum": ["$ref"] } },
    });
    assert_eq!(shown(&schema), schema);
    let result = json!({
        "type": "object",
        "properties": { "$ref": { "type": "string" }, "anyOf": { "enum": [{ "$ref": "#/nowhere" }] } },
        "additionalProperties": false,
    });
    assert_eq!(portable(&result, SchemaSubject::Result), result);
}

/// The form of a schema that allows every value.
fn anything() -> Value {
    let simple = ["string", "number", "boolean", "object"].map(|kind| json!({ "type": kind }));
    let list = json!({ "type": "array", "items": { "anyOf": simple } });
    json!({ "anyOf": simple.into_iter().chain([list]).collect::<Vec<_>>() })
}

/// The portable form of an argument.
fn argument(schema: &Value) -> Value {
    shown(&json!({ "properties": { "it": schema } }))["properties"]["it"].clone()
}

#[test]
fn replaces_null_in_every_form() {
    let text = json!({ "type": "string", "nullable": true });
    for schema in [
        json!({ "type": ["string", "null"] }),
        json!({ "type": ["null", "string"], "default": null }),
        json!({ "type": "string", "nullable": true }),
        json!({ "anyOf": [{ "type": "string" }, { "type": "null" }] }),
        json!({ "oneOf": [{ "const": null }, { "type": "string" }], "default": null }),
        json!({ "anyOf": [{ "type": ["string", "null"] }] }),
        json!({ "anyOf": [{ "enum": [null] }, { "type": "string" }] }),
        json!({ "allOf": [{ "type": ["string", "null"] }] }),
    ] {
        assert_eq!(argument(&schema), text, "{schema}");
    }
    for kind in ["integer", "number", "boolean"] {
        assert_eq!(argument(&json!({ "type": [kind, "null"] })), json!({ "type": kind, "nullable": true }));
    }
    for (schema, wanted) in [
        (
            json!({ "type": ["array", "null"], "items": { "type": ["string", "null"] } }),
            json!({ "type": "array", "items": text, "nullable": true }),
        ),
        (
            json!({ "type": ["object", "null"], "properties": { "a": { "type": ["string", "null"] } } }),
            json!({ "type": "object", "properties": { "a": text }, "nullable": true }),
        ),
        (
            json!({ "type": ["string", "null"], "enum": ["a", "b", null] }),
            json!({ "type": "string", "enum": ["a", "b"], "nullable": true }),
        ),
        (json!({ "enum": ["a", null] }), json!({ "type": "string", "enum": ["a"], "nullable": true })),
        (json!({ "type": "null" }), json!({ "type": "null" })),
        (
            json!({ "anyOf": [{ "type": "integer", "title": "Count" }, { "type": "null" }], "description": "How many" }),
            json!({ "type": "integer", "title": "Count", "description": "How many", "nullable": true }),
        ),
        (
            json!({ "type": ["string", "integer", "null"], "description": "Key", "minLength": 1, "minimum": 0 }),
            json!({ "anyOf": [
                { "type": "string", "minLength": 1, "description": "Key" },
                { "type": "integer", "minimum": 0 },
                { "type": "null" },
            ] }),
        ),
    ] {
        assert_eq!(argument(&schema), wanted, "{schema}");
    }
    let referenced = json!({
        "$defs": { "maybe": { "anyOf": [{ "$ref": "#/$defs/text" }, { "type": "null" }] }, "text": { "type": "string" } },
        "properties": { "it": { "$ref": "#/$defs/maybe" } },
    });
    assert_eq!(shown(&referenced)["properties"]["it"], text);
}

#[test]
fn replaces_keywords_that_apis_reject() {
    for (schema, wanted) in [
        (json!({ "const": "a" }), json!({ "type": "string", "enum": ["a"] })),
        (json!({ "const": true }), json!({ "type": "boolean", "description": "always true" })),
        (
            json!({ "type": "integer", "enum": [1, 2], "description": "Size" }),
            json!({ "type": "integer", "description": "Size (one of 1, 2)" }),
        ),
        (json!({ "enum": ["", "a"] }), json!({ "type": "string", "enum": ["a"] })),
        (
            json!({ "oneOf": [{ "const": "a", "title": "A" }, { "const": "b" }], "description": "Which" }),
            json!({ "type": "string", "enum": ["a", "b"], "description": "Which" }),
        ),
        (
            json!({ "oneOf": [{ "type": "string" }, { "type": "object", "properties": { "a": {} } }], "description": "D" }),
            json!({ "anyOf": [
                { "type": "string", "description": "D" },
                { "type": "object", "properties": { "a": anything() } },
            ] }),
        ),
        (
            json!({ "type": "integer", "exclusiveMinimum": 0, "exclusiveMaximum": 10, "format": "uint8" }),
            json!({ "type": "integer", "minimum": 1, "maximum": 9 }),
        ),
        (
            json!({ "type": "number", "exclusiveMinimum": 0, "multipleOf": 0.5 }),
            json!({ "type": "number", "description": "more than 0; a multiple of 0.5" }),
        ),
        (
            json!({ "type": "string", "format": "email" }),
            json!({ "type": "string", "description": "format: email" }),
        ),
        (
            json!({ "type": "string", "format": "date-time" }),
            json!({ "type": "string", "format": "date-time" }),
        ),
        (
            json!({ "type": "array", "prefixItems": [{ "type": "number" }, { "type": "number" }], "items": false, "minItems": 2 }),
            json!({ "type": "array", "minItems": 2, "items": { "type": "number" } }),
        ),
        (
            json!({ "type": "array", "items": [{ "type": "string" }, { "type": "number" }], "uniqueItems": true }),
            json!({
                "type": "array",
                "description": "without duplicates",
                "items": { "anyOf": [{ "type": "string" }, { "type": "number" }] },
            }),
        ),
        (json!({ "type": "array", "items": true }), json!({ "type": "array", "items": anything() })),
        (
            json!({ "type": "object", "additionalProperties": { "type": "string" }, "propertyNames": { "pattern": "^x" } }),
            json!({ "type": "object", "description": "each value is of type string" }),
        ),
        (
            json!({ "properties": { "a": { "type": "string" }, "b": false }, "required": ["a", "c"], "additionalProperties": false }),
            json!({ "type": "object", "properties": { "a": { "type": "string" } }, "required": ["a"] }),
        ),
        (
            json!({ "type": "string", "examples": ["x"], "deprecated": true, "contentEncoding": "base64", "not": { "const": "y" } }),
            json!({ "type": "string" }),
        ),
        (json!({ "minimum": 1 }), json!({ "type": "number", "minimum": 1 })),
    ] {
        assert_eq!(argument(&schema), wanted, "{schema}");
    }
}

/// Fails if an API would reject the schema.
fn assert_accepted(schema: &Value) {
    let members = schema.as_object().unwrap_or_else(|| panic!("{schema} isn't an object"));
    if let Some(forms) = members.get("anyOf") {
        assert_eq!(members.len(), 1, "{schema}");
        return forms.as_array().unwrap().iter().for_each(assert_accepted);
    }
    assert!(members["type"].is_string(), "{schema}");
    for (key, value) in members {
        match key.as_str() {
            "properties" => value.as_object().unwrap().values().for_each(assert_accepted),
            "items" => assert_accepted(value),
            "required" => {
                let names = value.as_array().unwrap().iter();
                names.for_each(|name| {
                    assert!(members["properties"].get(name.as_str().unwrap()).is_some(), "{schema}")
                });
            }
            "enum" => assert!(
                value.as_array().unwrap().iter().all(|it| it.as_str().is_some_and(|it| !it.is_empty()))
            ),
            "type" | "description" | "title" | "default" | "nullable" | "format" | "pattern"
            | "minLength" | "maxLength" | "minimum" | "maximum" | "minItems" | "maxItems"
            | "minProperties" | "maxProperties" => {}
            other => panic!("{other} in {schema}"),
        }
    }
}

#[test]
fn bounds_multiplying_choices() {
    let choice = |inner: Value| json!({ "anyOf": [{ "title": "A" }, { "title": "B" }], "properties": { "next": inner }, "type": "object" });
    let schema = argument(&(0..40).fold(json!({ "type": "string" }), |inner, _| choice(inner)));
    assert!(schema.to_string().len() < 4 << 20);
    assert_accepted(&schema);
}

#[test]
fn bounds_multiplying_references() {
    let mut defs = json!({ "d0": { "type": "object", "properties": { "end": { "type": "string" } } } });
    for at in 1..20 {
        let before = json!({ "$ref": format!("#/$defs/d{}", at - 1) });
        defs[format!("d{at}")] = json!({ "type": "object", "properties": { "a": before, "b": before } });
    }
    let schema = json!({ "$ref": "#/$defs/d19", "$defs": defs });
    let text = shown(&schema).to_string();
    assert!(text.len() < 1 << 20 && !text.contains("$ref"), "{} bytes", text.len());
}

/// The same numbers in every run.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % sides
    }

    fn name(&mut self) -> String {
        ["a", "b", "c"][usize::try_from(self.roll(3)).unwrap()].to_owned()
    }

    fn value(&mut self, depth: u32) -> Value {
        match self.roll(if depth == 0 { 5 } else { 12 }) {
            0 => json!(null),
            1 => json!(self.roll(2) == 0),
            2 | 3 => json!(self.roll(4)),
            4 => json!(self.name()),
            5..=7 => (0..self.roll(3)).map(|_| self.value(depth - 1)).collect(),
            _ => Value::Object((0..self.roll(4)).map(|_| (self.name(), self.value(depth - 1))).collect()),
        }
    }

    fn reference(&mut self) -> Value {
        json!(["#/$defs/x", "#/$defs/y", "#", "#z"][usize::try_from(self.roll(4)).unwrap()])
    }

    fn list(&mut self, depth: u32) -> Value {
        (0..=self.roll(2)).map(|_| self.schema(depth)).collect()
    }

    fn schema(&mut self, depth: u32) -> Value {
        if depth == 0 {
            return match self.roll(4) {
                0 => json!(self.roll(3) > 0),
                1 => json!({ "$ref": self.reference() }),
                2 => json!({ "const": self.value(0) }),
                _ if self.roll(4) == 0 => json!({ "type": ["array", "null", "string"] }),
                _ => {
                    json!({ "type": (["object", "array", "string", "integer"][usize::try_from(self.roll(4)).unwrap()]) })
                }
            };
        }
        let below = depth - 1;
        let mut out = Map::new();
        for _ in 0..=self.roll(3) {
            let (key, value) = match self.roll(26) {
                0..=3 => (
                    "properties",
                    json!({ (self.name()): self.schema(below), (self.name()): self.schema(below) }),
                ),
                4 => ("required", json!([self.name()])),
                5 => ("additionalProperties", self.schema(below)),
                6 => ("additionalProperties", json!(false)),
                7 => ("unevaluatedProperties", json!(false)),
                8 => ("allOf", self.list(below)),
                9 | 10 => ("anyOf", self.list(below)),
                11 | 12 => ("oneOf", self.list(below)),
                13 => ("not", self.schema(below)),
                14 => ("if", self.schema(below)),
                15 => ("then", self.schema(below)),
                16 => ("else", self.schema(below)),
                17 => ("items", self.schema(below)),
                18 => ("contains", self.schema(below)),
                19 => ("maxContains", json!(self.roll(2) + 1)),
                20 => ("unevaluatedItems", json!(false)),
                21 => ("patternProperties", json!({ "^[ab]$": self.schema(below) })),
                22 => ("dependentSchemas", json!({ (self.name()): self.schema(below) })),
                _ => ("$ref", self.reference()),
            };
            out.insert(key.to_owned(), value);
        }
        Value::Object(out)
    }
}

#[test]
fn portable_schema_accepts_every_valid_result() {
    let compile = |schema: &Value| {
        Schema::compile(
            &Json::from_value(schema),
            SchemaBounds { max_size: bytesize::ByteSize::kib(256), max_depth: 64 },
        )
    };
    let mut dice = Dice(0x2545_f491_4f6c_dd1d);
    let mut allowed = 0;
    for round in 0..300 {
        let mut schema = dice.schema(3);
        let old = round % 5 == 0;
        if old {
            schema["$schema"] = json!("http://json-schema.org/draft-07/schema#");
        }
        let mut z = dice.schema(2);
        if z.is_object() && !old {
            z["$anchor"] = json!("z");
        }
        schema["$defs"] = json!({ "x": dice.schema(2), "y": dice.schema(2), "z": z });
        let Ok(own) = compile(&schema) else { continue };
        for describes in [SchemaSubject::Arguments, SchemaSubject::Result] {
            let seen = portable(&schema, describes);
            let text = seen.to_string();
            assert!(!text.contains("$ref") && !text.contains("$defs"), "{schema} became {seen}");
            assert!(COMBINATOR_KEYWORDS.iter().all(|key| seen.get(key).is_none()), "{schema} became {seen}");
            if describes == SchemaSubject::Arguments {
                assert_accepted(&seen);
            }
            compile(&seen).unwrap_or_else(|error| panic!("{schema} became {seen}: {error}"));
        }
        let seen = portable(&schema, SchemaSubject::Result);
        let shown = compile(&seen).unwrap();
        for _ in 0..40 {
            let value = dice.value(3);
            if own.check(&value).is_ok() {
                allowed += 1;
                assert!(shown.check(&value).is_ok(), "{value} fits {schema}, but not {seen}");
            }
        }
    }
    assert!(allowed > 500, "{allowed}");
}
