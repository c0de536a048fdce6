//! `bench`: measures release builds of the gateway and its peers in one run. Not part of `test`, because measurements
//! need a quiet machine.
//!
//! The workspace `tests/bench` contains `axum-echo`, the floor, `rmcp-echo`, a native server, and `load`, the load generator;
//! other peers come from npm and PyPI. Every load is applied to every subject in turn, so that a slow moment of the machine
//! affects all of them, and the results are medians of the rounds.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use serde_json::{Value, json};

use crate::project::Project;
use crate::report;

mod access;
mod binaries;
mod builds;
mod chart;
mod config;
mod fairness;
mod goals;
mod inside;
mod memory;
mod page;
mod peers;
mod plots;
mod poll;
mod progress;
mod ratios;
mod reload;
mod replicas;
mod scale;
mod sight;
mod start;
mod subject;
mod table;
mod throughput;

use binaries::{Binaries, BuildProfile};
use peers::{PeerSelection, Peers};
use progress::{Progress, clock};
use subject::Programs;

const HELP: &str = "\
Measures the gateway and its peers in one run; prints tables in Markdown, then one line of JSON.

Usage: cargo xtask bench [part…] [options]
       cargo xtask bench builds FILE [options]
       cargo xtask bench plot FILE
       cargo xtask bench page FILE
       cargo xtask bench goals FILE
       cargo xtask bench scale FILE

Parts (default: all of them):
  throughput      calls per second and latency over HTTP and stdio, next to native servers
  start           starts with cached code and with an empty cache, and the memory of 1 to 1,000 plugins
  fairness        calls of a well-behaved client next to loops, large results, expensive checks and the compiler
  replicas        the cost of a shared store, and two gateways on two processors next to one
  access          the cost of tokens, roles, rates and the access log, and calls next to a caller that floods
  sight           the cost of an open status page and of traces
  memory          resident memory over very many calls, one in ten hostile; fails if it isn't flat
  reload          the cost of replacing a plugin
  all             all parts

Two builds:
  builds FILE     the release build next to another gateway, such as the static one of `cargo xtask dist`: calls per
                  second, memory and starts

From the JSON of a run:
  plot FILE       draw the plots in `docs/plots`
  page FILE       draw the plots, write `docs/performance.md`, and print the goals
  goals FILE      print each performance goal with the figure of the run
  scale FILE      simulate up to 32 gateways with a shared store, with the times of the part `replicas`

Options:
  --rounds N      measure every subject N times and report medians (default: 3)
  --seconds S     duration of each load after a warm-up (default: 1)
  --calls N       calls per transport of `memory` (default: 1000000)
  --peers         also measure the TypeScript everything server and FastMCP, from npm and PyPI
  --json FILE     write the JSON to FILE after each part instead of printing it; other parts in FILE are kept
  --dist          measure the binary that `cargo xtask dist binary` built, instead of a release build without a profile
  --dev           use debug builds, to test the benchmark itself
  --no-build      use the existing builds
";

/// The options of the verb.
#[derive(Debug)]
struct BenchOptions {
    parts: Vec<BenchPart>,
    rounds: usize,
    time: Duration,
    calls: u64,
    peers: PeerSelection,
    json: Option<PathBuf>,
    build: BuildProfile,
    rebuild: Rebuild,
}

/// A part of the measurements.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum BenchPart {
    Throughput,
    Start,
    Fairness,
    Access,
    Replicas,
    Sight,
    Memory,
    Reload,
}

impl BenchPart {
    /// All parts, with the one that takes longest at the end.
    const ALL: [Self; 8] = [
        Self::Throughput,
        Self::Start,
        Self::Fairness,
        Self::Access,
        Self::Replicas,
        Self::Sight,
        Self::Reload,
        Self::Memory,
    ];

