//! The version of the gateway and the protocol revisions that it supports.

use std::sync::LazyLock;

use anyhow::Result;
use clap::Args;
use moongate_host::WASMTIME_VERSION;
use moongate_protocol::mcp::Revision;

use crate::cli::{ExitKind, print};

/// Print the version, like `--version`
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  moongate version")]
pub(super) struct Version {}

impl Version {
    pub(super) fn run(&self) -> Result<ExitKind> {
        let Self {} = self;
        print::stdout(&format!("moongate {}\n", long()))?;
        Ok(ExitKind::Success)
    }
}

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
