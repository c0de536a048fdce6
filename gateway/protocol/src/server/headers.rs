//! HTTP headers as the protocol sees them, and the headers that repeat parts of the body (2026-07-28).

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use serde_json::{Number, Value};

use crate::mcp::{Method, Params, ProtocolError};

#[cfg(any(test, feature = "fuzz"))]
mod fuzz;

#[cfg(any(test, feature = "fuzz"))]
pub use fuzz::fuzz_headers;

/// The header with the revision.
pub(super) const PROTOCOL_VERSION_HEADER: &str = "mcp-protocol-version";
/// The header with the id of a handshake session.
pub(super) const SESSION_ID_HEADER: &str = "mcp-session-id";
/// The header with the last event of a stream that the client received.
pub(super) const LAST_EVENT_ID_HEADER: &str = "last-event-id";
/// The header with the trace context (W3C Trace Context).
pub(super) const TRACE_PARENT_HEADER: &str = "traceparent";
const METHOD_HEADER: &str = "mcp-method";
const NAME_HEADER: &str = "mcp-name";

/// The value of a header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Header<'a> {
    /// No such header.
    Absent,
    /// Visible ASCII and spaces, trimmed.
    Text(&'a str),
    /// The header contains other characters or is repeated.
    Invalid,
}

/// The headers of a request.
pub trait Headers: Sync {
    /// The value of one header. `name` is in lower case.
    fn get(&self, name: &str) -> Header<'_>;
}

/// Checks that the version header matches the body.
pub(super) fn check_version(headers: &dyn Headers, claimed: &str) -> Result<(), ProtocolError> {
    check(headers, PROTOCOL_VERSION_HEADER, "MCP-Protocol-Version", claimed, HeaderEncoding::Literal)
}

/// Checks that `Mcp-Method` and `Mcp-Name` match the body.
pub(super) fn check_standard(
    headers: &dyn Headers,
    method: &str,
    params: &Params,
) -> Result<(), ProtocolError> {
    check(headers, METHOD_HEADER, "Mcp-Method", method, HeaderEncoding::Literal)?;
    let known = Method::ALL.into_iter().find(|known| known.as_str() == method);
    let name = known.and_then(Method::name_member).and_then(|member| params.name(member));
    match name {
        Some(name) => check(headers, NAME_HEADER, "Mcp-Name", &name, HeaderEncoding::MaybeBase64),
        None => Ok(()),
    }
}

/// Checks that `Mcp-Param-…` headers match the arguments. `repeated` are the arguments that the tool's schema
/// asks clients to repeat.
///
/// An argument that is absent or `null` has no header. A value that a header can't express is left to the validation of
/// the arguments.
pub(super) fn check_arguments(
    headers: &dyn Headers,
    repeated: &[(String, Option<Value>)],
) -> Result<(), ProtocolError> {
    for (name, value) in repeated {
        let shown = format!("Mcp-Param-{name}");
        let lower = shown.to_ascii_lowercase();
        let Some(text) = decoded(headers, &lower, &shown)? else {
            match value {
                Some(Value::String(_) | Value::Number(_) | Value::Bool(_)) => return Err(missing(&shown)),
                Some(Value::Array(_) | Value::Object(_) | Value::Null) | None => continue,
            }
        };
        let same = match value {
            Some(Value::String(expected)) => text == *expected,
            Some(Value::Number(number)) => is_number(&text, number),
            Some(Value::Bool(answer)) => text == if *answer { "true" } else { "false" },
            Some(Value::Array(_) | Value::Object(_) | Value::Null) | None => false,
        };
        if !same {
            return Err(differs(&shown));
        }
    }
    Ok(())
}

/// Reports whether `text` is this number, in any JSON notation.
fn is_number(text: &str, number: &Number) -> bool {
    let is_bare = text.bytes().all(|byte| byte.is_ascii_graphic());
    let Some(parsed) = serde_json::from_str::<Number>(text).ok().filter(|_| is_bare) else { return false };
    match (whole(&parsed), whole(number)) {
        (Some(parsed), Some(number)) => parsed == number,
        (None, None) => parsed.as_f64() == number.as_f64(),
        (Some(_), None) | (None, Some(_)) => false,
    }
}

/// The number as an integer, if it is an exact one.
fn whole(number: &Number) -> Option<i128> {
    const MAX_EXACT_INTEGER: f64 = 9_007_199_254_740_992.0; // 2^53; above it, consecutive integers can't be told apart
    let exactly = number.as_i64().map(i128::from).or_else(|| number.as_u64().map(i128::from));
    exactly.or_else(|| {
        let float =
            number.as_f64().filter(|float| float.fract() == 0.0 && float.abs() <= MAX_EXACT_INTEGER)?;
        format!("{float:.0}").parse().ok()
    })
}

/// The encoding of a header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum HeaderEncoding {
    Literal,
    MaybeBase64,
}

fn check(
    headers: &dyn Headers,
    name: &str,
    shown: &str,
    expected: &str,
    encoding: HeaderEncoding,
) -> Result<(), ProtocolError> {
    let value = match encoding {
        HeaderEncoding::Literal => literal(headers, name, shown)?.map(str::to_owned),
        HeaderEncoding::MaybeBase64 => decoded(headers, name, shown)?,
    };
    match value {
        None => Err(missing(shown)),
        Some(value) if value == expected => Ok(()),
        Some(_) => Err(differs(shown)),
    }
}

/// The literal value of a header.
fn literal<'h>(headers: &'h dyn Headers, name: &str, shown: &str) -> Result<Option<&'h str>, ProtocolError> {
    match headers.get(name) {
        Header::Absent => Ok(None),
        Header::Text(text) => Ok(Some(text)),
        Header::Invalid => Err(ProtocolError::header(
            shown,
            format!("the `{shown}` header contains invalid characters or is repeated"),
        )),
    }
}

/// The decoded value of a header.
fn decoded(headers: &dyn Headers, name: &str, shown: &str) -> Result<Option<String>, ProtocolError> {
    let not_text =
        || ProtocolError::header(shown, format!("the `{shown}` header isn't valid base64 of UTF-8 text"));
    literal(headers, name, shown)?.map(|text| decode(text).ok_or_else(not_text)).transpose()
}

fn missing(shown: &str) -> ProtocolError {
    ProtocolError::header(shown, format!("the `{shown}` header is missing"))
}

fn differs(shown: &str) -> ProtocolError {
    ProtocolError::header(shown, format!("the `{shown}` header doesn't match the body"))
}

/// Decodes `=?base64?…?=` strictly. Any other value is literal.
fn decode(text: &str) -> Option<String> {
    let Some(encoded) = text.strip_prefix("=?base64?").and_then(|rest| rest.strip_suffix("?=")) else {
        return Some(text.to_owned());
    };
    String::from_utf8(STANDARD.decode(encoded).ok()?).ok()
}
