//! Spans by OpenTelemetry's semantic conventions: those for MCP (open-telemetry/semantic-conventions-genai 0.1.0) for
//! requests, those for HTTP clients (1.43) for plugins' requests. Names of our own start with `moongate.`.
//!
//! Arguments, results, and the path and query of a plugin's request are never part of a span.

use std::borrow::Cow;
use std::time::{Duration, SystemTime};

use moongate_model::caller::Caller;
use moongate_model::json;
use moongate_model::trace_context::{OutgoingRequestEnd, Sampling, Span, SpanContext};
use moongate_protocol::dispatch::{
    CallEnd, CallOutcome, NetworkTransport, RequestEnd, SessionEnd, TracedRequest,
};
use opentelemetry::trace::{
    Link, SpanContext as ExportedContext, SpanId, SpanKind, Status, TraceFlags, TraceId, TraceState,
};
use opentelemetry::{InstrumentationScope, KeyValue};
use opentelemetry_sdk::trace::{SpanData, SpanEvents, SpanLinks};

/// The longest text from a client or plugin in an attribute, in bytes.
const MAX_TEXT_BYTES: usize = 1024;

/// The methods of HTTP that attributes can name. Others are `_OTHER`, as the conventions require.
const HTTP_METHODS: [&str; 10] =
    ["CONNECT", "DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT", "QUERY", "TRACE"];

/// The scope of all spans and metrics.
pub(crate) fn scope() -> InstrumentationScope {
    InstrumentationScope::builder("moongate").with_version(env!("CARGO_PKG_VERSION")).build()
}

/// The facts that all spans have.
struct SpanStart {
    span: Span,
    kind: SpanKind,
    name: Cow<'static, str>,
    /// True if the parent belongs to another process.
    has_remote_parent: bool,
    took: Duration,
}

/// The span of a request.
pub(crate) fn of_request(request: &RequestEnd<'_>, traced: &TracedRequest) -> SpanData {
    let TracedRequest { span, link, id, caller, session, prompt, uri } = traced;
    let mut attributes = request_attributes(request);
    let add = &mut attributes;
    // A string without its quotes, a number as it is.
    let id = json::string_value(id.as_json()).unwrap_or(Cow::Borrowed(id.as_json()));
    push_text(add, "jsonrpc.request.id", &id);
    if let Some(prompt) = prompt {
        add.push(KeyValue::new("gen_ai.prompt.name", prompt.to_shared()));
    }
    if let Some(uri) = uri {
        // Without a query, which is made of arguments.
        push_text(add, "mcp.resource.uri", uri.split(['?', '#']).next().unwrap_or_default());
    }
    if let Some(session) = session {
        push_text(add, "mcp.session.id", session);
    }
    push_text(add, "moongate.caller", &caller.to_string());
    match caller {
        Caller::Address(address) => add.push(KeyValue::new("client.address", address.to_string())),
        Caller::Local
        | Caller::Named(_)
        | Caller::Subject(_)
        | Caller::Certificate(_)
        | Caller::User(_)
        | Caller::Operator(_) => {}
    }
    let method = request.method.unwrap_or("_OTHER");
    let name = match request.tool.or(prompt.as_ref()) {
        Some(item) => Cow::Owned(format!("{method} {item}")),
        None => Cow::Borrowed(method),
    };
    let start =
        SpanStart { span: *span, kind: SpanKind::Server, name, has_remote_parent: true, took: request.took };
    let mut data = span_data(start, attributes, status(request.error));
    if let Some(link) = link {
        data.links.links.push(Link::with_context(exported(*link)));
    }
    data
}

/// The attributes of a request that its span and its duration have.
pub(crate) fn request_attributes(request: &RequestEnd<'_>) -> Vec<KeyValue> {
    let &RequestEnd { method, tool, revision, transport, error, took: _, traced: _ } = request;
    let mut attributes = Vec::with_capacity(12);
    attributes.push(KeyValue::new("mcp.method.name", method.unwrap_or("_OTHER")));
    if method == Some("tools/call") {
        attributes.push(KeyValue::new("gen_ai.operation.name", "execute_tool"));
    }
    if let Some(tool) = tool {
        attributes.push(KeyValue::new("gen_ai.tool.name", tool.to_shared()));
    }
    if let Some(revision) = revision {
        attributes.push(KeyValue::new("mcp.protocol.version", revision));
    }
    push_transport(&mut attributes, transport);
    if let Some(error) = error {
        attributes.push(KeyValue::new("error.type", error));
        if error.parse::<i64>().is_ok() {
            attributes.push(KeyValue::new("rpc.response.status_code", error));
        }
    }
    attributes
}

/// The attributes of the duration of a session.
pub(crate) fn session_attributes(session: &SessionEnd) -> Vec<KeyValue> {
    let &SessionEnd { revision, transport, took: _ } = session;
    let mut attributes = Vec::with_capacity(3);
    attributes.push(KeyValue::new("mcp.protocol.version", revision));
    push_transport(&mut attributes, transport);
    attributes
}

fn push_transport(attributes: &mut Vec<KeyValue>, transport: NetworkTransport) {
    attributes.push(KeyValue::new("network.transport", transport.as_str()));
    if let Some(protocol) = transport.protocol_name() {
        attributes.push(KeyValue::new("network.protocol.name", protocol));
    }
}

