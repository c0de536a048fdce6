//! Conversion of schemars' schemas to forms, and types that can't be forms.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::form;
use crate::schema::input_value;

fn of<T: JsonSchema>() -> Value {
    form(&input_value::<T>()).unwrap()
}

fn refused<T: JsonSchema>() -> String {
    form(&input_value::<T>()).unwrap_err()
}

#[derive(JsonSchema)]
#[expect(dead_code, reason = "only its schema is used")]
struct Booking {
    /// The number of guests.
    #[schemars(range(min = 1, max = 8))]
    persons: u8,
    #[schemars(title = "Mail", email)]
    mail: String,
    place: Place,
    second_choice: Option<Place>,
    #[schemars(length(min = 1, max = 2))]
    meals: Vec<Meal>,
    remarks: Option<String>,
    #[serde(default = "yes")]
    inside: bool,
    tip: Option<f64>,
}

fn yes() -> bool {
    true
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Place {
    Garden,
    Bar,
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Meal {
    #[schemars(title = "Seafood")]
    Fish,
    /// Without meat
    Greens,
    Bread,
}

#[test]
fn converts_a_struct_of_simple_fields() {
    let titled = json!([
        { "const": "bread", "title": "bread" },
        { "const": "fish", "title": "Seafood" },
        { "const": "greens", "title": "Without meat" },
    ]);
    let mut form = of::<Booking>();
    // Choices without doc comments can come before the others.
    let meals = form["properties"]["meals"]["items"]["anyOf"].as_array_mut().unwrap();
    meals.sort_by_key(|meal| meal["const"].to_string());
    let expected = json!({
        "type": "object",
        "properties": {
            "persons": { "type": "integer", "minimum": 1, "maximum": 8, "description": "The number of guests." },
            "mail": { "type": "string", "format": "email", "title": "Mail" },
            "place": { "type": "string", "enum": ["garden", "bar"] },
            "second_choice": { "type": "string", "enum": ["garden", "bar"] },
            "meals": { "type": "array", "minItems": 1, "maxItems": 2, "items": { "anyOf": titled } },
            "remarks": { "type": "string" },
            "inside": { "type": "boolean", "default": true },
            "tip": { "type": "number" },
        },
        "required": ["persons", "mail", "place", "meals"],
    });
    assert_eq!(form, expected);
    let order: Vec<&String> = form["properties"].as_object().unwrap().keys().collect();
    assert_eq!(order[..3], ["persons", "mail", "place"], "fields keep the struct's order");
}

#[test]
fn keeps_a_handwritten_form() {
    let written = json!({
        "type": "object",
        "properties": {
            "old": { "type": "string", "enum": ["a", "b"], "enumNames": ["A", "B"], "default": "a" },
            "one": { "type": "string", "oneOf": [{ "const": "a", "title": "A" }] },
            "many": { "type": "array", "items": { "type": "string", "enum": ["a"] }, "maxItems": 1 },
            "day": { "type": "string", "format": "date", "minLength": 1 },
        },
        "required": ["one"],
    });
    assert_eq!(form(&written).unwrap(), written);
}

#[test]
fn names_unsupported_fields() {
    #[derive(JsonSchema)]
    #[expect(dead_code, reason = "only its schema is used")]
    struct Nested {
        fine: u8,
        area: Area,
    }
    #[derive(JsonSchema)]
    #[expect(dead_code, reason = "only its schema is used")]
    struct Area {
        width: u8,
    }
    #[derive(JsonSchema)]
    #[expect(dead_code, reason = "only its schema is used")]
    struct Listed {
        tags: Vec<String>,
    }
    #[derive(JsonSchema)]
    #[expect(dead_code, reason = "only its schema is used")]
    struct Any {
        value: Value,
    }
    #[derive(JsonSchema)]
    #[expect(dead_code, reason = "only its schema is used")]
    struct Pattern {
        #[schemars(regex(pattern = "^a"))]
        word: String,
    }
    #[derive(JsonSchema)]
    #[expect(dead_code, reason = "only its schema is used")]
    enum Either {
        Left { a: u8 },
        Right { b: u8 },
    }
    #[derive(JsonSchema)]
    struct Empty {}
    for (reason, wanted) in [
        (refused::<Nested>(), "`area` is an object"),
        (refused::<Listed>(), "`tags` is a list"),
        (refused::<Any>(), "`value` can be anything"),
        (refused::<Pattern>(), "`word` contains `pattern`"),
        (refused::<Either>(), "`oneOf`"),
        (refused::<Empty>(), "no fields"),
        (refused::<BTreeMap<String, u8>>(), "no fields"),
        (refused::<Vec<u8>>(), "isn't of type `object`"),
    ] {
        assert!(reason.contains(wanted), "{reason}");
    }
}
