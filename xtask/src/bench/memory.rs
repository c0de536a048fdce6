//! Memory over very many calls, one in ten of them hostile, over HTTP and over stdio.
//!
//! The load generator reads the resident memory after every batch, when nothing is in flight. The memory must be flat after
//! the warm-up, in which the slots of the instance pool are used for the first time.

use std::fs;
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use serde_json::{Value, json};

use super::binaries::Binaries;
use super::config::{CACHE_VARIABLE, ScratchDirectory};
use super::progress::Progress;
use super::subject::{Era, gateway, ready_gateway};
use super::throughput::{append, median};

/// Calls between two samples.
const CALLS_PER_SAMPLE: u64 = 10_000;

/// The calls per second, of which the hostile ones need most of the time.
const CALLS_PER_SECOND: u64 = 5_000;

/// Connections over HTTP, and calls in flight over stdio.
const CALLS_AT_ONCE: &str = "8";

/// The permitted growth from the second tenth of the calls to the last tenth. It doesn't grow with the number of calls: at a
/// million, it finds a leak of 11 bytes per call.
pub(super) const MAX_GROWTH_KIB: f64 = 8.0 * 1024.0;

/// The smallest number of calls: a tenth must contain a sample.
pub(super) const MIN_CALLS: u64 = 10 * CALLS_PER_SAMPLE;

/// The hostile calls, with their arguments: loops, crashes, exhausted limits, bad results and bad requests.
fn hostile_calls() -> Value {
    json!([
        ["zoo_spin_forever", {}],
        ["zoo_exhaust_memory", {}],
        ["zoo_grow_memory", {}],
        ["zoo_recurse_forever", {}],
        ["zoo_unreachable_trap", {}],
        ["zoo_panic", {}],
        ["zoo_exit_in_the_middle", {}],
        ["zoo_huge_result", { "bytes": 900_000 }],
        ["zoo_many_handles", {}],
        ["zoo_many_blocks", { "count": 1_000 }],
        ["zoo_deep_structured", { "levels": 1_000 }],
        ["zoo_broken_structured", {}],
        ["zoo_bad_structured", {}],
        ["zoo_protocol_error_internal", {}],
        ["zoo_huge_result", { "bytes": "many" }],
        ["zoo_no_such_tool", { "x": [1, 2, 3] }],
    ])
}

/// The samples of each transport. A transport whose memory isn't flat is an error in its entry.
pub(super) fn all(
    binaries: &Binaries,
    scratch: &ScratchDirectory,
    calls: u64,
    progress: &Progress,
) -> Result<Value> {
    let config = scratch.memory(binaries)?;
    let hostile = scratch.file("hostile.json");
    fs::write(&hostile, hostile_calls().to_string()).context("can't write the hostile calls")?;
    let soak = |width: &str| {
        let mut command = Command::new(&binaries.load);
        command.args([
            "soak",
            "--revision",
            Era::Stateless.revision(),
            "--tool",
            "echo",
            width,
            CALLS_AT_ONCE,
        ]);
        command.args(["--calls", &calls.to_string(), "--sample", &CALLS_PER_SAMPLE.to_string()]);
        command.arg("--hostile").arg(&hostile);
        command
    };
    progress.note(&format!("memory over {calls} calls over HTTP"));
    let server = ready_gateway(binaries, &config)?;
    let mut over_http = soak("--connections");
    over_http.args(["--url", &server.url, "--pid", &server.pid().to_string()]);
    let http = run_live(&mut over_http).with_context(|| format!("the gateway's log:\n{}", server.log()))?;
    drop(server);
    progress.note(&format!("memory over {calls} calls over stdio"));
    let mut over_stdio = soak("--window");
    append(over_stdio.arg("--"), &gateway(binaries, &config, &["--stdio"]));
    let stdio = run_live(&mut over_stdio)?;
    Ok(json!({ "calls": calls, "HTTP": http, "stdio": stdio }))
}

/// The duration of the calls over both transports.
pub(super) fn estimate(calls: u64) -> Duration {
    2 * Duration::from_secs(calls / CALLS_PER_SECOND)
}

/// Runs the load generator, whose stderr shows the progress.
fn run_live(command: &mut Command) -> Result<Value> {
    let child = command.env_remove(CACHE_VARIABLE).stdin(Stdio::null()).stdout(Stdio::piped()).spawn();
    let output = child.and_then(std::process::Child::wait_with_output);
    let output = output.with_context(|| format!("can't start {command:?}"))?;
    if !output.status.success() {
        bail!("{command:?} failed");
    }
    serde_json::from_slice(&output.stdout).with_context(|| format!("{command:?} printed no JSON"))
}

/// The growth of the memory after the warm-up, in KiB: from the median of the second tenth of the samples to the median of the
/// last tenth.
pub(super) fn growth_kib(samples: &Value) -> Option<f64> {
    let kib: Vec<f64> = samples.as_array()?.iter().skip(1).filter_map(|sample| sample[1].as_f64()).collect();
    let tenth = kib.len() / 10;
    let warm = median(kib.get(tenth..2 * tenth)?.to_vec())?;
    let end = median(kib.get(kib.len() - tenth..)?.to_vec())?;
    Some(end - warm)
}

/// Fails if the memory of a transport isn't flat.
pub(super) fn ensure_flat(figures: &Value) -> Result<()> {
    for transport in ["HTTP", "stdio"] {
        let growth = growth_kib(&figures[transport]["samples"]).context("there are no samples")?;
        if growth > MAX_GROWTH_KIB {
            bail!("the memory over {transport} grew by {growth} KiB after the warm-up");
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
