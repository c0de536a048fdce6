//! The plots in `docs/plots`, drawn from the figures of a run.

use std::fs;

use anyhow::{Context as _, Result, bail};
use serde_json::Value;

use super::chart::{Bar, BarChart, BarGroup, BarKind, LineChart, LineStyle, Scale, Series, short};
use super::table::{number, text};
use crate::project::Project;
use crate::report;

/// The directory of the plots.
pub(super) const DIRECTORY: &str = "docs/plots";

/// The loads of the plots, with several calls at once.
const HTTP_LOADS: [&str; 4] = [
    "HTTP, 100 B, 8 connections",
    "HTTP, 100 B, 32 connections",
    "HTTP, 64 KiB, 8 connections",
    "HTTP, 64 KiB, 32 connections",
];

const STDIO_LOADS: [&str; 2] = ["stdio, 100 B, 32 in flight", "stdio, 64 KiB, 32 in flight"];

/// The subjects of the plot of latency.
const LATENCY_SUBJECTS: [&str; 5] =
    ["Moongate, 2025-11-25", "axum, no MCP", "rmcp, 2025-11-25", "TypeScript everything server", "FastMCP"];

/// Draws the plots whose figures exist.
pub(super) fn write(project: &Project, figures: &Value) -> Result<()> {
    let directory = project.root().join(DIRECTORY);
    fs::create_dir_all(&directory).with_context(|| format!("can't create `{}`", directory.display()))?;
    let plots = draw(figures);
    if plots.is_empty() {
        bail!("the figures contain nothing to draw");
    }
    for (name, svg) in plots {
        let path = directory.join(name);
        fs::write(&path, svg).with_context(|| format!("can't write `{}`", path.display()))?;
        report::note(&format!("drew {}", path.display()));
    }
    Ok(())
}

/// The files with their contents.
pub(super) fn draw(figures: &Value) -> Vec<(&'static str, String)> {
    let plots = [
        ("throughput-http.svg", throughput(figures, "Calls per second over HTTP", &HTTP_LOADS)),
        ("throughput-stdio.svg", throughput(figures, "Calls per second over stdio", &STDIO_LOADS)),
        ("latency.svg", latency(figures)),
        ("start.svg", start(figures)),
        ("start-memory.svg", start_memory(figures)),
        ("neighbours.svg", neighbours(figures)),
        ("memory.svg", memory(figures)),
    ];
    plots.into_iter().filter_map(|(name, svg)| Some((name, svg?))).collect()
}

/// The entries of a list in the figures.
fn entries(list: &Value) -> impl Iterator<Item = &Value> + Clone {
    list.as_array().into_iter().flatten()
}

fn kind(subject: &str) -> BarKind {
    if subject.starts_with("Moongate") { BarKind::Own } else { BarKind::Native }
}

fn throughput(figures: &Value, title: &str, loads: &[&str]) -> Option<String> {
    let group = |load: &&str| {
        let entries = entries(&figures["throughput"]).filter(|entry| entry["load"] == **load);
        let rate = |subject: &Value| -> Option<f64> {
            entries.clone().find(|entry| subject.is_string() && entry["subject"] == *subject)?["calls_per_second"]
                .as_f64()
        };
        let mut bars: Vec<Bar> = entries
            .clone()
            .filter_map(|entry| {
                let label = text(&entry["subject"]);
                let cpu = entry["cpu_us_per_call"].as_f64();
                let value = entry["calls_per_second"].as_f64()?;
                let mut note =
                    cpu.map_or_else(String::new, |cpu| format!("({} µs of CPU per call)", short(cpu)));
                if let Some(reference) = rate(&entry["reference"]) {
                    note.push_str(&format!(" × {:.2} rmcp", value / reference));
                }
                let kind = kind(&label);
                Some(Bar { label, value, note, kind })
            })
            .collect();
        bars.sort_by(|a, b| b.value.total_cmp(&a.value));
        BarGroup { label: (*load).to_owned(), bars }
    };
    let groups: Vec<BarGroup> = loads.iter().map(group).filter(|group| !group.bars.is_empty()).collect();
    let subtitle = "calls per second, more is better".to_owned();
    let chart = BarChart { title: title.to_owned(), subtitle, groups };
    (!chart.groups.is_empty()).then(|| chart.draw())
}

