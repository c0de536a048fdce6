//! The performance goals, with the figures that a run reached.

use serde_json::Value;

use super::access::AccessCase;
use super::binaries::BuildProfile;
use super::fairness::Neighbours;
use super::memory::{MAX_GROWTH_KIB, growth_kib};
use super::replicas::{self, Setting};
use super::sight::SightCase;
use super::subject::{Era, Subject};
use super::table::{number, row};
use super::throughput::{Load, Transport};

/// One goal.
#[derive(Debug, Clone, PartialEq)]
struct Goal {
    case: String,
    bound: Bound,
    /// The text after the bound: what the figure is divided by, or its unit.
    unit: String,
    reached: Option<f64>,
    /// The figures behind it.
    details: String,
    /// The part of the benchmark that measures it.
    part: &'static str,
}

/// The values that meet a goal.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Bound {
    AtLeast(f64),
    AtMost(f64),
}

impl Goal {
    /// Reports whether it is met. `None` if it wasn't measured.
    fn is_met(&self) -> Option<bool> {
        let reached = self.reached?;
        Some(match self.bound {
            Bound::AtLeast(least) => reached >= least,
            Bound::AtMost(most) => reached <= most,
        })
    }
}

/// The goals as a table.
pub(super) fn markdown(figures: &Value) -> String {
    let mut out =
        "| case | goal | reached | met | figures | command |\n|---|---|--:|---|---|---|\n".to_owned();
    for goal in all(figures) {
        let (sign, bound) = match goal.bound {
            Bound::AtLeast(least) => ("≥", least),
            Bound::AtMost(most) => ("≤", most),
        };
        let met = match goal.is_met() {
            Some(true) => "yes",
            Some(false) => "**no**",
            None => "not measured",
        };
        row(
            &mut out,
            &[
                goal.case.clone(),
                format!("{sign} {bound} {}", goal.unit),
                number(goal.reached, 2),
                met.to_owned(),
                goal.details.clone(),
                format!("`{}`", command(figures, goal.part)),
            ],
        );
    }
    out
}

/// The command that measures a part as in this run.
pub(super) fn command(figures: &Value, part: &str) -> String {
    let run = &figures["runs"][part];
    let mut command = format!("cargo xtask bench {part}");
    if part == "memory" {
        if let Some(calls) = figures["memory"]["calls"].as_u64() {
            command += &format!(" --calls {calls}");
        }
    } else {
        command += &flags(run);
    }
    command + build_flag(figures) + " --json bench.json"
}

/// The option for the measured build.
pub(super) fn build_flag(figures: &Value) -> &'static str {
    if figures["build"] == BuildProfile::Dist.name() { " --dist" } else { "" }
}

/// The options of a run.
pub(super) fn flags(run: &Value) -> String {
    let mut flags = String::new();
    if run["peers"] == true {
        flags.push_str(" --peers");
    }
    for key in ["rounds", "seconds"] {
        if let Some(value) = run[key].as_f64() {
            flags.push_str(&format!(" --{key} {value}"));
        }
    }
    flags
}

fn all(figures: &Value) -> Vec<Goal> {
    let mut goals = throughput(figures);
    goals.extend(start(figures));
    goals.extend(fairness(figures));
    goals.extend(access(figures));
    goals.extend(replicas(figures));
    goals.extend(sight(figures));
    goals.extend(memory(figures));
    goals
}

fn throughput(figures: &Value) -> Vec<Goal> {
    let eras = [Era::Handshake, Era::Stateless];
    let mut goals = Vec::new();
    for (bytes, width) in [(100, 8), (100, 32), (64 << 10, 8), (64 << 10, 32)] {
        let load = Load { transport: Transport::Http, width, bytes };
        for era in eras {
            let least = if bytes == 100 { 1.3 } else { 1.0 };
            goals.push(compared(figures, load, era, Subject::Rmcp(era), least));
            if bytes == 100 {
                goals.push(compared(figures, load, era, Subject::Floor, 0.55));
            }
        }
    }
    for (bytes, other, least) in [(100, Some(Subject::Everything), 1.5), (64 << 10, None, 2.5)] {
        let load = Load { transport: Transport::Stdio, width: 32, bytes };
        for era in eras {
            goals.push(compared(figures, load, era, other.unwrap_or(Subject::Rmcp(era)), least));
        }
    }
    goals
}

