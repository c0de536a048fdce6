//! `[unix_socket]`: the Unix socket for clients on this machine.

use std::path::PathBuf;
use std::time::Duration;

use crate::read::{ConfigReader, TomlTable};

/// The Unix socket.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnixSocketConfig {
    /// The path of the socket.
    pub path: PathBuf,
    /// The limits on its connections.
    pub limits: UnixSocketLimits,
}

/// The limits on the connections of the Unix socket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UnixSocketLimits {
    /// The number of open connections.
    pub max_connections: u32,
    /// The time after which a connection without messages is closed.
    pub idle_timeout: Duration,
}

impl Default for UnixSocketLimits {
    fn default() -> Self {
        Self { max_connections: 128, idle_timeout: Duration::from_secs(24 * 3600) }
    }
}

/// Reads `[unix_socket]`. `None` if there is no such table, or its path is invalid.
pub(crate) fn read_unix_socket(
    reader: &mut ConfigReader<'_>,
    root: &TomlTable<'_>,
) -> Option<UnixSocketConfig> {
    let table = reader.table(root, "unix_socket")?;
    let default = UnixSocketLimits::default();
    let limits = UnixSocketLimits {
        max_connections: reader.integer(&table, "max_connections", default.max_connections),
        idle_timeout: reader.duration(&table, "idle_timeout", default.idle_timeout),
    };
    let text = reader.string(&table, "path")?;
    let path = reader.path(&text)?;
    Some(UnixSocketConfig { path, limits })
}
