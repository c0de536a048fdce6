//! Both lines of the TypeScript SDK as clients, and the bridge `mcp-remote`, which uses the SDK. They
//! connect over TLS.

use anyhow::Result;

use super::install::NodePackages;
use super::{
    CLIENTS_CONFIG, ClientTable, SuiteOutcome, TlsGateway, install, print_log_on_failure, run_script,
    sse_url, stdio_command, websocket_url,
};
use crate::project::Project;
use crate::run::ProcessRun;

/// Tests all capabilities of the clients over each transport.
pub(super) fn run(project: &Project, table: &mut ClientTable) -> Result<SuiteOutcome> {
    let node = match install::client_packages(project)? {
        Ok(node) => node,
        Err(missing) => return Ok(SuiteOutcome::Skipped(missing)),
    };
    let gateway = TlsGateway::start(project)?;
    let server = &gateway.server;
    let run = script(project, &node).args(["--http", &server.url, "--sse", &sse_url(server)]);
    let run = run.args(["--unix", &gateway.socket, "--websocket", &websocket_url(server), "--"]);
    let run = run.args(stdio_command(project, CLIENTS_CONFIG));
    let run = gateway.trust().into_iter().fold(run, |run, (name, file)| run.env(name, file));
    Ok(SuiteOutcome::Checked(print_log_on_failure(server, run_script(project, run, table)?)))
}

/// Runs the script.
pub(super) fn script(project: &Project, node: &NodePackages) -> ProcessRun {
    let run = node.run(&project.root().join("tests/clients/node/everything.mjs")).arg(&node.directory);
    // By default, the bridge stores files in the user's home.
    run.env("MCP_REMOTE_CONFIG_DIR", node.directory.join("mcp-remote"))
}
