//! The measured servers and the commands that start them.

use std::path::Path;
use std::process::Command;

use super::binaries::Binaries;
use super::config::CACHE_VARIABLE;

/// A server in one revision of MCP.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Subject {
    /// An axum server that echoes, without MCP.
    Floor,
    /// The official Rust SDK, native.
    Rmcp(Era),
    /// Moongate, with a fresh sandbox for every call.
    Moongate(Era),
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

impl Subject {
    /// The subjects over HTTP.
    pub(super) const HTTP: [Self; 5] = [
        Self::Floor,
        Self::Rmcp(Era::Handshake),
        Self::Moongate(Era::Handshake),
        Self::Rmcp(Era::Stateless),
        Self::Moongate(Era::Stateless),
    ];

    /// The subjects over stdio.
    pub(super) const STDIO: [Self; 4] = [
        Self::Rmcp(Era::Handshake),
        Self::Moongate(Era::Handshake),
        Self::Rmcp(Era::Stateless),
        Self::Moongate(Era::Stateless),
    ];

    /// The name in the tables.
    pub(super) fn name(self) -> String {
        match self {
            Self::Floor => "axum, no MCP".to_owned(),
            Self::Rmcp(era) => format!("rmcp, {}", era.revision()),
            Self::Moongate(era) => format!("moongate, {}", era.revision()),
        }
    }

    /// The subject for comparison.
    pub(super) fn reference(self) -> Option<Self> {
        match self {
            Self::Floor | Self::Rmcp(_) => None,
            Self::Moongate(era) => Some(Self::Rmcp(era)),
        }
    }

    /// The options of the load generator for this subject.
    pub(super) fn load_flags(self) -> Vec<&'static str> {
        match self {
            Self::Floor => vec!["--bare"],
            Self::Rmcp(era) | Self::Moongate(era) => vec!["--revision", era.revision()],
        }
    }

    /// The command that serves HTTP; `config` is the gateway's.
    pub(super) fn http(self, binaries: &Binaries, config: &Path) -> Command {
        match self {
            Self::Floor => Command::new(&binaries.axum),
            Self::Rmcp(_) => Command::new(&binaries.rmcp),
            Self::Moongate(_) => gateway(binaries, config, &[]),
        }
    }

    /// The command that serves stdio.
    pub(super) fn stdio(self, binaries: &Binaries, config: &Path) -> Command {
        match self {
            Self::Floor | Self::Rmcp(_) => {
                let mut command = Command::new(&binaries.rmcp);
                command.arg("--stdio");
                command
            }
            Self::Moongate(_) => gateway(binaries, config, &["--stdio"]),
        }
    }
}

/// `moongate serve` with a configuration.
pub(super) fn gateway(binaries: &Binaries, config: &Path, flags: &[&str]) -> Command {
    let mut command = Command::new(&binaries.gateway);
    command.arg("serve").args(flags).arg("--config").arg(config).env_remove(CACHE_VARIABLE);
    command
}
