//! Checks the messages of a server against the official JSON Schema of their protocol revision, and against rules that
//! the specification states only in prose.
//!
//! [`Conversation`] follows one client: it records the client's requests and checks the server's messages, because the
//! request determines the definition of its result. The schemas are in `schemas/`; see README.md for their source.

mod conversation;
mod definitions;
mod methods;
mod rules;

pub use conversation::Conversation;
pub use definitions::{ExtraMembers, Revision, SchemaViolation};

use serde_json::Value;

/// Checks the result of `method`, independent of its request.
///
/// # Errors
/// The result is invalid in this revision.
pub fn check_result(
    revision: Revision,
    method: &str,
    result: &Value,
    members: ExtraMembers,
) -> Result<(), SchemaViolation> {
    let definition = methods::result(revision, method, result).ok_or_else(|| {
        SchemaViolation::of(revision, "a result", result, format!("this revision has no `{method}`"))
    })?;
    revision.check(definition, result, members)?;
    rules::result(revision, definition, result, members)
}

/// Checks a notification or a request from the server, including its JSON-RPC members.
///
/// # Errors
/// The message is invalid in this revision.
pub fn check_call(revision: Revision, message: &Value, members: ExtraMembers) -> Result<(), SchemaViolation> {
    let method = message["method"].as_str().unwrap_or_default();
    let is_request = message.get("id").is_some();
    let definition = match is_request {
        true => methods::request(revision, method),
        false => methods::notification(revision, method),
    };
    let definition = definition.ok_or_else(|| {
        SchemaViolation::of(
            revision,
            "a message",
            message,
            format!("a server sends no `{method}` in this revision"),
        )
    })?;
    let envelope = if is_request { "JSONRPCRequest" } else { "JSONRPCNotification" };
    revision.check(envelope, message, ExtraMembers::Denied)?;
    let bare = revision.bare(definition, message);
    revision.check(definition, &bare, members)?;
    rules::no_nulls(revision, definition, message, members)
}

/// Checks an error response, including its JSON-RPC members.
///
/// # Errors
/// The response is invalid in this revision.
pub fn check_error(revision: Revision, message: &Value) -> Result<(), SchemaViolation> {
    let mut checked = message.clone();
    // If a request's id can't be read, JSON-RPC requires `null`, and the pages on transports require no `id`. The older
    // schemas allow neither, and the newer ones require that it is absent.
    if checked["id"].is_null() && !revision.may_omit_ids() {
        checked["id"] = 0.into();
    }
    revision.check(revision.error_definition(), &checked, ExtraMembers::Denied)?;
    let code = checked["error"]["code"].as_i64().unwrap_or_default();
    if let Some(definition) = methods::error(revision, code) {
        revision.check(definition, &checked, ExtraMembers::Denied)?;
    }
    rules::error(revision, &checked, code)
}

#[cfg(test)]
mod tests;
