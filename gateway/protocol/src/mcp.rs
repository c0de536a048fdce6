//! The Model Context Protocol in every revision (2025-11-25, basic; 2026-07-28, basic and basic/versioning).
//!
//! This module turns a request of any revision into a call through [`crate::dispatch`], and the outcome into that
//! revision's JSON. It doesn't depend on transports and keeps no sessions: the caller of [`Protocol::start`] has
//! already determined the revision and the principal, and passes them in a [`RequestContext`].

use std::num::NonZeroU32;
use std::pin::Pin;
use std::sync::Arc;

use futures_util::FutureExt as _;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::call::{CallContext, CallSink, Capabilities, ClientInfo};
use crate::caller::Caller;
use crate::catalog::Catalog;
use crate::dispatch::Dispatcher;
use crate::json::Json;
use crate::names::Principal;
use crate::shared_store::SharedOnce;
use crate::unread_responses::ResultText;

mod call_catalog;
mod calls;
mod changes;
pub mod envelope;
pub mod errors;
#[cfg(any(test, feature = "fuzz"))]
mod fuzz;
mod initialize;
mod identity;
mod input;
mod lists;
mod method;
mod notifier;
mod params;
mod render;
mod revision;
mod seal;
mod structured;

pub(crate) use changes::too_many_subscriptions;
pub use changes::{NotificationStream, session_notification};
pub use errors::{ProtocolError, RequestError};
#[cfg(any(test, feature = "fuzz"))]
pub use fuzz::{fuzz_cursor, fuzz_params};
pub use identity::Identity;
pub use initialize::InitializeParams;
pub use input::{
    MAX_OPEN_QUESTIONS, Peer, PendingQuestion, QUESTION_TIMEOUT, QuestionError, RoundsOutcome,
    UNUSABLE_ANSWERS_KEY,
};
#[cfg(any(test, feature = "fuzz"))]
pub use input::{fuzz_question, fuzz_state};
pub use method::Method;
pub use notifier::{NotificationPrefs, Notifier, SideMessage, side_message_channel};
pub use params::Params;
pub use render::CacheScope;
pub use revision::{Era, Feature, Revision};
pub use seal::{RandomnessError, SealingKey};

use lists::ListCache;
use render::ListedItems;

/// The context of a request, independent of its method.
#[derive(Debug, Clone)]
pub struct RequestContext {
    /// The revision of the connection or request.
    pub revision: Revision,
    /// The caller.
    pub caller: Caller,
    /// A name for the session.
    pub session: Option<Arc<str>>,
    /// The client program.
    pub client: Option<Arc<ClientInfo>>,
    /// The client's capabilities.
    pub capabilities: Arc<Capabilities>,
    /// Cancelled when the caller disconnects or cancels the request.
    pub cancel: CancellationToken,
    /// The destination of log messages and progress.
    pub sink: Arc<dyn CallSink>,
    /// The client, for questions while the request runs. `None` if questions aren't possible: in stateless revisions,
    /// and if the transport can only carry the response.
    pub peer: Option<Arc<dyn Peer>>,
}

/// The answer to a request.
#[derive(Debug)]
pub enum RequestAnswer {
    /// A result.
    Result(ResultText),
    /// A result that is shared between callers, such as a list.
    Shared(Arc<Json>),
    /// A result that reports a failure of a tool.
    ToolError(ResultText),
    /// An error.
    Error(ProtocolError),
}

impl RequestAnswer {
    /// A result without members.
    #[must_use]
    pub fn empty() -> Self {
        render::render(&serde_json::json!({})).into()
    }

    /// The length of a shared result, in bytes. Zero for other answers.
    #[must_use]
    pub fn shared_bytes(&self) -> usize {
        match self {
            Self::Shared(result) => result.get().len(),
            Self::Result(_) | Self::ToolError(_) | Self::Error(_) => 0,
        }
    }

    /// The HTTP status in a stateless revision.
    #[must_use]
    pub fn status(&self) -> u16 {
        match self {
            Self::Result(_) | Self::Shared(_) | Self::ToolError(_) => 200,
            Self::Error(error) => error.status,
        }
    }

    /// A stable word for metrics and logs. `None` if there is no error.
    ///
    /// It follows `error.type` of OpenTelemetry's conventions for MCP: `tool_error`, or the error's code. It is
    /// `cancelled` if the client cancelled its request; such a request usually gets no answer.
    #[must_use]
    pub fn error_kind(&self) -> Option<&'static str> {
        match self {
            Self::Result(_) | Self::Shared(_) => None,
            Self::ToolError(_) => Some("tool_error"),
            Self::Error(error) => Some(error.kind()),
        }
    }
}

impl From<Json> for RequestAnswer {
    fn from(result: Json) -> Self {
        Self::Result(result.into())
    }
}

impl From<ResultText> for RequestAnswer {
    fn from(result: ResultText) -> Self {
        Self::Result(result)
    }
}

/// A pending answer.
pub type PendingAnswer = Pin<Box<dyn Future<Output = RequestAnswer> + Send>>;

/// A request in progress.
pub enum StartedRequest {
    /// The answer is ready.
    Ready(RequestAnswer),
    /// The answer depends on a plugin.
    Pending(PendingAnswer),
}

impl std::fmt::Debug for StartedRequest {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Ready(answer) => f.debug_tuple("Now").field(answer).finish(),
            Self::Pending(_) => f.write_str("Later"),
        }
    }
}