fn latency(figures: &Value) -> Option<String> {
    let mut series = Vec::new();
    for (colour, subject) in LATENCY_SUBJECTS.into_iter().enumerate() {
        let points = |key: &str| -> Vec<(f64, f64)> {
            let entries = entries(&figures["throughput"]).filter(|entry| {
                entry["subject"] == subject && entry["transport"] == "HTTP" && entry["bytes"] == 100
            });
            entries.filter_map(|entry| entry["width"].as_f64().zip(entry[key].as_f64())).collect()
        };
        for (style, key) in [(LineStyle::Dashed, "p50_us"), (LineStyle::Plain, "p99_us")] {
            series.push(Series { name: subject.to_owned(), colour, style, points: points(key) });
        }
    }
    series.retain(|series| !series.points.is_empty());
    let chart = LineChart {
        title: "Latency under load over HTTP".to_owned(),
        subtitle: "a call with 100 B of text on each connection; p99 solid, p50 dashed; less is better"
            .to_owned(),
        x_label: "connections, each with one call at a time".to_owned(),
        y_label: "latency in µs".to_owned(),
        x_scale: Scale::Logarithmic,
        y_scale: Scale::Logarithmic,
        x_ticks: vec![1.0, 8.0, 32.0, 128.0],
        series,
    };
    (!chart.series.is_empty()).then(|| chart.draw())
}

/// A chart over the number of plugins.
fn by_plugins(
    figures: &Value,
    title: &str,
    subtitle: &str,
    unit: &str,
    lines: &[(&str, &str, f64)],
) -> Option<String> {
    let cached = || entries(&figures["start"]["cached"]);
    let line = |(colour, (name, key, divisor)): (usize, &(&str, &str, f64))| {
        let point = |entry: &Value| Some((entry["plugins"].as_f64()?, entry[*key].as_f64()? / divisor));
        let points: Vec<(f64, f64)> = cached().filter_map(point).collect();
        Series { name: (*name).to_owned(), colour, style: LineStyle::Marked, points }
    };
    let series: Vec<Series> =
        lines.iter().enumerate().map(line).filter(|series| !series.points.is_empty()).collect();
    let ticks = series.first()?.points.iter().map(|point| point.0).collect();
    let chart = LineChart {
        title: title.to_owned(),
        subtitle: subtitle.to_owned(),
        x_label: "number of plugins".to_owned(),
        y_label: unit.to_owned(),
        x_scale: Scale::Logarithmic,
        y_scale: Scale::Logarithmic,
        x_ticks: ticks,
        series,
    };
    Some(chart.draw())
}

fn start(figures: &Value) -> Option<String> {
    let lines = [
        ("complete list of tools", "complete_list_ms", 1.0),
        ("response to initialize", "initialize_ms", 1.0),
    ];
    let subtitle = "from spawning the process, with cached code, over stdio; less is better";
    by_plugins(figures, "Start by number of plugins", subtitle, "time in ms", &lines)
}

fn start_memory(figures: &Value) -> Option<String> {
    let lines = [("after the complete list", "resident_kib", 1024.0)];
    let subtitle = "resident memory with plugins that were never called; less is better";
    by_plugins(figures, "Memory by number of plugins", subtitle, "resident memory in MiB", &lines)
}

fn neighbours(figures: &Value) -> Option<String> {
    let alone = entries(&figures["fairness"]).next()?["p99_us"].as_f64()?;
    let bar = |entry: &Value| {
        let p99 = entry["p99_us"].as_f64()?;
        let p50 = entry["p50_us"].as_f64().unwrap_or_default();
        let note = format!("µs, × {:.2} (p50: {} µs)", p99 / alone, number(Some(p50), 0));
        Some(Bar { label: text(&entry["neighbours"]), value: p99, note, kind: BarKind::Own })
    };
    let bars = entries(&figures["fairness"]).filter_map(bar).collect();
    let chart = BarChart {
        title: "Latency of a well-behaved client next to neighbours".to_owned(),
        subtitle:
            "p99 of a call with 100 B of text over HTTP, × p99 without neighbours, and p50; less is better"
                .to_owned(),
        groups: vec![BarGroup { label: String::new(), bars }],
    };
    Some(chart.draw())
}

fn memory(figures: &Value) -> Option<String> {
    let line = |(colour, transport): (usize, &str)| {
        let samples = entries(&figures["memory"][transport]["samples"]);
        let point = |sample: &Value| Some((sample[0].as_f64()?, sample[1].as_f64()? / 1024.0));
        let points = samples.filter_map(point).collect();
        Series { name: transport.to_owned(), colour: 3 * colour, style: LineStyle::Plain, points }
    };
    let series: Vec<Series> =
        ["HTTP", "stdio"].into_iter().enumerate().map(line).filter(|line| line.points.len() > 1).collect();
    let chart = LineChart {
        title: "Memory over many calls, one in ten hostile".to_owned(),
        subtitle: "resident memory after each 10,000 calls, with nothing in flight".to_owned(),
        x_label: "number of calls".to_owned(),
        y_label: "resident memory in MiB".to_owned(),
        x_scale: Scale::Linear,
        y_scale: Scale::Linear,
        x_ticks: Vec::new(),
        series,
    };
    (!chart.series.is_empty()).then(|| chart.draw())
}

#[cfg(test)]
pub(super) mod tests;
