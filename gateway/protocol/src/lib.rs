//! The Model Context Protocol, from the text of a message to a plugin call and back.
//!
//! The modules are in reading order: a module uses only those above it. There are no sockets and no Wasm here.

#[cfg(any(test, feature = "test-support"))]
use moongate_model::test_support;
use moongate_model::{
    call, call_rate, caller, caller_budget, diagnostic, json, manifest, names, plugin, policy, roles,
    shared_store, text, trace_context, uri_form,
};

// JSON-RPC 2.0 messages, independent of MCP.
pub mod jsonrpc;
// The limits on a check while it runs.
mod check_meter;
// A compact representation of a JSON value, to check it without a tree.
mod tape;
// Everything that the plugins offer together; immutable once built.
pub mod catalog;
// Limits on calls: concurrent ones, and their rates.
pub mod limiter;
// Answers that clients haven't read yet.
pub mod unread_responses;
// The path of a call from a public name to a plugin and back.
pub mod dispatch;
// Differences between the catalog and what a client last received.
pub mod changes;
// The Model Context Protocol in every revision.
pub mod mcp;
// Sessions of the handshake revisions.
pub mod session;
// The endpoint: the era of a message, the order of its checks, and its handler.
pub mod server;
