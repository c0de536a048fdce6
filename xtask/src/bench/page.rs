//! `docs/performance.md`: the figures of a run in a fixed text.

use std::fs;

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;

use super::goals;
use super::table::{self, number, row, text};
use crate::project::Project;
use crate::report;

/// The page with placeholders such as `{{start}}`.
const TEMPLATE: &str = include_str!("page/performance.md");

/// The page.
const PAGE: &str = "docs/performance.md";

/// The titles of the sections with figures, and the parts that measure them.
const SECTIONS: [(&str, &str); 9] = [
    ("Throughput", "throughput"),
    ("Latency under load", "throughput"),
    ("Start", "start"),
    ("Neighbours", "fairness"),
    ("Access control", "access"),
    ("Several gateways", "replicas"),
    ("Status page and traces", "sight"),
    ("Memory", "memory"),
    ("Replacing a plugin", "reload"),
];

/// The servers next to the gateway: the start of their names in the figures, their versions, and what they are.
const SERVERS: [[&str; 3]; 4] = [
    [
        "axum",
        "0.8",
        "not an MCP server: parses the request and returns the text, the least that a server in Rust can do",
    ],
    [
        "rmcp",
        "3.11.0",
        "the official Rust SDK, over HTTP without sessions and with JSON responses, its fastest mode",
    ],
    ["TypeScript everything server", "2026.8.31", "the official reference server on the TypeScript SDK"],
    ["FastMCP", "4.2.3", "a Python framework, over HTTP without sessions and with JSON responses"],
];

/// Writes the page.
pub(super) fn write(project: &Project, figures: &Value) -> Result<()> {
    let path = project.root().join(PAGE);
    fs::write(&path, render(figures)?).with_context(|| format!("can't write `{}`", path.display()))?;
    report::note(&format!("wrote {}", path.display()));
    Ok(())
}

/// The page in Markdown.
fn render(figures: &Value) -> Result<String> {
    let mut reload = String::new();
    table::reload(&mut reload, &figures["reload"]);
    let mut page = measured_sections(figures);
    for (placeholder, value) in [
        ("machine", machine(figures)),
        ("servers", servers(figures)),
        ("http", pivot(figures, "HTTP", &["calls_per_second"])),
        ("stdio", pivot(figures, "stdio", &["calls_per_second"])),
        ("latency", pivot(figures, "HTTP", &["p50_us", "p99_us"])),
        ("start", table::start(figures)),
        ("fairness", table::fairness(figures)),
        ("access", table::access(figures)),
        ("replicas", table::replicas(figures)),
        ("sight", table::sight(figures)),
        ("memory", table::memory(figures)),
        ("reload", reload),
        ("throughput-command", goals::command(figures, "throughput")),
        ("start-command", goals::command(figures, "start")),
        ("fairness-command", goals::command(figures, "fairness")),
        ("access-command", goals::command(figures, "access")),
        ("replicas-command", goals::command(figures, "replicas")),
        ("sight-command", goals::command(figures, "sight")),
        ("memory-command", goals::command(figures, "memory")),
        ("reload-command", goals::command(figures, "reload")),
        ("all-command", all_command(figures)),
        ("minutes", number(Some(minutes(figures)), 0)),
    ] {
        page = page.replace(&format!("{{{{{placeholder}}}}}"), value.trim_end());
    }
    ensure!(!page.contains("{{"), "the template has an unknown placeholder");
    Ok(page)
}

/// The template without the sections of parts that weren't measured.
fn measured_sections(figures: &Value) -> String {
    let mut sections = TEMPLATE.split("\n## ");
    let mut page = sections.next().unwrap_or_default().to_owned();
    for section in sections {
        let missing =
            SECTIONS.iter().find(|(title, part)| section.starts_with(title) && figures[*part].is_null());
        match missing {
            Some((title, part)) => report::note(&format!(
                "left out: {title}: the figures have no `{part}`; add it with `cargo xtask bench {part} --json FILE`"
            )),
            None => page.extend(["\n## ", section]),
        }
    }
    page
}

/// The machine and the build, in a sentence.
fn machine(figures: &Value) -> String {
    let machine = &figures["machine"];
    let memory = machine["memory_kib"].as_f64().map(|kib| kib / f64::from(1 << 20));
    let size = figures["binary_bytes"].as_f64().map(|bytes| bytes / f64::from(1 << 20));
    // Parts can have been measured with different options.
    let smallest = |key: &str| {
        let runs = figures["runs"].as_object().into_iter().flatten();
        runs.filter_map(|(_, run)| run[key].as_f64()).min_by(f64::total_cmp)
    };
    let build = match figures["build"].as_str() {
        Some("dist") => "a static, profile-guided build such as the released binary",
        Some("debug") => "a debug build",
        _ => "a release build without a profile",
    };
    format!(
        "These figures are from {build}, of {} MiB, on a machine with {} processors ({}), {} GiB of memory and \
         Linux {}: medians of {} or more rounds, with loads of {} s.",
        number(size, 1),
        machine["cpus"],
        machine["model"].as_str().unwrap_or("unknown model"),
        number(memory, 0),
        machine["linux"].as_str().unwrap_or_default(),
        number(smallest("rounds"), 0),
        smallest("seconds").unwrap_or_default(),
    )
}

/// The other servers of the run, with their versions.
fn servers(figures: &Value) -> String {
    let mut out = String::new();
    row(&mut out, &["server", "version", "description"].map(str::to_owned));
    row(&mut out, &["---", "---", "---"].map(str::to_owned));
    for server in SERVERS {
        let mut entries = figures["throughput"].as_array().into_iter().flatten();
        if entries.any(|entry| text(&entry["subject"]).starts_with(server[0])) {
            row(&mut out, &server.map(str::to_owned));
        }
    }
    out
}

/// The command that measures everything as in this run.
fn all_command(figures: &Value) -> String {
    let flags = goals::flags(&figures["runs"]["throughput"]);
    let build = goals::build_flag(figures);
    let first = if build.is_empty() { "" } else { "cargo xtask dist binary\n" };
    format!("{first}cargo xtask bench{flags}{build} --json bench.json")
}

/// The duration of the run.
fn minutes(figures: &Value) -> f64 {
    let runs = figures["runs"].as_object().into_iter().flatten();
    (runs.filter_map(|(_, run)| run["duration_s"].as_f64()).sum::<f64>() / 60.0).ceil()
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
