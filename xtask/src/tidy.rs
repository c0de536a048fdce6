//! `tidy`: file conventions that no compiler and no lint checks.
//!
//! Rust files: no `mod.rs`, an opening `//!`, at most [`MAX_FILE_LINES`] lines outside tests. Files of the protocol:
//! the page of the specification that they follow. Crates of the gateway: a type name is defined once.

use std::collections::BTreeMap;
use std::fs;
use std::process::ExitCode;

use anyhow::Result;

use crate::project::Project;
use crate::report::{self, Tally};
use crate::run::ProcessRun;

mod spec;
mod type_names;

/// A longer file, tests apart, contains two concepts.
const MAX_FILE_LINES: usize = 600;

/// A broken convention and its place.
#[derive(Debug, PartialEq, Eq)]
struct Finding {
    /// `path` or `path:line`.
    place: String,
    /// The problem and its fix.
    message: String,
}

/// Runs the verb.
pub(crate) fn run(project: &Project, rest: &[String]) -> Result<ExitCode> {
    crate::reject_arguments("tidy", &rest.iter().collect::<Vec<_>>())?;
    let tally = check(project)?;
    Ok(if tally.failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Checks every Rust file that git tracks or would track.
pub(crate) fn check(project: &Project) -> Result<Tally> {
    let listed = ProcessRun::new("git")
        .args(["ls-files", "-z", "--cached", "--others", "--exclude-standard", "--", "*.rs"])
        .current_dir(project.root())
        .read_stdout()?;
    let mut sources = BTreeMap::new();
    for path in listed.split_terminator('\0') {
        // A deleted file that is still in the index can't be read.
        if let Ok(text) = fs::read_to_string(project.root().join(path)) {
            sources.insert(path.to_owned(), text);
        }
    }
    let mut findings = Vec::new();
    for (path, text) in &sources {
        check_source(path, text, &mut findings);
        spec::check(path, text, &mut findings);
    }
    findings.extend(type_names::check(&sources));
    for Finding { place, message } in &findings {
        report::print(&format!("{place}: {message}\n"));
    }
    report::print(&format!("{} files, {} findings\n", sources.len(), findings.len()));
    Ok(if findings.is_empty() { Tally::PASS } else { Tally::FAIL })
}

/// Checks the conventions of one Rust file.
fn check_source(path: &str, text: &str, findings: &mut Vec<Finding>) {
    let mut find = |message: String| findings.push(Finding { place: path.to_owned(), message });
    if path.ends_with("/mod.rs") {
        find("name the file of a module `foo.rs`, next to the directory `foo`, not `foo/mod.rs`".into());
    }
    if !text.starts_with("//!") {
        find("start the file with `//!` and its purpose".into());
    }
    let lines = text.lines().count();
    if lines > MAX_FILE_LINES && !is_test(path) {
        find(format!(
            "{lines} lines; the limit is {MAX_FILE_LINES} outside tests: split the file by concept"
        ));
    }
}

/// Returns true if this is the path of a test. Unit tests have a separate file, and other tests a directory.
fn is_test(path: &str) -> bool {
    path.ends_with("/tests.rs") || path.starts_with("tests/") || path.contains("/tests/")
}

#[cfg(test)]
mod tests;
