//! How calls fail: what the host saw, and what the plugin said.

use std::time::Duration;

use crate::json::Json;

/// Why a call came to no result.
///
/// `Refused` is the plugin's own answer; everything else is what the host saw. The limits name their key in
/// `gateway.toml`, so that a message can say what to change.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum CallError {
    /// The plugin says that the request can't be served.
    #[error("{0}")]
    Refused(Failure),
    /// The plugin ran longer than it may.
    #[error("it ran longer than {}", humantime::format_duration(*.0))]
    Timeout(Duration),
    /// The plugin used more processor time than it may.
    #[error("it used more than {} of processor time", humantime::format_duration(*.0))]
    CpuTime(Duration),
    /// The plugin trapped after it was refused more memory; the limit in bytes.
    #[error("it needed more than {} of memory", bytesize::ByteSize(*.0).display().iec())]
    Memory(u64),
    /// The plugin trapped after it was refused more table elements.
    #[error("it needed more than {0} table elements")]
    Tables(u32),
    /// The plugin held too many handles at once.
    #[error("it held more than {0} handles")]
    Handles(u32),
    /// One crossing between plugin and gateway was larger than it may be; the limit in bytes.
    #[error("what it handed over was larger than {}", bytesize::ByteSize(*.0).display().iec())]
    TooLarge(u64),
    /// The plugin trapped: a panic, a division by zero, endless recursion.
    #[error("it crashed: {0}")]
    Trap(String),
    /// What the plugin answered isn't what it promised.
    #[error("its answer can't be used: {0}")]
    BadOutput(String),
    /// It asked for something of the client that its table doesn't grant; the sentence says what, and what would grant it.
    #[error("{0}")]
    NotGranted(String),
    /// A directory that its table grants can't be opened; the sentence says which.
    #[error("{0}")]
    Directory(String),
    /// Too many calls wait already.
    #[error("{0}")]
    Busy(Busy),
    /// The plugin was replaced or removed, and the caller came back to the version before too late.
    #[error("it was replaced while this request waited; make the request anew to use it as it is now")]
    Replaced,
    /// The caller lost interest.
    #[error("it was cancelled")]
    Cancelled,
    /// The gateway itself failed.
    #[error("the gateway failed: {0}")]
    Internal(String),
}

impl CallError {
    /// A stable word for metrics and logs.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Refused(_) => "refused",
            Self::Timeout(_) => "timeout",
            Self::CpuTime(_) => "cpu_time",
            Self::Memory(_) => "memory",
            Self::Tables(_) => "tables",
            Self::Handles(_) => "handles",
            Self::TooLarge(_) => "too_large",
            Self::Trap(_) => "trap",
            Self::BadOutput(_) => "bad_output",
            Self::NotGranted(_) => "not_granted",
            Self::Directory(_) => "directory",
            Self::Busy(_) => "busy",
            Self::Replaced => "replaced",
            Self::Cancelled => "cancelled",
            Self::Internal(_) => "internal",
        }
    }

    /// The key under `[plugins.<id>.limits]` that sets the limit which was hit.
    #[must_use]
    pub fn config_key(&self) -> Option<&'static str> {
        match self {
            Self::Timeout(_) => Some("timeout"),
            Self::CpuTime(_) => Some("cpu_time"),
            Self::Memory(_) => Some("memory"),
            Self::Tables(_) => Some("table_elements"),
            Self::Handles(_) => Some("handles"),
            Self::TooLarge(_) => Some("transfer"),
            Self::Busy(Busy::Plugin { .. }) => Some("queue"),
            Self::Refused(_)
            | Self::Trap(_)
            | Self::BadOutput(_)
            | Self::NotGranted(_)
            | Self::Directory(_)
            | Self::Busy(Busy::Gateway)
            | Self::Replaced
            | Self::Cancelled
            | Self::Internal(_) => None,
        }
    }
}

/// What there is too much of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Busy {
    /// Calls of one plugin.
    #[error("it is busy: {running} calls run and {waiting} wait already; try again later")]
    Plugin {
        /// How many run.
        running: u32,
        /// How many wait.
        waiting: u32,
    },
    /// Calls of all plugins.
    #[error("the gateway is busy; try again later")]
    Gateway,
}

/// The plugin's word that a request can't be served. What a tool found out while it ran is no failure but a
/// [`ToolResult`](crate::call::ToolResult) with `is_error`, because only that reaches the model.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum Failure {
    /// The parameters are wrong.
    #[error("{}", .0.message)]
    InvalidParams(Fault),
    /// No tool, prompt or resource of that name.
    #[error("{}", .0.message)]
    NotFound(Fault),
    /// The client can't do what this needs; names as in [`Capabilities::has`](crate::call::Capabilities::has).
    #[error("the client lacks what this needs: {}", .0.join(", "))]
    MissingCapability(Vec<String>),
    /// The plugin failed.
    #[error("{}", .0.message)]
    Internal(Fault),
    /// An error of the plugin's own kind.
    #[error("{message}")]
    Custom {
        /// A JSON-RPC error code outside the ranges that JSON-RPC and MCP keep for themselves.
        code: i32,
        /// One sentence.
        message: String,
        /// Anything a program may want to know.
        data: Option<Json>,
    },
}

/// One sentence on what is wrong, and where.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Fault {
    /// The sentence.
    pub message: String,
    /// Where in the input it lies, as a JSON pointer (RFC 6901).
    pub at: Option<String>,
    /// Anything a program may want to know.
    pub data: Option<Json>,
}
