//! `bench`: measures release builds of the gateway and its peers in one run. Not part of `test`, because measurements
//! need a quiet machine.
//!
//! The peers are in the workspace `tests/bench`: `axum-echo` is the floor, `rmcp-echo` a native server, and `load` the
//! load generator. Every load is applied to every subject in turn, so that a slow moment of the machine affects all of
//! them, and the results are medians of the rounds.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use serde_json::{Value, json};

use crate::project::Project;
use crate::report;

mod alone;
mod binaries;
mod config;
mod fairness;
mod poll;
mod reload;
mod subject;
mod table;
mod traffic;

use binaries::{Binaries, BuildProfile};

const HELP: &str = "\
Measures the gateway and its peers in one run; prints tables in Markdown, then one line of JSON.

Usage: cargo xtask bench [reload | fairness] [options]

  reload          measure only the cost of replacing a plugin
  fairness        measure only the effect of looping guests on calls to another plugin

Options:
  --rounds N      measure every subject N times and report medians (default: 3)
  --seconds S     duration of each load after a warm-up (default: 1); a round has about 50 loads
  --json FILE     write the JSON to FILE instead of printing it
  --dev           use debug builds, to test the benchmark itself
  --no-build      use the existing builds
";

/// The options of the verb.
#[derive(Debug)]
struct BenchOptions {
    part: BenchPart,
    rounds: usize,
    time: Duration,
    json: Option<PathBuf>,
    build: BuildProfile,
    rebuild: Rebuild,
}

/// The measurements to make.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum BenchPart {
    /// All measurements.
    All,
    /// The cost of replacing a plugin.
    Reload,
    /// The effect of looping guests on calls to another plugin.
    Fairness,
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
    let options = parse_options(rest)?;
    let binaries = Binaries::of(project, options.build);
    if options.rebuild == Rebuild::Yes {
        binaries.build(project)?;
    }
    let scratch = config::ScratchDirectory::new(project)?;
    let figures = measure(&binaries, &scratch, &options)?;
    report::print(&table::markdown(&figures));
    match &options.json {
        Some(path) => {
            let text = format!("{figures:#}\n");
            std::fs::write(path, text).with_context(|| format!("can't write `{}`", path.display()))?;
            report::note(&format!("wrote {}", path.display()));
        }
        None => report::print(&format!("\n{figures}\n")),
    }
    Ok(ExitCode::SUCCESS)
}

/// Makes the measurements; returns one JSON object.
fn measure(binaries: &Binaries, scratch: &config::ScratchDirectory, options: &BenchOptions) -> Result<Value> {
    let mut figures = json!({
        "machine": machine(),
        "build": options.build.name(),
        "rounds": options.rounds,
        "seconds": options.time.as_secs_f64(),
    });
    if options.part == BenchPart::All {
        figures["traffic"] = traffic::all(binaries, scratch, options.rounds, options.time)?;
        figures["cold"] = alone::cold(binaries, scratch, options.rounds)?;
        figures["inside"] = alone::inside(binaries)?;
        figures["idle_plugin_kib"] = alone::idle_plugin(binaries, scratch)?;
        figures["binary_bytes"] = json!(alone::size(binaries)?);
    }
    if matches!(options.part, BenchPart::All | BenchPart::Fairness) {
        figures["fairness"] = fairness::all(binaries, scratch, options.rounds, options.time)?;
    }
    if matches!(options.part, BenchPart::All | BenchPart::Reload) {
        figures["reload"] = reload::all(binaries, scratch, options.rounds, options.time)?;
    }
    Ok(figures)
}

/// The machine's processors and load, as far as known.
fn machine() -> Value {
    let cpus = std::thread::available_parallelism().map_or(0, usize::from);
    let info = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = info.lines().find_map(|line| line.strip_prefix("model name")?.split_once(": "));
    let load = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    json!({
        "cpus": cpus,
        "model": model.map(|(_, name)| name),
        "load_before": load.split(' ').next().and_then(|word| word.parse::<f64>().ok()),
    })
}

fn parse_options(rest: &[String]) -> Result<BenchOptions> {
    let mut options = BenchOptions {
        part: BenchPart::All,
        rounds: 3,
        time: Duration::from_secs(1),
        json: None,
        build: BuildProfile::Release,
        rebuild: Rebuild::Yes,
    };
    let mut words = rest.iter();
    while let Some(word) = words.next() {
        let mut value = || words.next().with_context(|| format!("`{word}` needs a value"));
        match word.as_str() {
            "reload" => options.part = BenchPart::Reload,
            "fairness" => options.part = BenchPart::Fairness,
            "--rounds" => options.rounds = number(word, value()?)?,
            "--seconds" => {
                let time = Duration::try_from_secs_f64(number(word, value()?)?);
                options.time = time.context("invalid `--seconds`")?;
            }
            "--json" => options.json = Some(value()?.into()),
            "--dev" => options.build = BuildProfile::Dev,
            "--no-build" => options.rebuild = Rebuild::No,
            other => bail!("`cargo xtask bench` doesn't take `{other}`; see `cargo xtask bench --help`"),
        }
    }
    if options.rounds == 0 || options.time.is_zero() {
        bail!("`--rounds` and `--seconds` must be above zero");
    }
    Ok(options)
}

fn number<T: std::str::FromStr>(word: &str, value: &str) -> Result<T> {
    value.parse().ok().with_context(|| format!("`{word} {value}`: expected a number"))
}
