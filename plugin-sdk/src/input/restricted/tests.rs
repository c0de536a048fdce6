//! What schemars says of a struct, as a form; and what can't be one.

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
#[expect(dead_code, reason = "only its schema is wanted")]
struct Booking {
    /// How many will come.
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
    #[schemars(title = "From the sea")]
    Fish,
    /// Without meat
    Greens,
    Bread,
}

#[test]
fn a_struct_of_simple_fields_is_a_form() {
    let titled = json!([
        { "const": "bread", "title": "bread" },
        { "const": "fish", "title": "From the sea" },
        { "const": "greens", "title": "Without meat" },
    ]);
    let mut form = of::<Booking>();
    // Choices without words of their own may come before the others.
    let meals = form["properties"]["meals"]["items"]["anyOf"].as_array_mut().unwrap();
    meals.sort_by_key(|meal| meal["const"].to_string());
    let expected = json!({
        "type": "object",
        "properties": {
            "persons": { "type": "integer", "minimum": 1, "maximum": 8, "description": "How many will come." },
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
    assert_eq!(order[..3], ["persons", "mail", "place"], "a person reads the fields in the struct's order");
}

#[test]
fn a_form_written_by_hand_stays_as_it_is() {
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
fn what_a_form_can_not_have_is_refused_by_name() {
    #[derive(JsonSchema)]
    #[expect(dead_code, reason = "only its schema is wanted")]
    struct Nested {
        fine: u8,
        area: Area,
    }
    #[derive(JsonSchema)]
    #[expect(dead_code, reason = "only its schema is wanted")]
    struct Area {
        width: u8,
    }
    #[derive(JsonSchema)]
    #[expect(dead_code, reason = "only its schema is wanted")]
    struct Listed {
        tags: Vec<String>,
    }
    #[derive(JsonSchema)]
    #[expect(dead_code, reason = "only its schema is wanted")]
    struct Any {
        value: Value,
    }
    #[derive(JsonSchema)]
    #[expect(dead_code, reason = "only its schema is wanted")]
    struct Pattern {
        #[schemars(regex(pattern = "^a"))]
        word: String,
    }
    #[derive(JsonSchema)]
    #[expect(dead_code, reason = "only its schema is wanted")]
    enum Either {
        Left { a: u8 },
        Right { b: u8 },
    }
    #[derive(JsonSchema)]
    struct Empty {}
    for (reason, wanted) in [
        (refused::<Nested>(), "`area` is an object"),
        (refused::<Listed>(), "`tags` is a list"),
        (refused::<Any>(), "`value` may be anything"),
        (refused::<Pattern>(), "`word` has `pattern`"),
        (refused::<Either>(), "`oneOf`"),
        (refused::<Empty>(), "no fields"),
        (refused::<BTreeMap<String, u8>>(), "no fields"),
        (refused::<Vec<u8>>(), "isn't of type `object`"),
    ] {
        assert!(reason.contains(wanted), "{reason}");
    }
}
