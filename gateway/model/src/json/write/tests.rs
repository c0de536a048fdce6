//! Tests of the writer, against serde_json's.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::json;
use serde_json::value::RawValue;

use super::*;

#[derive(Serialize)]
enum Variant {
    Unit,
    Newtype(u8),
    Tuple(u8, String),
    Struct { a: Option<()>, b: char },
}

#[derive(Serialize)]
struct Sample<'a> {
    integers: (i8, i16, i32, i64, i128, u8, u16, u32, u64, u128),
    floats: [f64; 4],
    float: f32,
    flags: [bool; 2],
    text: &'a str,
    variants: Vec<Variant>,
    map: BTreeMap<String, Vec<()>>,
    raw: &'a RawValue,
    json: Json,
    nothing: (),
    empty: [u8; 0],
}

#[test]
fn writes_the_same_as_serde_json() {
    let raw = RawValue::from_string(r#"{"a": [1.50, "\u0061"]}"#.to_owned()).unwrap();
    let sample = Sample {
        integers: (-1, 2, -3, i64::MIN, i128::MAX, 1, 2, 3, u64::MAX, u128::MAX),
        floats: [1.0, 1.5e300, f64::NAN, -0.0],
        float: 0.1,
        flags: [true, false],
        text: "a\"\\\n\r\t\u{8}\u{c}\u{1}\u{1f}\u{7f}/🌙ä",
        variants: vec![
            Variant::Unit,
            Variant::Newtype(1),
            Variant::Tuple(2, "x".to_owned()),
            Variant::Struct { a: None, b: '"' },
        ],
        map: [("k\"".to_owned(), vec![(), ()]), ("l".to_owned(), vec![])].into(),
        json: Json::parse(raw.get()).unwrap(),
        raw: &raw,
        nothing: (),
        empty: [],
    };
    assert_eq!(to_json(&sample).unwrap().get(), serde_json::to_string(&sample).unwrap());
    let value = json!({"a": [null, 1, -1.5, "x\ny", {"b": {}}, []], "": true});
    assert_eq!(to_json(&value).unwrap().get(), value.to_string());
    assert!(to_json(&BTreeMap::from([((1, 2), 3)])).is_err());
}

#[test]
fn escapes_each_character_at_each_position() {
    for c in (0..=0x80).filter_map(char::from_u32).chain(['🌙', '\u{2028}']) {
        for length in [0, 1, 7, 31, 33, 63, 97, 128] {
            let text = format!("{}{c}{}", "x".repeat(length), "ä\n".repeat(length));
            assert_eq!(Json::string(&text).get(), serde_json::to_string(&text).unwrap());
        }
    }
}

/// serde_json's protocol for text that is written unchanged, on which `Json` relies.
#[test]
fn json_is_embedded_unchanged_by_every_writer() {
    let text = r#"{"a":  [1.50, "\u0061"],"a":12345678901234567890123}"#;
    let json = Json::parse(text).unwrap();
    assert_eq!(serde_json::to_string(&[&json]).unwrap(), format!("[{text}]"));
    assert_eq!(to_json(&[&json]).unwrap().get(), format!("[{text}]"));
    assert_eq!(
        serde_json::to_value(&json).unwrap(),
        serde_json::from_str::<serde_json::Value>(text).unwrap()
    );
}
