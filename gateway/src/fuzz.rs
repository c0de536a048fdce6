//! Fuzz targets for the whole path from a plugin to a client, and for WebSocket frames: plain functions, for seeded tests
//! and for fuzzers.
//!
//! An arbitrary plugin serves a client of each protocol revision. The invariants: nothing panics, each message is
//! one line of JSON without duplicate keys, and only data contains invisible characters. The caller receives every
//! message and can validate it against the official schemas.

use moongate_model::json::parse_strict;
use moongate_model::names::PluginId;
use moongate_model::text::is_hidden;
use moongate_protocol::mcp::Revision;
use serde_json::Value;

use moongate_host::fuzz;

mod server;

pub use crate::transport::websocket::fuzz_websocket;

use server::FuzzServer;

/// Receives each message that the client sent, and then each response to it, with the protocol revision.
pub type MessageSink<'a> = dyn FnMut(Revision, &[u8], Option<&[u8]>) + 'a;

/// Uses `bytes` as a plugin's description. If it is valid, requests all lists.
///
/// # Panics
/// An invariant is violated.
pub fn fuzz_manifest(bytes: &[u8], sink: &mut MessageSink<'_>) {
    let Some(plugin) = fuzz::described_by(&plugin_id(), bytes) else { return };
    let Some(server) = FuzzServer::new(plugin) else { return };
    for revision in Revision::ALL {
        server.request_all(revision, server::LIST_METHODS, sink);
    }
}

/// Uses `bytes` as the result of each kind of call.
///
/// # Panics
/// An invariant is violated.
pub fn fuzz_answer(bytes: &[u8], sink: &mut MessageSink<'_>) {
    let plugin = fuzz::answering(&plugin_id(), bytes);
    let server = FuzzServer::new(plugin).expect("a plain plugin can be served");
    for revision in Revision::ALL {
        server.request_all(revision, server::CALL_METHODS, sink);
    }
}

fn plugin_id() -> PluginId {
    PluginId::new("wild").expect("the name is valid")
}

/// Checks a message of the server.
fn check_message(message: &[u8]) {
    let text = std::str::from_utf8(message).expect("a message is UTF-8");
    assert!(!text.contains(['\n', '\r']), "a message has one line: {text:?}");
    let message = parse_strict(text).unwrap_or_else(|error| panic!("{error}: {text:?}"));
    check_strings(&message, &mut Vec::new());
}

/// Checks that no string outside of data contains invisible characters. Line breaks and tabs count as visible.
fn check_strings(value: &Value, path: &mut Vec<String>) {
    let has_hidden =
        |text: &str| text.contains(|c| is_hidden(c) && !matches!(c, '\n' | '\t' | '\u{2028}' | '\u{2029}'));
    match value {
        Value::String(text) => {
            assert!(!has_hidden(text) || is_data(path), "/{}: {text:?}", path.join("/"));
        }
        Value::Array(items) => {
            for item in items {
                check_strings(item, path);
            }
        }
        Value::Object(members) => {
            for (key, member) in members {
                path.push(key.clone());
                assert!(!has_hidden(key) || is_data(path), "key of /{}: {key:?}", path.join("/"));
                check_strings(member, path);
                path.pop();
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// True for a path to data that a call returned, which is passed on unchanged.
fn is_data(path: &[String]) -> bool {
    let path: Vec<&str> = path.iter().map(String::as_str).collect();
    match path.as_slice() {
        ["result", "structuredContent", ..] => true,
        ["result", "content" | "contents", rest @ ..] | ["result", "messages", "content", rest @ ..] => {
            matches!(rest, ["text" | "data" | "blob"] | ["resource", "text" | "blob"] | ["other", ..])
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests;
