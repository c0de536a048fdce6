//! Starts over stdio: the time to the answer to `initialize`, to the first list of tools, and to the first complete list,
//! and the resident memory then.
//!
//! With cached code for several numbers of plugins, next to native servers; and with an empty cache for a set of Rust
//! plugins and a Python plugin. Cached starts take turns in every round.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context as _, Result};
use serde_json::{Value, json};

use super::binaries::Binaries;
use super::config::ScratchDirectory;
use super::progress::Progress;
use super::subject::{Era, Programs, Subject, compiled_tools, gateway};
use super::table::number;
use super::throughput::{append, median, run};
use crate::report;

/// The numbers of plugins.
const PLUGIN_COUNTS: [usize; 4] = [1, 25, 200, 1_000];

/// Starts per round with everything cached.
const CACHED_STARTS: usize = 5;

/// Other servers, whose starts are measured for comparison.
const OTHER_SERVERS: [Subject; 3] = [Subject::Rmcp(Era::Handshake), Subject::Everything, Subject::FastMcp];

/// The Rust plugins of the first start.
const RUST_PLUGINS: [&str; 5] = ["fetch", "filesystem", "memory", "sequential-thinking", "time"];

/// The Python plugin of the first start.
const PYTHON_PLUGIN: &str = "statistics";

/// A server to start.
pub(super) struct StartCase {
    name: String,
    /// The number of plugins, for the gateway.
    plugins: Option<usize>,
    command: Command,
    /// The last tool, and the number of tools, of a complete list.
    tool: String,
    tools: usize,
    rounds: Vec<Value>,
}

impl StartCase {
    /// Adds a round.
    pub(super) fn measure(&mut self, binaries: &Binaries, starts: usize) -> Result<()> {
        let mut command = Command::new(&binaries.load);
        command.args(["cold", "--runs", &starts.to_string(), "--patience", "300"]);
        command.args(["--tool", &self.tool, "--tools", &self.tools.to_string(), "--"]);
        self.rounds.push(run(append(&mut command, &self.command))?);
        Ok(())
    }

    /// A failure means that the case has a round less.
    fn measure_or_report(&mut self, binaries: &Binaries, starts: usize) {
        if let Err(error) = self.measure(binaries, starts) {
            report::error(&format!("{}: {error:#}", self.name));
        }
    }

    /// The name in the tables.
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// The medians of all rounds.
    pub(super) fn entry(&self) -> Value {
        let middle = |key: &str| median(self.rounds.iter().filter_map(|one| one[key].as_f64()).collect());
        let ms = |key: &str| middle(key).map(|us| us / 1e3);
        json!({
            "name": self.name,
            "plugins": self.plugins,
            "initialize_ms": ms("initialize_us"),
            "first_list_ms": ms("first_list_us"),
            "complete_list_ms": ms("complete_list_us"),
            "resident_kib": middle("resident_kib"),
        })
    }
}

/// Measures all starts.
pub(super) fn all(programs: Programs<'_>, rounds: usize, progress: &Progress) -> Result<Value> {
    let Programs { binaries, scratch, .. } = programs;
    progress.note("starts: counting tools");
    let mut cases = cached_cases(programs)?;
    // Warms up the cache of the disk.
    let mut failed = Vec::new();
    for case in &mut cases {
        match case.measure(binaries, 1) {
            Err(error) if case.plugins.is_none() => failed.push((case.name.clone(), error)),
            measured => measured?,
        }
        case.rounds.clear();
    }
    for (name, error) in failed {
        report::note(&format!("left out: {name}: {error:#}"));
        cases.retain(|case| case.name != name);
    }
    for round in 0..rounds {
        progress.note(&format!("starts: round {} of {rounds}", round + 1));
        let count = cases.len();
        cases.rotate_left(round % count);
        for case in &mut cases {
            case.measure_or_report(binaries, CACHED_STARTS);
        }
        cases.rotate_right(round % count);
    }
    let mut first = first_cases(binaries, scratch)?;
    for round in 0..rounds {
        progress.note(&format!("starts with an empty cache: round {} of {rounds}", round + 1));
        for case in &mut first {
            scratch.clear_first_start_cache()?;
            case.measure_or_report(binaries, 1);
        }
    }
    let entries = |cases: &[StartCase]| cases.iter().map(StartCase::entry).collect::<Vec<_>>();
    Ok(json!({ "cached": entries(&cases), "empty_cache": entries(&first) }))
}

fn cached_cases(programs: Programs<'_>) -> Result<Vec<StartCase>> {
    let mut cases = Vec::new();
    for count in PLUGIN_COUNTS {
        let config = programs.scratch.times(programs.binaries, count)?;
        let name = if count == 1 {
            "1 plugin".to_owned()
        } else {
            format!("{} plugins", number(Some(count as f64), 0))
        };
        cases.push(own_case(programs.binaries, name, count, &config)?);
    }
    for subject in OTHER_SERVERS {
        let Some(command) = subject.stdio(programs) else { continue };
        let (name, tool) = (subject.name(), "echo".to_owned());
        cases.push(StartCase { name, plugins: None, command, tool, tools: 1, rounds: Vec::new() });
    }
    Ok(cases)
}

/// The start of a gateway. Its tools are listed beforehand, which also compiles its plugins.
pub(super) fn own_case(
    binaries: &Binaries,
    name: String,
    plugins: usize,
    config: &Path,
) -> Result<StartCase> {
    let tools = compiled_tools(binaries, config)?;
    Ok(StartCase {
        name,
        plugins: Some(plugins),
        command: gateway(binaries, config, &["--stdio"]),
        tool: tools.last().with_context(|| format!("`{}` has no tools", config.display()))?.clone(),
        tools: tools.len(),
        rounds: Vec::new(),
    })
}

fn first_cases(binaries: &Binaries, scratch: &ScratchDirectory) -> Result<Vec<StartCase>> {
    let mut cases = vec![first_rust_case(binaries, scratch)?];
    if binaries.dist.join(format!("{PYTHON_PLUGIN}.wasm")).is_file() {
        let config = scratch.first_start(binaries, "python", &[PYTHON_PLUGIN])?;
        cases.push(own_case(binaries, "1 Python plugin, empty cache".to_owned(), 1, &config)?);
    } else {
        report::note("left out: the first start of a Python plugin: it isn't built");
    }
    Ok(cases)
}

/// A start with the Rust plugins. Clear the cache before each measurement.
pub(super) fn first_rust_case(binaries: &Binaries, scratch: &ScratchDirectory) -> Result<StartCase> {
    let count = RUST_PLUGINS.len();
    let config = scratch.first_start(binaries, "rust", &RUST_PLUGINS)?;
    own_case(binaries, format!("{count} Rust plugins, empty cache"), count, &config)
}

/// The duration of all starts.
pub(super) fn estimate(rounds: usize) -> Duration {
    Duration::from_secs(40) + rounds as u32 * Duration::from_secs(50)
}
