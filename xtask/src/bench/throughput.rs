//! Calls per second, latency and processor time under load, for every subject in every round.

use std::process::Command;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use serde_json::{Value, json};

use super::binaries::Binaries;
use super::config::CACHE_VARIABLE;
use super::progress::Progress;
use super::subject::{Programs, Subject};
use super::table::text;
use crate::report;

/// One kind of load.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Load {
    pub(super) transport: Transport,
    /// Concurrent connections over HTTP, or calls in flight over stdio.
    pub(super) width: usize,
    /// The length of the echoed text.
    pub(super) bytes: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Transport {
    Http,
    Stdio,
}

impl Transport {
    fn name(self) -> &'static str {
        match self {
            Self::Http => "HTTP",
            Self::Stdio => "stdio",
        }
    }
}

impl Load {
    const HTTP: [Self; 7] = [
        Self { transport: Transport::Http, width: 1, bytes: 100 },
        Self { transport: Transport::Http, width: 8, bytes: 100 },
        Self { transport: Transport::Http, width: 32, bytes: 100 },
        Self { transport: Transport::Http, width: 128, bytes: 100 },
        Self { transport: Transport::Http, width: 1, bytes: 64 << 10 },
        Self { transport: Transport::Http, width: 8, bytes: 64 << 10 },
        Self { transport: Transport::Http, width: 32, bytes: 64 << 10 },
    ];

    const STDIO: [Self; 2] = [
        Self { transport: Transport::Stdio, width: 32, bytes: 100 },
        Self { transport: Transport::Stdio, width: 32, bytes: 64 << 10 },
    ];

    /// The name in the tables.
    pub(super) fn name(self) -> String {
        let size =
            if self.bytes < 1024 { format!("{} B", self.bytes) } else { format!("{} KiB", self.bytes >> 10) };
        match self.transport {
            Transport::Http if self.width == 1 => format!("HTTP, {size}, 1 connection"),
            Transport::Http => format!("HTTP, {size}, {} connections", self.width),
            Transport::Stdio => format!("stdio, {size}, {} in flight", self.width),
        }
    }
}

/// The time of a load in addition to its measurement: the warm-up, the start and the end.
const LOAD_OVERHEAD: Duration = Duration::from_millis(400);

/// The results of one subject under one load, from all rounds.
type LoadResults = (Load, Subject, Vec<Value>);

/// Measures all loads; returns a list with one entry for each load and subject, grouped by load.
pub(super) fn all(
    programs: Programs<'_>,
    rounds: usize,
    time: Duration,
    progress: &Progress,
) -> Result<Value> {
    let mut results: Vec<LoadResults> = Vec::new();
    for round in 0..rounds {
        // Each round starts with another subject.
        let mut subjects = Subject::HTTP;
        subjects.rotate_left(round % Subject::HTTP.len());
        let mut running = Vec::new();
        for subject in subjects {
            match subject.start_http(programs) {
                Ok(None) => {}
                Ok(Some(started)) => running.push((subject, started)),
                Err(error) if subject.is_own() => return Err(error),
                Err(error) => report::note(&format!("left out: {}: {error:#}", subject.name())),
            }
        }
        for load in Load::HTTP {
            progress.note(&format!("throughput: round {} of {rounds}, {}", round + 1, load.name()));
            for (subject, server) in &running {
                let mut command = generator(programs.binaries, "http", *subject, load, time);
                command.args(["--url", &server.url, "--pid", &server.pid().to_string()]);
                add(&mut results, load, *subject, run(&mut command));
            }
        }
        drop(running);
        let mut subjects = Subject::STDIO;
        subjects.rotate_left(round % Subject::STDIO.len());
        for load in Load::STDIO {
            progress.note(&format!("throughput: round {} of {rounds}, {}", round + 1, load.name()));
            for subject in subjects {
                let Some(server) = subject.stdio(programs) else { continue };
                let mut command = generator(programs.binaries, "stdio", subject, load, time);
                append(command.arg("--"), &server);
                add(&mut results, load, subject, run(&mut command));
            }
        }
    }
    Ok(results.iter().map(entry).collect())
}

