//! Observation of plugin calls and MCP requests: their name, outcome and duration.
//!
//! [`Observer`] is the only such interface: the dispatcher reports calls to it, and the server reports requests.
//! [`RequestSpan`] makes sure that each of them is reported exactly once, even if its future is dropped.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use moongate_model::log_field::milliseconds;
use tracing::Level;

use crate::call::{CallError, Completion, Outcome, PromptResult, ReadResult, ToolResult};
use crate::catalog::CatalogPlugin;
use crate::limiter::CallPermit;
use crate::names::PublicName;

use super::DispatchError;

/// Receives each call and each request once, when it has ended.
///
/// The methods run on the path of every call and every response, so they must return at once.
pub trait Observer: fmt::Debug + Send + Sync {
    /// A plugin call ended.
    fn call_ended(&self, call: &CallEnd<'_>);

    /// An MCP request was answered or cancelled.
    fn request_ended(&self, request: &RequestEnd<'_>);
}

/// An ended plugin call: its name exists and its arguments match the schema.
#[derive(Debug, Clone, Copy)]
pub struct CallEnd<'a> {
    /// The plugin.
    pub catalog_plugin: &'a CatalogPlugin,
    /// The kind of call.
    pub kind: CallKind,
    /// The public name of the tool or prompt. Resources have none here, because the number of URIs is unbounded.
    pub name: Option<&'a PublicName>,
    /// The outcome.
    pub outcome: CallOutcome<'a>,
    /// The time since the call was admitted. `None` means that it wasn't.
    pub took: Option<Duration>,
}

/// An ended MCP request.
#[derive(Debug, Clone, Copy)]
pub struct RequestEnd<'a> {
    /// The method. `None` if no revision has it.
    pub method: Option<&'static str>,
    /// The tool to call. `None` if the catalog doesn't have it.
    pub tool: Option<&'a PublicName>,
    /// The revision of the request. `None` if the request failed before it was known.
    pub revision: Option<&'static str>,
    /// The transport of the request.
    pub transport: NetworkTransport,
    /// The error as a stable word for metrics. `None` means success.
    pub error: Option<&'static str>,
    /// The time since the request was read, including the waits for a permit and for the user's answers.
    pub took: Duration,
}

/// OpenTelemetry's `network.transport`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum NetworkTransport {
    /// A pair of pipes.
    Pipe,
    /// A TCP connection.
    Tcp,
    /// A connection to a Unix socket.
    Unix,
}

impl NetworkTransport {
    /// The value of `network.transport`.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pipe => "pipe",
            Self::Tcp => "tcp",
            Self::Unix => "unix",
        }
    }
}

/// The kind of a plugin call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CallKind {
    /// Calls a tool.
    Tool,
    /// Reads a resource.
    Resource,
    /// Fills in a prompt.
    Prompt,
    /// Completes an argument.
    Completion,
}

impl CallKind {
    /// A stable word for metrics and logs.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Tool => "tool",
            Self::Resource => "resource",
            Self::Prompt => "prompt",
            Self::Completion => "completion",
        }
    }
}

/// The outcome of a call.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum CallOutcome<'a> {
    /// A result.
    Done,
    /// A tool result with `isError`.
    ToolError,
    /// A request for input from the client.
    NeedInput,
    /// No result.
    Failed(&'a CallError),
}

impl CallOutcome<'_> {
    /// A stable word for metrics and logs.
    #[must_use]
    pub fn kind(self) -> &'static str {
        match self {
            Self::Done => "ok",
            Self::ToolError => "tool_error",
            Self::NeedInput => "input_required",
            Self::Failed(error) => error.kind(),
        }
    }
}

/// A plugin's answer with an outcome other than [`CallOutcome::Failed`].
pub(super) trait HasOutcome {
    fn outcome(&self) -> CallOutcome<'static>;
}

impl<T: HasOutcome> HasOutcome for Outcome<T> {
    fn outcome(&self) -> CallOutcome<'static> {
        match self {
            Self::Done(result) => result.outcome(),
            Self::NeedInput(_) => CallOutcome::NeedInput,
        }
    }
}

impl<T: HasOutcome> HasOutcome for (T, CallPermit) {
    fn outcome(&self) -> CallOutcome<'static> {
        self.0.outcome()
    }
}

impl HasOutcome for ToolResult {
    fn outcome(&self) -> CallOutcome<'static> {
        if self.is_error { CallOutcome::ToolError } else { CallOutcome::Done }
    }
}

impl HasOutcome for ReadResult {
    fn outcome(&self) -> CallOutcome<'static> {
        CallOutcome::Done
    }
}

impl HasOutcome for PromptResult {
    fn outcome(&self) -> CallOutcome<'static> {
        CallOutcome::Done
    }
}

