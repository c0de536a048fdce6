//! One call: its context, its outcome, and how it can fail.
//!
//! These are the words that dispatch and a plugin share. The protocol fills in a [`CallContext`], the host reads it
//! when the guest asks, and a [`CallError`] is mapped in one table each to the protocol's answer, to a metric label
//! and to a log level.

use std::fmt;
use std::sync::{Arc, OnceLock};

use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::json::Json;
use crate::manifest::Entries;
use crate::names::Principal;

mod error;
mod ledger;
mod outcome;

pub use error::{Busy, CallError, Failure, Fault};
pub use ledger::{Cure, Entry, Ledger};
pub use outcome::{
    Completion, CompletionTarget, Content, EmbeddedResource, InputRequest, MediaContent, NeedInput, Outcome,
    PromptMessage, PromptResult, ReadResult, ResourceBody, ResourceContents, TextContent, ToolResult,
};

/// What a plugin may want to know of the call it serves; asked for only when it asks.
#[derive(Debug, Clone)]
pub struct CallContext {
    /// Whom the gateway takes the caller for.
    pub principal: Principal,
    /// The program at the other end, as it introduced itself.
    pub client: Option<Arc<ClientInfo>>,
    /// The MCP revision spoken with it, such as `2026-07-28`.
    pub revision: Option<&'static str>,
    /// What the client can do.
    pub capabilities: Arc<Capabilities>,
    /// The request's `_meta`, an object.
    pub meta: Option<Json>,
    /// Set when the caller has lost interest.
    pub cancel: CancellationToken,
    /// Answers to what was asked in earlier rounds, by key.
    pub answers: Arc<Vec<(String, Json)>>,
    /// The plugin's own state from the round before.
    pub state: Option<Arc<[u8]>>,
    /// Where log lines and progress go beside the gateway's own log.
    pub sink: Arc<dyn CallSink>,
    /// Where it is noted which grants the call uses and which it lacks; none: nobody asked.
    pub ledger: Option<Arc<Ledger>>,
}

impl CallContext {
    /// The context of a call that nobody outside made: listing, describing, the command line.
    #[must_use]
    pub fn internal(principal: Principal) -> Self {
        Self {
            principal,
            client: None,
            revision: None,
            capabilities: Arc::new(Capabilities::default()),
            meta: None,
            cancel: CancellationToken::new(),
            answers: Arc::default(),
            state: None,
            sink: Arc::new(NoSink),
            ledger: None,
        }
    }

    /// A member of the request's `_meta`.
    #[must_use]
    pub fn meta_value(&self, key: &str) -> Option<Json> {
        let meta: std::collections::HashMap<String, Json> =
            serde_json::from_str(self.meta.as_ref()?.get()).ok()?;
        meta.get(key).cloned()
    }
}

/// The program at the other end, as it introduced itself. Not proof of anything.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ClientInfo {
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: String,
    /// Its name for people.
    pub title: Option<String>,
    /// What else it said.
    pub extra: Entries,
}

/// What a client declared that it can do: MCP's `ClientCapabilities`, read only when somebody asks.
#[derive(Debug, Default)]
pub struct Capabilities {
    text: Option<Json>,
    read: OnceLock<Value>,
}

impl Capabilities {
    /// Keeps the object as it came.
    #[must_use]
    pub fn new(text: Json) -> Self {
        Self { text: Some(text), read: OnceLock::new() }
    }

    /// Was it declared? `name` is a path in the object: `elicitation`, `sampling.tools`, `extensions.com.example/x`.
    ///
    /// `elicitation.form` also holds for an empty `elicitation` object, as MCP has it.
    #[must_use]
    pub fn has(&self, name: &str) -> bool {
        let value = self
            .read
            .get_or_init(|| self.text.as_ref().and_then(|text| text.to_value().ok()).unwrap_or(Value::Null));
        if let Some(extension) = name.strip_prefix("extensions.") {
            return value.get("extensions").and_then(|all| all.get(extension)).is_some_and(Value::is_object);
        }
        if name == "elicitation.form" {
            let Some(Value::Object(modes)) = value.get("elicitation") else { return false };
            return modes.contains_key("form") || !modes.contains_key("url");
        }
        let found = name.split('.').try_fold(value, |at, part| at.get(part));
        found.is_some_and(|it| !it.is_null() && *it != Value::Bool(false))
    }
}

/// How serious a log line is (the eight levels of syslog, RFC 5424).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LogLevel {
    /// For whoever looks into it.
    Debug,
    /// Business as usual.
    Info,
    /// Worth a look.
    Notice,
    /// Something may go wrong.
    Warning,
    /// Something went wrong.
    Error,
    /// A part failed.
    Critical,
    /// Act at once.
    Alert,
    /// Nothing works.
    Emergency,
}

impl LogLevel {
    /// MCP's word for it.
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

    /// The level of that name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        use LogLevel::{Alert, Critical, Debug, Emergency, Error, Info, Notice, Warning};
        [Debug, Info, Notice, Warning, Error, Critical, Alert, Emergency]
            .into_iter()
            .find(|level| level.as_str() == name)
    }
}

/// Where a call's log lines and progress go, beside the gateway's own log.
///
/// An implementation is bounded, drops and counts what doesn't fit, and is closed before the call's answer is sent.
pub trait CallSink: fmt::Debug + Send + Sync {
    /// Would a line of this level go anywhere?
    fn log_enabled(&self, level: LogLevel) -> bool;

    /// A log line; `data` is any JSON value.
    fn log(&self, level: LogLevel, logger: Option<&str>, data: &Json);

    /// How far the call has come.
    fn progress(&self, current: f64, total: Option<f64>, message: Option<&str>);
}

/// Goes nowhere.
#[derive(Debug, Clone, Copy)]
pub struct NoSink;

impl CallSink for NoSink {
    fn log_enabled(&self, _level: LogLevel) -> bool {
        false
    }

    fn log(&self, _level: LogLevel, _logger: Option<&str>, _data: &Json) {}

    fn progress(&self, _current: f64, _total: Option<f64>, _message: Option<&str>) {}
}

#[cfg(test)]
mod tests;
