//! Schemas as forms, and the values of forms.

use serde_json::{Map, json};

use super::*;

fn schema() -> Value {
    json!({
        "type": "object",
        "properties": {
            "note": { "type": "string", "description": "A note" },
            "day": { "type": "string", "format": "date" },
            "count": { "type": "integer", "default": 3 },
            "deep": { "type": ["boolean", "null"] },
            "unit": { "enum": ["m", "km", 7] },
            "tags": { "type": "array", "items": { "type": "string" } },
            "any": {},
        },
        "required": ["note"],
    })
}

/// The object, or the errors, of a form in which these fields are filled.
fn read(filled: &[(&str, &str)]) -> Result<Value, Vec<(String, String)>> {
    let schema = schema();
    let fields = form_fields(&schema, "a");
    let mut body = form_urlencoded::Serializer::new(String::new());
    for field in &fields {
        let text = filled.iter().find(|(name, _)| *name == field.name).map_or("", |(_, text)| *text);
        body.append_pair(&field.input, text);
    }
    let values = FormValues::parse(body.finish().as_bytes());
    read_object(&fields, &values).map(|object| serde_json::from_str(&object).unwrap()).map_err(|errors| {
        let name = |input: &str| fields.iter().find(|field| field.input == input).unwrap().name.to_owned();
        errors.into_iter().map(|(input, error)| (name(&input), error)).collect()
    })
}

#[test]
fn each_type_has_its_control() {
    let schema = schema();
    let controls: Vec<_> =
        form_fields(&schema, "a").into_iter().map(|field| (field.name.to_owned(), field.control)).collect();
    let control = |name: &str| &controls.iter().find(|(field, _)| field == name).unwrap().1;
    assert_eq!(*control("note"), FieldControl::Text);
    assert_eq!(*control("day"), FieldControl::Line);
    assert_eq!(*control("count"), FieldControl::Number);
    assert_eq!(*control("deep"), FieldControl::Boolean);
    assert!(matches!(control("unit"), FieldControl::Choice(choices) if choices.len() == 3));
    assert_eq!((control("tags"), control("any")), (&FieldControl::Json, &FieldControl::Json));
}

#[test]
fn empty_fields_are_left_out_except_required_text() {
    assert_eq!(read(&[]), Ok(json!({ "note": "" })));
}

#[test]
fn values_have_the_types_of_the_schema() {
    let filled = [
        ("note", "two\r\nlines"),
        ("count", " 12 "),
        ("deep", "false"),
        ("unit", "2"),
        ("tags", "[\"a\"]"),
        ("any", "null"),
    ];
    let expected =
        json!({ "note": "two\nlines", "count": 12, "deep": false, "unit": 7, "tags": ["a"], "any": null });
    assert_eq!(read(&filled), Ok(expected));
}

#[test]
fn invalid_values_are_reported_at_their_fields() {
    let errors = read(&[("count", "many"), ("deep", "yes"), ("unit", "9"), ("tags", "[1, 1")]).unwrap_err();
    let error = |name: &str| errors.iter().find(|(field, _)| field == name).unwrap().1.clone();
    assert_eq!((error("count"), error("deep")), ("enter a number".into(), "choose true or false".into()));
    assert_eq!(error("unit"), "choose one of the values");
    assert!(error("tags").starts_with("invalid JSON: "), "{errors:?}");
}

#[test]
fn a_form_shows_defaults_and_earlier_values() {
    let schema = schema();
    let fields = form_fields(&schema, "a");
    let initial = |name: &str| fields.iter().find(|field| field.name == name).unwrap().initial_text();
    assert_eq!((initial("count"), initial("note")), ("3".to_owned(), String::new()));
    let members = json!({ "note": "n", "unit": "km", "tags": ["a"], "deep": true });
    let values = FormValues::of_members(&fields, &members.to_string()).unwrap();
    let read: Value = serde_json::from_str(&read_object(&fields, &values).unwrap()).unwrap();
    assert_eq!(read, members);
}

#[test]
fn a_form_that_would_send_other_values_shows_none() {
    let schema = schema();
    let fields = form_fields(&schema, "a");
    let large = vec![0; MAX_DEFAULT_BYTES];
    for members in [
        json!({ "tags": large }),
        json!({ "unit": "parsec" }),
        json!({ "any": null }),
        json!({ "day": "" }),
        json!({ "day": "2026-01-01\n" }),
        json!({ "note": "a\r\nb" }),
        json!({ "note": "n", "other": 1 }),
    ] {
        assert!(FormValues::of_members(&fields, &members.to_string()).is_none(), "{members}");
    }
    assert!(FormValues::of_members(&fields, r#"{"note":""}"#).is_some());
    let number = "123456789012345678901234567890";
    let values = FormValues::of_members(&fields, &format!("{{\"note\":\"\",\"count\":{number}}}")).unwrap();
    assert!(read_object(&fields, &values).unwrap().contains(number));
}

#[test]
fn hostile_schemas_make_no_large_form() {
    let deep = (0..50).fold(Value::from(vec![0; 100]), |inner, _| json!([inner]));
    assert_eq!(indented(&deep, 1_000), (format!("{deep:#}")[..1_000].to_owned(), false));
    let properties: Map<String, Value> =
        (0..100).map(|at| (format!("p{at}"), json!({ "type": "array", "default": deep }))).collect();
    let schema = json!({ "type": "object", "properties": properties });
    let texts: usize = form_fields(&schema, "a").iter().map(|field| field.initial_text().len()).sum();
    assert!(texts <= 100 * MAX_DEFAULT_BYTES, "{texts}");

    let choices: Vec<String> = (0..MAX_FORM_CHOICES).map(|at| at.to_string()).collect();
    let properties: Map<String, Value> =
        (0..100).map(|at| (format!("p{at}"), json!({ "enum": choices }))).collect();
    let schema = json!({ "type": "object", "properties": properties });
    let fields = form_fields(&schema, "a");
    let with_choices = fields.iter().filter(|field| matches!(field.control, FieldControl::Choice(_))).count();
    assert_eq!(with_choices, MAX_CHOICES_OF_FORM / MAX_FORM_CHOICES);
}