/// The span of a plugin's run.
pub(crate) fn of_run(call: &CallEnd<'_>, span: Span, took: Duration) -> SpanData {
    let plugin = call.catalog_plugin.id();
    let outcome = call.outcome.kind();
    let cpu_time = call.context.cpu_time.used();
    let mut attributes = vec![
        KeyValue::new("moongate.plugin.name", plugin.to_shared()),
        KeyValue::new("moongate.plugin.digest", call.catalog_plugin.plugin().digest().to_string()),
        KeyValue::new("moongate.call.kind", call.kind.as_str()),
        KeyValue::new("moongate.call.outcome", outcome),
        KeyValue::new("moongate.call.cpu_time", cpu_time.as_secs_f64()),
    ];
    let error = match call.outcome {
        CallOutcome::Done | CallOutcome::NeedInput => None,
        CallOutcome::ToolError | CallOutcome::InvalidArguments | CallOutcome::Failed(_) => Some(outcome),
    };
    if let Some(error) = error {
        attributes.push(KeyValue::new("error.type", error));
    }
    let name = Cow::Owned(format!("run {plugin}"));
    let start = SpanStart { span, kind: SpanKind::Internal, name, has_remote_parent: false, took };
    span_data(start, attributes, status(error))
}

/// The span of a plugin's request to another server.
pub(crate) fn of_outgoing_request(request: &OutgoingRequestEnd<'_>, span: Span) -> SpanData {
    let method = http_method(request.method);
    let mut attributes = outgoing_attributes(request);
    attributes.push(KeyValue::new("moongate.plugin.name", request.plugin.to_shared()));
    let &OutgoingRequestEnd { scheme, host, port, .. } = request;
    let port = port.map(|port| format!(":{port}")).unwrap_or_default();
    // Many servers expect a credential in the path.
    push_text(&mut attributes, "url.full", &format!("{scheme}://{host}{port}/REDACTED"));
    let name = Cow::Borrowed(if method == "_OTHER" { "HTTP" } else { method });
    let start =
        SpanStart { span, kind: SpanKind::Client, name, has_remote_parent: false, took: request.took };
    let error = outgoing_error(request);
    let status = if error.is_some() { Status::error("") } else { Status::Unset };
    span_data(start, attributes, status)
}

/// The attributes of a plugin's request that its span and its duration have.
pub(crate) fn outgoing_attributes(request: &OutgoingRequestEnd<'_>) -> Vec<KeyValue> {
    let &OutgoingRequestEnd { method, scheme, host, port, status, .. } = request;
    let mut attributes = Vec::with_capacity(8);
    attributes.push(KeyValue::new("http.request.method", http_method(method)));
    push_text(&mut attributes, "server.address", host);
    let port = port.or(match scheme {
        "http" => Some(80),
        "https" => Some(443),
        _ => None,
    });
    if let Some(port) = port {
        attributes.push(KeyValue::new("server.port", i64::from(port)));
    }
    if let Some(status) = status {
        attributes.push(KeyValue::new("http.response.status_code", i64::from(status)));
    }
    if let Some(error) = outgoing_error(request) {
        attributes.push(KeyValue::new("error.type", error));
    }
    attributes
}

/// The error of a plugin's request: that of the response, or the reason why there is none.
fn outgoing_error(request: &OutgoingRequestEnd<'_>) -> Option<Cow<'static, str>> {
    let status = request.status.filter(|status| *status >= 400);
    request.error.map(Cow::Borrowed).or_else(|| status.map(|status| Cow::Owned(status.to_string())))
}

fn http_method(method: &str) -> &'static str {
    HTTP_METHODS.into_iter().find(|known| *known == method).unwrap_or("_OTHER")
}

fn status(error: Option<&'static str>) -> Status {
    if error.is_some() { Status::error("") } else { Status::Unset }
}

fn push_text(attributes: &mut Vec<KeyValue>, key: &'static str, text: &str) {
    let end = text.floor_char_boundary(MAX_TEXT_BYTES);
    attributes.push(KeyValue::new(key, text[..end].to_owned()));
}

fn span_data(start: SpanStart, attributes: Vec<KeyValue>, status: Status) -> SpanData {
    let SpanStart { span, kind, name, has_remote_parent, took } = start;
    let end_time = SystemTime::now();
    SpanData {
        span_context: exported(span.context),
        parent_span_id: span.parent.map_or(SpanId::INVALID, |id| SpanId::from_bytes(id.to_bytes())),
        parent_span_is_remote: has_remote_parent && span.parent.is_some(),
        span_kind: kind,
        name,
        start_time: end_time.checked_sub(took).unwrap_or(end_time),
        end_time,
        attributes,
        dropped_attributes_count: 0,
        events: SpanEvents::default(),
        links: SpanLinks::default(),
        status,
        instrumentation_scope: scope(),
    }
}

fn exported(context: SpanContext) -> ExportedContext {
    let flags = match context.sampling {
        Sampling::Sampled => TraceFlags::SAMPLED,
        Sampling::NotSampled => TraceFlags::default(),
    };
    let trace_id = TraceId::from_bytes(context.trace_id.to_bytes());
    let span_id = SpanId::from_bytes(context.span_id.to_bytes());
    ExportedContext::new(trace_id, span_id, flags, false, TraceState::NONE)
}
