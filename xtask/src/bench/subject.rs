//! The measured servers and the commands that start them.

use std::fs;
use std::net::TcpListener;
use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result};

use super::binaries::Binaries;
use super::config::{CACHE_VARIABLE, ScratchDirectory};
use super::peers::Peers;
use crate::server::Server;

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
    /// ACT, which runs WebAssembly components.
    Act(Acknowledgement),
    /// mcp-proxy in front of the native Rust server.
    McpProxy(Acknowledgement),
    /// hyper-mcp, which runs WebAssembly modules.
    HyperMcp,
}

/// The kind of a protocol revision.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Era {
    /// With a handshake.
    Handshake,
    /// Without.
    Stateless,
}

/// The time at which the client acknowledges received data. A server without `TCP_NODELAY` can wait for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Acknowledgement {
    /// When the system decides to, as real clients do.
    Delayed,
    /// At once.
    Immediate,
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

/// A running subject; ends when dropped.
#[derive(Debug)]
pub(super) struct RunningSubject {
    pub(super) server: Server,
    /// The server behind a proxy.
    _backend: Option<Server>,
}

impl Subject {
    /// The subjects over HTTP.
    pub(super) const HTTP: [Self; 11] = [
        Self::Floor,
        Self::Rmcp(Era::Handshake),
        Self::Moongate(Era::Handshake),
        Self::Rmcp(Era::Stateless),
        Self::Moongate(Era::Stateless),
        Self::Everything,
        Self::FastMcp,
        Self::Act(Acknowledgement::Delayed),
        Self::Act(Acknowledgement::Immediate),
        Self::McpProxy(Acknowledgement::Delayed),
        Self::McpProxy(Acknowledgement::Immediate),
    ];

    /// The subjects over stdio.
    pub(super) const STDIO: [Self; 8] = [
        Self::Rmcp(Era::Handshake),
        Self::Moongate(Era::Handshake),
        Self::Rmcp(Era::Stateless),
        Self::Moongate(Era::Stateless),
        Self::Everything,
        Self::FastMcp,
        Self::Act(Acknowledgement::Delayed),
        Self::HyperMcp,
    ];

    /// The name in the tables.
    pub(super) fn name(self) -> String {
        let acknowledged = |name: &str, acknowledgement| match acknowledgement {
            Acknowledgement::Delayed => name.to_owned(),
            Acknowledgement::Immediate => format!("{name}, acknowledged at once"),
        };
        match self {
            Self::Floor => "axum, no MCP".to_owned(),
            Self::Rmcp(era) => format!("rmcp, {}", era.revision()),
            Self::Moongate(era) => format!("moongate, {}", era.revision()),
            Self::Everything => "TypeScript everything server".to_owned(),
            Self::FastMcp => "FastMCP".to_owned(),
            Self::Act(acknowledgement) => acknowledged("ACT", acknowledgement),
            Self::HyperMcp => "hyper-mcp".to_owned(),
            Self::McpProxy(acknowledgement) => acknowledged("mcp-proxy", acknowledgement),
        }
    }

    /// The subject for comparison.
    pub(super) fn reference(self) -> Option<Self> {
        match self {
            Self::Moongate(era) => Some(Self::Rmcp(era)),
            Self::Floor
            | Self::Rmcp(_)
            | Self::Everything
            | Self::FastMcp
            | Self::Act(_)
            | Self::McpProxy(_)
            | Self::HyperMcp => None,
        }
    }

    /// Is it part of the project, so that its failure fails the run?
    pub(super) fn is_own(self) -> bool {
        matches!(self, Self::Floor | Self::Rmcp(_) | Self::Moongate(_))
    }

