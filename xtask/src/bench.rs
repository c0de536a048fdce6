//! `bench`: measures the gateway and its peers from release builds, all in one run. Not part of `test`: figures need
//! a quiet machine.
//!
//! The peers stand in `tests/bench`, a workspace of its own: `axum-echo` is the floor, `rmcp-echo` a native server,
//! `load` the generator that drives all of them. Every load goes to every subject in turn, so that a slow moment of
//! the machine hits all alike, and the figures are medians of the rounds.

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

use binaries::{Binaries, Build};

const HELP: &str = "\
Measures the gateway and its peers in one run; prints tables in Markdown, then one line of JSON.

Usage: cargo xtask bench [reload | fairness] [options]

  reload          only what replacing a plugin costs
  fairness        only what an honest plugin's calls notice of guests that loop

Options:
  --rounds N      how often every subject is measured; the figures are medians (default: 3)
  --seconds S     how long each load lasts, after a warm-up (default: 1); all take about 50 loads a round
  --json FILE     write the JSON there instead of printing it
  --dev           debug builds: says nothing about speed, only that this works
  --no-build      measure what was built before
";

/// What was asked for.
#[derive(Debug)]
struct Options {
    part: Part,
    rounds: usize,
    time: Duration,
    json: Option<PathBuf>,
    build: Build,
    rebuild: Rebuild,
}

/// What is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    /// Everything.
    All,
    /// What replacing a plugin costs.
    Reload,
    /// What calls notice of guests that loop.
    Fairness,
}

/// Whether the binaries are built first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Rebuild {
    Yes,
    No,
}

/// Runs the verb.
pub(crate) fn run(project: &Project, rest: &[String]) -> Result<ExitCode> {
    if rest.iter().any(|word| word == "--help" || word == "-h") {
        report::say(HELP);
        return Ok(ExitCode::SUCCESS);
    }
    let options = read(rest)?;
    let binaries = Binaries::of(project, options.build);
    if options.rebuild == Rebuild::Yes {
        binaries.build(project)?;
    }
    let scratch = config::Scratch::new(project)?;
    let figures = measure(&binaries, &scratch, &options)?;
    report::say(&table::markdown(&figures));
    match &options.json {
        Some(path) => {
            let text = format!("{figures:#}\n");
            std::fs::write(path, text).with_context(|| format!("`{}` can't be written", path.display()))?;
            report::note(&format!("figures: {}", path.display()));
        }
        None => report::say(&format!("\n{figures}\n")),
    }
    Ok(ExitCode::SUCCESS)
}

/// Everything that is measured, as one object.
fn measure(binaries: &Binaries, scratch: &config::Scratch, options: &Options) -> Result<Value> {
    let mut figures = json!({
        "machine": machine(),
        "build": options.build.name(),
        "rounds": options.rounds,
        "seconds": options.time.as_secs_f64(),
    });
    if options.part == Part::All {
        figures["traffic"] = traffic::all(binaries, scratch, options.rounds, options.time)?;
        figures["cold"] = alone::cold(binaries, scratch, options.rounds)?;
        figures["inside"] = alone::inside(binaries)?;
        figures["idle_plugin_kib"] = alone::idle_plugin(binaries, scratch)?;
        figures["binary_bytes"] = json!(alone::size(binaries)?);
    }
    if matches!(options.part, Part::All | Part::Fairness) {
        figures["fairness"] = fairness::all(binaries, scratch, options.rounds, options.time)?;
    }
    if matches!(options.part, Part::All | Part::Reload) {
        figures["reload"] = reload::all(binaries, scratch, options.rounds, options.time)?;
    }
    Ok(figures)
}

/// The machine, as far as it says so.
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

fn read(rest: &[String]) -> Result<Options> {
    let mut options = Options {
        part: Part::All,
        rounds: 3,
        time: Duration::from_secs(1),
        json: None,
        build: Build::Release,
        rebuild: Rebuild::Yes,
    };
    let mut words = rest.iter();
    while let Some(word) = words.next() {
        let mut value = || words.next().with_context(|| format!("`{word}` needs a value"));
        match word.as_str() {
            "reload" => options.part = Part::Reload,
            "fairness" => options.part = Part::Fairness,
            "--rounds" => options.rounds = number(word, value()?)?,
            "--seconds" => {
                let time = Duration::try_from_secs_f64(number(word, value()?)?);
                options.time = time.context("`--seconds`: that is no time")?;
            }
            "--json" => options.json = Some(value()?.into()),
            "--dev" => options.build = Build::Dev,
            "--no-build" => options.rebuild = Rebuild::No,
            other => bail!("`cargo xtask bench` doesn't know `{other}`; see `cargo xtask bench --help`"),
        }
    }
    if options.rounds == 0 || options.time.is_zero() {
        bail!("there must be at least one round, and some time in it");
    }
    Ok(options)
}

fn number<T: std::str::FromStr>(word: &str, value: &str) -> Result<T> {
    value.parse().ok().with_context(|| format!("`{word} {value}`: a number is wanted"))
}
