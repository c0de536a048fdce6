//! The version of the gateway and the protocol revisions that it supports.

use std::sync::LazyLock;

use moongate_protocol::mcp::Revision;

use crate::host;

/// The version of the gateway.
pub(super) const SHORT: &str = env!("CARGO_PKG_VERSION");

/// The versions of the gateway and the engine, and the supported revisions of MCP.
pub(super) fn long() -> &'static str {
    static LONG: LazyLock<String> =
        LazyLock::new(|| format!("{SHORT}\nwasmtime {}\nMCP {}", host::WASMTIME_VERSION, revisions()));
    &LONG
}

fn revisions() -> String {
    Revision::ALL.map(Revision::as_str).join(", ")
}
