//! Properties of any header and any argument that it can repeat (2026-07-28, basic/transports/streamable-http), as a
//! function for the seeded tests and for fuzzers.

use super::{Header, Headers, STANDARD, check_arguments, check_standard, decode};
use base64::Engine as _;
use serde_json::{Value, json};

use crate::mcp::Params;

/// The same header under every name.
struct One<'a>(Header<'a>);

impl Headers for One<'_> {
    fn get(&self, _name: &str) -> Header<'_> {
        self.0
    }
}

fn accepts(header: &str, value: &Value) -> bool {
    check_arguments(&One(Header::Text(header)), &[("X".to_owned(), Some(value.clone()))]).is_ok()
}

/// Reads `bytes` as two lines: a header, and an argument as JSON. An argument matches its own value in base64, a header
/// matches at most one string, and a missing or invalid header matches nothing.
///
/// # Panics
/// A property doesn't hold.
pub fn fuzz_headers(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let (header, argument) = text.split_once('\n').unwrap_or((text, "null"));
    let value: Value = serde_json::from_str(argument).unwrap_or_else(|_| argument.into());
    let is_accepted = accepts(header, &value);
    match &value {
        Value::String(text_value) => {
            assert_eq!(
                is_accepted,
                decode(header).as_ref() == Some(text_value),
                "a string equals its header"
            );
            assert!(
                accepts(&format!("=?base64?{}?=", STANDARD.encode(text_value)), &value),
                "any string can be encoded"
            );
            assert!(
                !accepts(header, &format!("{text_value}x").into()) || !is_accepted,
                "a header has one value"
            );
        }
        Value::Number(number) => {
            assert!(accepts(&number.to_string(), &value), "a number matches its own text")
        }
        Value::Bool(truth) => assert_eq!(is_accepted, decode(header) == Some(truth.to_string())),
        Value::Null | Value::Array(_) | Value::Object(_) => {
            assert!(!is_accepted, "no header can express this")
        }
    }
    for nothing in [Header::Absent, Header::Invalid] {
        let refused = check_arguments(&One(nothing), &[("X".to_owned(), Some(value.clone()))]).is_err();
        let is_required = matches!(value, Value::String(_) | Value::Number(_) | Value::Bool(_));
        assert_eq!(refused, is_required || matches!(nothing, Header::Invalid));
    }
    named(header, argument);
}

/// `Mcp-Method` is literal, so it only matches its own text.
fn named(header: &str, name: &str) {
    let raw = serde_json::value::to_raw_value(&json!({ "name": name })).expect("it is JSON");
    let Ok(params) = Params::read(Some((&*raw).into())) else { return };
    let call = check_standard(&One(Header::Text(header)), "tools/call", &params).is_ok();
    assert_eq!(call, header == "tools/call" && name == header);
}
