//! Measurements of the gateway alone: cold starts, the call path without a transport, memory, and size.

use std::process::Command;

use anyhow::{Context as _, Result};
use serde_json::{Value, json};

use super::binaries::Binaries;
use super::config::ScratchDirectory;
use super::subject::{Era, Subject, gateway};
use super::traffic::{append, median, run};
use crate::report;
use crate::server::Server;

/// Starts with everything cached: they are fast, and the first one warms up the disk cache.
const CACHED_STARTS: usize = 10;

/// Additional copies of a plugin that are loaded to measure the memory of one.
const ADDITIONAL_COPIES: usize = 20;

/// The time from spawning the process to the first list of tools over stdio, in milliseconds.
pub(super) fn cold(binaries: &Binaries, scratch: &ScratchDirectory, rounds: usize) -> Result<Value> {
    report::note("cold starts");
    let config = scratch.times(binaries, 1)?;
    let start = |starts: usize| {
        let mut command = Command::new(&binaries.load);
        command.args(["cold", "--runs", &starts.to_string(), "--tool", "time0_get_current_time", "--"]);
        run_ms(append(&mut command, &gateway(binaries, &config, &["--stdio"])))
    };
    let mut compiling = Vec::new();
    for _ in 0..rounds {
        scratch.clear_cache()?;
        compiling.push(start(1)?);
    }
    let cached = start(CACHED_STARTS)?;
    let mut command = Command::new(&binaries.load);
    command.args(["cold", "--runs", &CACHED_STARTS.to_string(), "--"]);
    let native = Subject::Rmcp(Era::Handshake).stdio(binaries, &config);
    let rmcp = run_ms(append(&mut command, &native))?;
    Ok(json!({ "compiling_ms": median(compiling), "cached_ms": cached, "rmcp_ms": rmcp }))
}

fn run_ms(command: &mut Command) -> Result<f64> {
    let figures = run(command)?;
    figures["first_list_us"].as_f64().map(|us| us / 1e3).context("the load generator reported no start time")
}

/// Dispatch without a transport, and timers during looping guests, measured by the example `inside`.
pub(super) fn inside(binaries: &Binaries) -> Result<Value> {
    report::note("the call path from inside");
    run(Command::new(&binaries.inside).arg(binaries.dist.join("zoo.wasm")))
}

/// The memory of one more idle plugin, in KiB.
pub(super) fn idle_plugin(binaries: &Binaries, scratch: &ScratchDirectory) -> Result<Value> {
    report::note("memory of idle plugins");
    let resident = |copies: usize| -> Result<f64> {
        let config = scratch.times(binaries, copies)?;
        drop(Server::start(gateway(binaries, &config, &[]))?); // compiles if nothing is cached
        let server = Server::start(gateway(binaries, &config, &[]))?;
        resident_kib(server.pid())
    };
    let one = resident(1)?;
    let many = resident(1 + ADDITIONAL_COPIES)?;
    Ok(json!({ "one_plugin": one, "each_more": (many - one) / ADDITIONAL_COPIES as f64 }))
}

fn resident_kib(pid: u32) -> Result<f64> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/status")).context("the gateway ended")?;
    let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    line.and_then(|line| line.split_ascii_whitespace().next()?.parse().ok()).context("no resident memory")
}

/// The size of the gateway's binary, in bytes.
pub(super) fn size(binaries: &Binaries) -> Result<u64> {
    Ok(std::fs::metadata(&binaries.gateway).context("the gateway isn't built")?.len())
}
