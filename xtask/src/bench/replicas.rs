//! The cost of the store that several gateways share, and two gateways on two processors next to one on one.
//!
//! All gateways run at the same time, and their loads take turns in every round, so that a slow moment of the machine affects
//! all of them. The store is on the same machine, and takes its share of the processors.

use std::process::{Child, Command, Stdio};
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use serde_json::{Value, json};

use super::binaries::Binaries;
use super::config::ScratchDirectory;
use super::progress::Progress;
use super::subject::{Era, Subject, compiled_tools, gateway, ready_gateway};
use super::throughput::{append, median};
use crate::install::{MissingTool, program_path};
use crate::run::ProcessRun;
use crate::server::Server;
use crate::shared_store;

/// The connections of a load, over all gateways.
const CONNECTIONS: usize = 32;

/// The gateways that serve a load.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Setting {
    /// One gateway without a store, on all processors.
    Alone,
    /// One gateway with a store, on all processors.
    WithStore,
    /// One gateway with a store, on one processor.
    OneProcessor,
    /// Two gateways with a store, each on a processor of its own.
    TwoProcessors,
}

impl Setting {
    const ALL: [Self; 4] = [Self::Alone, Self::WithStore, Self::OneProcessor, Self::TwoProcessors];

    /// The name in the tables.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Alone => "one gateway without a store",
            Self::WithStore => "one gateway with a store",
            Self::OneProcessor => "one gateway with a store, on one processor",
            Self::TwoProcessors => "two gateways with a store, on two processors",
        }
    }
}

/// The settings and eras, in the order of the tables.
fn cases() -> impl Iterator<Item = (Era, Setting)> {
    [Era::Stateless, Era::Handshake].into_iter().flat_map(|era| Setting::ALL.map(|setting| (era, setting)))
}

/// A figure of a case.
pub(super) fn figure(figures: &Value, era: Era, setting: Setting, key: &str) -> Option<f64> {
    let mut entries = figures["replicas"].as_array()?.iter();
    let is_case = |entry: &&Value| entry["setting"] == setting.name() && entry["revision"] == era.revision();
    entries.find(is_case)?[key].as_f64()
}

/// The operations per second of the store, a script with two commands, over as many connections as the loads have.
/// `None` if the program that measures it isn't installed.
pub(super) fn store_operations_per_second() -> Result<Option<f64>> {
    let Some(program) = program_path("redis-benchmark") else { return Ok(None) };
    let redis = program_path("redis-server").with_context(|| MissingTool::Redis.to_string())?;
    let store = shared_store::start(&redis)?;
    let port = store.url.rsplit(':').next().context("the URL has a port")?;
    let script = "redis.call('SET', KEYS[1], ARGV[1]) return redis.call('GET', KEYS[1])";
    let run = ProcessRun::new(program).args(["-p", port, "-c", &CONNECTIONS.to_string(), "-n", "100000"]);
    let table = run.args(["--csv", "eval", script, "1", "key", "value"]).read_stdout()?;
    // `"test","rps",…`, and a line with the same columns. The name of the test contains commas.
    let columns = table.lines().nth(1).and_then(|line| line.rsplit_once("value\",\""));
    let rate = columns.and_then(|(_, columns)| columns.split('"').next()?.parse().ok());
    Ok(Some(rate.context("`redis-benchmark` printed no figure")?))
}

/// The gateways of all settings.
struct ReplicasBench<'a> {
    binaries: &'a Binaries,
    alone: Server,
    with_store: Server,
    /// Each on a processor of its own.
    pinned: [Server; 2],
    _store: Server,
}

/// A running load generator; killed when dropped.
struct LoadRun(Child);

impl Drop for LoadRun {
    fn drop(&mut self) {
        drop(self.0.kill()); // it has nothing to clean up
        drop(self.0.wait());
    }
}

