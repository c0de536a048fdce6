//! A request's `params`: text that is checked strictly once and never turned into a tree (2025-11-25, basic).
//!
//! The gateway reads the members that it needs; a plugin gets the text. Duplicate keys are rejected at any depth, so
//! that both read the same.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

use crate::call::LogLevel;
use crate::caller_budget::BudgetShare;
use crate::json::{self, Json, JsonPart};
use crate::text::quotable;
use crate::trace_context::{CallTrace, Span, SpanContext};

use super::errors::ProtocolError;

/// The members of `params` that have a meaning.
const MEMBERS: [&str; 15] = [
    "_meta",
    "argument",
    "arguments",
    "capabilities",
    "clientInfo",
    "context",
    "cursor",
    "inputResponses",
    "level",
    "name",
    "notifications",
    "protocolVersion",
    "ref",
    "requestState",
    "uri",
];

/// The members of `_meta` that have a meaning.
pub(super) const META_MEMBERS: [&str; 6] = [
    super::envelope::VERSION_KEY,
    super::envelope::CAPABILITIES_KEY,
    super::envelope::CLIENT_KEY,
    super::envelope::LEVEL_KEY,
    super::notifier::PROGRESS_TOKEN_KEY,
    TRACE_PARENT_KEY,
];

/// The member of `_meta` with the trace context (W3C Trace Context). The HTTP header has the same name.
const TRACE_PARENT_KEY: &str = "traceparent";

/// The maximum number of arguments of a prompt or of a completion's context.
const MAX_STRING_ARGUMENTS: usize = 1_000;

/// The parameters of one request: an object, by name.
#[derive(Debug, Clone, Default)]
pub struct Params {
    /// The object as written, on one line. `None` means no parameters.
    text: Option<Json>,
    members: MemberSpans<{ MEMBERS.len() }>,
    meta: MemberSpans<{ META_MEMBERS.len() }>,
    /// The position in a trace that the HTTP request names.
    http_parent: Option<SpanContext>,
    /// The request's span. `None` if the gateway adds no spans.
    span: Option<Span>,
    /// The memory that the request may use.
    _memory: Option<Arc<BudgetShare>>,
}

/// The positions of members in the text.
type MemberSpans<const N: usize> = [Option<Range<usize>>; N];

impl Params {
    /// Reads the parameters. Absent ones are an empty object.
    ///
    /// # Errors
    /// -32602: the parameters aren't an object, or have a duplicate key.
    pub fn read(part: Option<JsonPart<'_>>) -> Result<Self, ProtocolError> {
        let Some(part) = part else { return Ok(Self::default()) };
        let text = part
            .to_strict_json()
            .map_err(|error| ProtocolError::params("", &format!("`params` can't be read: {error}")))?;
        if !text.is_object() {
            return Err(ProtocolError::params("", "`params` must be an object"));
        }
        let members = member_spans(text.get(), text.get(), MEMBERS);
        let meta = members[0].clone().map(|meta| member_spans(text.get(), &text.get()[meta], META_MEMBERS));
        Ok(Self { text: Some(text), members, meta: meta.unwrap_or_default(), ..Self::default() })
    }

    /// The same parameters, in an HTTP request with this `traceparent` header.
    #[must_use]
    pub fn with_trace_parent(self, header: &str) -> Self {
        Self { http_parent: SpanContext::parse(header), ..self }
    }

    /// The same parameters, holding a share of the memory budget until they are dropped.
    #[must_use]
    pub fn with_memory(self, share: Arc<BudgetShare>) -> Self {
        Self { _memory: Some(share), ..self }
    }

    /// All parameters as written.
    pub(super) fn text(&self) -> &str {
        self.text.as_ref().map_or("{}", Json::get)
    }

    /// The text of a member.
    pub(super) fn get(&self, key: &str) -> Option<&str> {
        let place = MEMBERS.iter().position(|member| *member == key);
        let span = self.members[place.expect("each member that is read is listed")].clone();
        span.map(|span| &self.text()[span])
    }

