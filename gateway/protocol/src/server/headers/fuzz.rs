//! What must hold for any header and any argument that it may repeat (2026-07-28, basic/transports/streamable-http):
//! a plain function, for the seeded loop in the tests and for fuzzers.

use super::{Header, Headers, STANDARD, check_arguments, check_standard, decode};
use base64::Engine as _;
use serde_json::{Value, json};

use crate::mcp::Params;

/// One header, under every name.
struct One<'a>(Header<'a>);

impl Headers for One<'_> {
    fn get(&self, _name: &str) -> Header<'_> {
        self.0
    }
}

fn accepts(header: &str, value: &Value) -> bool {
    check_arguments(&One(Header::Text(header)), &[("X".to_owned(), Some(value.clone()))]).is_ok()
}

/// Reads `bytes` as two lines: a header, and an argument as JSON. An argument is accepted under its own name in base64,
/// a header says at most one text, and a missing or broken one says nothing.
///
/// # Panics
/// That doesn't hold.
pub fn fuzz_headers(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let (header, argument) = text.split_once('\n').unwrap_or((text, "null"));
    let value: Value = serde_json::from_str(argument).unwrap_or_else(|_| argument.into());
    let is_accepted = accepts(header, &value);
    match &value {
        Value::String(said) => {
            assert_eq!(is_accepted, decode(header).as_ref() == Some(said), "a text is what the header says");
            assert!(
                accepts(&format!("=?base64?{}?=", STANDARD.encode(said)), &value),
                "any text can be said"
            );
            assert!(!accepts(header, &format!("{said}x").into()) || !is_accepted, "a header says one text");
        }
        Value::Number(number) => assert!(accepts(&number.to_string(), &value), "a number says itself"),
        Value::Bool(truth) => assert_eq!(is_accepted, decode(header) == Some(truth.to_string())),
        Value::Null | Value::Array(_) | Value::Object(_) => assert!(!is_accepted, "no header can say this"),
    }
    for nothing in [Header::Absent, Header::Invalid] {
        let refused = check_arguments(&One(nothing), &[("X".to_owned(), Some(value.clone()))]).is_err();
        let is_said = matches!(value, Value::String(_) | Value::Number(_) | Value::Bool(_));
        assert_eq!(refused, is_said || matches!(nothing, Header::Invalid));
    }
    named(header, argument);
}

/// `Mcp-Method` is literal, so a name that isn't its own text is refused there.
fn named(header: &str, name: &str) {
    let raw = serde_json::value::to_raw_value(&json!({ "name": name })).expect("it is JSON");
    let Ok(params) = Params::read(Some(&raw)) else { return };
    let call = check_standard(&One(Header::Text(header)), "tools/call", &params).is_ok();
    assert_eq!(call, header == "tools/call" && name == header);
}
