//! What the gateway knows without Wasm and without sockets.
//!
//! The modules stand in reading order, which is also the order of the floors: a module uses those above it and
//! nothing below. A test in `tests/it` reads the `use crate::` lines and fails otherwise.

// Exact JSON text, and the strict reading of it that refuses duplicate keys.
pub mod json;
// Names as types: plugins, tools, prompts, resources, digests, principals.
pub mod names;
// Sanitised, cut and similar text: what others wrote, made safe to show.
pub mod text;
// JSON-RPC 2.0 messages, knowing nothing of MCP.
pub mod jsonrpc;
// What a plugin says of itself, as plain values.
pub mod manifest;
// One call: its context, its outcome, and how it can fail.
pub mod call;
// The part of a plugin's configuration that the protocol needs, as plain values.
pub mod policy;
// Problems that operators read.
pub mod diagnostic;
// The interface between the protocol and the plugins' host.
pub mod plugin;
// A fake plugin, for tests.
#[cfg(any(test, feature = "test-support"))]
pub mod test_support;
// `gateway.toml`: from text to a `Config` in which nothing can be wrong any more.
pub mod config;
// What all plugins offer together, immutable once built.
pub mod catalog;
// Permits: how many calls run at once, for each plugin and in all.
pub mod gate;
// The way of a call from a public name to a plugin and back.
pub mod dispatch;
// What changed since a client was last told.
pub mod changes;
// The Model Context Protocol in every revision.
pub mod mcp;
// Sessions of the handshake revisions.
pub mod session;
// The endpoint: which era a message belongs to, in which order it is checked, and who answers it.
pub mod server;