    /// A string member, such as the name that a header repeats.
    #[must_use]
    pub fn name(&self, key: &str) -> Option<Cow<'_, str>> {
        self.get(key).and_then(json::string_value)
    }

    /// Reports whether the request continues an earlier one.
    pub(super) fn continues_earlier_request(&self) -> bool {
        self.get("inputResponses").is_some() || self.get("requestState").is_some()
    }

    /// A required string.
    pub(crate) fn string(&self, key: &str) -> Result<Cow<'_, str>, ProtocolError> {
        match self.get(key).map(json::string_value) {
            Some(Some(text)) => Ok(text),
            Some(None) => {
                Err(ProtocolError::params(&format!("/{key}"), &format!("`{key}` must be a string")))
            }
            None => Err(ProtocolError::params(&format!("/{key}"), &format!("`{key}` is missing"))),
        }
    }

    /// The text of a member of `_meta`.
    pub(super) fn meta(&self, key: &str) -> Option<&str> {
        let place = META_MEMBERS.iter().position(|member| *member == key);
        let span = self.meta[place.expect("each member that is read is listed")].clone();
        span.map(|span| &self.text()[span])
    }

    /// The client's position in a trace: that in `_meta` or, without one, that of the HTTP request.
    pub(crate) fn trace_parent(&self) -> Option<SpanContext> {
        let own = self.meta(TRACE_PARENT_KEY).and_then(json::string_value);
        own.as_deref().and_then(SpanContext::parse).or(self.http_parent)
    }

    /// The position that the HTTP request names, if `_meta` names another one.
    pub(crate) fn trace_link(&self) -> Option<SpanContext> {
        self.http_parent.filter(|_| self.trace_parent() != self.http_parent)
    }

    /// Records the request's span.
    pub(crate) fn set_span(&mut self, span: Span) {
        self.span = Some(span);
    }

    /// The trace of a new run of a plugin.
    pub(super) fn call_trace(&self) -> Option<CallTrace> {
        match self.span {
            Some(span) => Some(CallTrace { trace_id: span.context.trace_id, span: Some(span.child()) }),
            None => self.trace_parent().map(|parent| CallTrace { trace_id: parent.trace_id, span: None }),
        }
    }

    /// The level of `logging/setLevel`.
    ///
    /// # Errors
    /// -32602: the level is missing or not one of the eight.
    pub fn level(&self) -> Result<LogLevel, ProtocolError> {
        let name = self.string("level")?;
        LogLevel::from_name(&name).ok_or_else(|| {
            ProtocolError::params(
                "/level",
                "`level` must be debug, info, notice, warning, error, critical, alert or emergency",
            )
        })
    }

    /// `_meta` as text, if it is an object.
    pub(super) fn meta_text(&self) -> Option<Json> {
        let meta = self.get("_meta").filter(|meta| meta.starts_with('{'))?;
        Some(Json::parse(meta).expect("a part of valid JSON"))
    }

    /// Arguments whose values are all strings: of a prompt, or the context of a completion.
    pub(super) fn strings(text: Option<&str>, at: &str) -> Result<Vec<(String, String)>, ProtocolError> {
        let Some(text) = text.filter(|text| *text != "null") else { return Ok(Vec::new()) };
        if json::type_of_text(text) != "object" {
            return Err(ProtocolError::params(at, "the arguments must be an object"));
        }
        let mut all = Vec::new();
        json::visit_members(text, |key, value| {
            if all.len() == MAX_STRING_ARGUMENTS {
                let message = format!("at most {MAX_STRING_ARGUMENTS} arguments are allowed");
                return Err(ProtocolError::params(at, &message));
            }
            let Some(string) = json::string_value(value) else {
                let kind = json::type_of_text(value);
                return Err(ProtocolError::params(
                    &format!("{at}/{}", json::pointer_step(&key)),
                    &format!("`{}` must be a string, not {kind}", quotable(&key)),
                ));
            };
            all.push((key.into_owned(), string.into_owned()));
            Ok(())
        })?;
        Ok(all)
    }
}

/// The positions in `text` of the members of `object`, which is a part of it.
fn member_spans<const N: usize>(text: &str, object: &str, keys: [&str; N]) -> MemberSpans<N> {
    json::members(object, keys).map(|member| {
        let member = member?;
        let start = member.as_ptr().addr() - text.as_ptr().addr();
        Some(start..start + member.len())
    })
}
