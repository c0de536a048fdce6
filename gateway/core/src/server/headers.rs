//! HTTP headers as the protocol sees them, and those that repeat what the body says (2026-07-28).

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::mcp::{Method, Params, ProtocolError};

/// The header that names the revision.
pub(super) const VERSION: &str = "mcp-protocol-version";
/// The header that names a handshake session.
pub(super) const SESSION: &str = "mcp-session-id";
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

    /// All headers whose name starts with `prefix`, in lower case, with their values.
    fn starting_with(&self, prefix: &str) -> Vec<(String, Header<'_>)>;
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
    match headers.get(name) {
        Header::Absent => Err(ProtocolError::header(format!("the `{shown}` header is missing"))),
        Header::Invalid => Err(ProtocolError::header(format!(
            "the `{shown}` header holds characters that headers can't hold, or is there twice"
        ))),
        Header::Text(text) => {
            let said = match encoding {
                Encoding::Literal => text.to_owned(),
                Encoding::MaybeBase64 => decode(text).ok_or_else(|| {
                    ProtocolError::header(format!("the `{shown}` header isn't valid base64 of UTF-8 text"))
                })?,
            };
            if said == expected {
                Ok(())
            } else {
                Err(ProtocolError::header(format!("the `{shown}` header differs from what the body says")))
            }
        }
    }
}

/// A value as it was meant: `=?base64?…?=` is decoded strictly, everything else is itself.
fn decode(text: &str) -> Option<String> {
    let Some(encoded) = text.strip_prefix("=?base64?").and_then(|rest| rest.strip_suffix("?=")) else {
        return Some(text.to_owned());
    };
    String::from_utf8(STANDARD.decode(encoded).ok()?).ok()
}