    /// The name as an argument, and the key in the JSON.
    fn name(self) -> &'static str {
        match self {
            Self::Throughput => "throughput",
            Self::Start => "start",
            Self::Fairness => "fairness",
            Self::Access => "access",
            Self::Replicas => "replicas",
            Self::Sight => "sight",
            Self::Memory => "memory",
            Self::Reload => "reload",
        }
    }

    /// The duration on a quiet machine with two processors.
    fn estimate(self, options: &BenchOptions) -> Duration {
        let BenchOptions { rounds, time, calls, .. } = *options;
        match self {
            Self::Throughput => throughput::estimate(rounds, time),
            Self::Start => start::estimate(rounds),
            Self::Fairness => fairness::estimate(rounds, time),
            Self::Access => access::estimate(rounds, time),
            Self::Replicas => replicas::estimate(rounds, time),
            Self::Sight => sight::estimate(rounds, time),
            Self::Memory => memory::estimate(calls),
            Self::Reload => reload::estimate(rounds, time),
        }
    }
}

/// Build the binaries first?
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Rebuild {
    Yes,
    No,
}

/// Runs the verb.
pub(crate) fn run(project: &Project, rest: &[String]) -> Result<ExitCode> {
    if rest.iter().any(|word| word == "--help" || word == "-h") {
        report::print(HELP);
        return Ok(ExitCode::SUCCESS);
    }
    match rest {
        [verb, file] if verb == "plot" => {
            plots::write(project, &read_figures(file)?)?;
            return Ok(ExitCode::SUCCESS);
        }
        [verb, file] if verb == "page" => {
            let figures = read_figures(file)?;
            plots::write(project, &figures)?;
            page::write(project, &figures)?;
            report::print(&goals::markdown(&figures));
            return Ok(ExitCode::SUCCESS);
        }
        [verb, file] if verb == "goals" => {
            report::print(&goals::markdown(&read_figures(file)?));
            return Ok(ExitCode::SUCCESS);
        }
        [verb, file] if verb == "scale" => {
            report::print(&scale::markdown(&read_figures(file)?)?);
            return Ok(ExitCode::SUCCESS);
        }
        [verb, file, options @ ..] if verb == "builds" => {
            return compare_builds(project, Path::new(file), &parse_options(options)?);
        }
        _ => {}
    }
    measure_and_print(project, &parse_options(rest)?)
}

/// Measures the release build next to another gateway, and prints a table and the JSON.
fn compare_builds(project: &Project, other: &Path, options: &BenchOptions) -> Result<ExitCode> {
    let binaries = Binaries::of(project, options.build);
    if options.rebuild == Rebuild::Yes {
        binaries.build(project)?;
    }
    let other = other.canonicalize().with_context(|| format!("can't find `{}`", other.display()))?;
    let peers = Peers::default();
    let scratch = config::ScratchDirectory::new(project)?;
    let config = scratch.echo(&binaries)?;
    let programs = Programs { binaries: &binaries, peers: &peers, scratch: &scratch, config: &config };
    let progress = Progress::start(builds::estimate(options.rounds, options.time));
    let figures = builds::all(programs, &other, options.rounds, options.time, &progress)?;
    report::print(&builds::markdown(&figures));
    report::print(&format!("\n{figures}\n"));
    Ok(ExitCode::SUCCESS)
}

/// The JSON of a run.
fn read_figures(file: &str) -> Result<Value> {
    let text = fs::read_to_string(file).with_context(|| format!("can't read `{file}`"))?;
    serde_json::from_str(&text).with_context(|| format!("`{file}` isn't JSON"))
}

