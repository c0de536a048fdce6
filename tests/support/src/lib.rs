//! The harness: a configuration in, MCP messages out, against the real binary.
//!
//! [`Workspace`] is a temporary folder with a `gateway.toml`; [`Stdio`] and [`Http`] start the gateway on it and
//! speak MCP as a client would. Components come from `plugins/dist`, where `cargo xtask build-plugins` puts them, and
//! all tests share one cache of compiled code.

#![expect(clippy::needless_pass_by_value, reason = "a test hands over the `json!` it wrote in place")]

mod board;
mod broken;
mod http;
mod judge;
mod process;
mod remote;
mod replace;
mod sources;
mod stdio;
mod tables;
mod workspace;

pub use board::{Alarm, Board};
pub use broken::{Broken, LARGEST, TAKEN};
pub use http::{Admin, Event, EventStream, Http, Reply};
pub use judge::{Judge, Sent};
pub use process::{Usage, peak_memory, rounds};
pub use remote::{Remote, Seen};
pub use replace::{Replaced, Way};
pub use sources::Source;
pub use stdio::Stdio;
pub use tables::{Table, tables};
pub use workspace::{Workspace, binary, component, root, updates_goldens};

use std::time::{Duration, Instant};

use serde_json::{Value, json};

/// How long a test waits for something that should happen: long, because the machine may be busy.
const PATIENCE: Duration = Duration::from_secs(120);

/// The `_meta` of a request of 2026-07-28 from a client that can do nothing special.
#[must_use]
pub fn envelope() -> Value {
    json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
        "io.modelcontextprotocol/clientInfo": { "name": "test", "version": "1" },
    })
}

/// The parameters of `initialize`.
#[must_use]
pub fn hello(revision: &str) -> Value {
    json!({
        "protocolVersion": revision,
        "capabilities": {},
        "clientInfo": { "name": "test", "version": "1" },
    })
}

/// A request.
#[must_use]
pub fn request(id: u64, method: &str, params: Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params })
}

/// A request of 2026-07-28: `params` with the envelope added.
#[must_use]
pub fn stateless(id: u64, method: &str, mut params: Value) -> Value {
    params["_meta"] = envelope();
    request(id, method, params)
}

/// Is it a character that shows nothing, turns text around, or commands a terminal? Breaks of lines and tabs stay.
#[must_use]
pub fn is_trap(c: char) -> bool {
    c.is_control() && !matches!(c, '\n' | '\t')
        || matches!(c, '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}')
        || matches!(c, '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e0fff}')
}

/// Waits until something is so, looking again and again.
///
/// # Panics
/// It isn't for a long time.
#[track_caller]
pub fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < PATIENCE, "never so: {what}");
        std::thread::yield_now();
    }
}

/// The text of a tool's only content block.
///
/// # Panics
/// The response has no result, or no single text block in it.
#[must_use]
#[track_caller]
pub fn text(response: &Value) -> &str {
    let content = response["result"]["content"].as_array();
    let [block] = content.unwrap_or_else(|| panic!("no tool result: {response}")).as_slice() else {
        panic!("not one content block: {response}")
    };
    block["text"].as_str().unwrap_or_else(|| panic!("no text block: {response}"))
}

/// Sends a process a signal, such as `TERM`.
///
/// # Panics
/// There is no such process.
#[track_caller]
pub fn signal(pid: u32, name: &str) {
    let status = std::process::Command::new("kill").args([&format!("-{name}"), &pid.to_string()]).status();
    assert!(status.expect("`kill` exists").success(), "SIG{name} wasn't sent to {pid}");
}
