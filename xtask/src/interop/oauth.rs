//! The gateway as a resource server of `oidc-provider`, a real OAuth authorization server, with clients of the
//! TypeScript, Python and Rust SDKs and the bridge `mcp-remote`.

use anyhow::Result;

use super::rust::build_client;
use super::{ClientTable, SuiteOutcome, install, run_script};
use crate::project::Project;

/// Tests the flows of the clients with every kind of token.
pub(super) fn run(project: &Project, table: &mut ClientTable) -> Result<SuiteOutcome> {
    let node = match install::client_packages(project)? {
        Ok(node) => node,
        Err(missing) => return Ok(SuiteOutcome::Skipped(missing)),
    };
    let lock = "tests/clients/python/requirements-v2.txt";
    let python = match install::python_packages(project, "v2", lock)? {
        Ok(python) => python,
        Err(missing) => return Ok(SuiteOutcome::Skipped(missing)),
    };
    let run = node.run(&project.root().join("tests/clients/node/oauth.mjs"));
    let run = run.arg(&node.directory).arg(python);
    let run = run.arg(project.root().join("tests/clients/python/oauth.py")).arg(build_client(project)?);
    let run = run.arg("--").arg(project.gateway()).arg("serve").env("PYTHONDONTWRITEBYTECODE", "1");
    Ok(SuiteOutcome::Checked(run_script(project, run, table)?))
}
