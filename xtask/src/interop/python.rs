//! Both lines of the Python SDK and FastMCP as clients.

use std::path::PathBuf;

use anyhow::Result;

use super::{
    CLIENTS_CONFIG, ClientTable, SuiteOutcome, TlsGateway, install, print_log_on_failure, run_script,
    socket_address, sse_url, start_gateway, stdio_command, websocket_url,
};
use crate::project::Project;
use crate::report::Tally;
use crate::run::ProcessRun;

/// The lines of clients.
pub(super) const LINES: [&str; 3] = ["v1", "v2", "fastmcp"];

/// Tests all capabilities of the clients over each transport.
pub(super) fn run(project: &Project, table: &mut ClientTable) -> Result<SuiteOutcome> {
    let mut total = Tally::default();
    let mut plain = None;
    let mut encrypted = None;
    for line in LINES {
        let python = match install::python_packages(project, line, &lock(line))? {
            Ok(python) => python,
            Err(missing) => return Ok(SuiteOutcome::Skipped(missing)),
        };
        let run = script(project, python, line);
        // The newer line connects over TLS.
        let (server, run) = if line == "v2" {
            let gateway = encrypted.insert(TlsGateway::start(project)?);
            let run = gateway.trust().into_iter().fold(run, |run, (name, file)| run.env(name, file));
            (&gateway.server, run.args(["--unix", &gateway.socket]))
        } else {
            let server = match &plain {
                Some(server) => server,
                None => plain.insert(start_gateway(project, CLIENTS_CONFIG)?),
            };
            (server, run.args(["--unix", &socket_address(project, "plain")]))
        };
        let run = run.args(["--http", &server.url, "--websocket", &websocket_url(server)]);
        // Only the older line supports the transport of 2024-11-05.
        let run = if line == "v1" { run.args(["--sse", &sse_url(server)]) } else { run };
        let run = run.arg("--stdio").args(stdio_command(project, CLIENTS_CONFIG));
        total.add(print_log_on_failure(server, run_script(project, run, table)?));
    }
    Ok(SuiteOutcome::Checked(total))
}

/// Runs the script of a line without writing bytecode next to it.
pub(super) fn script(project: &Project, python: PathBuf, line: &str) -> ProcessRun {
    let script = project.root().join(format!("tests/clients/python/everything_{line}.py"));
    ProcessRun::new(python).arg(script).env("PYTHONDONTWRITEBYTECODE", "1")
}

/// The lockfile of a line.
pub(super) fn lock(line: &str) -> String {
    format!("tests/clients/python/requirements-{line}.txt")
}
