//! Measures the cost of replacing a plugin: the time from reading its file to loaded code, with and without the cache,
//! and the memory that replaced plugins leave behind. It prints one JSON object.
//!
//! Usage: `reloads PLUGIN.wasm [COUNT]`

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use moongate_config::PluginConfig;
use moongate_host::{HostOptions, OutgoingOptions, StateLocation, WasmHost, compile_if_requested};
use moongate_model::names::PluginId;
use moongate_protocol::catalog::Plugin as _;
use serde_json::{Value, json};

/// The number of compilations without the cache.
const UNCACHED_LOADS: usize = 5;

fn main() -> Result<ExitCode> {
    if let Some(exit) = compile_if_requested() {
        return Ok(exit);
    }
    let mut arguments = std::env::args_os().skip(1);
    let source = arguments.next().map(PathBuf::from).context("usage: reloads PLUGIN.wasm [COUNT]")?;
    let count = arguments.next().map_or(Ok(300), |count| count.to_string_lossy().parse())?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let figures = runtime.block_on(measure(&source, count))?;
    #[expect(clippy::print_stdout, reason = "the result is printed on stdout")]
    {
        println!("{figures}");
    }
    Ok(ExitCode::SUCCESS)
}

async fn measure(source: &Path, count: usize) -> Result<Value> {
    let cache = tempfile::tempdir()?;
    let mut compiled = Vec::new();
    let mut cached = Vec::new();
    for at in 0..UNCACHED_LOADS {
        let host = host(cache.path().join(at.to_string()))?;
        compiled.push(load(&host, source).await?);
    }
    let host = host(cache.path().join("0"))?;
    load(&host, source).await?;
    let before = resident()?;
    for _ in 0..count {
        cached.push(load(&host, source).await?);
    }
    let grown = resident()?.saturating_sub(before);
    ensure!(host.gauges().generations == 0, "replaced code is still loaded");
    Ok(json!({
        "component_bytes": std::fs::metadata(source)?.len(),
        "compiled_p50_ms": millis(&mut compiled, 0.5),
        "cached_p50_ms": millis(&mut cached, 0.5),
        "cached_p99_ms": millis(&mut cached, 0.99),
        "reloads": count,
        "grown_kib": grown,
    }))
}

fn host(cache: PathBuf) -> Result<WasmHost> {
    Ok(WasmHost::new(HostOptions {
        cache_dir: cache,
        state: StateLocation::Memory,
        max_concurrent_calls: 64,
        guest_memory: 4 << 30,
        uses_cached_descriptions: false,
        change_inbox: None,
        outgoing_http: OutgoingOptions::default(),
    })?)
}

/// Reads and loads the plugin; returns the time until it can serve calls.
async fn load(host: &WasmHost, source: &Path) -> Result<Duration> {
    let config = Arc::new(PluginConfig::ungranted(PluginId::new("plugin")?, source.to_owned()));
    let start = Instant::now();
    let candidate = host.read(&config).await?;
    let plugin = host.load(config, candidate).await?;
    let took = start.elapsed();
    ensure!(!plugin.manifest().info.name.is_empty(), "the plugin has no name");
    Ok(took)
}

/// The resident memory of this process, in KiB.
fn resident() -> Result<u64> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).context("no `VmRSS`")?;
    Ok(line.trim().trim_end_matches(" kB").parse()?)
}

/// A quantile in milliseconds.
fn millis(times: &mut [Duration], share: f64) -> f64 {
    times.sort_unstable();
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "an index"
    )]
    let at = ((times.len() - 1) as f64 * share) as usize;
    times[at].as_secs_f64() * 1e3
}
