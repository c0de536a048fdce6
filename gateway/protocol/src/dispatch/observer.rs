//! Observation of plugin calls and MCP requests: their name, outcome and duration.
//!
//! [`Observer`] is the only such interface: the dispatcher reports calls to it, and the server reports requests.
//! [`RequestSpan`] makes sure that each of them is reported exactly once, even if its future is dropped.

use std::borrow::Cow;
use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::{Map, Value, json};

use crate::call::{CallContext, CallError};
use crate::caller::Caller;
use crate::catalog::CatalogPlugin;
use crate::jsonrpc::Id;
use crate::limiter::CountedAs;
use crate::names::{PublicName, ToolName};
use crate::trace_context::{Span, SpanContext};

use super::DispatchError;
use super::access_log::{AccessLog, is_logged};
use super::has_outcome::HasOutcome;

/// The part of an input that is hashed at once, in bytes: it takes less than a millisecond.
const HASH_STEP_BYTES: usize = 64 * 1024;

/// The time that a call waits for the observer.
const ADMISSION_TIMEOUT: Duration = Duration::from_secs(1);

/// The interval at which it asks.
const ADMISSION_INTERVAL: Duration = Duration::from_millis(10);

/// Receives each call and each request once, when it has ended.
///
/// The methods run on the path of every call and every response, so they must return at once.
pub trait Observer: fmt::Debug + Send + Sync {
    /// A plugin call was admitted and runs. Its end follows, with [`CallEnd::was_admitted`].
    fn call_admitted(&self, _call: &AdmittedCall<'_>) {}

    /// A plugin call ended.
    fn call_ended(&self, call: &CallEnd<'_>);

    /// An MCP request was read. `parent` is the client's position in a trace. `None` if this observer traces nothing;
    /// otherwise the request's span, which is recorded only if it is sampled.
    fn request_begun(&self, _parent: Option<SpanContext>) -> Option<Span> {
        None
    }

    /// An MCP request was answered or cancelled.
    fn request_ended(&self, request: &RequestEnd<'_>);

    /// A session of a handshake revision ended.
    fn session_ended(&self, _session: &SessionEnd) {}

    /// Reports whether a call of this caller may run now. An observer that must see every call refuses them while it
    /// can't keep what it sees.
    fn admission(&self, _caller: &Caller) -> CallAdmission {
        CallAdmission::Admitted
    }

    /// Begins a hash of the input of a call that is about to run. `None` if the observer needs none.
    fn input_hasher(&self) -> Option<Box<dyn InputHasher>> {
        None
    }

    /// A request named something that nothing has that its caller can see.
    fn name_refused(&self, _refused: &RefusedName<'_>) {}

    /// An HTTP caller wasn't authenticated. `reason` is a stable word.
    fn authentication_failed(&self, _address: IpAddr, _reason: &'static str) {}

    /// A request was refused before it reached a plugin. Well-behaved clients cause few of these.
    fn request_refused(&self, _caller: &Caller, _why: RefusedRequest) {}
}

/// The reason that a request was refused, which can be an attack.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RefusedRequest {
    /// Its `requestState` was changed, has expired, was used before, or belongs to another caller or request.
    RequestState,
    /// Its session belongs to another caller.
    ForeignSession,
    /// One of its headers contradicts its body.
    HeaderMismatch,
    /// Its `Host` header names another host.
    Host,
    /// Its `Origin` header names a web page that isn't allowed to call.
    Origin,
}

impl RefusedRequest {
    /// A stable word for logs.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::RequestState => "request_state",
            Self::ForeignSession => "foreign_session",
            Self::HeaderMismatch => "header_mismatch",
            Self::Host => "host",
            Self::Origin => "origin",
        }
    }
}

/// The answer of an observer to a call that is about to run. Of the answers of several observers, the greatest counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum CallAdmission {
    /// It may run.
    Admitted,
    /// It can probably run soon.
    Later,
    /// It is refused.
    Refused,
}

/// Hashes the input of a call, in steps: large inputs take milliseconds, and other requests get their turn meanwhile.
pub trait InputHasher: Send {
    /// Adds the next part of [`CallInput::text`].
    fn update(&mut self, part: &[u8]);

    /// The hash, as [`CallEnd::input_hash`].
    fn finish(self: Box<Self>) -> String;
}

/// A request for something that nothing has that its caller can see.
#[derive(Debug, Clone, Copy)]
pub struct RefusedName<'a> {
    /// The context, with the caller.
    pub context: &'a CallContext,
    /// The kind of call.
    pub kind: CallKind,
    /// The name or URI in the request.
    pub name: &'a str,
}

