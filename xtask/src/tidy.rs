//! `tidy`: habits of files that no compiler and no lint checks.
//!
//! Sources: no `mod.rs`, an opening `//!`, no non-test file above [`LONGEST`] lines, a median of at most [`MEDIAN`].
//! The protocol's: which page of the specification they follow. All files: no path of one machine, no address of a
//! package registry. Function length is clippy's.

use std::fs;
use std::process::ExitCode;

use anyhow::Result;

use crate::project::Project;
use crate::report::{self, Tally};
use crate::run::Run;

mod spec;
mod text;

/// A file that isn't a test has at most so many lines: beyond, it holds two thoughts.
const LONGEST: usize = 600;

/// Half of the files that aren't tests have at most so many lines: an evening's reading stays an evening's.
const MEDIAN: usize = 150;

/// Something that isn't as it should be, at a place.
#[derive(Debug, PartialEq, Eq)]
struct Finding {
    /// `path` or `path:line`.
    place: String,
    /// What is wrong, and the cure.
    message: String,
}

/// Runs the verb.
pub(crate) fn run(project: &Project, rest: &[String]) -> Result<ExitCode> {
    crate::no_more("tidy", &rest.iter().collect::<Vec<_>>())?;
    let tally = check(project)?;
    Ok(if tally.failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Checks every file that git tracks or would track.
pub(crate) fn check(project: &Project) -> Result<Tally> {
    let listed = Run::new("git")
        .args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"])
        .folder(project.root())
        .read()?;
    let mut findings = Vec::new();
    let mut lengths = Vec::new();
    let mut files = 0;
    for path in listed.split_terminator('\0') {
        // Deleted but still in the index, a link, or not text: nothing to read.
        let Ok(text) = fs::read_to_string(project.root().join(path)) else { continue };
        files += 1;
        text::check(path, &text, &mut findings);
        if path.ends_with(".rs") {
            source(path, &text, &mut findings);
            spec::check(path, &text, &mut findings);
            if !is_test(path) {
                lengths.push(text.lines().count());
            }
        }
    }
    let median = median(&mut lengths);
    if median > MEDIAN {
        findings.push(Finding {
            place: "sources".into(),
            message: format!(
                "the median file has {median} lines; at most {MEDIAN} are wanted: split the longest"
            ),
        });
    }
    for Finding { place, message } in &findings {
        report::say(&format!("{place}: {message}\n"));
    }
    let longest = lengths.last().copied().unwrap_or_default();
    report::say(&format!(
        "{files} files, {} sources outside tests: median {median} lines, longest {longest}; {} findings\n",
        lengths.len(),
        findings.len()
    ));
    Ok(if findings.is_empty() { Tally::PASS } else { Tally::FAIL })
}

/// The habits of one source.
fn source(path: &str, text: &str, findings: &mut Vec<Finding>) {
    let mut find = |message: String| findings.push(Finding { place: path.to_owned(), message });
    if path.ends_with("/mod.rs") {
        find("a module's file is `foo.rs` beside the folder `foo`, never `foo/mod.rs`".into());
    }
    if !text.starts_with("//!") {
        find("it must open with `//!`, saying what the file is for".into());
    }
    let lines = text.lines().count();
    if lines > LONGEST && !is_test(path) {
        find(format!("{lines} lines; a file that isn't a test has at most {LONGEST}: split it by thought"));
    }
}

/// Whether a source is a test: unit tests have a file of their own, the others a folder.
fn is_test(path: &str) -> bool {
    path.ends_with("/tests.rs") || path.starts_with("tests/") || path.contains("/tests/")
}

/// The middle one of `lengths`, which it sorts; 0 of none.
fn median(lengths: &mut [usize]) -> usize {
    lengths.sort_unstable();
    lengths.get(lengths.len() / 2).copied().unwrap_or_default()
}

#[cfg(test)]
mod tests;
