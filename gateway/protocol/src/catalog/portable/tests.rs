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
    let point = json!({ "type": "array", "title": "A point", "items": {} });
    let place = json!({ "type": "object", "properties": { "at": point } });
    let mut from = place.clone();
    from["description"] = json!("Where to start");
    assert_eq!(
        shown(&schema),
        json!({
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "type": "object",
            "properties": { "from": from, "to": place, "rest": {} },
            "required": ["from"],
            "additionalProperties": true,
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
                "do": { "enum": ["move", "stop"] },
                "to": { "anyOf": [{ "type": "string" }, { "type": "integer" }] },
            },
            "required": ["do"],
            "additionalProperties": false,
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
                "a": { "type": "string", "x-mcp-header": "A", "allOf": [{ "minLength": 1 }] },
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
        "properties": { "$ref": { "type": "string" }, "anyOf": { "enum": [{ "$ref": "#/nowhere" }] } },
        "additionalProperties": false,
    });
    assert_eq!(shown(&schema), schema);
    assert_eq!(portable(&schema, SchemaSubject::Result), schema);
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