/// The duration of all loads.
pub(super) fn estimate(rounds: usize, time: Duration) -> Duration {
    let http = Load::HTTP.len() * Subject::HTTP.len();
    let stdio = Load::STDIO.len() * Subject::STDIO.len();
    let starts = Duration::from_secs(12);
    rounds as u32 * (starts + (http + stdio) as u32 * (time + LOAD_OVERHEAD))
}

/// The load generator with the options of a load.
pub(super) fn generator(
    binaries: &Binaries,
    verb: &str,
    subject: Subject,
    load: Load,
    time: Duration,
) -> Command {
    let width = match load.transport {
        Transport::Http => "--connections",
        Transport::Stdio => "--window",
    };
    let mut command = Command::new(&binaries.load);
    command.arg(verb).args(subject.load_flags());
    command.args([width, &load.width.to_string(), "--bytes", &load.bytes.to_string()]);
    command.args(["--seconds", &time.as_secs_f64().to_string()]);
    command
}

/// Appends a command line to the arguments of another command.
pub(super) fn append<'a>(command: &'a mut Command, other: &Command) -> &'a mut Command {
    command.arg(other.get_program()).args(other.get_args())
}

/// Runs a program that prints JSON, such as the load generator, and parses its output.
pub(super) fn run(command: &mut Command) -> Result<Value> {
    let output =
        command.env_remove(CACHE_VARIABLE).output().with_context(|| format!("can't start {command:?}"))?;
    if !output.status.success() {
        bail!("{command:?} failed: {}", String::from_utf8_lossy(&output.stderr).trim());
    }
    serde_json::from_slice(&output.stdout).with_context(|| format!("{command:?} printed no JSON"))
}

/// Adds the results of a round. A failure is one of its results.
fn add(results: &mut Vec<LoadResults>, load: Load, subject: Subject, figures: Result<Value>) {
    let figures = figures.unwrap_or_else(|error| {
        report::error(&format!("{}, {}: {error:#}", subject.name(), load.name()));
        json!({ "failed": format!("{error:#}") })
    });
    match results.iter_mut().find(|(l, s, _)| (*l, *s) == (load, subject)) {
        Some((_, _, rounds)) => rounds.push(figures),
        None => results.push((load, subject, vec![figures])),
    }
}

/// Fails if a round of the gateway, or of a server for comparison that is part of the project, failed.
pub(super) fn ensure_complete(entries: &Value) -> Result<()> {
    let own = |entry: &&Value| entry["is_own"] == true && entry["failed_rounds"] != 0;
    let failed: Vec<String> = entries
        .as_array()
        .into_iter()
        .flatten()
        .filter(own)
        .map(|entry| format!("{} of {}", text(&entry["load"]), text(&entry["subject"])))
        .collect();
    if !failed.is_empty() {
        bail!("failed in a round: {}", failed.join("; "));
    }
    Ok(())
}

fn entry((load, subject, rounds): &LoadResults) -> Value {
    let all = |key: &str| -> Vec<f64> { rounds.iter().filter_map(|figures| figures[key].as_f64()).collect() };
    let mut entry = json!({
        "load": load.name(),
        "transport": load.transport.name(),
        "width": load.width,
        "bytes": load.bytes,
        "subject": subject.name(),
        "is_own": subject.is_own(),
        "reference": subject.reference().map(Subject::name),
        "floor": (load.transport == Transport::Http).then(|| Subject::Floor.name()),
        "rounds": all("calls_per_second"),
        "failed_rounds": rounds.iter().filter(|figures| figures["failed"].is_string()).count(),
    });
    for key in ["calls_per_second", "p50_us", "p99_us", "cpu_us_per_call", "idle_kib", "resident_kib"] {
        entry[key] = json!(median(all(key)));
    }
    entry
}

/// The median; `None` of an empty list.
pub(super) fn median(mut figures: Vec<f64>) -> Option<f64> {
    figures.sort_unstable_by(f64::total_cmp);
    figures.get(figures.len() / 2).copied()
}