/// The input of a call.
#[derive(Debug, Clone, Copy)]
pub enum CallInput<'a> {
    /// The arguments of a tool: the text of an object.
    Arguments(&'a str),
    /// The arguments of a prompt.
    Texts(&'a [(String, String)]),
    /// The URI of a resource.
    Uri(&'a str),
    /// The argument to complete: its name and its text so far.
    Completed(&'a str, &'a str),
}

impl<'a> CallInput<'a> {
    /// The arguments as JSON text, or the URI itself.
    #[must_use]
    pub fn text(self) -> Cow<'a, str> {
        match self {
            Self::Arguments(text) | Self::Uri(text) => Cow::Borrowed(text),
            Self::Texts(texts) => {
                let texts = texts.iter().map(|(name, text)| (name.clone(), Value::from(text.as_str())));
                Cow::Owned(Value::Object(texts.collect::<Map<_, _>>()).to_string())
            }
            Self::Completed(name, text) => Cow::Owned(json!({ name: text }).to_string()),
        }
    }

    /// The size of the arguments, in bytes: that of their text, or of their names and values.
    #[must_use]
    pub fn bytes(self) -> usize {
        match self {
            Self::Arguments(text) | Self::Uri(text) => text.len(),
            Self::Texts(texts) => texts.iter().map(|(name, text)| name.len() + text.len()).sum(),
            Self::Completed(name, text) => name.len() + text.len(),
        }
    }
}

/// A plugin call that begins to run.
#[derive(Debug, Clone, Copy)]
pub struct AdmittedCall<'a> {
    /// The plugin.
    pub catalog_plugin: &'a CatalogPlugin,
    /// The kind of call.
    pub kind: CallKind,
    /// The public name of the tool or prompt.
    pub name: Option<&'a PublicName>,
}

/// An ended plugin call: its name exists.
#[derive(Debug, Clone, Copy)]
pub struct CallEnd<'a> {
    /// The context, with the caller.
    pub context: &'a CallContext,
    /// The plugin.
    pub catalog_plugin: &'a CatalogPlugin,
    /// The kind of call.
    pub kind: CallKind,
    /// The public name of the tool or prompt. Resources have none here, because the number of URIs is unbounded.
    pub name: Option<&'a PublicName>,
    /// The input.
    pub input: CallInput<'a>,
    /// The hash of the input, as the observer's [`InputHasher`] made it. `None` if the call ended before.
    pub input_hash: Option<&'a str>,
    /// The outcome.
    pub outcome: CallOutcome<'a>,
    /// The size of the result's content, in bytes. `None` without a result.
    pub result_bytes: Option<u64>,
    /// True if [`Observer::call_admitted`] received it.
    pub was_admitted: bool,
    /// The time since the call was admitted. `None` means that the plugin wasn't called.
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
    /// The rest of its span. `None` if it isn't recorded.
    pub traced: Option<&'a TracedRequest>,
}

/// An ended session of a handshake revision.
#[derive(Debug, Clone, Copy)]
pub struct SessionEnd {
    /// The revision.
    pub revision: &'static str,
    /// The transport that opened it.
    pub transport: NetworkTransport,
    /// The time since it was opened. A session that ended because it was idle counts until its last activity.
    pub took: Duration,
}

/// The facts about a request that only its span has.
#[derive(Debug, Clone)]
pub struct TracedRequest {
    /// The span.
    pub span: Span,
    /// The position in a trace that the HTTP request names, if `_meta` names another one.
    pub link: Option<SpanContext>,
    /// The id of the request.
    pub id: Id,
    /// The caller.
    pub caller: Caller,
    /// A name for the session, from which its id can't be found out.
    pub session: Option<Arc<str>>,
    /// The prompt to fill in. `None` if the catalog doesn't have it.
    pub prompt: Option<PublicName>,
    /// The URI of the resource to read, if a plugin owns it.
    pub uri: Option<String>,
}

/// OpenTelemetry's `network.transport`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum NetworkTransport {
    /// A pair of pipes.
    Pipe,
    /// HTTP over TCP.
    Http,
    /// A WebSocket over TCP.
    WebSocket,
    /// A connection to a Unix socket.
    Unix,
}

impl NetworkTransport {
    /// The value of `network.transport`.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pipe => "pipe",
            Self::Http | Self::WebSocket => "tcp",
            Self::Unix => "unix",
        }
    }

    /// The value of `network.protocol.name`. `None` if nothing is between MCP and the transport.
    #[must_use]
    pub fn protocol_name(self) -> Option<&'static str> {
        match self {
            Self::Http => Some("http"),
            Self::WebSocket => Some("websocket"),
            Self::Pipe | Self::Unix => None,
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
    /// No call: the arguments don't match the schema.
    InvalidArguments,
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
            Self::InvalidArguments => "invalid_arguments",
            Self::Failed(error) => error.kind(),
        }
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

/// What a call uses of its plugin.
#[derive(Debug, Clone, Copy)]
pub(super) enum CalledItem<'a> {
    /// A tool, by its public name and the plugin's own.
    Tool { public: &'a PublicName, own: &'a ToolName },
    /// A prompt, by its public name.
    Prompt(&'a PublicName),
    /// A resource.
    Resource,
    /// The completion of an argument.
    Completion,
}

impl<'a> CalledItem<'a> {
    fn kind(self) -> CallKind {
        match self {
            Self::Tool { .. } => CallKind::Tool,
            Self::Prompt(_) => CallKind::Prompt,
            Self::Resource => CallKind::Resource,
            Self::Completion => CallKind::Completion,
        }
    }

