//! Observation of calls: what was called, how it ended and how long it took.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tracing::Level;

use crate::call::{CallError, Completion, Outcome, PromptResult, ReadResult, ToolResult};
use crate::catalog::Member;
use crate::names::PublicName;

use super::DispatchError;

/// Observes calls. Each call is reported once, when it has ended.
///
/// Every call goes through it, so it must return immediately.
pub trait Observer: fmt::Debug + Send + Sync {
    /// Reports a call that has ended.
    fn called(&self, call: &Called<'_>);
}

/// One call of a plugin, with a known name and valid arguments.
#[derive(Debug, Clone, Copy)]
pub struct Called<'a> {
    /// The plugin.
    pub member: &'a Member,
    /// The kind of call.
    pub kind: CallKind,
    /// The public name of the tool or prompt. Resources have URIs, whose number is unbounded.
    pub name: Option<&'a PublicName>,
    /// How the call ended.
    pub ended: Ended<'a>,
    /// The time since the call got its permit. `None` if it never got one.
    pub took: Option<Duration>,
}

/// The kind of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CallKind {
    /// Call a tool.
    Tool,
    /// Read a resource.
    Resource,
    /// Fill in a prompt.
    Prompt,
    /// Complete an argument.
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

/// The end of a call.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Ended<'a> {
    /// A result.
    Done,
    /// A result that reports a failure of the tool.
    ToolError,
    /// Questions to the client.
    NeedInput,
    /// An error.
    Failed(&'a CallError),
}

impl Ended<'_> {
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

/// How a call with this answer ended.
pub(super) trait HasCallEnd {
    /// Never [`Ended::Failed`].
    fn says(&self) -> Ended<'static>;
}

impl<T: HasCallEnd> HasCallEnd for Outcome<T> {
    fn says(&self) -> Ended<'static> {
        match self {
            Self::Done(result) => result.says(),
            Self::NeedInput(_) => Ended::NeedInput,
        }
    }
}

impl HasCallEnd for ToolResult {
    fn says(&self) -> Ended<'static> {
        if self.is_error { Ended::ToolError } else { Ended::Done }
    }
}

impl HasCallEnd for ReadResult {
    fn says(&self) -> Ended<'static> {
        Ended::Done
    }
}

impl HasCallEnd for PromptResult {
    fn says(&self) -> Ended<'static> {
        Ended::Done
    }
}

impl HasCallEnd for Completion {
    fn says(&self) -> Ended<'static> {
        Ended::Done
    }
}

/// One call, from before it waits for its permit. If it is dropped before its end, it was cancelled.
#[derive(Debug)]
pub(super) struct CallSpan<'a> {
    observer: Option<&'a dyn Observer>,
    member: &'a Member,
    kind: CallKind,
    name: Option<&'a PublicName>,
    /// Whether the call still has to be reported.
    open: bool,
    admitted: Option<Instant>,
}

impl<'a> CallSpan<'a> {
    pub(super) fn new(
        observer: Option<&'a Arc<dyn Observer>>,
        member: &'a Member,
        kind: CallKind,
        name: Option<&'a PublicName>,
    ) -> Self {
        let observer = observer.map(|observer| &**observer);
        let open = observer.is_some() || tracing::enabled!(Level::DEBUG);
        Self { observer, member, kind, name, open, admitted: None }
    }

    pub(super) fn member(&self) -> &'a Member {
        self.member
    }

    /// Notes that the call has its permit.
    pub(super) fn admitted(&mut self) {
        self.admitted = self.open.then(Instant::now);
    }

    /// Reports the end of the call.
    pub(super) fn over<T: HasCallEnd>(mut self, answer: Result<T, CallError>) -> Result<T, DispatchError> {
        self.tell(match &answer {
            Ok(answer) => answer.says(),
            Err(error) => Ended::Failed(error),
        });
        answer.map_err(|error| DispatchError::call(self.member, error))
    }

    fn tell(&mut self, ended: Ended<'_>) {
        if !std::mem::take(&mut self.open) {
            return;
        }
        let &mut Self { observer, member, kind, name, admitted, open: _ } = self;
        let took = admitted.map(|admitted| admitted.elapsed());
        if let Some(observer) = observer {
            observer.called(&Called { member, kind, name, ended, took });
        }
        let name = name.map(PublicName::as_str);
        let (tool, prompt) = match kind {
            CallKind::Tool => (name, None),
            CallKind::Prompt => (None, name),
            CallKind::Resource | CallKind::Completion => (None, None),
        };
        let duration_ms = took.map(|took| took.as_secs_f64() * 1e3);
        let plugin = member.id();
        let kind = kind.as_str();
        let outcome = ended.kind();
        tracing::debug!(%plugin, kind, tool, prompt, outcome, duration_ms, "a call ended");
    }
}

impl Drop for CallSpan<'_> {
    fn drop(&mut self) {
        self.tell(Ended::Failed(&CallError::Cancelled));
    }
}
