//! Measurements of the gateway without a client: the call path without a transport, and the size of the binary.

use std::process::Command;

use anyhow::{Context as _, Result};
use serde_json::Value;

use super::binaries::Binaries;
use super::throughput::run;
use crate::report;

/// Dispatch without a transport, and timers during looping guests, measured by the example `inside`.
pub(super) fn measure(binaries: &Binaries) -> Result<Value> {
    report::note("the call path from inside");
    run(Command::new(&binaries.inside).arg(binaries.dist.join("zoo.wasm")))
}

/// The size of the gateway's binary, in bytes.
pub(super) fn binary_size(binaries: &Binaries) -> Result<u64> {
    Ok(std::fs::metadata(&binaries.gateway).context("the gateway isn't built")?.len())
}
