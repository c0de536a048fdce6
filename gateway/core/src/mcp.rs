//! The Model Context Protocol in every revision (2025-11-25, basic; 2026-07-28, basic and basic/versioning).
//!
//! This module turns a request of any revision into a call through [`crate::dispatch`], and what comes back into
//! that revision's JSON. It knows no transports and keeps no sessions: whoever calls [`Protocol::begin`] has already
//! found out which revision is spoken, by whom, and hands both over as an [`Exchange`].

use std::num::NonZeroU32;
use std::pin::Pin;
use std::sync::Arc;

use serde_json::value::RawValue;
use tokio_util::sync::CancellationToken;

use crate::call::{CallContext, CallSink, Capabilities, ClientInfo};
use crate::dispatch::Dispatcher;
use crate::names::Principal;

mod calls;
mod changes;
pub mod envelope;
pub mod errors;
#[cfg(any(test, feature = "fuzz"))]
mod fuzz;
mod greeting;
mod identity;
mod input;
mod lists;
mod method;
mod notifier;
mod params;
mod project;
mod revision;
mod seal;
mod structured;

pub use changes::{Listening, session_news};
pub use errors::{ProtocolError, Trouble};
#[cfg(any(test, feature = "fuzz"))]
pub use fuzz::{fuzz_cursor, fuzz_params};
pub use greeting::Greeting;
pub use identity::Identity;
pub use input::{AskError, Asking, Conversed, OPEN_QUESTIONS, PATIENCE, Peer, UNUSABLE};
#[cfg(any(test, feature = "fuzz"))]
pub use input::{fuzz_question, fuzz_state};
pub use lists::CacheScope;
pub use method::Method;
pub use notifier::{Aside, Notifier, Wishes, asides};
pub use params::Params;
pub use revision::{Era, Feature, Revision};
pub use seal::{NoRandomness, SealingKey};

use lists::{Kind, Lists};

/// What is known of a request before its method is looked at.
#[derive(Debug, Clone)]
pub struct Exchange {
    /// The revision spoken.
    pub revision: Revision,
    /// Whom the gateway takes the caller for.
    pub principal: Principal,
    /// The program at the other end.
    pub client: Option<Arc<ClientInfo>>,
    /// What it can do.
    pub capabilities: Arc<Capabilities>,
    /// Set when the caller loses interest.
    pub cancel: CancellationToken,
    /// Where log messages and progress go.
    pub sink: Arc<dyn CallSink>,
    /// Who can be asked while the request runs; none where that isn't possible: in stateless revisions, and where
    /// the transport carries nothing but the response.
    pub peer: Option<Arc<dyn Peer>>,
}

/// What a request comes to.
#[derive(Debug)]
pub enum Answer {
    /// A result, as text.
    Result(Box<RawValue>),
    /// A result that others are given too, such as a list.
    Shared(Arc<RawValue>),
    /// A result that says that the tool failed.
    ToolError(Box<RawValue>),
    /// An error.
    Error(ProtocolError),
}

impl Answer {
    /// A result without members.
    #[must_use]
    pub fn empty() -> Self {
        Self::Result(project::render(&serde_json::json!({})))
    }

    /// The HTTP status that it has in a stateless revision.
    #[must_use]
    pub fn status(&self) -> u16 {
        match self {
            Self::Result(_) | Self::Shared(_) | Self::ToolError(_) => 200,
            Self::Error(error) => error.status,
        }
    }

    /// What went wrong, in a stable word for metrics and logs; none: nothing did.
    ///
    /// It is what OpenTelemetry's conventions for MCP have as `error.type`: `tool_error`, or the code of the error;
    /// but `cancelled` where the client cancelled its request, which mostly isn't answered at all.
    #[must_use]
    pub fn error_kind(&self) -> Option<&'static str> {
        match self {
            Self::Result(_) | Self::Shared(_) => None,
            Self::ToolError(_) => Some("tool_error"),
            Self::Error(error) => Some(error.kind()),
        }
    }
}

impl From<Box<RawValue>> for Answer {
    fn from(result: Box<RawValue>) -> Self {
        Self::Result(result)
    }
}

