//! One call: its context, its outcome and its errors.
//!
//! Dispatch and plugins share these types. The protocol fills in a [`CallContext`], and the host reads it when the
//! guest requests it. A [`CallError`] is mapped to a response, a metric label and a log level, each in one place.

use std::fmt;
use std::sync::Arc;

use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::caller::Caller;
use crate::cpu_time::CpuTime;
use crate::json::{self, Json};
use crate::manifest::JsonMembers;
use crate::trace_context::{CallTrace, TraceId};

mod error;
mod grant_report;
mod outcome;

pub use error::{BusyReason, CallError, PluginError, PluginErrorDetail, RateLimited, RateScope};
pub use grant_report::{GrantEvent, GrantFix, GrantReport, OPERATOR_CAN_ALLOW};
pub use outcome::{
    Completion, CompletionTarget, Content, EmbeddedResource, InputNeeded, InputRequest, MediaContent,
    Outcome, PromptMessage, PromptResult, ReadResult, ResourceBody, ResourceContents, TextContent,
    ToolResult,
};

/// The context of a call. Plugins read it on demand.
#[derive(Debug, Clone)]
pub struct CallContext {
    /// The caller.
    pub caller: Caller,
    /// A name for the session, from which its id can't be found out. `None` without a session.
    pub session: Option<Arc<str>>,
    /// The client program, as it introduced itself.
    pub client: Option<Arc<ClientInfo>>,
    /// The MCP revision of the connection, such as `2026-07-28`.
    pub revision: Option<&'static str>,
    /// The client's capabilities.
    pub capabilities: Arc<Capabilities>,
    /// The request's `_meta`, an object.
    pub meta: Option<Json>,
    /// The trace that the request belongs to. `None` if the client named none and the gateway records none.
    pub trace: Option<CallTrace>,
    /// Cancelled when the caller disconnects or cancels the request.
    pub cancel: CancellationToken,
    /// The start of the call's time limit, which also includes the time that the call waits to run. Each round of
    /// questions starts again.
    pub arrived_at: Instant,
    /// The answers to questions of earlier rounds, by key.
    pub answers: Arc<Vec<(String, Json)>>,
    /// The plugin's own state from the previous round.
    pub round_state: Option<Arc<[u8]>>,
    /// The destination of log lines and progress, in addition to the gateway's own log.
    pub sink: Arc<dyn CallSink>,
    /// Records the grants that the call uses and those that are missing. `None` records nothing.
    pub grant_report: Option<Arc<GrantReport>>,
    /// The processor time that the call has used so far. The gateway's own checks and the plugin add to it.
    pub cpu_time: Arc<CpuTime>,
}

impl CallContext {
    /// The context of a call without an external caller: listing, describing, the command line.
    #[must_use]
    pub fn internal(caller: Caller) -> Self {
        Self {
            caller,
            session: None,
            client: None,
            revision: None,
            capabilities: Arc::new(Capabilities::default()),
            meta: None,
            trace: None,
            cancel: CancellationToken::new(),
            arrived_at: Instant::now(),
            answers: Arc::default(),
            round_state: None,
            sink: Arc::new(DiscardSink),
            grant_report: None,
            cpu_time: Arc::default(),
        }
    }

    /// True for the later rounds of a call that asked the client. They belong to a call that was counted already: the
    /// gateway itself keeps the answers and the state of earlier rounds, or accepts them sealed and only once.
    #[must_use]
    pub fn is_later_round(&self) -> bool {
        self.round_state.is_some() || !self.answers.is_empty()
    }

    /// The id of the trace, for logs.
    #[must_use]
    pub fn trace_id(&self) -> Option<TraceId> {
        self.trace.map(|trace| trace.trace_id)
    }

    /// A member of the request's `_meta`.
    #[must_use]
    pub fn meta_value(&self, key: &str) -> Option<Json> {
        json::member(self.meta.as_ref()?.get(), key).and_then(|text| Json::parse(text).ok())
    }
}