    /// The options of the load generator for this subject.
    pub(super) fn load_flags(self) -> Vec<&'static str> {
        let handshake = ["--revision", Era::Handshake.revision()];
        let acknowledged = |acknowledgement| match acknowledgement {
            Acknowledgement::Delayed => None,
            Acknowledgement::Immediate => Some("--quickack"),
        };
        match self {
            Self::Floor => vec!["--bare"],
            Self::Rmcp(era) | Self::Moongate(era) => vec!["--revision", era.revision()],
            Self::Everything => [handshake, ["--argument", "message"]].concat(),
            Self::FastMcp => handshake.into(),
            Self::HyperMcp => [handshake, ["--tool", "bench-echo"]].concat(),
            Self::Act(acknowledgement) => {
                handshake.into_iter().chain(acknowledged(acknowledgement)).collect()
            }
            Self::McpProxy(acknowledgement) => {
                let tool = ["--tool", "rmcp/echo"];
                handshake.into_iter().chain(tool).chain(acknowledged(acknowledgement)).collect()
            }
        }
    }

    /// Starts it over HTTP; `None` if it isn't installed.
    pub(super) fn start_http(self, programs: Programs<'_>) -> Result<Option<RunningSubject>> {
        let Programs { binaries, peers, scratch, config } = programs;
        let port = free_port()?;
        let url = format!("http://127.0.0.1:{port}/mcp");
        let address = format!("127.0.0.1:{port}");
        let (command, backend) = match self {
            Self::Floor => return alone(Server::start(Command::new(&binaries.axum))?),
            Self::Rmcp(_) => return alone(Server::start(Command::new(&binaries.rmcp))?),
            Self::Moongate(_) => return alone(Server::start(gateway(binaries, config, &[]))?),
            Self::Everything => {
                let command = peers.everything("streamableHttp").map(|mut command| {
                    command.env("PORT", port.to_string());
                    command
                });
                (command, None)
            }
            Self::FastMcp => (peers.fastmcp(&port.to_string()), None),
            Self::HyperMcp => return Ok(None),
            Self::Act(_) => (peers.act(&["--http", "--listen", &address]), None),
            Self::McpProxy(_) => {
                let file = scratch.file("mcp-proxy.toml");
                let Some(command) = peers.mcp_proxy(&file) else { return Ok(None) };
                let backend = Server::start(Command::new(&binaries.rmcp))?;
                let text = format!(
                    "[proxy]\nname = \"bench\"\nseparator = \"/\"\n\n[proxy.listen]\nhost = \"127.0.0.1\"\nport = {port}\n\n\
                     [[backends]]\nname = \"rmcp\"\ntransport = \"http\"\nurl = \"{}\"\n",
                    backend.url
                );
                fs::write(&file, text).with_context(|| format!("can't write `{}`", file.display()))?;
                (Some(command), Some(backend))
            }
        };
        let Some(command) = command else { return Ok(None) };
        // mcp-proxy serves at the root.
        let url = if backend.is_some() { url.replace("/mcp", "/") } else { url };
        let server = Server::start_at(command, &url)?;
        Ok(Some(RunningSubject { server, _backend: backend }))
    }

    /// The command that serves stdio; `None` if it isn't installed or has none.
    pub(super) fn stdio(self, programs: Programs<'_>) -> Result<Option<Command>> {
        let Programs { binaries, peers, scratch, config } = programs;
        let command = match self {
            Self::Floor | Self::McpProxy(_) => None,
            Self::Rmcp(_) => {
                let mut command = Command::new(&binaries.rmcp);
                command.arg("--stdio");
                Some(command)
            }
            Self::Moongate(_) => Some(gateway(binaries, config, &["--stdio"])),
            Self::Everything => peers.everything("stdio"),
            Self::FastMcp => peers.fastmcp("--stdio"),
            Self::Act(_) => peers.act(&[]),
            Self::HyperMcp => peers.hyper_mcp(&scratch.file("hyper-mcp.json"))?,
        };
        Ok(command)
    }
}

#[expect(clippy::unnecessary_wraps, reason = "the result of a function that can fail")]
fn alone(server: Server) -> Result<Option<RunningSubject>> {
    Ok(Some(RunningSubject { server, _backend: None }))
}

/// A port that is free now.
fn free_port() -> Result<u16> {
    Ok(TcpListener::bind("127.0.0.1:0").context("no free port")?.local_addr()?.port())
}

/// `moongate serve` with a configuration.
pub(super) fn gateway(binaries: &Binaries, config: &Path, flags: &[&str]) -> Command {
    let mut command = Command::new(&binaries.gateway);
    command.arg("serve").args(flags).arg("--config").arg(config).env_remove(CACHE_VARIABLE);
    command
}