/// An answer that takes a while.
pub type Later = Pin<Box<dyn Future<Output = Answer> + Send>>;

/// A request that was begun.
pub enum Begun {
    /// It is answered already.
    Now(Answer),
    /// A plugin has to be asked first.
    Later(Later),
}

impl std::fmt::Debug for Begun {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Now(answer) => f.debug_tuple("Now").field(answer).finish(),
            Self::Later(_) => f.write_str("Later"),
        }
    }
}

/// What the protocol is served with.
#[derive(Debug)]
pub struct ProtocolOptions {
    /// How the gateway introduces itself.
    pub identity: Identity,
    /// Whether lists may be shared by caches.
    pub cache_scope: CacheScope,
    /// How many items a page of a list holds; none: all of them.
    pub page_size: Option<NonZeroU32>,
    /// What the things are sealed with that clients carry.
    pub sealing_key: SealingKey,
}

/// Every revision's methods over one catalog.
#[derive(Debug)]
pub struct Protocol {
    dispatcher: Dispatcher,
    identity: Identity,
    cache_scope: CacheScope,
    lists: Lists,
    sealing_key: SealingKey,
    states: input::States,
}

impl Protocol {
    /// Serves what `dispatcher` reaches.
    #[must_use]
    pub fn new(dispatcher: Dispatcher, options: ProtocolOptions) -> Self {
        let ProtocolOptions { identity, cache_scope, page_size, sealing_key } = options;
        let lists = Lists::new(page_size);
        let states = input::States::new(sealing_key.clone());
        Self { dispatcher, identity, cache_scope, lists, sealing_key, states }
    }

    /// Begins a request. Lists and greetings are answered at once; only calls take a while.
    pub fn begin(self: &Arc<Self>, exchange: Exchange, method: Method, params: Params) -> Begun {
        let list = |kind| Begun::Now(self.list(&exchange, kind, &params).unwrap_or_else(Answer::Error));
        match method {
            Method::ListTools => list(Kind::Tools),
            Method::ListResources => list(Kind::Resources),
            Method::ListTemplates => list(Kind::Templates),
            Method::ListPrompts => list(Kind::Prompts),
            Method::Ping => Begun::Now(Answer::empty()),
            Method::Discover => Begun::Now(Answer::Result(self.discover(exchange.revision))),
            Method::CallTool => self.later(exchange, params, calls::call_tool),
            Method::ReadResource => self.later(exchange, params, calls::read_resource),
            Method::GetPrompt => self.later(exchange, params, calls::get_prompt),
            Method::Complete => self.later(exchange, params, calls::complete),
            Method::Initialize
            | Method::SetLevel
            | Method::Subscribe
            | Method::Unsubscribe
            | Method::Listen => Begun::Now(Answer::Error(ProtocolError::unknown_method(method.as_str()))),
        }
    }

    fn later<F, T>(
        self: &Arc<Self>,
        exchange: Exchange,
        params: Params,
        call: fn(Arc<Self>, Exchange, Params) -> F,
    ) -> Begun
    where
        F: Future<Output = Result<T, ProtocolError>> + Send + 'static,
        T: Into<Answer>,
    {
        let answer = call(Arc::clone(self), exchange, params);
        Begun::Later(Box::pin(async move { answer.await.map_or_else(Answer::Error, Into::into) }))
    }
}

impl Exchange {
    /// The context that a plugin may ask for.
    fn context(&self, params: &Params, round: &input::Round) -> Arc<CallContext> {
        let Self { revision, principal, client, capabilities, cancel, sink, peer: _ } = self;
        Arc::new(CallContext {
            principal: principal.clone(),
            client: client.clone(),
            revision: Some(revision.as_str()),
            capabilities: Arc::clone(capabilities),
            meta: params.meta_text().cloned(),
            cancel: cancel.clone(),
            answers: Arc::clone(&round.answers),
            state: round.state.clone(),
            sink: Arc::clone(sink),
            ledger: None,
        })
    }
}

#[cfg(test)]
mod tests;
