//! Which gateway this is, and what it speaks.

use std::sync::LazyLock;

use moongate_protocol::mcp::Revision;

use crate::host;

/// The version alone.
pub(super) const SHORT: &str = env!("CARGO_PKG_VERSION");

/// The version, the engine's, and the revisions of MCP.
pub(super) fn long() -> &'static str {
    static LONG: LazyLock<String> =
        LazyLock::new(|| format!("{SHORT}\nwasmtime {}\nMCP {}", host::WASMTIME_VERSION, revisions()));
    &LONG
}

fn revisions() -> String {
    Revision::ALL.map(Revision::as_str).join(", ")
}
