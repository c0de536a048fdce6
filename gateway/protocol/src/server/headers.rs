//! HTTP headers as the protocol sees them, and those that repeat what the body says (2026-07-28).

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use serde_json::{Number, Value};

use crate::mcp::{Method, Params, ProtocolError};

mod fuzz;

pub use fuzz::fuzz_headers;

/// The header that names the revision.
pub(super) const VERSION: &str = "mcp-protocol-version";
/// The header that names a handshake session.
pub(super) const SESSION: &str = "mcp-session-id";
/// The header that names the last event that a client saw of a stream.
pub(super) const LAST_EVENT: &str = "last-event-id";
const METHOD: &str = "mcp-method";
const NAME: &str = "mcp-name";

/// A header's value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Header<'a> {
    /// It isn't there.
    Absent,
    /// Visible ASCII and blanks, without the blanks around it.
    Text(&'a str),
    /// It holds other characters, or is there more than once.
    Invalid,
}

/// The headers of a request.
pub trait Headers: Sync {
    /// The value of one header; `name` is in lower case.
    fn get(&self, name: &str) -> Header<'_>;
}

/// The revision header must say what the body says.
pub(super) fn check_version(headers: &dyn Headers, claimed: &str) -> Result<(), ProtocolError> {
    check(headers, VERSION, "MCP-Protocol-Version", claimed, Encoding::Literal)
}

/// `Mcp-Method` and `Mcp-Name` must say what the body says. `name_of` is the method's member, if the method is known.
pub(super) fn check_standard(
    headers: &dyn Headers,
    method: &str,
    params: &Params,
) -> Result<(), ProtocolError> {
    check(headers, METHOD, "Mcp-Method", method, Encoding::Literal)?;
    let known = Method::ALL.into_iter().find(|known| known.as_str() == method);
    let name = known.and_then(Method::name_member).and_then(|member| params.name(member));
    match name {
        Some(name) => check(headers, NAME, "Mcp-Name", name, Encoding::MaybeBase64),
        None => Ok(()),
    }
}

/// `Mcp-Param-…` headers must say what the arguments say; `repeated` are those that the tool wants repeated.
///
/// An argument that is absent or `null` has no header. A value that no header can repeat is left to the schema.
pub(super) fn check_arguments(
    headers: &dyn Headers,
    repeated: &[(String, Option<Value>)],
) -> Result<(), ProtocolError> {
    for (name, value) in repeated {
        let shown = format!("Mcp-Param-{name}");
        let lower = shown.to_ascii_lowercase();
        let Some(said) = said(headers, &lower, &shown)? else {
            match value {
                Some(Value::String(_) | Value::Number(_) | Value::Bool(_)) => return Err(missing(&shown)),
                Some(Value::Array(_) | Value::Object(_) | Value::Null) | None => continue,
            }
        };
        let same = match value {
            Some(Value::String(text)) => said == *text,
            Some(Value::Number(number)) => is_number(&said, number),
            Some(Value::Bool(answer)) => said == if *answer { "true" } else { "false" },
            Some(Value::Array(_) | Value::Object(_) | Value::Null) | None => false,
        };
        if !same {
            return Err(differs(&shown));
        }
    }
    Ok(())
}

/// Does `text` say this number, in whichever way JSON can write it?
fn is_number(text: &str, number: &Number) -> bool {
    let is_bare = text.bytes().all(|byte| byte.is_ascii_graphic());
    let Some(said) = serde_json::from_str::<Number>(text).ok().filter(|_| is_bare) else { return false };
    match (whole(&said), whole(number)) {
        (Some(said), Some(number)) => said == number,
        (None, None) => said.as_f64() == number.as_f64(),
        (Some(_), None) | (None, Some(_)) => false,
    }
}

/// The whole number that this is, if it is one and says so exactly.
fn whole(number: &Number) -> Option<i128> {
    const EXACT: f64 = 9_007_199_254_740_992.0; // 2^53: beyond it, neighbours are one
    let exactly = number.as_i64().map(i128::from).or_else(|| number.as_u64().map(i128::from));
    exactly.or_else(|| {
        let float = number.as_f64().filter(|float| float.fract() == 0.0 && float.abs() <= EXACT)?;
        format!("{float:.0}").parse().ok()
    })
}

/// Whether a value may be written in base64.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Encoding {
    Literal,
    MaybeBase64,
}

fn check(
    headers: &dyn Headers,
    name: &str,
    shown: &str,
    expected: &str,
    encoding: Encoding,
) -> Result<(), ProtocolError> {
    let said = match encoding {
        Encoding::Literal => literal(headers, name, shown)?.map(str::to_owned),
        Encoding::MaybeBase64 => said(headers, name, shown)?,
    };
    match said {
        None => Err(missing(shown)),
        Some(said) if said == expected => Ok(()),
        Some(_) => Err(differs(shown)),
    }
}

/// A header's value as it stands there.
fn literal<'h>(headers: &'h dyn Headers, name: &str, shown: &str) -> Result<Option<&'h str>, ProtocolError> {
    match headers.get(name) {
        Header::Absent => Ok(None),
        Header::Text(text) => Ok(Some(text)),
        Header::Invalid => Err(ProtocolError::header(
            shown,
            format!("the `{shown}` header holds characters that headers can't hold, or is there twice"),
        )),
    }
}

/// A header's value as it was meant.
fn said(headers: &dyn Headers, name: &str, shown: &str) -> Result<Option<String>, ProtocolError> {
    let not_text =
        || ProtocolError::header(shown, format!("the `{shown}` header isn't valid base64 of UTF-8 text"));
    literal(headers, name, shown)?.map(|text| decode(text).ok_or_else(not_text)).transpose()
}

fn missing(shown: &str) -> ProtocolError {
    ProtocolError::header(shown, format!("the `{shown}` header is missing"))
}

fn differs(shown: &str) -> ProtocolError {
    ProtocolError::header(shown, format!("the `{shown}` header differs from what the body says"))
}

/// A value as it was meant: `=?base64?…?=` is decoded strictly, everything else is itself.
fn decode(text: &str) -> Option<String> {
    let Some(encoded) = text.strip_prefix("=?base64?").and_then(|rest| rest.strip_suffix("?=")) else {
        return Some(text.to_owned());
    };
    String::from_utf8(STANDARD.decode(encoded).ok()?).ok()
}
