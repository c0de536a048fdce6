//! The official Rust SDK as a client. Its workspace has a lock file and a target folder of its own.

use std::env;

use anyhow::Result;

use super::{CONFIG, Table, Verdict, explain, gateway, script, stdio};
use crate::project::Project;
use crate::run::Run;

/// All that it can, over each transport and in each revision.
pub(super) fn sdk(project: &Project, table: &mut Table) -> Result<Verdict> {
    let target = project.target().join("clients");
    let build = project.cargo(&["build", "--locked"]).folder(&project.root().join("tests/clients/rmcp"));
    build.env("CARGO_TARGET_DIR", &target).quiet_stdout().done()?;
    let server = gateway(project, CONFIG)?;
    let run = Run::new(target.join("debug").join(format!("rmcp-client{}", env::consts::EXE_SUFFIX)));
    let run = run.args(["--http", &server.url, "--stdio"]).args(stdio(project, CONFIG));
    Ok(Verdict::Judged(explain(&server, script(project, run, table)?)))
}
