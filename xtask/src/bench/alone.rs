//! What is measured of the gateway alone: cold starts, the call path without a transport, memory, size.

use std::process::Command;

use anyhow::{Context as _, Result};
use serde_json::{Value, json};

use super::binaries::Binaries;
use super::config::Scratch;
use super::subject::{Era, Subject, gateway};
use super::traffic::{append, median, run};
use crate::report;
use crate::server::Server;

/// How often a server is started with everything cached: it is quick, and the first start warms up the disk.
const CACHED_STARTS: usize = 10;

/// How many more copies of a plugin are loaded to see what one costs.
const COPIES: usize = 20;

/// From spawning to the first list of tools over stdio, milliseconds.
pub(super) fn cold(binaries: &Binaries, scratch: &Scratch, rounds: usize) -> Result<Value> {
    report::note("cold starts");
    let config = scratch.times(binaries, 1)?;
    let start = |starts: usize| {
        let mut command = Command::new(&binaries.load);
        command.args(["cold", "--runs", &starts.to_string(), "--tool", "time0_get_current_time", "--"]);
        run_ms(append(&mut command, &gateway(binaries, &config, &["--stdio"])))
    };
    let mut compiling = Vec::new();
    for _ in 0..rounds {
        scratch.forget_code()?;
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
    figures["first_list_us"].as_f64().map(|us| us / 1e3).context("a start without its time")
}

/// Dispatch without a transport, and timers beside looping guests: the example `inside` measures itself.
pub(super) fn inside(binaries: &Binaries) -> Result<Value> {
    report::note("the call path from inside");
    run(Command::new(&binaries.inside).arg(binaries.dist.join("zoo.wasm")))
}

/// What one more idle plugin costs in memory, KiB.
pub(super) fn idle_plugin(binaries: &Binaries, scratch: &Scratch) -> Result<Value> {
    report::note("memory of idle plugins");
    let resident = |copies: usize| -> Result<f64> {
        let config = scratch.times(binaries, copies)?;
        drop(Server::start(gateway(binaries, &config, &[]))?); // compiles, if that wasn't done yet
        let server = Server::start(gateway(binaries, &config, &[]))?;
        resident_kib(server.pid())
    };
    let (one, many) = (resident(1)?, resident(1 + COPIES)?);
    Ok(json!({ "one_plugin": one, "each_more": (many - one) / COPIES as f64 }))
}

fn resident_kib(pid: u32) -> Result<f64> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/status")).context("the gateway ended")?;
    let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    line.and_then(|line| line.split_ascii_whitespace().next()?.parse().ok()).context("no resident memory")
}

/// The gateway's size on disk, bytes.
pub(super) fn size(binaries: &Binaries) -> Result<u64> {
    Ok(std::fs::metadata(&binaries.gateway).context("the gateway isn't built")?.len())
}
