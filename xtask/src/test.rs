//! `test`: all checks, cheapest first, with a summary at the end.
//!
//! A step that fails doesn't hide later steps, except those that depend on it.

use std::collections::BTreeSet;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context as _, Result};

use crate::project::Project;
use crate::report::{Report, Tally};
use crate::run::ProcessRun;
use crate::{build_plugins, deny, dist, foreign_plugins, interop, site, tidy};

/// If all tests together take longer, one of them hangs.
const TESTS_TIMEOUT: Duration = Duration::from_secs(50 * 60);

/// The extent of the checks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Extent {
    /// The checks that a change is most likely to break.
    Fast,
    /// All checks.
    Full,
}

/// Runs the verb.
pub(crate) fn run(project: &Project, rest: &[String]) -> Result<ExitCode> {
    let (fast, rest): (Vec<&String>, Vec<&String>) = rest.iter().partition(|word| *word == "--fast");
    crate::reject_arguments("test", &rest)?;
    let extent = if fast.is_empty() { Extent::Full } else { Extent::Fast };
    let total = run_steps(project, extent).finish();
    Ok(if total.failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Runs the steps in order.
fn run_steps(project: &Project, extent: Extent) -> Report {
    let mut report = Report::default();
    report.step("format", || one_check(project.cargo(&["fmt", "--all", "--check"])));
    report.step("tidy", || tidy::check(project));
    report.step("plugins in other languages", || foreign_plugins::check(project));
    let built = report.step("build plugins", || build_plugins::build(project).map(|()| Tally::PASS))
        && report.step("build gateway and tests", || build(project).map(|()| Tally::PASS));
    if built {
        report.step("tests", || workspace(project));
    } else {
        report.skip("tests");
    }
    if extent == Extent::Full {
        report.step("cargo deny", || deny::check(project));
        if built {
            report.step("interop", || Ok(interop::run_all(project)));
        } else {
            report.skip("interop");
        }
        report.step("clippy", || {
            one_check(project.cargo(&["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"]))
        });
        report.step("package SDK", || {
            // A published crate must build without the workspace.
            let crates = ["package", "-p", "moongate-sdk", "-p", "moongate-sdk-macros", "--allow-dirty"];
            one_check(project.cargo(&crates))
        });
        report.step("MCP bundle", || dist::check_bundle(project));
        report.step("fuzz targets", || one_check(fuzz_targets(project)));
        report.step("docs", || docs(project));
        report.step("site", || site::check(project));
    }
    report
}

/// Checks that the fuzz targets compile, without libFuzzer, which needs a C++ compiler and more.
fn fuzz_targets(project: &Project) -> ProcessRun {
    let arguments = ["check", "--manifest-path", "fuzz/Cargo.toml", "--no-default-features", "--bins"];
    project.cargo(&arguments)
}

/// Builds the documentation with warnings as errors: the crates for plugin authors with public items only, the others
/// with all items.
fn docs(project: &Project) -> Result<Tally> {
    let published = ["moongate-sdk", "moongate-sdk-macros"];
    let mut inner = project.cargo(&["doc", "--workspace", "--no-deps", "--lib", "--document-private-items"]);
    let mut outer = project.cargo(&["doc", "--no-deps", "--lib"]);
    for package in published {
        inner = inner.args(["--exclude", package]);
        outer = outer.args(["-p", package]);
    }
    // Links to private items work only if those are documented, too.
    inner.env("RUSTDOCFLAGS", "-D warnings -A rustdoc::private-intra-doc-links").run()?;
    outer.env("RUSTDOCFLAGS", "-D warnings").run()?;
    Ok(Tally::PASS)
}

/// Builds everything that the tests and the interop tests start, with the same features, so that nothing is built twice.
pub(crate) fn build(project: &Project) -> Result<()> {
    project.cargo(&["build", "--workspace", "--all-targets"]).run()
}

/// Runs the tests of all crates, including the native tests of guests, and counts them. Tests that need plugins in other
/// languages are skipped if those couldn't be built.
pub(crate) fn workspace(project: &Project) -> Result<Tally> {
    let tests = project.cargo(&["test", "--workspace", "--no-fail-fast"]);
    if foreign_plugins::are_built(project)? {
        return tally(tests, TESTS_TIMEOUT);
    }
    let mut tally = tally(tests.args(["--", "--skip", "other_languages::"]), TESTS_TIMEOUT)?;
    tally.add(Tally::SKIP);
    Ok(tally)
}

/// Runs a test runner and counts its results.
pub(crate) fn tally(tests: ProcessRun, limit: Duration) -> Result<Tally> {
    let mut tally = Tally::default();
    let mut long = LongTests::default();
    let is_success = tests.for_each_line(limit, |line| {
        tally.add(line_tally(line));
        long.follow(line);
    });
    let is_success = is_success.with_context(|| format!("still running: {}", long.names()))?;
    if !is_success && tally.failed == 0 {
        tally.add(Tally::FAIL);
    }
    if tally == Tally::default() {
        anyhow::bail!("no tests ran");
    }
    Ok(tally)
}

/// The tests that run for more than a minute, by the lines of the test runner.
#[derive(Debug, Default)]
struct LongTests(BTreeSet<String>);

impl LongTests {
    /// Reads a line: `test NAME has been running for over 60 seconds`, and later `test NAME ... ok`.
    fn follow(&mut self, line: &str) {
        let Some(rest) = line.strip_prefix("test ") else { return };
        if let Some((name, _)) = rest.split_once(" has been running for over ") {
            self.0.insert(name.to_owned());
        } else if let Some((name, _)) = rest.split_once(" ... ") {
            self.0.remove(name);
        }
    }

    /// Their names, separated by commas.
    fn names(&self) -> String {
        if self.0.is_empty() {
            return "no test for more than a minute".to_owned();
        }
        self.0.iter().map(String::as_str).collect::<Vec<_>>().join(", ")
    }
}

/// The counts in a line of a test runner: `test result: ok. 3 passed; 0 failed; 1 ignored; …`.
fn line_tally(line: &str) -> Tally {
    let Some((_, counts)) = line.strip_prefix("test result: ").and_then(|rest| rest.split_once(". ")) else {
        return Tally::default();
    };
    let count = |word: &str| {
        let mut parts = counts.split("; ").filter_map(|part| part.split_once(' '));
        parts.find(|(_, what)| *what == word).and_then(|(number, _)| number.parse().ok()).unwrap_or_default()
    };
    Tally { passed: count("passed"), failed: count("failed"), skipped: count("ignored") }
}

/// Runs a command as one check.
fn one_check(run: ProcessRun) -> Result<Tally> {
    run.run().map(|()| Tally::PASS)
}

#[cfg(test)]
mod tests;