/// Makes the measurements of all parts. A part that fails doesn't stop the others.
fn measure_and_print(project: &Project, options: &BenchOptions) -> Result<ExitCode> {
    let binaries = Binaries::of(project, options.build);
    if options.rebuild == Rebuild::Yes {
        binaries.build(project)?;
    }
    let peers = match options.peers {
        PeerSelection::FromRegistries => Peers::install(project),
        PeerSelection::None => Peers::default(),
    };
    let scratch = config::ScratchDirectory::new(project)?;
    let config = scratch.echo(&binaries)?;
    let programs = Programs { binaries: &binaries, peers: &peers, scratch: &scratch, config: &config };
    let mut figures = json!({
        "machine": machine(),
        "build": options.build.name(),
        "binary_bytes": inside::binary_size(&binaries)?,
    });
    if let Some(path) = options.json.as_ref().filter(|path| path.exists()) {
        figures = add_to(read_figures(&path.display().to_string())?, &figures)?;
    }
    let mut failed = Vec::new();
    let progress = Progress::start(options.parts.iter().map(|part| part.estimate(options)).sum());
    for part in &options.parts {
        let start = Instant::now();
        figures["runs"][part.name()] = json!({
            "rounds": options.rounds,
            "seconds": options.time.as_secs_f64(),
            "peers": options.peers == PeerSelection::FromRegistries,
            "load_before": load(),
        });
        if let Err(error) = measure(*part, programs, options, &progress, &mut figures) {
            report::error(&format!("{}: {error:#}", part.name()));
            failed.push(part.name());
        }
        figures["runs"][part.name()]["duration_s"] = json!(start.elapsed().as_secs());
        progress.note(&format!("{} took {} min", part.name(), clock(start.elapsed())));
        if let Some(path) = &options.json {
            write_figures(path, &figures)?;
        }
    }
    report::print(&table::markdown(&figures));
    report::print(&ratios::markdown(&figures));
    match &options.json {
        Some(path) => report::note(&format!("wrote {}", path.display())),
        None => report::print(&format!("\n{figures}\n")),
    }
    if failed.is_empty() {
        return Ok(ExitCode::SUCCESS);
    }
    report::error(&format!("failed: {}", failed.join(", ")));
    Ok(ExitCode::FAILURE)
}

/// Runs loads of every kind on a gateway that records a profile. Their results don't count.
pub(crate) fn train(project: &Project, gateway: &Path) -> Result<()> {
    let binaries = Binaries::of(project, BuildProfile::Release);
    binaries.build_tools(project)?;
    let binaries = binaries.with_gateway(gateway);
    let scratch = config::ScratchDirectory::new(project)?;
    let config = scratch.echo(&binaries)?;
    let (peers, time) = (Peers::default(), Duration::from_secs(1));
    let programs = Programs { binaries: &binaries, peers: &peers, scratch: &scratch, config: &config };
    let calls = memory::MIN_CALLS;
    let estimates = [
        throughput::estimate(1, time),
        start::estimate(1),
        access::estimate(1, time),
        sight::estimate(1, time),
        reload::estimate(1, time),
        memory::estimate(calls),
    ];
    let progress = Progress::start(estimates.iter().sum());
    throughput::ensure_complete(&throughput::all(programs, 1, time, &progress)?)?;
    start::all(programs, 1, &progress)?;
    access::all(&binaries, &scratch, 1, time, &progress)?;
    sight::all(&binaries, &scratch, 1, time, &progress)?;
    reload::all(&binaries, &scratch, 1, time, &progress)?;
    memory::all(&binaries, &scratch, calls, &progress)?;
    Ok(())
}

/// The figures of another run, to which parts are added; both must be about the same build and machine.
fn add_to(earlier: Value, now: &Value) -> Result<Value> {
    for key in ["machine", "build", "binary_bytes"] {
        if earlier[key] != now[key] {
            bail!("the JSON has the figures of another {key}; remove the file, or name another one");
        }
    }
    Ok(earlier)
}

fn write_figures(path: &Path, figures: &Value) -> Result<()> {
    fs::write(path, format!("{figures:#}\n")).with_context(|| format!("can't write `{}`", path.display()))
}

