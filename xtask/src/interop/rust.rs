//! The official Rust SDK as a client, in a workspace with its own lock file and target directory.

use std::env;
use std::path::PathBuf;

use anyhow::Result;

use super::{
    CLIENTS_CONFIG, ClientTable, SuiteOutcome, print_log_on_failure, run_script, socket_address,
    start_gateway, stdio_command, websocket_url,
};
use crate::project::Project;
use crate::run::ProcessRun;

/// Tests all capabilities of the client over each transport and in each revision.
pub(super) fn run(project: &Project, table: &mut ClientTable) -> Result<SuiteOutcome> {
    let client = build_client(project)?;
    let server = start_gateway(project, CLIENTS_CONFIG)?;
    let run = ProcessRun::new(client);
    let run = run.args(["--http", &server.url, "--unix", &socket_address(project, "plain")]);
    let run = run.args(["--websocket", &websocket_url(&server), "--stdio"]);
    let run = run.args(stdio_command(project, CLIENTS_CONFIG));
    Ok(SuiteOutcome::Checked(print_log_on_failure(&server, run_script(project, run, table)?)))
}

/// Builds the client.
pub(super) fn build_client(project: &Project) -> Result<PathBuf> {
    let target = project.target().join("clients");
    let build = project.cargo(&["build", "--locked"]).current_dir(&project.root().join("tests/clients/rmcp"));
    build.env("CARGO_TARGET_DIR", &target).stdout_to_stderr().run()?;
    Ok(target.join("debug").join(format!("rmcp-client{}", env::consts::EXE_SUFFIX)))
}