impl HasOutcome for Completion {
    fn outcome(&self) -> CallOutcome<'static> {
        CallOutcome::Done
    }
}

/// A call or a request that a [`RequestSpan`] observes.
pub(crate) trait Observed {
    /// The possible outcomes.
    type End<'e>;

    /// Reports the end.
    fn report(&self, observer: Option<&dyn Observer>, end: Self::End<'_>);

    /// The end of a span that was dropped.
    fn dropped(&self) -> Self::End<'static>;
}

/// Reports the end of a call or a request exactly once. Dropping the span reports [`Observed::dropped`].
#[derive(Debug)]
pub(crate) struct RequestSpan<T: Observed> {
    observer: Option<Arc<dyn Observer>>,
    observed: T,
    /// False once the end was reported, or if nothing receives it.
    is_open: bool,
}

impl<T: Observed> RequestSpan<T> {
    /// Opens a span. Without an observer, only `is_logged` keeps it open.
    pub(crate) fn new(observer: Option<&Arc<dyn Observer>>, is_logged: bool, observed: T) -> Self {
        Self { observer: observer.cloned(), observed, is_open: observer.is_some() || is_logged }
    }

    /// The call or request, unless nothing receives its end.
    pub(crate) fn observed(&mut self) -> Option<&mut T> {
        self.is_open.then_some(&mut self.observed)
    }

    /// Reports the end, if it wasn't reported yet.
    pub(crate) fn end(&mut self, end: T::End<'_>) {
        if std::mem::take(&mut self.is_open) {
            self.observed.report(self.observer.as_deref(), end);
        }
    }
}

impl<T: Observed> Drop for RequestSpan<T> {
    fn drop(&mut self) {
        if self.is_open {
            self.end(self.observed.dropped());
        }
    }
}

/// A plugin call, observed from before it waits for its permit.
#[derive(Debug)]
pub(super) struct PluginCall<'a> {
    catalog_plugin: &'a CatalogPlugin,
    kind: CallKind,
    name: Option<&'a PublicName>,
    admitted: Option<Instant>,
}

impl<'a> RequestSpan<PluginCall<'a>> {
    pub(super) fn of_call(
        observer: Option<&Arc<dyn Observer>>,
        catalog_plugin: &'a CatalogPlugin,
        kind: CallKind,
        name: Option<&'a PublicName>,
    ) -> Self {
        let is_logged = tracing::enabled!(Level::DEBUG);
        Self::new(observer, is_logged, PluginCall { catalog_plugin, kind, name, admitted: None })
    }

    pub(super) fn catalog_plugin(&self) -> &'a CatalogPlugin {
        self.observed.catalog_plugin
    }

    /// Reports a failure.
    pub(super) fn fail(mut self, error: CallError) -> DispatchError {
        self.end(CallOutcome::Failed(&error));
        DispatchError::call(self.observed.catalog_plugin, error)
    }

    /// Reports nothing: the plugin isn't called.
    pub(super) fn dismiss(mut self) {
        self.is_open = false;
    }

    /// The call has its permit.
    pub(super) fn admitted(&mut self) {
        if let Some(call) = self.observed() {
            call.admitted = Some(Instant::now());
        }
    }

    /// Reports the answer.
    pub(super) fn finish<T: HasOutcome>(mut self, answer: Result<T, CallError>) -> Result<T, DispatchError> {
        self.end(match &answer {
            Ok(answer) => answer.outcome(),
            Err(error) => CallOutcome::Failed(error),
        });
        answer.map_err(|error| DispatchError::call(self.observed.catalog_plugin, error))
    }
}

impl Observed for PluginCall<'_> {
    type End<'e> = CallOutcome<'e>;

    fn report(&self, observer: Option<&dyn Observer>, outcome: CallOutcome<'_>) {
        let &Self { catalog_plugin, kind, name, admitted } = self;
        let took = admitted.map(|admitted| admitted.elapsed());
        if let Some(observer) = observer {
            observer.call_ended(&CallEnd { catalog_plugin, kind, name, outcome, took });
        }
        let name = name.map(PublicName::as_str);
        let (tool, prompt) = match kind {
            CallKind::Tool => (name, None),
            CallKind::Prompt => (None, name),
            CallKind::Resource | CallKind::Completion => (None, None),
        };
        let duration_ms = took.map(milliseconds);
        let plugin = catalog_plugin.id();
        let kind = kind.as_str();
        let outcome = outcome.kind();
        tracing::debug!(%plugin, kind, tool, prompt, outcome, duration_ms, "plugin call ended");
    }

    fn dropped(&self) -> CallOutcome<'static> {
        CallOutcome::Failed(&CallError::Cancelled)
    }
}
