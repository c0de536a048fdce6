//! Traces and metrics, with a client that sends its trace context and a collector that decodes them, both in Python.

use anyhow::Result;

use super::{SuiteOutcome, count_lines, install};
use crate::project::Project;
use crate::run::ProcessRun;

/// Runs the script, which starts gateways itself.
pub(super) fn run(project: &Project) -> Result<SuiteOutcome> {
    let lock = "tests/clients/python/requirements-otel.txt";
    let python = match install::python_packages(project, "otel", lock)? {
        Ok(python) => python,
        Err(missing) => return Ok(SuiteOutcome::Skipped(missing)),
    };
    let run = ProcessRun::new(python).arg(project.root().join("tests/clients/python/telemetry.py"));
    let run = run.arg(project.gateway()).arg(project.dist().join("zoo.wasm"));
    let run = run.env("MOONGATE_CACHE_DIR", project.code_cache()).env("PYTHONDONTWRITEBYTECODE", "1");
    count_lines(run.current_dir(project.root()))
}
