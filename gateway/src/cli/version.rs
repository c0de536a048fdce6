//! The version of the gateway and the protocol revisions that it supports.

use std::sync::LazyLock;

use moongate_host::WASMTIME_VERSION;
use moongate_protocol::mcp::Revision;

/// The version of the gateway.
pub(super) const GATEWAY_VERSION: &str = env!("CARGO_PKG_VERSION");

/// The versions of the gateway and the engine, and the supported revisions of MCP.
pub(super) fn long() -> &'static str {
    static LONG: LazyLock<String> =
        LazyLock::new(|| format!("{GATEWAY_VERSION}\nwasmtime {}\nMCP {}", WASMTIME_VERSION, revisions()));
    &LONG
}

fn revisions() -> String {
    Revision::ALL.map(Revision::as_str).join(", ")
}
