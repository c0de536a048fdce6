//! The parts of the gateway that need neither Wasm nor sockets.
//!
//! The modules are in dependency order: a module uses only those above it. A test in `tests/it` reads the `use crate::`
//! lines and fails otherwise.

// Exact JSON text, and a strict parser that rejects duplicate keys.
pub mod json;
// Sanitising, cutting and comparing text that others wrote.
pub mod text;
// Names as types: plugins, tools, prompts, resources, digests, principals.
pub mod names;
// JSON-RPC 2.0 messages, independent of MCP.
pub mod jsonrpc;
// A plugin's description of itself, as plain values.
pub mod manifest;
// One call: its context, its outcome and its errors.
pub mod call;
// Problems that operators read.
pub mod diagnostic;
// Secret strings, and how to find them in other text.
pub mod secret;
// The part of a plugin's configuration that the protocol needs, as plain values.
pub mod policy;
// The interface between the protocol and the plugins' host.
pub mod plugin;
// A fake plugin, for tests.
#[cfg(any(test, feature = "test-support"))]
pub mod test_support;
// Parses `gateway.toml` into a `Config` that is valid by construction.
pub mod config;
// Everything that all plugins offer together, immutable once built.
pub mod catalog;
// Limits on concurrent calls, per plugin and in total.
pub mod gate;
// The path of a call from a public name to a plugin and back.
pub mod dispatch;
// Pending change notifications of each client.
pub mod changes;
// The Model Context Protocol in every revision.
pub mod mcp;
// Sessions of the handshake revisions.
pub mod session;
// The endpoint: the era of a message, the order of its checks, and the answer.
pub mod server;
