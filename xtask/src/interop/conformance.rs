//! The official conformance suite against the plugin `everything`: its newest version for each revision that it supports,
//! and its last stable version, which covers the revisions with a handshake.
//!
//! Accepted failures are listed in `tests/conformance/expected-failures-<revision>.yml` and, for the stable version, in
//! `expected-failures-stable.yml`. The suite fails on any other failure, and on an entry that doesn't fail. A warning
//! counts as a failure.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use serde_json::Value;

use super::install::{MissingTool, NodePackages};
use super::{SUITE_TIMEOUT, SuiteOutcome, install, print_log_on_failure, start_gateway};
use crate::project::Project;
use crate::report::{self, Tally};

/// The configuration with the suite's own fixture, under its own names.
pub(super) const CONFORMANCE_CONFIG: &str = "tests/everything.toml";

/// The revisions that the newest suite has scenarios for.
const REVISIONS: [&str; 4] = ["2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"];

/// The installed suites.
pub(super) struct ConformanceSuites {
    newest: NodePackages,
    stable: NodePackages,
}

/// Runs the suites on one gateway.
pub(super) fn run(project: &Project) -> Result<SuiteOutcome> {
    let suites = match ConformanceSuites::install(project)? {
        Ok(suites) => suites,
        Err(missing) => return Ok(SuiteOutcome::Skipped(missing)),
    };
    let server = start_gateway(project, CONFORMANCE_CONFIG)?;
    let tally = suites.run(project, &server.url)?;
    Ok(SuiteOutcome::Checked(print_log_on_failure(&server, tally)))
}

impl ConformanceSuites {
    pub(super) fn install(project: &Project) -> Result<Result<Self, MissingTool>> {
        let newest = match install::client_packages(project)? {
            Ok(node) => node,
            Err(missing) => return Ok(Err(missing)),
        };
        let stable = newest.with(project, "conformance-stable", "tests/conformance/stable")?;
        Ok(stable.map(|stable| Self { newest, stable }))
    }

    /// Runs the newest suite for each revision, and the whole stable suite.
    pub(super) fn run(&self, project: &Project, url: &str) -> Result<Tally> {
        let mut total = Tally::default();
        for revision in REVISIONS {
            total.add(run_suite(project, &self.newest, url, revision, &["--spec-version", revision])?);
        }
        total.add(run_suite(project, &self.stable, url, "stable", &[])?);
        Ok(total)
    }
}

/// Runs a suite; counts its passed checks, and a failed run as one failure.
fn run_suite(project: &Project, node: &NodePackages, url: &str, name: &str, more: &[&str]) -> Result<Tally> {
    let expected = project.root().join(format!("tests/conformance/expected-failures-{name}.yml"));
    let results = results_directory(project, name)?;
    let run = node.run(&node.file("@modelcontextprotocol/conformance/dist/index.js"));
    let run = run.args(["server", "--url", url, "--suite", "all"]).args(more);
    let run =
        run.arg("--expected-failures").arg(expected).arg("-o").arg(&results).current_dir(project.root());
    report::note(&format!("$ conformance server --suite all {}", more.join(" ")));
    let (code, output) = run.output(SUITE_TIMEOUT)?;
    let passed = output.lines().find_map(passed_checks).unwrap_or_default();
    if code == Some(0) && passed > 0 {
        report::print(&format!("ok conformance, {name}: {passed} checks passed\n"));
        return Ok(Tally { passed, failed: 0, skipped: 0 });
    }
    // The summary and the failures follow a line for each started scenario.
    let summary = output.find("=== SUMMARY").and_then(|at| output.get(at..)).unwrap_or(&output);
    report::print(&format!("{summary}\n{}", failures(&results)?));
    report::output_line(&format!("FAILED conformance, {name}"));
    Ok(Tally { passed, failed: 1, skipped: 0 })
}

/// The messages of failed checks, from the files that the suite wrote.
fn failures(results: &Path) -> Result<String> {
    let mut text = String::new();
    for scenario in fs::read_dir(results)?.flatten() {
        let Ok(bytes) = fs::read(scenario.path().join("checks.json")) else { continue };
        let checks: Vec<Value> =
            serde_json::from_slice(&bytes).context("`checks.json` isn't a list of checks")?;
        for check in
            checks.iter().filter(|check| check["status"] == "FAILURE" || check["status"] == "WARNING")
        {
            let name = scenario.file_name();
            let id = &check["id"];
            writeln!(text, "{}: {}: {id}: {}", name.display(), check["status"], check["errorMessage"])?;
        }
    }
    Ok(text)
}

/// An empty directory for the files that the suite writes.
fn results_directory(project: &Project, name: &str) -> Result<PathBuf> {
    let directory = project.target().join("conformance").join(name);
    if directory.exists() {
        fs::remove_dir_all(&directory).with_context(|| format!("can't remove `{}`", directory.display()))?;
    }
    fs::create_dir_all(&directory).with_context(|| format!("can't create `{}`", directory.display()))?;
    Ok(directory)
}

/// The number of passed checks, from the line `Total: 84 passed, 0 failed`.
fn passed_checks(line: &str) -> Option<u32> {
    line.strip_prefix("Total: ")?.split_once(" passed")?.0.trim().parse().ok()
}
