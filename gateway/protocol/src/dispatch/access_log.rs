//! The access log: a line for each call, and for calls that a caller causes without end, one a second.

use moongate_model::log_field::{ACCESS_TARGET, milliseconds};
use moongate_system::log_interval::LogIntervals;
use tracing::Level;

use crate::call::CallContext;
use crate::caller::Caller;
use crate::names::PublicName;
use crate::text::{escape_hidden, quotable};

use super::observer::{CallEnd, CallKind, CallOutcome};

/// The word for a name that the caller can't see.
const UNKNOWN: &str = "unknown";

/// Writes the lines. Those of calls that were refused before they ran are limited, by caller, kind and reason: refusing them
/// costs the caller nothing, and must not displace the lines of others.
#[derive(Debug, Default)]
pub(super) struct AccessLog {
    refused: LogIntervals<(Caller, CallKind, &'static str)>,
}

/// Reports whether the calls of this caller are logged at the default level: those over HTTP and the Unix socket. A host
/// that starts the gateway over stdio is its only caller.
fn is_logged_by_default(caller: &Caller) -> bool {
    match caller {
        Caller::Local => false,
        Caller::Named(_)
        | Caller::Subject(_)
        | Caller::Certificate(_)
        | Caller::User(_)
        | Caller::Operator(_)
        | Caller::Address(_) => true,
    }
}

/// Reports whether the calls of this caller are logged.
pub(super) fn is_logged(caller: &Caller) -> bool {
    if is_logged_by_default(caller) {
        tracing::enabled!(target: ACCESS_TARGET, Level::INFO)
    } else {
        tracing::enabled!(target: ACCESS_TARGET, Level::DEBUG)
    }
}

/// The issuer and subject of a token. Its name can be one that the user has chosen.
fn subject(caller: &Caller) -> Option<String> {
    let Caller::Subject(subject) = caller else { return None };
    Some(format!("{} {}", subject.issuer(), escape_hidden(subject.subject())))
}

impl AccessLog {
    /// Writes a call's line. Names from tokens and clients are quoted and escaped.
    pub(super) fn log_call(&self, end: &CallEnd<'_>) {
        let &CallEnd { context, catalog_plugin, kind, name, outcome, took, .. } = end;
        let reason = match outcome {
            CallOutcome::Failed(error) => error.refusal_reason(),
            CallOutcome::Done
            | CallOutcome::ToolError
            | CallOutcome::NeedInput
            | CallOutcome::InvalidArguments => None,
        };
        let refusal = reason.or((outcome == CallOutcome::InvalidArguments).then(|| outcome.kind()));
        let refused = match refusal.map(|refusal| self.count_refused(&context.caller, kind, refusal)) {
            Some(None) => return,
            Some(count) => count,
            None => None,
        };
        let name = name.map(PublicName::as_str);
        let (tool, prompt) = match kind {
            CallKind::Tool => (name, None),
            CallKind::Prompt => (None, name),
            CallKind::Resource | CallKind::Completion => (None, None),
        };
        let total = context.arrived_at.elapsed();
        let duration_ms = milliseconds(total);
        let waited_ms = took.map(|took| milliseconds(total.saturating_sub(took)));
        let caller = context.caller.to_string();
        let (caller, subject) = (caller.as_str(), subject(&context.caller));
        let trace_id = context.trace_id().map(tracing::field::display);
        let plugin = catalog_plugin.id();
        let kind = kind.as_str();
        let outcome = outcome.kind();
        macro_rules! log {
            ($level:expr) => {
                tracing::event!(
                    target: ACCESS_TARGET, $level,
                    caller, subject, %plugin, kind, tool, prompt, outcome, reason, refused, duration_ms, waited_ms,
                    trace_id, "plugin call ended"
                )
            };
        }
        if is_logged_by_default(&context.caller) { log!(Level::INFO) } else { log!(Level::DEBUG) }
    }

    /// Writes the line of a call to a name that the caller can't see. URIs can be private, so they have no `name`.
    pub(super) fn log_unknown(&self, context: &CallContext, kind: CallKind, name: Option<&str>) {
        if !is_logged(&context.caller) {
            return;
        }
        let Some(refused) = self.count_refused(&context.caller, kind, UNKNOWN) else { return };
        let (caller, name) = (context.caller.to_string(), name.map(quotable));
        let (caller, name, kind, outcome) = (caller.as_str(), name.as_deref(), kind.as_str(), UNKNOWN);
        let subject = subject(&context.caller);
        let trace_id = context.trace_id().map(tracing::field::display);
        macro_rules! log {
            ($level:expr) => {
                tracing::event!(
                    target: ACCESS_TARGET, $level,
                    caller, subject, kind, name, outcome, refused, trace_id, "unknown name"
                )
            };
        }
        if is_logged_by_default(&context.caller) { log!(Level::INFO) } else { log!(Level::DEBUG) }
    }

    /// Counts a refused call. If it has a line, returns the number of those since the last one.
    fn count_refused(&self, caller: &Caller, kind: CallKind, refusal: &'static str) -> Option<u64> {
        self.refused.record((caller.without_facts(), kind, refusal))
    }
}