/// The configuration of the protocol.
#[derive(Debug)]
pub struct ProtocolOptions {
    /// The gateway's name and version.
    pub identity: Identity,
    /// The callers that can get lists from a cache, unless there are roles.
    pub cache_scope: CacheScope,
    /// The number of items in a page of a list. `None` means no paging.
    pub page_size: Option<NonZeroU32>,
    /// The key that seals cursors and states.
    pub sealing_key: SealingKey,
    /// Remembers used states for all gateways that share the key. `None` remembers them in this process.
    pub used_states: Option<Arc<dyn SharedOnce>>,
}

/// All methods of every revision, over one catalog.
#[derive(Debug)]
pub struct Protocol {
    dispatcher: Dispatcher,
    identity: Identity,
    cache_scope: CacheScope,
    lists: ListCache,
    sealing_key: SealingKey,
    states: input::StateStore,
}

impl Protocol {
    /// Serves the plugins that `dispatcher` calls.
    #[must_use]
    pub fn new(dispatcher: Dispatcher, options: ProtocolOptions) -> Self {
        let ProtocolOptions { identity, cache_scope, page_size, sealing_key, used_states } = options;
        let lists = ListCache::new(page_size);
        let states = input::StateStore::new(sealing_key.clone(), used_states);
        Self { dispatcher, identity, cache_scope, lists, sealing_key, states }
    }

    /// Starts a request. Calls to plugins take time, and lists while plugins are still being loaded after a start;
    /// everything else is answered immediately.
    pub fn start(
        self: &Arc<Self>,
        request_context: RequestContext,
        method: Method,
        params: Params,
    ) -> StartedRequest {
        match method {
            Method::ListTools => self.start_list(request_context, params, ListedItems::Tools),
            Method::ListResources => self.start_list(request_context, params, ListedItems::Resources),
            Method::ListTemplates => self.start_list(request_context, params, ListedItems::Templates),
            Method::ListPrompts => self.start_list(request_context, params, ListedItems::Prompts),
            Method::Ping => StartedRequest::Ready(RequestAnswer::empty()),
            Method::Discover => StartedRequest::Ready(self.discover(&request_context).into()),
            Method::CallTool => self.start_call(request_context, params, calls::call_tool),
            Method::ReadResource => self.start_call(request_context, params, calls::read_resource),
            Method::GetPrompt => self.start_call(request_context, params, calls::get_prompt),
            Method::Complete => self.start_call(request_context, params, calls::complete),
            Method::Initialize
            | Method::SetLevel
            | Method::Subscribe
            | Method::Unsubscribe
            | Method::Listen => {
                StartedRequest::Ready(RequestAnswer::Error(ProtocolError::unknown_method(method.as_str())))
            }
        }
    }

    /// Answers a list request, after waiting for plugins that are still being loaded.
    fn start_list(
        self: &Arc<Self>,
        request_context: RequestContext,
        params: Params,
        kind: ListedItems,
    ) -> StartedRequest {
        let protocol = Arc::clone(self);
        let list = move |request_context: &RequestContext| {
            protocol.list(request_context, kind, &params).unwrap_or_else(RequestAnswer::Error)
        };
        if self.dispatcher.startup_wait().is_over_for_lists() {
            return StartedRequest::Ready(list(&request_context));
        }
        let startup_wait = self.dispatcher.startup_wait().clone();
        StartedRequest::Pending(Box::pin(async move {
            startup_wait.wait_for_lists(&request_context.cancel).await;
            list(&request_context)
        }))
    }

    /// The callers that can get a result from a cache. Callers that authenticate share nothing, and once there are roles,
    /// callers see different things.
    fn cache_scope(&self, principal: &Principal, view: &Catalog) -> CacheScope {
        let is_authenticated = match principal {
            Principal::Local | Principal::Anonymous | Principal::Operator => false,
            Principal::Named(_) | Principal::Certificate(_) | Principal::Subject(_) | Principal::User(_) => {
                true
            }
        };
        if is_authenticated || view.role_names().is_some() { CacheScope::Private } else { self.cache_scope }
    }

    fn start_call<F, T>(
        self: &Arc<Self>,
        request_context: RequestContext,
        params: Params,
        call: fn(Arc<Self>, RequestContext, Params) -> F,
    ) -> StartedRequest
    where
        F: Future<Output = Result<T, ProtocolError>> + Send + 'static,
        T: Into<RequestAnswer>,
    {
        let answer = call(Arc::clone(self), request_context, params);
        // An async block would store this future of several kilobytes twice.
        let answer = answer.map(|answer| answer.map_or_else(RequestAnswer::Error, Into::into));
        StartedRequest::Pending(Box::pin(answer))
    }
}

impl RequestContext {
    /// The context that plugins can read.
    fn call_context(&self, params: &Params, round: &input::CallRound) -> Arc<CallContext> {
        let Self { revision, caller, session, client, capabilities, cancel, sink, peer: _ } = self;
        Arc::new(CallContext {
            caller: caller.clone(),
            session: session.clone(),
            client: client.clone(),
            revision: Some(revision.as_str()),
            capabilities: Arc::clone(capabilities),
            meta: params.meta_text(),
            trace: params.call_trace(),
            cancel: cancel.clone(),
            arrived_at: Instant::now(),
            answers: Arc::clone(&round.answers),
            round_state: round.state.clone(),
            sink: Arc::clone(sink),
            grant_report: None,
            cpu_time: Arc::default(),
        })
    }
}

#[cfg(test)]
mod tests;
