//! `test`, and `ci`, which is the same: every check there is, in order of cost, with a summary at the end.
//!
//! A step that fails doesn't hide the ones after it, unless they build on it.

use std::process::ExitCode;
use std::time::Duration;

use anyhow::Result;

use crate::project::Project;
use crate::report::{Report, Tally};
use crate::run::Run;
use crate::{build_plugins, foreign_plugins, judges, tidy};

/// All tests together end within this, or one of them hangs.
const LIMIT: Duration = Duration::from_secs(30 * 60);

/// How much is checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Depth {
    /// What a change is likely to break: no lints, no documentation, no judges.
    Fast,
    /// All.
    Full,
}

/// Runs the verb.
pub(crate) fn run(project: &Project, rest: &[String]) -> Result<ExitCode> {
    let (fast, rest): (Vec<&String>, Vec<&String>) = rest.iter().partition(|word| *word == "--fast");
    crate::no_more("test", &rest)?;
    let depth = if fast.is_empty() { Depth::Full } else { Depth::Fast };
    let total = steps(project, depth).close();
    Ok(if total.failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// The steps, in order.
fn steps(project: &Project, depth: Depth) -> Report {
    let mut report = Report::default();
    report.step("format", || one(project.cargo(&["fmt", "--all", "--check"])));
    report.step("tidy", || tidy::check(project));
    report.step("plugins in other languages", || foreign_plugins::check(project));
    let built = report.step("build plugins", || build_plugins::build(project).map(|()| Tally::PASS))
        && report.step("build gateway and tests", || build(project).map(|()| Tally::PASS));
    if built {
        report.step("tests", || workspace(project));
    } else {
        report.not_run("tests");
    }
    if depth == Depth::Full {
        if built {
            report.step("judges", || Ok(judges::all(project)));
        } else {
            report.not_run("judges");
        }
        report.step("clippy", || {
            one(project.cargo(&["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"]))
        });
        report.step("fuzz targets", || one(fuzz_targets(project)));
        report.step("docs", || docs(project));
    }
    report
}

/// Do the fuzz targets compile? Without libFuzzer, which needs a C++ compiler and more.
fn fuzz_targets(project: &Project) -> Run {
    let arguments = ["check", "--manifest-path", "fuzz/Cargo.toml", "--no-default-features", "--bins"];
    project.cargo(&arguments)
}

/// Builds the documentation with every warning an error: what authors read with public items only, the rest, which is
/// read by those who work on it, with all.
fn docs(project: &Project) -> Result<Tally> {
    let published = ["moongate-sdk", "moongate-sdk-macros"];
    let mut inner = project.cargo(&["doc", "--workspace", "--no-deps", "--lib", "--document-private-items"]);
    let mut outer = project.cargo(&["doc", "--no-deps", "--lib"]);
    for package in published {
        inner = inner.args(["--exclude", package]);
        outer = outer.args(["-p", package]);
    }
    // Links to private items lead somewhere only where those are documented, too.
    inner.env("RUSTDOCFLAGS", "-D warnings -A rustdoc::private-intra-doc-links").done()?;
    outer.env("RUSTDOCFLAGS", "-D warnings").done()?;
    Ok(Tally::PASS)
}

/// Builds everything that the tests and the judges start, with the features that they all share, so that nothing is
/// built twice.
pub(crate) fn build(project: &Project) -> Result<()> {
    project.cargo(&["build", "--workspace", "--all-targets"]).done()
}

/// Runs the tests of all crates, guests' own (native) ones included, and counts them. Those that need plugins in other
/// languages are skipped where these couldn't be built.
pub(crate) fn workspace(project: &Project) -> Result<Tally> {
    let tests = project.cargo(&["test", "--workspace", "--no-fail-fast"]);
    if foreign_plugins::are_built(project)? {
        return tally(tests, LIMIT);
    }
    let mut tally = tally(tests.args(["--", "--skip", "other_languages::"]), LIMIT)?;
    tally.add(Tally::SKIP);
    Ok(tally)
}

/// Runs a test runner and counts what it says.
pub(crate) fn tally(tests: Run, limit: Duration) -> Result<Tally> {
    let mut tally = Tally::default();
    let good = tests.lines(limit, |line| tally.add(counted(line)))?;
    if !good && tally.failed == 0 {
        tally.add(Tally::FAIL);
    }
    if tally == Tally::default() {
        anyhow::bail!("no test ran at all");
    }
    Ok(tally)
}

/// What a line of a test runner adds: `test result: ok. 3 passed; 0 failed; 1 ignored; …`.
fn counted(line: &str) -> Tally {
    let Some((_, counts)) = line.strip_prefix("test result: ").and_then(|rest| rest.split_once(". ")) else {
        return Tally::default();
    };
    let of = |word: &str| {
        let mut parts = counts.split("; ").filter_map(|part| part.split_once(' '));
        parts.find(|(_, what)| *what == word).and_then(|(number, _)| number.parse().ok()).unwrap_or_default()
    };
    Tally { passed: of("passed"), failed: of("failed"), skipped: of("ignored") }
}

/// A command as one check.
fn one(run: Run) -> Result<Tally> {
    run.done().map(|()| Tally::PASS)
}

#[cfg(test)]
mod tests;
