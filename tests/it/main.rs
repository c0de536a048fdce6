//! Integration tests of the gateway's binary: a configuration in, MCP messages out. One test binary for all of them.

#![expect(clippy::unwrap_used, reason = "a test reports failures by panicking")]

/// MCP as clients see it, in every revision and over both transports.
mod protocol;
/// Grants, limits and isolation of plugins.
mod sandbox;
/// Loading, replacing and combining plugins.
mod reload;
/// The command line, diagnostics and the documents.
mod cli;
/// Starting, observing and stopping the gateway.
mod operations;
/// The sample plugins and the SDK.
mod plugins;
