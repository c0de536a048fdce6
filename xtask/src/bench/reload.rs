//! The cost of replacing a plugin: the time from the last write of its file to the first response of the new code, and
//! the effect on calls to another plugin.
//!
//! Each size has two generated components. A replacement is the one that isn't serving, with a unique custom section at
//! its end, so that its code must be compiled; or, to measure the cache, without the section.

use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use serde_json::{Value, json};

use super::binaries::Binaries;
use super::config::ScratchDirectory;
use super::poll::PollingClient;
use super::progress::Progress;
use super::subject::{Era, Subject, ready_gateway};
use super::throughput::{median, run};
use crate::server::Server;

/// Replacements per round to measure the latency.
const REPLACEMENTS_PER_ROUND: usize = 5;

/// A replacement that takes longer hangs.
const REPLACEMENT_TIMEOUT: Duration = Duration::from_secs(300);

/// The pause between two calls to the tool `version`.
const POLL_INTERVAL: Duration = Duration::from_millis(1);

/// The connections that call the other plugin at the same time.
const CONNECTIONS: &str = "4";

/// The size of the plugin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PluginSize {
    Small,
    Large,
}

impl PluginSize {
    const ALL: [Self; 2] = [Self::Small, Self::Large];

    fn name(self) -> &'static str {
        match self {
            Self::Small => "small",
            Self::Large => "large",
        }
    }

    /// The number of unused functions: 2,500 are about 3 MB.
    fn functions(self) -> &'static str {
        match self {
            Self::Small => "0",
            Self::Large => "2500",
        }
    }
}

/// The compiled code of a replacement: cached or not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ReplacementCode {
    New,
    Cached,
}

/// A plugin that is replaced repeatedly, and its gateway.
struct ReloadBench {
    server: Server,
    file: PathBuf,
    /// Two components, whose tool `version` returns `v1` and `v2`.
    components: [Vec<u8>; 2],
    count: usize,
}

impl ReloadBench {
    fn start(binaries: &Binaries, scratch: &ScratchDirectory, size: PluginSize) -> Result<Self> {
        let file = scratch.file(&format!("{}.wasm", size.name()));
        let mut components = [Vec::new(), Vec::new()];
        for (version, component) in (1..).zip(&mut components) {
            let mut make = Command::new(&binaries.generated);
            let version = u32::to_string(&version);
            make.arg(&file).args(["--version", &version, "--functions", size.functions()]);
            let made = make.status().with_context(|| format!("can't start {make:?}"))?;
            if !made.success() {
                bail!("{make:?} failed");
            }
            *component = fs::read(&file)?;
        }
        fs::write(&file, &components[0])?;
        let config = scratch.replaced(binaries, size.name(), &file)?;
        let server = ready_gateway(binaries, &config)?;
        Ok(Self { server, file, components, count: 0 })
    }

    /// Replaces the plugin by the other version and waits for its first response; returns the time in milliseconds.
    fn replace(&mut self, code: ReplacementCode) -> Result<f64> {
        self.count += 1;
        let version = self.count % 2;
        let mut bytes = self.components[version].clone();
        match code {
            ReplacementCode::New => add_unique_section(&mut bytes, self.count),
            ReplacementCode::Cached => {}
        }
        let temporary = self.file.with_extension("new");
        fs::write(&temporary, bytes)?;
        let mut client = PollingClient::connect(&self.server.url)?;
        let expected = format!("\"v{}\"", version + 1);
        fs::rename(&temporary, &self.file)?;
        let start = Instant::now();
        while !client.call("version")?.contains(&expected) {
            if start.elapsed() > REPLACEMENT_TIMEOUT {
                bail!("a replacement isn't served; the gateway's log:\n{}", self.server.log());
            }
            thread::sleep(POLL_INTERVAL);
        }
        Ok(start.elapsed().as_secs_f64() * 1e3)
    }
}

/// Appends a custom section with unique content to a component.
pub(super) fn add_unique_section(component: &mut Vec<u8>, count: usize) {
    const NAME: &[u8] = b"\x04mark";
    let count = count.to_le_bytes();
    component.extend([0, (NAME.len() + count.len()) as u8]);
    component.extend_from_slice(NAME);
    component.extend(count);
}

