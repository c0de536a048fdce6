//! The official conformance suite against the plugin `everything`: its newest version for each revision that it knows,
//! and its last stable one, which judges the handshake's revisions by itself.
//!
//! What may still fail is named in `tests/conformance/expected-failures-<revision>.yml` and, for the stable version,
//! `expected-failures-stable.yml`; the suite fails on any other failure, and on an entry that no longer fails. A check
//! that only warns counts as failed too.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use serde_json::Value;

use super::install::Node;
use super::{LIMIT, Verdict, explain, gateway, install};
use crate::project::Project;
use crate::report::{self, Tally};
use crate::server::Server;

/// What the suite is served: its own fixture, under its own names.
const CONFIG: &str = "tests/everything.toml";

/// The revisions that the newest suite has scenarios for.
const REVISIONS: [&str; 4] = ["2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"];

/// Runs the newest suite for each revision and the stable one with all that it has, on one gateway.
pub(super) fn judge(project: &Project) -> Result<Verdict> {
    let newest = match install::node(project)? {
        Ok(node) => node,
        Err(missing) => return Ok(Verdict::Skipped(missing)),
    };
    let stable = match newest.with(project, "conformance-stable", "tests/conformance/stable")? {
        Ok(node) => node,
        Err(missing) => return Ok(Verdict::Skipped(missing)),
    };
    let server = gateway(project, CONFIG)?;
    let mut total = Tally::default();
    for revision in REVISIONS {
        let tally = suite(project, &newest, &server, revision, &["--spec-version", revision])?;
        total.add(explain(&server, tally));
    }
    total.add(explain(&server, suite(project, &stable, &server, "stable", &[])?));
    Ok(Verdict::Judged(total))
}

/// Runs a suite: each check that passes counts, and a run that fails is one failure more.
fn suite(project: &Project, node: &Node, server: &Server, name: &str, more: &[&str]) -> Result<Tally> {
    let known = project.root().join(format!("tests/conformance/expected-failures-{name}.yml"));
    let results = results(project, name)?;
    let run = node.run(&node.file("@modelcontextprotocol/conformance/dist/index.js"));
    let run = run.args(["server", "--url", &server.url, "--suite", "all"]).args(more);
    let run = run.arg("--expected-failures").arg(known).arg("-o").arg(&results).folder(project.root());
    report::note(&format!("$ conformance server --suite all {}", more.join(" ")));
    let (code, said) = run.output(LIMIT)?;
    let passed = said.lines().find_map(total).unwrap_or_default();
    if code == Some(0) && passed > 0 {
        report::say(&format!("ok conformance, {name}: {passed} checks passed\n"));
        return Ok(Tally { passed, failed: 0, skipped: 0 });
    }
    // Before the summary stands a line for each scenario that was begun; after it, what went wrong.
    let summary = said.find("=== SUMMARY").and_then(|at| said.get(at..)).unwrap_or(&said);
    report::say(&format!("{summary}\n{}FAILED conformance, {name}\n", failures(&results)?));
    Ok(Tally { passed, failed: 1, skipped: 0 })
}

/// What each failed check says of itself, from the files that the suite wrote.
fn failures(results: &Path) -> Result<String> {
    let mut text = String::new();
    for scenario in fs::read_dir(results)?.flatten() {
        let Ok(bytes) = fs::read(scenario.path().join("checks.json")) else { continue };
        let checks: Vec<Value> =
            serde_json::from_slice(&bytes).context("the suite wrote no list of checks")?;
        for check in
            checks.iter().filter(|check| check["status"] == "FAILURE" || check["status"] == "WARNING")
        {
            let name = scenario.file_name();
            let (id, why) = (&check["id"], &check["errorMessage"]);
            writeln!(text, "{}: {}: {id}: {why}", name.display(), check["status"])?;
        }
    }
    Ok(text)
}

/// An empty folder for what the suite writes.
fn results(project: &Project, name: &str) -> Result<PathBuf> {
    let folder = project.target().join("conformance").join(name);
    if folder.exists() {
        fs::remove_dir_all(&folder).with_context(|| format!("`{}` can't be removed", folder.display()))?;
    }
    fs::create_dir_all(&folder).with_context(|| format!("`{}` can't be made", folder.display()))?;
    Ok(folder)
}

/// How many checks passed, from the line `Total: 84 passed, 0 failed`.
fn total(line: &str) -> Option<u32> {
    line.strip_prefix("Total: ")?.split_once(" passed")?.0.trim().parse().ok()
}
