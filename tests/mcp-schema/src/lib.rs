//! The judge of what a server sends: each message is held against the official JSON Schema of the revision it was
//! sent in, and against what the specification says in words beside it.
//!
//! [`Conversation`] follows one client: it is told what the client sends and judges what comes back, because only the
//! request says which definition its result must fit. The schemas lie in `schemas/`; README.md says where from.

mod conversation;
mod definitions;
mod methods;
mod rules;

pub use conversation::Conversation;
pub use definitions::{Members, Misfit, Revision};

use serde_json::Value;

/// Judges the result of `method` by itself.
///
/// # Errors
/// It isn't one, in that revision.
pub fn check_result(
    revision: Revision,
    method: &str,
    result: &Value,
    members: Members,
) -> Result<(), Misfit> {
    let definition = methods::result(revision, method, result).ok_or_else(|| {
        Misfit::of(revision, "a result", result, format!("this revision has no `{method}`"))
    })?;
    revision.check(definition, result, members)?;
    rules::result(revision, definition, result, members)
}

/// Judges a notification or a request of the server's by itself, JSON-RPC's own members included.
///
/// # Errors
/// The revision has none like it.
pub fn check_call(revision: Revision, message: &Value, members: Members) -> Result<(), Misfit> {
    let method = message["method"].as_str().unwrap_or_default();
    let is_request = message.get("id").is_some();
    let definition = match is_request {
        true => methods::request(revision, method),
        false => methods::notification(revision, method),
    };
    let definition = definition.ok_or_else(|| {
        Misfit::of(revision, "a message", message, format!("a server sends no `{method}` in this revision"))
    })?;
    let envelope = if is_request { "JSONRPCRequest" } else { "JSONRPCNotification" };
    revision.check(envelope, message, Members::Closed)?;
    let bare = revision.bare(definition, message);
    revision.check(definition, &bare, members)?;
    rules::no_nulls(revision, definition, message, members)
}

/// Judges an error response, JSON-RPC's own members included.
///
/// # Errors
/// It isn't one, in that revision.
pub fn check_error(revision: Revision, message: &Value) -> Result<(), Misfit> {
    let mut judged = message.clone();
    // Where no id can be read, JSON-RPC says `null`, and the transports' pages say "no `id`". The older schemas allow
    // neither; the newer want it left out.
    if judged["id"].is_null() && !revision.may_omit_ids() {
        judged["id"] = 0.into();
    }
    revision.check(revision.error_definition(), &judged, Members::Closed)?;
    let code = judged["error"]["code"].as_i64().unwrap_or_default();
    if let Some(definition) = methods::error(revision, code) {
        revision.check(definition, &judged, Members::Closed)?;
    }
    rules::error(revision, &judged, code)
}

#[cfg(test)]
mod tests;
