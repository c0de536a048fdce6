//! The official servers from npm and PyPI, each compared with the plugin that offers the same tools.

use std::env;

use anyhow::Result;

use super::{ClientTable, SuiteOutcome, install, run_script};
use crate::project::Project;
use crate::run::ProcessRun;

/// The directory with the lockfile of the packages from npm.
const NPM_PACKAGES: &str = "tests/official/node";

/// The lockfile of the packages from PyPI.
const PYPI_PACKAGES: &str = "tests/official/python/requirements.txt";

/// The page with the results of the comparison.
const RESULTS_PAGE: &str = "docs/official-servers.md";

/// The variable with the plugins to compare; by default all.
const PLUGINS_VARIABLE: &str = "MOONGATE_OFFICIAL";

/// Compares all servers, or the selected ones.
pub(super) fn run(project: &Project) -> Result<SuiteOutcome> {
    let node = match install::node_packages(project, "official", NPM_PACKAGES)? {
        Ok(node) => node,
        Err(missing) => return Ok(SuiteOutcome::Skipped(missing)),
    };
    let python = match install::python_packages(project, "official", PYPI_PACKAGES)? {
        Ok(python) => python,
        Err(missing) => return Ok(SuiteOutcome::Skipped(missing)),
    };
    project.cargo(&["build", "--package", "moongate-official"]).stdout_to_stderr().run()?;
    let program = project.target().join("debug").join(format!("official{}", env::consts::EXE_SUFFIX));
    let run = ProcessRun::new(program).arg("--gateway").arg(project.gateway());
    let run = run.arg("--plugins").arg(project.dist()).arg("--node").arg(node.program());
    let run = run.arg("--modules").arg(node.directory.join("node_modules")).arg("--python").arg(python);
    let run = run.arg("--page").arg(project.root().join(RESULTS_PAGE));
    let selected = env::var(PLUGINS_VARIABLE).unwrap_or_default();
    let run = run.args(selected.split_whitespace());
    run_script(project, run, &mut ClientTable::default()).map(SuiteOutcome::Checked)
}
