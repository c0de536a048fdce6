//! Records of calls.

use moongate_audit::{
    AuditClient, AuditEvent, AuditOutcome, AuditPrincipal, AuditRecord, PrincipalKind, short,
};
use moongate_model::call::{CallContext, CallError};
use moongate_model::caller::Caller;
use moongate_model::log_field::milliseconds;
use moongate_protocol::dispatch::{CallEnd, CallInput, CallKind, CallOutcome, RefusedName};

use super::arguments::ArgumentsRecorder;

/// The record of a call that ended.
pub(super) fn of_call(call: &CallEnd<'_>, arguments: &ArgumentsRecorder) -> AuditRecord {
    let &CallEnd {
        context,
        input,
        input_hash,
        result_bytes,
        catalog_plugin,
        kind,
        name,
        outcome,
        was_admitted: _,
        took,
    } = call;
    let (audited, reason) = audited_outcome(outcome);
    let mut record = in_context(context, kind, audited);
    record.reason = reason;
    record.plugin = Some(catalog_plugin.id().to_string());
    record.digest = Some(catalog_plugin.plugin().digest().to_string());
    record.name = name.map(ToString::to_string);
    if let CallInput::Uri(uri) = input {
        record.uri = Some(short(uri).to_owned());
    }
    record.arguments = Some(match took {
        Some(_) => arguments.record(input, input_hash),
        None => ArgumentsRecorder::size(input),
    });
    record.result_bytes = result_bytes;
    record.duration_ms = took.map(milliseconds);
    record
}

/// The longest name or URI in the record of a refused call, in bytes.
const MAX_REFUSED_NAME_BYTES: usize = 256;

/// The record of a call to something that doesn't exist, or that the caller's roles hide.
pub(super) fn of_refused_name(refused: &RefusedName<'_>) -> AuditRecord {
    let &RefusedName { context, kind, name } = refused;
    let mut record = in_context(context, kind, AuditOutcome::Denied);
    record.reason = Some("unknown");
    let name = Some(name[..name.floor_char_boundary(MAX_REFUSED_NAME_BYTES)].to_owned());
    match kind {
        CallKind::Resource => record.uri = name,
        // For a completion, it can also be the text of a template.
        CallKind::Tool | CallKind::Prompt | CallKind::Completion => record.name = name,
    }
    record
}

fn in_context(context: &CallContext, kind: CallKind, outcome: AuditOutcome) -> AuditRecord {
    let event = match kind {
        CallKind::Tool => AuditEvent::ToolCall,
        CallKind::Resource => AuditEvent::ResourceRead,
        CallKind::Prompt => AuditEvent::PromptGet,
        CallKind::Completion => AuditEvent::Completion,
    };
    let mut record = AuditRecord::new(event, outcome);
    record.principal = Some(principal(&context.caller));
    record.client = context.client.as_ref().map(|client| AuditClient {
        name: short(&client.name).to_owned(),
        version: short(&client.version).to_owned(),
    });
    record.session = context.session.as_deref().map(str::to_owned);
    record.trace_id = context.trace_id().map(|id| id.to_string());
    record
}

pub(super) fn principal(caller: &Caller) -> AuditPrincipal {
    let of = |kind| AuditPrincipal { kind, name: None, issuer: None, subject: None, address: None };
    match caller {
        Caller::Local => of(PrincipalKind::Local),
        Caller::Named(name) => AuditPrincipal { name: Some(name.to_string()), ..of(PrincipalKind::Token) },
        Caller::Subject(subject) => AuditPrincipal {
            name: Some(subject.name().to_owned()),
            issuer: Some(subject.issuer().to_owned()),
            subject: Some(subject.subject().to_owned()),
            ..of(PrincipalKind::Subject)
        },
        Caller::Certificate(name) => {
            AuditPrincipal { name: Some(name.to_string()), ..of(PrincipalKind::Certificate) }
        }
        Caller::User(user) => {
            AuditPrincipal { name: Some(user.name().to_owned()), ..of(PrincipalKind::User) }
        }
        Caller::Operator(address) => {
            AuditPrincipal { address: Some(address.to_string()), ..of(PrincipalKind::Operator) }
        }
        Caller::Address(address) => {
            AuditPrincipal { address: Some(address.to_string()), ..of(PrincipalKind::Anonymous) }
        }
    }
}

/// The outcome of a call, and its reason as a stable word.
fn audited_outcome(outcome: CallOutcome<'_>) -> (AuditOutcome, Option<&'static str>) {
    let mut reason = outcome.kind();
    let audited = match outcome {
        CallOutcome::Done => return (AuditOutcome::Allowed, None),
        CallOutcome::NeedInput => AuditOutcome::Allowed,
        CallOutcome::ToolError => AuditOutcome::Failed,
        CallOutcome::InvalidArguments => AuditOutcome::Denied,
        CallOutcome::Failed(error) => {
            reason = error.refusal_reason().unwrap_or(reason);
            match error {
                CallError::NotGranted(_) => AuditOutcome::Denied,
                CallError::CpuTime(_)
                | CallError::Memory(_)
                | CallError::TableElements(_)
                | CallError::Handles(_)
                | CallError::TooLarge(_)
                | CallError::Busy(_)
                | CallError::RateLimited(_)
                | CallError::TimeoutBeforeStart(_) => AuditOutcome::Limited,
                CallError::Timeout(_) => AuditOutcome::TimedOut,
                CallError::Cancelled => AuditOutcome::Cancelled,
                CallError::Refused(_)
                | CallError::Trap(_)
                | CallError::InvalidOutput(_)
                | CallError::Directory(_)
                | CallError::Replaced
                | CallError::Internal(_) => AuditOutcome::Failed,
            }
        }
    };
    (audited, Some(reason))
}