/// The calls per second of the gateway, divided by those of another server.
fn compared(figures: &Value, load: Load, era: Era, other: Subject, least: f64) -> Goal {
    let entry = |subject: Subject| {
        let mut entries = figures["throughput"].as_array().into_iter().flatten();
        entries.find(|entry| entry["load"] == load.name() && entry["subject"] == subject.name())
    };
    let own = Subject::Moongate(era);
    let rate = |subject: Subject| entry(subject).and_then(|entry| entry["calls_per_second"].as_f64());
    let shown = |subject: Subject| {
        let figure = |key: &str| number(entry(subject).and_then(|entry| entry[key].as_f64()), 0);
        format!(
            "{}: {} calls/s, p50 / p99 {} / {} µs",
            subject.name(),
            figure("calls_per_second"),
            figure("p50_us"),
            figure("p99_us")
        )
    };
    Goal {
        case: load.name(),
        bound: Bound::AtLeast(least),
        unit: format!("× {}", other.name()),
        reached: rate(own).zip(rate(other)).map(|(own, other)| own / other),
        details: format!("{}; {}", shown(own), shown(other)),
        part: "throughput",
    }
}

fn start(figures: &Value) -> Vec<Goal> {
    let entry = |plugins: u32| {
        figures["start"]["cached"].as_array().into_iter().flatten().find(|entry| entry["plugins"] == plugins)
    };
    let time = |plugins: u32| entry(plugins).and_then(|entry| entry["complete_list_ms"].as_f64());
    let mut goals = Vec::new();
    for (plugins, most) in [(25, 1.3), (1_000, 4.0)] {
        goals.push(Goal {
            case: format!("start with {plugins} cached plugins, complete list of tools"),
            bound: Bound::AtMost(most),
            unit: "× 1 plugin".to_owned(),
            reached: time(plugins).zip(time(1)).map(|(many, one)| many / one),
            details: format!("{} ms; 1 plugin: {} ms", number(time(plugins), 1), number(time(1), 1)),
            part: "start",
        });
    }
    let resident = entry(1_000).and_then(|entry| entry["resident_kib"].as_f64());
    goals.push(Goal {
        case: "memory with 1000 plugins that were never called".to_owned(),
        bound: Bound::AtMost(150.0),
        unit: "MB".to_owned(),
        reached: resident.map(|kib| kib * 1024.0 / 1e6),
        details: format!("{} MiB", number(resident.map(|kib| kib / 1024.0), 1)),
        part: "start",
    });
    goals
}

fn fairness(figures: &Value) -> Vec<Goal> {
    let figure = |neighbours: Neighbours, key: &str| {
        let mut entries = figures["fairness"].as_array().into_iter().flatten();
        entries.find(|entry| entry["neighbours"] == neighbours.name())?[key].as_f64()
    };
    let latency = |neighbours: Neighbours| {
        let [p50, p99] = ["p50_us", "p99_us"].map(|key| number(figure(neighbours, key), 0));
        format!("p50 / p99 {p50} / {p99} µs")
    };
    let goal = |neighbours: Neighbours| Goal {
        case: format!("p99 next to {}", neighbours.name()),
        bound: Bound::AtMost(1.5),
        unit: "× without".to_owned(),
        reached: figure(neighbours, "p99_us")
            .zip(figure(Neighbours::Nobody, "p99_us"))
            .map(|(with, without)| with / without),
        details: format!("{}; without: {}", latency(neighbours), latency(Neighbours::Nobody)),
        part: "fairness",
    };
    Neighbours::WITH_GOAL.map(goal).into()
}

