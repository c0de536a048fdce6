//! Nulls that count as absent, at any depth, and nulls that are values or errors.

use serde_json::{Value, json};

use crate::json::Json;
use crate::policy::SchemaBounds;

use super::*;

/// The members that count as absent, or the error.
fn absent(schema: &Value, value: &Value) -> Result<Vec<String>, String> {
    let bounds = SchemaBounds { max_size: bytesize::ByteSize::mib(1), max_depth: 64 };
    let schema = Schema::compile(&Json::from_value(schema), bounds).unwrap();
    schema.check_arguments(&value.to_string()).map_err(|error| error.message)
}

#[test]
fn null_counts_as_absent_where_it_is_not_allowed() {
    let schema = json!({
        "type": "object",
        "properties": {
            "name": { "type": "string" },
            "count": { "type": "integer", "minimum": 1 },
            "kind": { "enum": ["a", "b"] },
            "only": { "const": 1 },
            "either": { "anyOf": [{ "type": "string" }, { "type": "integer" }] },
            "no": { "not": { "type": "null" } },
            "cleared": { "type": ["string", "null"] },
            "anything": {},
            "a/b": { "$ref": "#/$defs/text" },
            "nested": { "type": "object", "properties": { "x": { "type": "number" } } },
            "list": { "type": "array", "items": { "type": "object", "properties": { "x": { "type": "number" } } } },
            "choice": { "anyOf": [{ "type": "string" }, { "type": "object", "properties": { "x": { "type": "number" } } }] },
        },
        "required": ["name"],
        "additionalProperties": false,
        "$defs": { "text": { "type": "string" } },
    });
    for (value, wanted) in [
        (json!({ "name": "x" }), &[][..]),
        (json!({ "name": "x", "cleared": null, "anything": null }), &[]),
        (json!({ "name": "x", "count": null, "cleared": null }), &["/count"]),
        (
            json!({ "name": "x", "kind": null, "only": null, "either": null, "no": null, "a/b": null }),
            &["/kind", "/only", "/either", "/no", "/a~1b"],
        ),
        (json!({ "name": "x", "nested": { "x": null } }), &["/nested/x"]),
        (json!({ "name": "x", "nested": null, "list": [{ "x": null }, {}] }), &["/nested", "/list/0/x"]),
        (json!({ "name": "x", "choice": { "x": null } }), &["/choice/x"]),
    ] {
        let mut found = absent(&schema, &value).unwrap();
        found.sort();
        let mut wanted = wanted.to_vec();
        wanted.sort_unstable();
        assert_eq!(found, wanted, "{value}");
    }
    for (value, message) in [
        (json!({ "name": null }), "`name` must be of type string, not null"),
        (json!({ "name": "x", "nmae": null }), "`nmae` is unknown (did you mean `name`?)"),
        (json!({ "name": "x", "list": [null] }), "`/list/0` must be of type object, not null"),
        (json!({ "name": 1, "count": null }), "`name` must be of type string, not number"),
        (
            json!({ "name": "x", "count": 0, "kind": null, "nested": { "x": null } }),
            "`count` must be at least 1",
        ),
        (
            json!({ "name": null, "count": "1", "kind": null }),
            "`name` must be of type string, not null; `count` must be of type integer, not string",
        ),
    ] {
        assert_eq!(absent(&schema, &value).unwrap_err(), message, "{value}");
    }
}

#[test]
fn finds_nulls_in_large_values() {
    let schema = json!({
        "type": "object",
        "properties": { "rows": { "type": "array", "items": { "type": "integer" } }, "a": { "type": "string" }, "b": { "type": "string" } },
    });
    let rows = vec![1; 100_000];
    assert_eq!(absent(&schema, &json!({ "rows": rows, "a": null, "b": null })).unwrap(), ["/a", "/b"]);
}