/// Measures plugins of all sizes.
pub(super) fn all(
    binaries: &Binaries,
    scratch: &ScratchDirectory,
    rounds: usize,
    time: Duration,
    progress: &Progress,
) -> Result<Value> {
    let mut latency = Vec::new();
    let mut during_replacement = Vec::new();
    for size in PluginSize::ALL {
        progress.note(&format!("replacing a {} plugin", size.name()));
        let mut bench = ReloadBench::start(binaries, scratch, size)?;
        latency.push(latencies(&mut bench, size, rounds)?);
        during_replacement.push(traffic(binaries, &mut bench, size, rounds, time)?);
    }
    Ok(json!({ "latency": latency, "during_replacement": during_replacement }))
}

/// The duration of all replacements.
pub(super) fn estimate(rounds: usize, time: Duration) -> Duration {
    let replacements = Duration::from_secs(12);
    Duration::from_secs(10) + rounds as u32 * (replacements + 4 * (time + Duration::from_millis(400)))
}

/// The latency until the new code responds.
fn latencies(bench: &mut ReloadBench, size: PluginSize, rounds: usize) -> Result<Value> {
    // Compiles each component once, without the section.
    for _ in 0..bench.components.len() {
        bench.replace(ReplacementCode::Cached)?;
    }
    let mut new = Vec::new();
    let mut cached = Vec::new();
    for _ in 0..rounds * REPLACEMENTS_PER_ROUND {
        new.push(bench.replace(ReplacementCode::New)?);
        cached.push(bench.replace(ReplacementCode::Cached)?);
    }
    let all = |times: Vec<f64>| {
        let longest = times.iter().copied().reduce(f64::max);
        json!({ "p50_ms": median(times), "max_ms": longest })
    };
    Ok(json!({
        "plugin": size.name(),
        "bytes": bench.components[0].len(),
        "replacements": new.len(),
        "new": all(new),
        "cached": all(cached),
    }))
}

/// The latency of another plugin's calls, alternately with and without continuous replacements of this one.
fn traffic(
    binaries: &Binaries,
    bench: &mut ReloadBench,
    size: PluginSize,
    rounds: usize,
    time: Duration,
) -> Result<Value> {
    let mut quiet = Vec::new();
    let mut during = Vec::new();
    let mut count = 0;
    for _ in 0..rounds {
        quiet.push(load(binaries, &bench.server, time)?);
        let (figures, replaced) = while_replaced(binaries, bench, time)?;
        during.push(figures);
        count += replaced;
    }
    let middle = |all: &[Value], key: &str| median(all.iter().filter_map(|one| one[key].as_f64()).collect());
    let both = |key: &str| json!({ "without": middle(&quiet, key), "during": middle(&during, key) });
    Ok(json!({
        "plugin": size.name(),
        "replacements": count,
        "calls_per_second": both("calls_per_second"),
        "p50_us": both("p50_us"),
        "p99_us": both("p99_us"),
    }))
}

/// Runs the load while the plugin is replaced continuously; returns the results and the number of replacements.
fn while_replaced(binaries: &Binaries, bench: &mut ReloadBench, time: Duration) -> Result<(Value, usize)> {
    let over = AtomicBool::new(false);
    let server = generator(binaries, &bench.server, time);
    thread::scope(|scope| {
        let replacing = scope.spawn(|| {
            let mut count = 0;
            while !over.load(Ordering::Relaxed) {
                bench.replace(ReplacementCode::New)?;
                count += 1;
            }
            Ok(count)
        });
        let mut server = server;
        let figures = run(&mut server);
        over.store(true, Ordering::Relaxed);
        let count: Result<usize> = replacing.join().expect("replacing doesn't panic");
        Ok((figures?, count?))
    })
}

fn load(binaries: &Binaries, server: &Server, time: Duration) -> Result<Value> {
    run(&mut generator(binaries, server, time))
}

/// The command of the load generator, which calls the other plugin.
fn generator(binaries: &Binaries, server: &Server, time: Duration) -> Command {
    let mut command = Command::new(&binaries.load);
    command.arg("http").args(Subject::Moongate(Era::Stateless).load_flags());
    command.args(["--connections", CONNECTIONS, "--bytes", "100"]);
    command.args(["--seconds", &time.as_secs_f64().to_string()]);
    command.args(["--url", &server.url, "--pid", &server.pid().to_string()]);
    command
}
