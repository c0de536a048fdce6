//! `docs/official-servers.md`, generated from the subjects and their differences.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result};

use crate::report;
use crate::subjects::{self, Subject};

/// The text above the list.
const HEAD: &str = include_str!("head.md");

/// The files that pin versions.
const VERSIONS: [&str; 2] = [include_str!("../node/package.json"), include_str!("../python/requirements.in")];

/// Generates the page.
fn page() -> String {
    let mut text = HEAD.to_owned();
    for subject in subjects::ALL {
        section(&mut text, subject);
    }
    text
}

fn section(text: &mut String, subject: &Subject) {
    let Subject { plugin, package, compared, differences, check: _ } = subject;
    let version = version(package).unwrap_or("without a fixed version");
    let _ = write!(text, "\n## `{plugin}` and `{package}` {version}\n\n{compared}\n\n");
    if differences.is_empty() {
        text.push_str("No differences.\n");
        return;
    }
    text.push_str("| difference | reason |\n|---|---|\n");
    for difference in *differences {
        let _ = writeln!(text, "| {} | {} |", difference.description, difference.reason);
    }
}

/// The version of a package, from the files that the lockfiles are generated from.
fn version(package: &str) -> Option<&'static str> {
    VERSIONS.iter().flat_map(|file| file.lines()).find_map(|line| {
        let line = line.trim().trim_end_matches(',');
        let npm = line.strip_prefix(&format!("\"{package}\": \"")).and_then(|rest| rest.strip_suffix('"'));
        npm.or_else(|| line.strip_prefix(package)?.strip_prefix("=="))
    })
}

/// Rewrites the page if it is out of date. A test of this crate fails on an outdated page.
///
/// # Errors
/// The page can't be written.
pub(crate) fn update(path: &Path) -> Result<()> {
    let page = page();
    if fs::read_to_string(path).is_ok_and(|kept| kept == page) {
        return Ok(());
    }
    fs::write(path, page).with_context(|| format!("`{}` cannot be written", path.display()))?;
    report::note(&format!("`{}` was rewritten: review and commit the change", path.display()));
    Ok(())
}

#[cfg(test)]
mod tests;
