//! The measured servers and the commands that start them.

use std::net::TcpListener;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};

use super::binaries::Binaries;
use super::config::{CACHE_VARIABLE, ScratchDirectory, Token};
use super::peers::Peers;
use super::throughput::run;
use crate::server::Server;

/// A gateway that needs longer to load compiled plugins hangs.
const LOAD_TIMEOUT: Duration = Duration::from_secs(120);

/// A server in one revision of MCP.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Subject {
    /// An axum server that echoes, without MCP.
    Floor,
    /// The official Rust SDK, native.
    Rmcp(Era),
    /// Moongate, with a fresh sandbox for every call.
    Moongate(Era),
    /// The official everything server on the TypeScript SDK, native.
    Everything,
    /// FastMCP on Python, native.
    FastMcp,
}

/// The kind of a protocol revision.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Era {
    /// With a handshake.
    Handshake,
    /// Without.
    Stateless,
}

impl Era {
    /// The newest revision of this kind.
    pub(super) fn revision(self) -> &'static str {
        match self {
            Self::Handshake => "2025-11-25",
            Self::Stateless => "2026-07-28",
        }
    }
}

/// What subjects are started from.
#[derive(Debug, Clone, Copy)]
pub(super) struct Programs<'a> {
    pub(super) binaries: &'a Binaries,
    pub(super) peers: &'a Peers,
    pub(super) scratch: &'a ScratchDirectory,
    /// The configuration of the gateway.
    pub(super) config: &'a Path,
}

impl Subject {
    /// The subjects over HTTP.
    pub(super) const HTTP: [Self; 7] = [
        Self::Floor,
        Self::Rmcp(Era::Handshake),
        Self::Moongate(Era::Handshake),
        Self::Rmcp(Era::Stateless),
        Self::Moongate(Era::Stateless),
        Self::Everything,
        Self::FastMcp,
    ];

    /// The subjects over stdio.
    pub(super) const STDIO: [Self; 6] = [
        Self::Rmcp(Era::Handshake),
        Self::Moongate(Era::Handshake),
        Self::Rmcp(Era::Stateless),
        Self::Moongate(Era::Stateless),
        Self::Everything,
        Self::FastMcp,
    ];

    /// The name in the tables.
    pub(super) fn name(self) -> String {
        match self {
            Self::Floor => "axum, no MCP".to_owned(),
            Self::Rmcp(era) => format!("rmcp, {}", era.revision()),
            Self::Moongate(era) => format!("Moongate, {}", era.revision()),
            Self::Everything => "TypeScript everything server".to_owned(),
            Self::FastMcp => "FastMCP".to_owned(),
        }
    }

    /// The subject for comparison.
    pub(super) fn reference(self) -> Option<Self> {
        match self {
            Self::Moongate(era) => Some(Self::Rmcp(era)),
            Self::Floor | Self::Rmcp(_) | Self::Everything | Self::FastMcp => None,
        }
    }

    /// Is it part of the project, so that its failure fails the run?
    pub(super) fn is_own(self) -> bool {
        matches!(self, Self::Floor | Self::Rmcp(_) | Self::Moongate(_))
    }

    /// The options of the load generator for this subject.
    pub(super) fn load_flags(self) -> Vec<&'static str> {
        let handshake = ["--revision", Era::Handshake.revision()];
        match self {
            Self::Floor => vec!["--bare"],
            Self::Rmcp(era) | Self::Moongate(era) => vec!["--revision", era.revision()],
            Self::Everything => [handshake, ["--argument", "message"]].concat(),
            Self::FastMcp => handshake.into(),
        }
    }

    /// Starts it over HTTP; `None` if it isn't installed.
    pub(super) fn start_http(self, programs: Programs<'_>) -> Result<Option<Server>> {
        let Programs { binaries, peers, config, scratch: _ } = programs;
        let port = free_port()?;
        let command = match self {
            Self::Floor => return Server::start(Command::new(&binaries.axum)).map(Some),
            Self::Rmcp(_) => return Server::start(Command::new(&binaries.rmcp)).map(Some),
            Self::Moongate(_) => return ready_gateway(binaries, config).map(Some),
            Self::Everything => peers.everything("streamableHttp").map(|mut command| {
                command.env("PORT", port.to_string());
                command
            }),
            Self::FastMcp => peers.fastmcp(&port.to_string()),
        };
        command.map(|command| Server::start_at(command, &format!("http://127.0.0.1:{port}/mcp"))).transpose()
    }

    /// The command that serves stdio; `None` if it isn't installed or has none.
    pub(super) fn stdio(self, programs: Programs<'_>) -> Option<Command> {
        let Programs { binaries, peers, config, scratch: _ } = programs;
        match self {
            Self::Floor => None,
            Self::Rmcp(_) => {
                let mut command = Command::new(&binaries.rmcp);
                command.arg("--stdio");
                Some(command)
            }
            Self::Moongate(_) => Some(gateway(binaries, config, &["--stdio"])),
            Self::Everything => peers.everything("stdio"),
            Self::FastMcp => peers.fastmcp("--stdio"),
        }
    }
}

/// A port that is free now.
fn free_port() -> Result<u16> {
    Ok(TcpListener::bind("127.0.0.1:0").context("no free port")?.local_addr()?.port())
}

/// Compiles the plugins of a configuration into its cache, so that later starts are complete at once. Returns the names of
/// all tools.
pub(super) fn compiled_tools(binaries: &Binaries, config: &Path) -> Result<Vec<String>> {
    let mut command = Command::new(&binaries.gateway);
    command.args(["list", "tools", "--format", "json", "--config"]).arg(config);
    listed_tools(&mut command)
}

/// Compiles the plugins of a configuration, starts `moongate serve`, and waits until all tools are listed.
pub(super) fn ready_gateway(binaries: &Binaries, config: &Path) -> Result<Server> {
    ready_server(binaries, config, None, &[])
}

/// The same, with variables of its environment, for a caller.
pub(super) fn ready_server(
    binaries: &Binaries,
    config: &Path,
    token: Option<Token>,
    variables: &[(&str, &str)],
) -> Result<Server> {
    let tools = compiled_tools(binaries, config)?;
    let mut command = gateway(binaries, config, &[]);
    command.envs(variables.iter().copied());
    let server = Server::start(command)?.with_graceful_stop(); // `train` needs the counts, which a gateway writes when it exits
    let end = Instant::now() + LOAD_TIMEOUT;
    loop {
        let mut command = Command::new(&binaries.gateway);
        command.args(["list", "tools", "--format", "json", "--url", &server.url]);
        if let Some(token) = token {
            command.env("MOONGATE_TOKEN", token.secret());
        }
        if listed_tools(&mut command)?.len() >= tools.len() {
            return Ok(server);
        }
        ensure!(Instant::now() < end, "the gateway doesn't load all plugins; its log:\n{}", server.log());
    }
}

/// The names of the tools that `moongate list` prints.
fn listed_tools(command: &mut Command) -> Result<Vec<String>> {
    let listed = run(command)?;
    let tools = listed["tools"].as_array().with_context(|| format!("{command:?} listed no tools"))?;
    Ok(tools.iter().filter_map(|tool| tool["name"].as_str().map(str::to_owned)).collect())
}

/// `moongate serve` with a configuration.
pub(super) fn gateway(binaries: &Binaries, config: &Path, flags: &[&str]) -> Command {
    let mut command = Command::new(&binaries.gateway);
    command.arg("serve").args(flags).arg("--config").arg(config).env_remove(CACHE_VARIABLE);
    command
}