/// Makes the measurements of one part, and adds them.
fn measure(
    part: BenchPart,
    programs: Programs<'_>,
    options: &BenchOptions,
    progress: &Progress,
    figures: &mut Value,
) -> Result<()> {
    let Programs { binaries, scratch, .. } = programs;
    let BenchOptions { rounds, time, calls, .. } = *options;
    figures[part.name()] = match part {
        BenchPart::Throughput => {
            match inside::measure(binaries) {
                Ok(inside) => figures["inside"] = inside,
                Err(error) => report::error(&format!("{error:#}")),
            }
            throughput::all(programs, rounds, time, progress)?
        }
        BenchPart::Start => start::all(programs, rounds, progress)?,
        BenchPart::Fairness => fairness::all(binaries, scratch, rounds, time, progress)?,
        BenchPart::Access => access::all(binaries, scratch, rounds, time, progress)?,
        BenchPart::Replicas => {
            figures["store_operations_per_second"] = json!(replicas::store_operations_per_second()?);
            replicas::all(binaries, scratch, rounds, time, progress)?
        }
        BenchPart::Sight => sight::all(binaries, scratch, rounds, time, progress)?,
        BenchPart::Reload => reload::all(binaries, scratch, rounds, time, progress)?,
        BenchPart::Memory => memory::all(binaries, scratch, calls, progress)?,
    };
    // The figures are kept even if they show a failure.
    let found = &figures[part.name()];
    match part {
        BenchPart::Throughput => throughput::ensure_complete(found),
        BenchPart::Memory => memory::ensure_flat(found),
        BenchPart::Start
        | BenchPart::Fairness
        | BenchPart::Access
        | BenchPart::Replicas
        | BenchPart::Sight
        | BenchPart::Reload => Ok(()),
    }
}

/// The machine's processors, memory and kernel, as far as known.
fn machine() -> Value {
    let cpus = std::thread::available_parallelism().map_or(0, usize::from);
    let info = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = info.lines().find_map(|line| line.strip_prefix("model name")?.split_once(": "));
    let memory = fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let memory = memory.lines().find_map(|line| line.strip_prefix("MemTotal:"));
    let memory = memory.and_then(|rest| rest.trim().strip_suffix(" kB")?.parse::<u64>().ok());
    let system = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    json!({
        "cpus": cpus,
        "model": model.map(|(_, name)| name),
        "memory_kib": memory,
        "linux": system.trim(),
    })
}

/// The load of the machine, as far as known.
fn load() -> Option<f64> {
    let load = fs::read_to_string("/proc/loadavg").ok()?;
    load.split(' ').next()?.parse().ok()
}

fn parse_options(rest: &[String]) -> Result<BenchOptions> {
    let mut options = BenchOptions {
        parts: Vec::new(),
        rounds: 3,
        time: Duration::from_secs(1),
        calls: 1_000_000,
        peers: PeerSelection::None,
        json: None,
        build: BuildProfile::Release,
        rebuild: Rebuild::Yes,
    };
    let mut words = rest.iter();
    while let Some(word) = words.next() {
        let mut value = || words.next().with_context(|| format!("`{word}` needs a value"));
        match word.as_str() {
            "--rounds" => options.rounds = number(word, value()?)?,
            "--seconds" => {
                let time = Duration::try_from_secs_f64(number(word, value()?)?);
                options.time = time.context("invalid `--seconds`")?;
            }
            "--calls" => options.calls = number(word, value()?)?,
            "--peers" => options.peers = PeerSelection::FromRegistries,
            "--json" => options.json = Some(value()?.into()),
            "--dist" => options.build = BuildProfile::Dist,
            "--dev" => options.build = BuildProfile::Dev,
            "--no-build" => options.rebuild = Rebuild::No,
            "all" => options.parts.extend(BenchPart::ALL),
            other => match BenchPart::ALL.into_iter().find(|part| part.name() == other) {
                Some(part) => options.parts.push(part),
                None => {
                    bail!("`cargo xtask bench` doesn't take `{other}`; see `cargo xtask bench --help`")
                }
            },
        }
    }
    if options.parts.is_empty() {
        options.parts.extend(BenchPart::ALL);
    }
    if options.rounds == 0 || options.time.is_zero() {
        bail!("`--rounds` and `--seconds` must be above zero");
    }
    if options.calls < memory::MIN_CALLS {
        bail!("`--calls` must be at least {}", memory::MIN_CALLS);
    }
    Ok(options)
}

fn number<T: std::str::FromStr>(word: &str, value: &str) -> Result<T> {
    value.parse().ok().with_context(|| format!("`{word} {value}`: expected a number"))
}

#[cfg(test)]
mod tests;