/// The results of each case: medians of the rounds.
pub(super) fn all(
    binaries: &Binaries,
    scratch: &ScratchDirectory,
    rounds: usize,
    time: Duration,
    progress: &Progress,
) -> Result<Value> {
    let bench = ReplicasBench::start(binaries, scratch)?;
    let cases: Vec<_> = cases().collect();
    let mut found: Vec<Vec<Value>> = vec![Vec::new(); cases.len()];
    for round in 0..rounds {
        progress.note(&format!("several gateways: round {} of {rounds}", round + 1));
        // Each round starts with another case.
        for turn in 0..cases.len() {
            let at = (turn + round) % cases.len();
            let (era, setting) = cases[at];
            found[at].push(bench.measure(era, setting, time)?);
        }
    }
    let entry = |((era, setting), rounds): ((Era, Setting), &Vec<Value>)| {
        let mut entry = json!({ "setting": setting.name(), "revision": era.revision() });
        for key in ["calls_per_second", "p50_us", "p99_us"] {
            entry[key] = json!(median(rounds.iter().filter_map(|one| one[key].as_f64()).collect()));
        }
        entry
    };
    Ok(cases.into_iter().zip(&found).map(entry).collect())
}

/// The duration of all cases.
pub(super) fn estimate(rounds: usize, time: Duration) -> Duration {
    let cases = cases().count() as u32;
    rounds as u32 * cases * (time + Duration::from_millis(500)) + Duration::from_secs(5)
}

impl<'a> ReplicasBench<'a> {
    fn start(binaries: &'a Binaries, scratch: &ScratchDirectory) -> Result<Self> {
        let redis = program_path("redis-server").with_context(|| MissingTool::Redis.to_string())?;
        let store = shared_store::start(&redis)?;
        let alone = scratch.echo(binaries)?;
        let shared = scratch.replica(binaries, &store.url)?;
        compiled_tools(binaries, &shared)?;
        let pinned = |processor: &str| {
            let mut command = Command::new("taskset");
            append(command.args(["-c", processor]), &gateway(binaries, &shared, &[]));
            Server::start(command)
        };
        Ok(Self {
            binaries,
            alone: ready_gateway(binaries, &alone)?,
            with_store: ready_gateway(binaries, &shared)?,
            pinned: [pinned("0")?, pinned("1")?],
            _store: store,
        })
    }

    /// Loads the gateways of a setting, each with its part of the connections.
    fn measure(&self, era: Era, setting: Setting, time: Duration) -> Result<Value> {
        let [first, second] = &self.pinned;
        let gateways = match setting {
            Setting::Alone => vec![&self.alone],
            Setting::WithStore => vec![&self.with_store],
            Setting::OneProcessor => vec![first],
            Setting::TwoProcessors => vec![first, second],
        };
        let connections = (CONNECTIONS / gateways.len()).to_string();
        let load = |gateway: &&Server| {
            let mut command = Command::new(&self.binaries.load);
            command.arg("http").args(Subject::Moongate(era).load_flags());
            command.args(["--tool", "echo", "--bytes", "100", "--connections", &connections]);
            command.args(["--seconds", &time.as_secs_f64().to_string(), "--url", &gateway.url]);
            command.stdin(Stdio::null()).stdout(Stdio::piped());
            command.spawn().map(LoadRun).context("can't start the load generator")
        };
        let running = gateways.iter().map(load).collect::<Result<Vec<_>>>()?;
        let figures = running.into_iter().map(LoadRun::finish).collect::<Result<Vec<_>>>()?;
        let all = |key: &'static str| figures.iter().filter_map(move |one| one[key].as_f64());
        Ok(json!({
            "calls_per_second": all("calls_per_second").sum::<f64>(),
            "p50_us": all("p50_us").reduce(f64::max),
            "p99_us": all("p99_us").reduce(f64::max),
        }))
    }
}

impl LoadRun {
    /// Waits for the figures.
    fn finish(mut self) -> Result<Value> {
        let output = self.0.stdout.take().context("stdout is piped")?;
        let figures = serde_json::from_reader(output).context("the load generator printed no JSON")?;
        ensure!(self.0.wait()?.success(), "the load generator failed");
        Ok(figures)
    }
}
