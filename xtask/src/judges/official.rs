//! The official servers from npm and PyPI, each answering the same calls as the plugin that offers its tools.

use std::env;

use anyhow::Result;

use super::{Table, Verdict, install, script};
use crate::project::Project;
use crate::run::Run;

/// The packages from npm.
const NODE: &str = "tests/official/node";

/// The packages from PyPI.
const PYTHON: &str = "tests/official/python/requirements.txt";

/// What is written from the comparison.
const PAGE: &str = "docs/official-servers.md";

/// What says which plugins are compared, where it isn't all of them.
const CHOSEN: &str = "MOONGATE_OFFICIAL";

/// Compares all of them, or those that are chosen.
pub(super) fn servers(project: &Project) -> Result<Verdict> {
    let node = match install::node_with(project, "official", NODE)? {
        Ok(node) => node,
        Err(missing) => return Ok(Verdict::Skipped(missing)),
    };
    let python = match install::python(project, "official", PYTHON)? {
        Ok(python) => python,
        Err(missing) => return Ok(Verdict::Skipped(missing)),
    };
    project.cargo(&["build", "--package", "moongate-official"]).quiet_stdout().done()?;
    let program = project.target().join("debug").join(format!("official{}", env::consts::EXE_SUFFIX));
    let run = Run::new(program).arg("--gateway").arg(project.gateway());
    let run = run.arg("--plugins").arg(project.dist()).arg("--node").arg(node.program());
    let run = run.arg("--modules").arg(node.folder.join("node_modules")).arg("--python").arg(python);
    let run = run.arg("--page").arg(project.root().join(PAGE));
    let chosen = env::var(CHOSEN).unwrap_or_default();
    let run = run.args(chosen.split_whitespace());
    script(project, run, &mut Table::default()).map(Verdict::Judged)
}
