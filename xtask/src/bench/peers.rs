//! Other servers, installed from lockfiles of npm and PyPI. A server that can't be installed is left out with a note.

use std::path::PathBuf;
use std::process::Command;

use anyhow::Result;

use crate::install::{self, MissingTool, NodePackages};
use crate::project::Project;
use crate::report;

/// The entry point of the TypeScript server.
const EVERYTHING_SCRIPT: &str = "@modelcontextprotocol/server-everything/dist/index.js";

/// The servers that are measured next to those of `tests/bench`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PeerSelection {
    /// Those from npm and PyPI.
    FromRegistries,
    None,
}

/// The installed servers.
#[derive(Debug, Default)]
pub(super) struct Peers {
    everything: Option<NodePackages>,
    fastmcp: Option<PythonServer>,
}

/// A script with the Python that runs it.
#[derive(Debug)]
struct PythonServer {
    python: PathBuf,
    script: PathBuf,
}

impl Peers {
    /// Installs what is missing.
    pub(super) fn install(project: &Project) -> Self {
        let packages = install::node_packages(project, "bench-node", "tests/bench/node");
        let everything = or_note("the TypeScript everything server", packages);
        let lock = "tests/clients/python/requirements-fastmcp.txt";
        let python = or_note("FastMCP", install::python_packages(project, "fastmcp", lock));
        let script = project.root().join("tests/bench/python/echo.py");
        Self { everything, fastmcp: python.map(|python| PythonServer { python, script }) }
    }

    /// The TypeScript everything server.
    pub(super) fn everything(&self, transport: &str) -> Option<Command> {
        let packages = self.everything.as_ref()?;
        let mut command = Command::new(packages.program());
        command.arg(packages.file(EVERYTHING_SCRIPT)).arg(transport);
        Some(command)
    }

    /// FastMCP; the argument is `--stdio` or a port.
    pub(super) fn fastmcp(&self, argument: &str) -> Option<Command> {
        let PythonServer { python, script } = self.fastmcp.as_ref()?;
        let mut command = Command::new(python);
        command.arg(script).arg(argument);
        Some(command)
    }
}

/// The installed packages. If installing fails, the server is left out with a note.
fn or_note<T>(server: &str, installed: Result<Result<T, MissingTool>>) -> Option<T> {
    let reason = match installed {
        Ok(Ok(installed)) => return Some(installed),
        Ok(Err(missing)) => missing.to_string(),
        Err(error) => format!("{error:#}"),
    };
    report::note(&format!("left out: {server}: {reason}"));
    None
}
