//! The test harness: runs the real binary on a configuration and talks MCP to it.
//!
//! [`Workspace`] is a temporary directory with a `gateway.toml`; [`Stdio`] and [`Http`] start the gateway in it and
//! act as MCP clients. Components come from `plugins/dist`, the output of `cargo xtask build-plugins`. All tests share
//! one cache of compiled code.

#![expect(clippy::needless_pass_by_value, reason = "tests pass `json!` literals by value")]

mod authorization_server;
mod broken_plugin;
mod client_progress;
mod collector;
mod component_signers;
mod docker_registry;
mod fake_registry;
mod foreign_tools;
mod http;
mod process;
mod process_output;
mod replace;
mod schema_validator;
mod sources;
mod stdio;
#[cfg(unix)]
mod store_network;
#[cfg(unix)]
mod store_server;
mod tables;
mod test_server;
mod tls;
mod websocket;
mod workspace;

pub use authorization_server::{AuthorizationServer, IssuerBehaviour, SigningKey, seconds_from_now};
pub use broken_plugin::{BrokenPlugin, MAX_FILE_SIZE, TAKEN_TOOL};
pub use client_progress::{ClientProgress, FailureGuard};
pub use collector::{Collector, ReceivedSeries, ReceivedSpan};
pub use component_signers::{CosignSigner, MinisignSigner};
pub use docker_registry::DockerRegistry;
pub use fake_registry::{FakeRegistry, REGISTRY_LOGIN, RegistryLogin, RegistryState};
pub use foreign_tools::{add_zig, build_in_c, foreign_tools, path_with};
#[cfg(unix)]
pub use http::fixed_address;
pub use http::{Admin, Event, EventStream, Http, Reply};
pub use process::{
    ResourceUsage, Terminal, cpu_time, installed, on_terminal, peak_memory, scaled_rounds, wait_for_exit,
};
pub use process_output::ProcessOutput;
pub use replace::{ReplaceMethod, ReplaceableFile};
pub use schema_validator::{SchemaValidator, SentRequest};
pub use sources::Source;
pub use stdio::Stdio;
#[cfg(unix)]
pub use store_network::StoreNetwork;
#[cfg(unix)]
pub use store_server::StoreServer;
pub use tables::{MarkdownTable, markdown_tables};
pub use test_server::{ReceivedRequest, TestServer};
pub use tls::{IssuedCertificate, TestAuthority, TlsClient, TlsVersion, Validity};
pub use websocket::WebSocket;
pub use workspace::{Workspace, component, gateway_binary, project_root, should_update_goldens};

use std::time::{Duration, Instant};

use serde_json::{Value, json};

/// How long a test waits for an expected event. Generous, because the machine can be busy.
const WAIT_TIMEOUT: Duration = Duration::from_secs(120);

/// The `_meta` of a 2026-07-28 request from a client without capabilities.
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
pub fn initialize_params(revision: &str) -> Value {
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

/// A 2026-07-28 request: `params` plus the envelope.
#[must_use]
pub fn stateless_request(id: u64, method: &str, mut params: Value) -> Value {
    params["_meta"] = envelope();
    request(id, method, params)
}

/// Returns true for invisible, bidirectional and terminal control characters, except line breaks and tabs.
#[must_use]
pub fn is_unsafe_character(c: char) -> bool {
    c.is_control() && !matches!(c, '\n' | '\t')
        || matches!(c, '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}')
        || matches!(c, '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e0fff}')
}

/// Polls until the condition holds.
///
/// # Panics
/// If the condition still doesn't hold after [`WAIT_TIMEOUT`].
#[track_caller]
pub fn wait_until(what: &str, mut condition: impl FnMut() -> bool) {
    let started = Instant::now();
    while !condition() {
        assert!(started.elapsed() < WAIT_TIMEOUT, "timed out waiting until {what}");
        pause_between_polls();
    }
}

/// Lets others run before a condition is checked again. A busy loop would take the processors from the gateway's threads
/// of the lowest priority, which a test may be waiting for.
pub fn pause_between_polls() {
    std::thread::sleep(Duration::from_millis(1));
}

/// The text of a tool's only content block.
///
/// # Panics
/// If the response isn't a result with exactly one text block.
#[must_use]
#[track_caller]
pub fn text(response: &Value) -> &str {
    let content = response["result"]["content"].as_array();
    let [block] = content.unwrap_or_else(|| panic!("not a tool result: {response}")).as_slice() else {
        panic!("expected one content block: {response}")
    };
    block["text"].as_str().unwrap_or_else(|| panic!("not a text block: {response}"))
}

/// Sends a signal, such as `TERM`, to a process.
///
/// # Panics
/// If the process doesn't exist.
#[track_caller]
pub fn send_signal(pid: u32, name: &str) {
    let status = std::process::Command::new("kill").args([&format!("-{name}"), &pid.to_string()]).status();
    assert!(status.expect("`kill` exists").success(), "failed to send SIG{name} to {pid}");
}
