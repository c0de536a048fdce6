//! The schemas that authors get for the types they are likely to write.

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
#[expect(dead_code, reason = "only its schema is looked at")]
enum Shape {
    Circle { radius: f64 },
    Square { side: f64 },
}

#[derive(Serialize, JsonSchema)]
struct Tree {
    children: Vec<Tree>,
}

#[test]
fn arguments_are_written_in_place() {
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
fn an_enum_of_structs_is_an_object() {
    assert_eq!(input_value::<Shape>()["type"], "object");
}

#[test]
fn an_output_always_has_what_is_always_written() {
    let schema: Value = serde_json::from_str(&output::<Query>()).unwrap();
    assert_eq!(schema["required"], json!(["city", "days", "place"]));
}

#[test]
fn a_recursive_type_keeps_its_reference() {
    let schema = output::<Tree>();
    assert!(schema.contains("$ref"), "{schema}");
}

#[test]
fn no_arguments_is_a_schema() {
    let schema: Value = serde_json::from_str(NO_ARGUMENTS).unwrap();
    assert_eq!(schema["type"], "object");
}
