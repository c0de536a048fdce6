//! Errors of calls, detected by the host or returned by the plugin.

use std::time::Duration;

use crate::call_rate::{CallRate, whole_seconds};
use crate::json::Json;

/// A failed call.
///
/// `Refused` is the plugin's own error; the host detects all others. Limits name their key in `gateway.toml`, so that a
/// message can say what to change.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum CallError {
    /// The plugin returned an error.
    #[error("{0}")]
    Refused(PluginError),
    /// The plugin exceeded its time limit.
    #[error("exceeded the time limit of {}", humantime::format_duration(*.0))]
    Timeout(Duration),
    /// The time limit was over before the call could start, because too many other calls were running.
    #[error("waited for the whole time limit of {} and didn't run; try again later", humantime::format_duration(*.0))]
    TimeoutBeforeStart(Duration),
    /// The plugin exceeded its CPU time limit.
    #[error("exceeded the CPU time limit of {}", humantime::format_duration(*.0))]
    CpuTime(Duration),
    /// The plugin trapped after it was denied more memory. The limit is in bytes.
    #[error("exceeded the memory limit of {}", bytesize::ByteSize(*.0).display().iec())]
    Memory(u64),
    /// The plugin trapped after it was denied more table elements.
    #[error("exceeded the limit of {0} table elements")]
    TableElements(u32),
    /// The plugin held too many handles at the same time.
    #[error("exceeded the limit of {0} handles")]
    Handles(u32),
    /// A single message between plugin and gateway exceeded its limit, in bytes.
    #[error("a message to the gateway exceeded the limit of {}", bytesize::ByteSize(*.0).display().iec())]
    TooLarge(u64),
    /// The plugin trapped: a panic, a division by zero, infinite recursion.
    #[error("crashed: {0}")]
    Trap(String),
    /// The plugin's answer is invalid.
    #[error("invalid answer: {0}")]
    InvalidOutput(String),
    /// The plugin requested a client feature that isn't granted. The message says which.
    #[error("{0}")]
    NotGranted(String),
    /// A granted directory can't be opened. The message says which.
    #[error("{0}")]
    Directory(String),
    /// Too many calls are waiting.
    #[error("{0}")]
    Busy(BusyReason),
    /// Too many calls came in a short time.
    #[error("{0}")]
    RateLimited(RateLimited),
    /// The plugin was replaced or removed, and the caller returned to the old version too late.
    #[error("was replaced while this request waited; send the request again to use the new version")]
    Replaced,
    /// The caller disconnected or cancelled the request.
    #[error("cancelled")]
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
            Self::Timeout(_) | Self::TimeoutBeforeStart(_) => "timeout",
            Self::CpuTime(_) => "cpu_time",
            Self::Memory(_) => "memory",
            Self::TableElements(_) => "tables",
            Self::Handles(_) => "handles",
            Self::TooLarge(_) => "too_large",
            Self::Trap(_) => "trap",
            Self::InvalidOutput(_) => "bad_output",
            Self::NotGranted(_) => "not_granted",
            Self::Directory(_) => "directory",
            Self::Busy(_) => "busy",
            Self::RateLimited(_) => "rate_limited",
            Self::Replaced => "replaced",
            Self::Cancelled => "cancelled",
            Self::Internal(_) => "internal",
        }
    }

    /// A stable word for the limit that refused the call before it ran. `None` if the call ran.
    #[must_use]
    pub fn refusal_reason(&self) -> Option<&'static str> {
        match self {
            Self::Busy(reason) => Some(reason.as_str()),
            Self::RateLimited(RateLimited { scope, .. }) => Some(scope.as_str()),
            Self::TimeoutBeforeStart(_) => Some("timeout_before_start"),
            Self::Refused(_)
            | Self::Timeout(_)
            | Self::CpuTime(_)
            | Self::Memory(_)
            | Self::TableElements(_)
            | Self::Handles(_)
            | Self::TooLarge(_)
            | Self::Trap(_)
            | Self::InvalidOutput(_)
            | Self::NotGranted(_)
            | Self::Directory(_)
            | Self::Replaced
            | Self::Cancelled
            | Self::Internal(_) => None,
        }
    }

    /// The key under `[plugins.<id>.limits]` of the exceeded limit.
    #[must_use]
    pub fn config_key(&self) -> Option<&'static str> {
        match self {
            Self::Timeout(_) | Self::TimeoutBeforeStart(_) => Some("timeout"),
            Self::CpuTime(_) => Some("cpu_time"),
            Self::Memory(_) => Some("memory"),
            Self::TableElements(_) => Some("table_elements"),
            Self::Handles(_) => Some("handles"),
            Self::TooLarge(_) => Some("transfer"),
            Self::Busy(BusyReason::Plugin { .. } | BusyReason::PluginShare { .. }) => Some("queue"),
            Self::Refused(_)
            | Self::Trap(_)
            | Self::InvalidOutput(_)
            | Self::NotGranted(_)
            | Self::Directory(_)
            | Self::Busy(
                BusyReason::Gateway
                | BusyReason::GatewayShare { .. }
                | BusyReason::UnreadResponses
                | BusyReason::Memory
                | BusyReason::AuditLog
                | BusyReason::SharedStore,
            )
            | Self::RateLimited(_)
            | Self::Replaced
            | Self::Cancelled
            | Self::Internal(_) => None,
        }
    }
}

