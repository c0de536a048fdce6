//! Two builds of the gateway in one run, such as the static one and the one for glibc: calls per second, and starts
//! with cached code and with an empty cache. The builds take turns.

use std::path::Path;
use std::time::Duration;

use anyhow::{Context as _, Result};
use serde_json::{Value, json};

use super::progress::Progress;
use super::start::{self, StartCase};
use super::subject::{Era, Programs, Subject};
use super::table::{number, text};
use super::throughput::{Load, Transport, generator, median, run};

/// The loads, all over HTTP.
const LOADS: [Load; 4] = [
    Load { transport: Transport::Http, width: 1, bytes: 100 },
    Load { transport: Transport::Http, width: 8, bytes: 100 },
    Load { transport: Transport::Http, width: 32, bytes: 100 },
    Load { transport: Transport::Http, width: 8, bytes: 64 << 10 },
];

const SUBJECT: Subject = Subject::Moongate(Era::Stateless);

/// The number of plugins of a cached start.
const PLUGINS: usize = 25;

/// Measures both builds; returns a list with one entry for each measurement.
pub(super) fn all(
    programs: Programs<'_>,
    other: &Path,
    rounds: usize,
    time: Duration,
    progress: &Progress,
) -> Result<Value> {
    let others = programs.binaries.with_gateway(other);
    let builds = [programs, Programs { binaries: &others, ..programs }];
    let mut figures: Vec<(String, [Vec<f64>; 2])> = Vec::new();
    let mut add = |name: String, build: usize, figure: f64| match figures
        .iter_mut()
        .find(|(known, _)| *known == name)
    {
        Some((_, rounds)) => rounds[build].push(figure),
        None => {
            let mut rounds = [Vec::new(), Vec::new()];
            rounds[build].push(figure);
            figures.push((name, rounds));
        }
    };
    for round in 0..rounds {
        progress.note(&format!("builds: round {} of {rounds}", round + 1));
        // Each round starts with another build.
        let order = if round % 2 == 0 { [0, 1] } else { [1, 0] };
        let start = |build: usize| -> Result<_> {
            Ok((build, SUBJECT.start_http(builds[build])?.context("the gateway is always installed")?))
        };
        let running = [start(order[0])?, start(order[1])?];
        for load in LOADS {
            for (build, server) in &running {
                let mut command = generator(programs.binaries, "http", SUBJECT, load, time);
                let found = run(command.args(["--url", &server.url, "--pid", &server.pid().to_string()]))?;
                for (key, unit) in [("calls_per_second", "calls/s"), ("resident_kib", "KiB resident")] {
                    let figure = found[key].as_f64().with_context(|| format!("no `{key}`"))?;
                    add(format!("{}, {unit}", load.name()), *build, figure);
                }
            }
        }
        drop(running);
        for build in order {
            for mut case in cases(builds[build])? {
                case.measure(builds[build].binaries, 1)?;
                let ms = case.entry()["complete_list_ms"].as_f64().context("the start wasn't complete")?;
                add(format!("{}, ms to the complete list", case.name()), build, ms);
            }
        }
    }
    let entry = |(name, [own, other]): &(String, [Vec<f64>; 2])| {
        let (own, other) = (median(own.clone()), median(other.clone()));
        json!({ "name": name, "own": own, "other": other })
    };
    Ok(figures.iter().map(entry).collect())
}

/// A start with an empty cache, and one with cached code.
fn cases(programs: Programs<'_>) -> Result<[StartCase; 2]> {
    let Programs { binaries, scratch, .. } = programs;
    let cached = scratch.times(binaries, PLUGINS)?;
    let first = start::first_rust_case(binaries, scratch)?;
    scratch.clear_first_start_cache()?;
    Ok([first, start::own_case(binaries, format!("{PLUGINS} plugins, cached"), PLUGINS, &cached)?])
}

/// The table of a run.
pub(super) fn markdown(entries: &Value) -> String {
    let mut table =
        "\n| measurement | release build | other build | other / release |\n|---|---|---|---|\n".to_owned();
    for entry in entries.as_array().into_iter().flatten() {
        let (own, other) = (entry["own"].as_f64(), entry["other"].as_f64());
        let ratio = own.zip(other).map(|(own, other)| other / own);
        let name = text(&entry["name"]);
        table += &format!("| {name} | {} | {} | {} |\n", number(own, 1), number(other, 1), number(ratio, 2));
    }
    table
}

/// The duration of all measurements.
pub(super) fn estimate(rounds: usize, time: Duration) -> Duration {
    rounds as u32 * (Duration::from_secs(60) + 2 * LOADS.len() as u32 * (time + Duration::from_millis(400)))
}
