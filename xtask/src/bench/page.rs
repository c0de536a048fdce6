//! `docs/performance.md`: the figures of a run in a fixed text.

use std::fs;

use anyhow::{Context as _, Result, bail, ensure};
use serde_json::Value;

use super::table::{self, number, row, text};
use crate::project::Project;
use crate::report;

/// The page with placeholders such as `{{start}}`.
const TEMPLATE: &str = include_str!("page/performance.md");

/// The page.
const PAGE: &str = "docs/performance.md";

/// The parts that the page shows.
const PARTS: [&str; 5] = ["throughput", "start", "fairness", "memory", "reload"];

/// Writes the page.
pub(super) fn write(project: &Project, figures: &Value) -> Result<()> {
    let path = project.root().join(PAGE);
    fs::write(&path, render(figures)?).with_context(|| format!("can't write `{}`", path.display()))?;
    report::note(&format!("wrote {}", path.display()));
    Ok(())
}

/// The page in Markdown.
fn render(figures: &Value) -> Result<String> {
    for part in PARTS {
        if figures[part].is_null() {
            bail!("the figures have no `{part}`; add it with `cargo xtask bench {part} --json FILE`");
        }
    }
    let mut reload = String::new();
    table::reload(&mut reload, &figures["reload"]);
    let mut page = TEMPLATE.to_owned();
    for (placeholder, value) in [
        ("machine", machine(figures)),
        ("http", pivot(figures, "HTTP", &["calls_per_second"])),
        ("stdio", pivot(figures, "stdio", &["calls_per_second"])),
        ("latency", pivot(figures, "HTTP", &["p50_us", "p99_us"])),
        ("start", table::start(figures)),
        ("fairness", table::fairness(figures)),
        ("memory", table::memory(figures)),
        ("reload", reload),
    ] {
        page = page.replace(&format!("{{{{{placeholder}}}}}"), value.trim_end());
    }
    ensure!(!page.contains("{{"), "the template has an unknown placeholder");
    Ok(page)
}

/// The machine and the build, in a sentence.
fn machine(figures: &Value) -> String {
    let machine = &figures["machine"];
    let memory = machine["memory_kib"].as_f64().map(|kib| kib / f64::from(1 << 20));
    let size = figures["binary_bytes"].as_f64().map(|bytes| bytes / f64::from(1 << 20));
    let run = |key: &str| figures["runs"]["throughput"][key].as_f64();
    format!(
        "These figures are from a {} build (binary: {} MiB) on a machine with {} processors ({}), {} GiB of memory and \
         Linux {}: medians of {} rounds, with loads of {} s.",
        figures["build"].as_str().unwrap_or("release"),
        number(size, 1),
        machine["cpus"],
        machine["model"].as_str().unwrap_or("unknown model"),
        number(memory, 0),
        machine["linux"].as_str().unwrap_or_default(),
        number(run("rounds"), 0),
        number(run("seconds"), 0),
    )
}

/// A row for each server and a column for each load of a transport; several figures of a cell are separated by slashes.
fn pivot(figures: &Value, transport: &str, keys: &[&str]) -> String {
    let entries = || {
        let all = figures["throughput"].as_array().into_iter().flatten();
        all.filter(|entry| entry["transport"] == transport)
    };
    let distinct = |key: &str| {
        let mut found: Vec<String> = Vec::new();
        for entry in entries() {
            let value = text(&entry[key]);
            if !found.contains(&value) {
                found.push(value);
            }
        }
        found
    };
    let loads = distinct("load");
    let mut out = String::new();
    let heads =
        loads.iter().map(|load| load.trim_start_matches(transport).trim_start_matches(", ").to_owned());
    row(&mut out, &[vec![transport.to_owned()], heads.collect()].concat());
    out.push_str(&format!("|---|{}\n", "--:|".repeat(loads.len())));
    for subject in distinct("subject") {
        let cell = |load: &String| {
            let entry =
                entries().find(|entry| text(&entry["load"]) == *load && text(&entry["subject"]) == subject);
            let figure = |key: &&str| number(entry.and_then(|entry| entry[*key].as_f64()), 0);
            keys.iter().map(figure).collect::<Vec<_>>().join(" / ")
        };
        let cells = loads.iter().map(cell).collect();
        row(&mut out, &[vec![subject.clone()], cells].concat());
    }
    out
}

#[cfg(test)]
mod tests;
