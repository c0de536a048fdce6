//! Other servers that a registry can install: native ones from npm and PyPI, and gateways from PyPI and crates.io.
//!
//! Packages from npm and PyPI are installed from lockfiles. Programs from crates.io take minutes to compile, so they are
//! installed only with `--peers`. A server that isn't installed is left out with a note.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result};
use serde_json::json;

use crate::install::{self, NodePackages};
use crate::project::Project;
use crate::report;
use crate::run::ProcessRun;

/// The version of `mcp-proxy` from crates.io.
const MCP_PROXY_VERSION: &str = "0.6.0";

/// The version of `hyper-mcp` from crates.io.
const HYPER_MCP_VERSION: &str = "0.8.3";

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
    hyper_mcp: Option<HyperMcp>,
}

/// The host hyper-mcp with its plugin.
#[derive(Debug)]
struct HyperMcp {
    program: PathBuf,
    plugin: PathBuf,
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
            Ok(python) => match act_component(project) {
                Ok(component) => Some(ActHost { program: python.with_file_name("act"), component }),
                Err(error) => note("ACT", &format!("{error:#}")),
            },
            Err(missing) => note("ACT", &missing.to_string()),
        };
        let mcp_proxy = self::compiled(project, "mcp-proxy", MCP_PROXY_VERSION, compiled)?;
        let hyper_mcp = self::compiled(project, "hyper-mcp", HYPER_MCP_VERSION, compiled)?.map(|program| {
            HyperMcp { program, plugin: project.root().join("tests/bench/hyper-mcp/echo.wat") }
        });
        Ok(Self { everything, fastmcp, act, mcp_proxy, hyper_mcp })
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

    /// hyper-mcp, with a configuration that this writes to a file.
    pub(super) fn hyper_mcp(&self, config: &Path) -> Result<Option<Command>> {
        let Some(HyperMcp { program, plugin }) = &self.hyper_mcp else { return Ok(None) };
        let text = json!({ "plugins": { "bench": { "url": format!("file://{}", plugin.display()) } } });
        fs::write(config, text.to_string()).with_context(|| format!("can't write `{}`", config.display()))?;
        let mut command = Command::new(program);
        command.arg("--config-file").arg(config);
        Ok(Some(command))
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

/// A program from crates.io; its name is that of its package.
fn compiled(
    project: &Project,
    name: &str,
    version: &str,
    compiled: CompiledPeers,
) -> Result<Option<PathBuf>> {
    let root = project.tools().join(format!("{name}-{version}"));
    let program = root.join("bin").join(format!("{name}{}", env::consts::EXE_SUFFIX));
    if !program.is_file() {
        match compiled {
            CompiledPeers::UseInstalled => {
                return Ok(note(name, "it isn't installed; `cargo xtask bench --peers` installs it"));
            }
            CompiledPeers::Install => {
                let package = format!("{name}@{version}");
                let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
                let install = ProcessRun::new(cargo).args(["install", "--locked", &package, "--root"]);
                if let Err(error) = install.arg(&root).stdout_to_stderr().run() {
                    return Ok(note(name, &format!("{error:#}")));
                }
            }
        }
    }
    Ok(Some(program))
}
