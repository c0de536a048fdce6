//! `bench`: measures the gateway and its peers from a release build. Not part of `test`: figures need a quiet machine.

use std::process::ExitCode;

use anyhow::{Result, bail};

use crate::project::Project;

/// Runs the verb.
pub(crate) fn run(_project: &Project, _rest: &[String]) -> Result<ExitCode> {
    bail!("the benchmarks aren't in this checkout yet")
}