/// A rate that a call exceeds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("too many {}: the limit is {rate} for {}; try again in {}", .scope.events(), .scope.owner(), seconds(*.retry_after))]
pub struct RateLimited {
    /// What is counted.
    pub scope: RateScope,
    /// The rate.
    pub rate: CallRate,
    /// The time after which a call doesn't exceed it.
    pub retry_after: Duration,
}

/// What a rate counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RateScope {
    /// The calls of a caller.
    Caller,
    /// The completions of a caller.
    Completions,
    /// The calls of a tool.
    Tool,
    /// The calls of a tool by one caller.
    ToolAndCaller,
}

impl RateLimited {
    /// The time to wait in whole seconds, at least one.
    #[must_use]
    pub fn retry_after_seconds(&self) -> u64 {
        whole_seconds(self.retry_after)
    }
}

impl RateScope {
    /// A stable word for metrics and logs.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Caller => "caller_rate",
            Self::Completions => "completion_rate",
            Self::Tool => "tool_rate",
            Self::ToolAndCaller => "tool_rate_per_caller",
        }
    }

    fn events(self) -> &'static str {
        match self {
            Self::Completions => "completions",
            Self::Caller | Self::Tool | Self::ToolAndCaller => "calls",
        }
    }

    fn owner(self) -> &'static str {
        match self {
            Self::Caller | Self::Completions => "one caller",
            Self::Tool => "this tool",
            Self::ToolAndCaller => "one caller of this tool",
        }
    }
}

fn seconds(duration: Duration) -> String {
    humantime::format_duration(Duration::from_secs(whole_seconds(duration))).to_string()
}

/// The limit on waiting calls that was reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum BusyReason {
    /// The limit of one plugin.
    #[error("busy: {running} calls are running and {waiting} are waiting; try again later")]
    Plugin {
        /// The number of running calls.
        running: u32,
        /// The number of waiting calls.
        waiting: u32,
    },
    /// The caller's share of the limit of one plugin.
    #[error(
        "busy: {running} of your calls are running and {waiting} are waiting, as many as one caller can have; try again later"
    )]
    PluginShare {
        /// The number of the caller's running calls.
        running: u64,
        /// The number of the caller's waiting calls.
        waiting: u64,
    },
    /// The limit of the gateway.
    #[error("the gateway is busy; try again later")]
    Gateway,
    /// The caller's share of the limit of the gateway.
    #[error(
        "the gateway is busy: {running} of your calls are running and {waiting} are waiting, as many as one caller can have; try again later"
    )]
    GatewayShare {
        /// The number of the caller's running calls.
        running: u64,
        /// The number of the caller's waiting calls.
        waiting: u64,
    },
    /// The limit on responses that the caller hasn't read yet.
    #[error("busy: too many unread responses; read them, then try again")]
    UnreadResponses,
    /// The limit on the memory of all calls.
    #[error("the gateway is short of memory (`[gateway] memory`); try again later")]
    Memory,
    /// Calls can't be recorded.
    #[error("the gateway can't record calls now; try again later")]
    AuditLog,
    /// The store that several gateways share can't be used.
    #[error("the gateway's shared store isn't reachable; try again later")]
    SharedStore,
}

impl BusyReason {
    /// A stable word for metrics and logs.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Plugin { .. } => "plugin_queue",
            Self::PluginShare { .. } => "plugin_queue_share",
            Self::Gateway => "gateway_queue",
            Self::GatewayShare { .. } => "gateway_queue_share",
            Self::UnreadResponses => "unread_responses",
            Self::Memory => "memory",
            Self::AuditLog => "audit_log",
            Self::SharedStore => "shared_store",
        }
    }
}

/// An error that the plugin returned. For a problem that occurs while a tool runs, the tool returns a
/// [`ToolResult`](crate::call::ToolResult) with `is_error` instead, because only that reaches the model.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum PluginError {
    /// The parameters are wrong.
    #[error("{}", .0.message)]
    InvalidParams(PluginErrorDetail),
    /// There is no tool, prompt or resource with that name.
    #[error("{}", .0.message)]
    NotFound(PluginErrorDetail),
    /// The client doesn't support a required feature. Names are as in
    /// [`Capabilities::has`](crate::call::Capabilities::has).
    #[error("the client doesn't support: {}", .0.join(", "))]
    MissingCapability(Vec<String>),
    /// The plugin failed.
    #[error("{}", .0.message)]
    Internal(PluginErrorDetail),
    /// A plugin-specific error.
    #[error("{message}")]
    Custom {
        /// A JSON-RPC error code outside the ranges that JSON-RPC and MCP reserve.
        code: i32,
        /// One sentence.
        message: String,
        /// Data for programs.
        data: Option<Json>,
    },
}

/// An error message, and the location in the input.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct PluginErrorDetail {
    /// The message: one sentence.
    pub message: String,
    /// The location in the input, as a JSON pointer (RFC 6901).
    pub pointer: Option<String>,
    /// Data for programs.
    pub data: Option<Json>,
}