fn access(figures: &Value) -> Vec<Goal> {
    let figure = |case: AccessCase, key: &str| {
        let mut entries = figures["access"].as_array().into_iter().flatten();
        entries.find(|entry| entry["case"] == case.name())?[key].as_f64()
    };
    let goal = |case: AccessCase, reference: AccessCase, key: &str, bound: Bound| Goal {
        case: format!("access control: {}, {}", case.name(), if key == "p99_us" { "p99" } else { "calls/s" }),
        bound,
        unit: format!("× {}", reference.name()),
        reached: figure(case, key).zip(figure(reference, key)).map(|(with, without)| with / without),
        details: format!("{}; {}", number(figure(case, key), 0), number(figure(reference, key), 0)),
        part: "access",
    };
    vec![
        goal(AccessCase::Controlled, AccessCase::Open, "calls_per_second", Bound::AtLeast(0.9)),
        goal(AccessCase::NextToFlood, AccessCase::Alone, "p99_us", Bound::AtMost(1.5)),
        goal(AccessCase::NextToLimitedFlood, AccessCase::Alone, "p99_us", Bound::AtMost(1.5)),
    ]
}

fn replicas(figures: &Value) -> Vec<Goal> {
    let figure = |era: Era, setting: Setting, key: &str| replicas::figure(figures, era, setting, key);
    let goals = |era: Era, least: f64| {
        let both =
            |key: &'static str| figure(era, Setting::WithStore, key).zip(figure(era, Setting::Alone, key));
        let goal = |kind: &str, key: &'static str, bound: Bound, unit: &str, reached: Option<f64>| Goal {
            case: format!("{}, {}: {kind}", Setting::WithStore.name(), era.revision()),
            bound,
            unit: unit.to_owned(),
            reached,
            details: format!(
                "{}; {}",
                number(figure(era, Setting::WithStore, key), 0),
                number(figure(era, Setting::Alone, key), 0)
            ),
            part: "replicas",
        };
        let ratio = both("calls_per_second").map(|(with, without)| with / without);
        let delay = both("p99_us").map(|(with, without)| (with - without) / 1000.0);
        [
            goal("calls/s", "calls_per_second", Bound::AtLeast(least), "× without", ratio),
            goal("p99", "p99_us", Bound::AtMost(2.0), "ms more than without", delay),
        ]
    };
    [goals(Era::Stateless, 0.95), goals(Era::Handshake, 0.8)].concat()
}

fn sight(figures: &Value) -> Vec<Goal> {
    let figure = |case: SightCase, key: &str| {
        let mut entries = figures["sight"].as_array().into_iter().flatten();
        entries.find(|entry| entry["case"] == case.name())?[key].as_f64()
    };
    let goal = |case: SightCase| Goal {
        case: format!("{}, calls/s", case.name()),
        bound: Bound::AtLeast(0.95),
        unit: format!("× {}", SightCase::Unwatched.name()),
        reached: figure(case, "ratio"),
        details: format!(
            "{}; {}",
            number(figure(case, "calls_per_second"), 0),
            number(figure(SightCase::Unwatched, "calls_per_second"), 0)
        ),
        part: "sight",
    };
    [SightCase::OpenPage, SightCase::Traces].map(goal).into()
}

fn memory(figures: &Value) -> Vec<Goal> {
    let goal = |transport: &str| {
        let samples = &figures["memory"][transport]["samples"];
        let mib = |sample: Option<&Value>| {
            number(sample.and_then(|sample| sample[1].as_f64()).map(|kib| kib / 1024.0), 1)
        };
        let list = samples.as_array();
        Goal {
            case: format!(
                "growth over {} calls over {transport}, one in ten hostile, after the warm-up",
                number(figures["memory"]["calls"].as_f64(), 0)
            ),
            bound: Bound::AtMost(MAX_GROWTH_KIB / 1024.0),
            unit: "MiB".to_owned(),
            reached: growth_kib(samples).map(|kib| kib / 1024.0),
            details: format!(
                "{} MiB before, {} MiB at the end",
                mib(list.and_then(|samples| samples.first())),
                mib(list.and_then(|samples| samples.last()))
            ),
            part: "memory",
        }
    };
    ["HTTP", "stdio"].map(goal).into()
}

#[cfg(test)]
mod tests;