    fn name(self) -> Option<&'a PublicName> {
        match self {
            Self::Tool { public, .. } | Self::Prompt(public) => Some(public),
            Self::Resource | Self::Completion => None,
        }
    }
}

/// A plugin call, observed from before it waits for its permit.
#[derive(Debug)]
pub(super) struct PluginCall<'a> {
    catalog_plugin: &'a CatalogPlugin,
    context: &'a CallContext,
    called: CalledItem<'a>,
    input: CallInput<'a>,
    input_hash: Option<String>,
    admitted: Option<Instant>,
    result_bytes: Option<u64>,
    access_log: &'a AccessLog,
}

impl<'a> RequestSpan<PluginCall<'a>> {
    pub(super) fn of_call(
        observer: Option<&Arc<dyn Observer>>,
        access_log: &'a AccessLog,
        catalog_plugin: &'a CatalogPlugin,
        context: &'a CallContext,
        called: CalledItem<'a>,
        input: CallInput<'a>,
    ) -> Self {
        let call = PluginCall {
            catalog_plugin,
            context,
            called,
            input,
            input_hash: None,
            admitted: None,
            result_bytes: None,
            access_log,
        };
        Self::new(observer, is_logged(&context.caller), call)
    }

    /// Reports whether the observer lets the call run. If it can soon, waits for that, up to a limit.
    pub(super) async fn may_run(&self) -> bool {
        let Some(observer) = &self.observer else { return true };
        let begun = tokio::time::Instant::now();
        loop {
            match observer.admission(&self.observed.context.caller) {
                CallAdmission::Admitted => return true,
                CallAdmission::Later if begun.elapsed() < ADMISSION_TIMEOUT => {
                    tokio::time::sleep(ADMISSION_INTERVAL).await;
                }
                CallAdmission::Later | CallAdmission::Refused => return false,
            }
        }
    }

    pub(super) fn catalog_plugin(&self) -> &'a CatalogPlugin {
        self.observed.catalog_plugin
    }

    /// What the rates of calls count.
    pub(super) fn counted_as(&self) -> CountedAs<'a> {
        match self.observed.called {
            CalledItem::Tool { own, .. } => CountedAs::Tool(own),
            CalledItem::Prompt(_) | CalledItem::Resource => CountedAs::Other,
            CalledItem::Completion => CountedAs::Completion,
        }
    }

    /// Reports a failure.
    pub(super) fn fail(mut self, error: CallError) -> DispatchError {
        self.end(CallOutcome::Failed(&error));
        DispatchError::call(self.observed.catalog_plugin, error)
    }

    /// Reports that the plugin isn't called, because the arguments are invalid.
    pub(super) fn refuse_arguments(mut self) {
        self.end(CallOutcome::InvalidArguments);
    }

    /// The call has its permit.
    pub(super) fn admitted(&mut self) {
        let Some(call) = self.observed() else { return };
        call.admitted = Some(Instant::now());
        let (catalog_plugin, called) = (call.catalog_plugin, call.called);
        if let Some(observer) = &self.observer {
            let (kind, name) = (called.kind(), called.name());
            observer.call_admitted(&AdmittedCall { catalog_plugin, kind, name });
        }
    }

    /// Hashes the input of a call that is about to run, if the observer needs it.
    pub(super) async fn hash_input(&mut self) {
        let Some(mut hasher) = self.observer.as_ref().and_then(|observer| observer.input_hasher()) else {
            return;
        };
        let text = self.observed.input.text();
        for (at, part) in text.as_bytes().chunks(HASH_STEP_BYTES).enumerate() {
            if at > 0 {
                tokio::task::yield_now().await;
            }
            hasher.update(part);
        }
        self.observed.input_hash = Some(hasher.finish());
    }

    /// Reports the answer.
    pub(super) fn finish<T: HasOutcome>(mut self, answer: Result<T, CallError>) -> Result<T, DispatchError> {
        if let Some(call) = self.observed() {
            call.result_bytes = answer.as_ref().ok().map(HasOutcome::content_bytes);
        }
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
        let &Self { catalog_plugin, context, called, input, ref input_hash, admitted, result_bytes, .. } =
            self;
        let input_hash = input_hash.as_deref();
        let was_admitted = admitted.is_some();
        // Checking arguments isn't running.
        let admitted = admitted.filter(|_| outcome != CallOutcome::InvalidArguments);
        let took = admitted.map(|admitted| admitted.elapsed());
        let (kind, name) = (called.kind(), called.name());
        let end = CallEnd {
            context,
            catalog_plugin,
            kind,
            name,
            input,
            input_hash,
            outcome,
            result_bytes,
            was_admitted,
            took,
        };
        if let Some(observer) = observer {
            observer.call_ended(&end);
        }
        if is_logged(&context.caller) {
            self.access_log.log_call(&end);
        }
    }

    fn dropped(&self) -> CallOutcome<'static> {
        CallOutcome::Failed(&CallError::Cancelled)
    }
}