/// The client program, as it introduced itself. It isn't authenticated.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ClientInfo {
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: String,
    /// Its display name.
    pub title: Option<String>,
    /// Members that aren't modelled yet.
    pub extra: JsonMembers,
}

/// The capabilities that a client declared: MCP's `ClientCapabilities`. They are read where they are needed, because a
/// session keeps them for hours.
#[derive(Debug, Default)]
pub struct Capabilities {
    text: Option<Json>,
}

impl Capabilities {
    /// Keeps the object as it was sent.
    #[must_use]
    pub fn new(text: Json) -> Self {
        Self { text: Some(text) }
    }

    /// The object as it was sent. `None` if there is none.
    #[must_use]
    pub fn text(&self) -> Option<&Json> {
        self.text.as_ref()
    }

    /// Reports whether a capability was declared. `name` is a path in the object: `elicitation`, `sampling.tools`,
    /// `extensions.com.example/x`.
    ///
    /// An empty `elicitation` object counts as `elicitation.form`, as MCP requires.
    #[must_use]
    pub fn has(&self, name: &str) -> bool {
        let Some(text) = self.text.as_ref().map(Json::get) else { return false };
        let member = json::member;
        if let Some(extension) = name.strip_prefix("extensions.") {
            let found = member(text, "extensions").and_then(|all| member(all, extension));
            return found.is_some_and(|it| it.starts_with('{'));
        }
        if name == "elicitation.form" {
            let Some(modes) = member(text, "elicitation").filter(|it| it.starts_with('{')) else {
                return false;
            };
            return member(modes, "form").is_some() || member(modes, "url").is_none();
        }
        let found = name.split('.').try_fold(text, member);
        found.is_some_and(|it| it != "null" && it != "false")
    }
}

/// The severity of a log line (the eight levels of syslog, RFC 5424).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LogLevel {
    /// Details for debugging.
    Debug,
    /// Normal operation.
    Info,
    /// Normal but significant.
    Notice,
    /// A possible problem.
    Warning,
    /// A failure.
    Error,
    /// A failed component.
    Critical,
    /// Immediate action required.
    Alert,
    /// The system is unusable.
    Emergency,
}

impl LogLevel {
    /// MCP's name for it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Debug => "debug",
            Self::Info => "info",
            Self::Notice => "notice",
            Self::Warning => "warning",
            Self::Error => "error",
            Self::Critical => "critical",
            Self::Alert => "alert",
            Self::Emergency => "emergency",
        }
    }

    /// The level with that name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        use LogLevel::{Alert, Critical, Debug, Emergency, Error, Info, Notice, Warning};
        [Debug, Info, Notice, Warning, Error, Critical, Alert, Emergency]
            .into_iter()
            .find(|level| level.as_str() == name)
    }
}

/// The destination of a call's log lines and progress, in addition to the gateway's own log.
///
/// An implementation is bounded, drops and counts excess messages, and is closed before the call's answer is sent.
pub trait CallSink: fmt::Debug + Send + Sync {
    /// Reports whether a line of this level would be sent.
    fn log_enabled(&self, level: LogLevel) -> bool;

    /// Sends a log line; `data` is any JSON value.
    fn log(&self, level: LogLevel, logger: Option<&str>, data: &Json);

    /// Reports the progress of the call.
    fn progress(&self, current: f64, total: Option<f64>, message: Option<&str>);
}

/// Discards everything.
#[derive(Debug, Clone, Copy)]
pub struct DiscardSink;

impl CallSink for DiscardSink {
    fn log_enabled(&self, _level: LogLevel) -> bool {
        false
    }

    fn log(&self, _level: LogLevel, _logger: Option<&str>, _data: &Json) {}

    fn progress(&self, _current: f64, _total: Option<f64>, _message: Option<&str>) {}
}

#[cfg(test)]
mod tests;
