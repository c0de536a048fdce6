//! Generated schemas for typical types.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{NO_ARGUMENTS, input_value, output};

#[derive(Deserialize, Serialize, JsonSchema)]
struct Query {
    /// The city to look for.
    city: String,
    days: Option<u32>,
    place: Option<Place>,
}

#[derive(Deserialize, Serialize, JsonSchema)]
struct Place {
    latitude: f64,
}

#[derive(Deserialize, JsonSchema)]
#[serde(tag = "kind")]
#[expect(dead_code, reason = "only its schema is used")]
enum Shape {
    Circle { radius: f64 },
    Square { side: f64 },
}

#[derive(Serialize, JsonSchema)]
struct Tree {
    children: Vec<Tree>,
}

#[test]
fn inlines_subschemas() {
    assert_eq!(
        input_value::<Query>(),
        json!({
            "type": "object",
            "properties": {
                "city": { "type": "string", "description": "The city to look for." },
                "days": { "type": ["integer", "null"], "minimum": 0 },
                "place": {
                    "type": ["object", "null"],
                    "properties": { "latitude": { "type": "number" } },
                    "required": ["latitude"]
                }
            },
            "required": ["city"]
        })
    );
}

#[test]
fn gives_an_enum_of_structs_an_object_type() {
    assert_eq!(input_value::<Shape>()["type"], "object");
}

#[test]
fn requires_always_serialized_members() {
    let schema: Value = serde_json::from_str(&output::<Query>()).unwrap();
    assert_eq!(schema["required"], json!(["city", "days", "place"]));
}

#[test]
fn keeps_references_of_recursive_types() {
    let schema = output::<Tree>();
    assert!(schema.contains("$ref"), "{schema}");
}

#[test]
fn no_arguments_is_a_valid_schema() {
    let schema: Value = serde_json::from_str(NO_ARGUMENTS).unwrap();
    assert_eq!(schema["type"], "object");
}
