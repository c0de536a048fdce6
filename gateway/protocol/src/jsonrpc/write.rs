//! Writes messages as bytes: each writer appends one JSON text without raw line breaks and without a line end.

use crate::json::{Json, push_string};

use super::{ErrorObject, Id};

/// The id in the answer to a request whose id couldn't be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MissingId {
    /// `"id":null`, as JSON-RPC requires.
    Null,
    /// No id.
    Omit,
}

/// Appends a response with a result. The result's text is copied unchanged.
pub fn write_result(out: &mut Vec<u8>, id: &Id, result: &Json) {
    let head = result_head(id);
    out.reserve_exact(head.len() + result.get().len() + 1);
    out.extend_from_slice(&head);
    out.extend_from_slice(result.get().as_bytes());
    out.push(b'}');
}

/// The part of a response before its result. A closing brace follows the result.
pub(crate) fn result_head(id: &Id) -> Vec<u8> {
    [b"{\"jsonrpc\":\"2.0\",\"id\":", id.as_json().as_bytes(), b",\"result\":"].concat()
}

/// Appends a response with an error; `unknown` is used if there is no id.
pub fn write_error(out: &mut Vec<u8>, id: Option<&Id>, unknown: MissingId, error: &ErrorObject) {
    let ErrorObject { code, message, data } = error;
    out.extend_from_slice(b"{\"jsonrpc\":\"2.0\"");
    match (id, unknown) {
        (Some(id), _) => {
            out.extend_from_slice(b",\"id\":");
            out.extend_from_slice(id.as_json().as_bytes());
        }
        (None, MissingId::Null) => out.extend_from_slice(b",\"id\":null"),
        (None, MissingId::Omit) => {}
    }
    out.extend_from_slice(b",\"error\":{\"code\":");
    out.extend_from_slice(code.to_string().as_bytes());
    out.extend_from_slice(b",\"message\":");
    quote(out, message);
    if let Some(data) = data {
        out.extend_from_slice(b",\"data\":");
        out.extend_from_slice(data.get().as_bytes());
    }
    out.extend_from_slice(b"}}");
}

/// Appends a notification.
pub fn write_notification(out: &mut Vec<u8>, method: &str, params: Option<&Json>) {
    out.extend_from_slice(b"{\"jsonrpc\":\"2.0\"");
    write_call(out, method, params);
}

/// Appends a request.
pub fn write_request(out: &mut Vec<u8>, id: &Id, method: &str, params: Option<&Json>) {
    out.extend_from_slice(b"{\"jsonrpc\":\"2.0\",\"id\":");
    out.extend_from_slice(id.as_json().as_bytes());
    write_call(out, method, params);
}

/// Writes the members that requests and notifications share: `method` and `params`.
fn write_call(out: &mut Vec<u8>, method: &str, params: Option<&Json>) {
    out.extend_from_slice(b",\"method\":");
    quote(out, method);
    if let Some(params) = params {
        out.extend_from_slice(b",\"params\":");
        out.extend_from_slice(params.get().as_bytes());
    }
    out.push(b'}');
}

fn quote(out: &mut Vec<u8>, text: &str) {
    let mut quoted = String::new();
    push_string(&mut quoted, text);
    out.extend_from_slice(quoted.as_bytes());
}
