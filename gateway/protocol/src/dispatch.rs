//! The path of a call from a public name to a plugin and back.
//!
//! The caller takes one snapshot of what it sees ([`Dispatcher::view_for`]) and uses it for the whole request, so that a
//! reload doesn't affect it. The steps: find the name, count the call, wait for a permit, validate the input, call the
//! plugin, validate the output. Validation counts towards the call's limits. Only a plugin's own limits end a call,
//! except that a cancelled call ends after a grace period. A panic below ends only its call.

use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use tokio::sync::watch;
use tokio::time::sleep_until;
use tokio_util::sync::CancellationToken;

use crate::call::{
    BusyReason, CallContext, CallError, Completion, CompletionTarget, Outcome, PromptResult, ReadResult,
    ToolResult,
};
use crate::catalog::{Catalog, CatalogPlugin, PluginFuture, SchemaMismatchError};
use crate::limiter::{CallPermit, ConcurrencyLimiter};
use crate::names::{Principal, ResourceUri};
use crate::unread_responses::UnreadResponses;

mod access_log;
mod arguments;
mod check_pool;
mod error;
mod has_outcome;
mod startup_wait;
mod suggestions;
mod observer;
mod output;

pub use arguments::Arguments;
pub use error::DispatchError;
pub use observer::{
    AdmittedCall, CallAdmission, CallEnd, CallInput, CallKind, CallOutcome, InputHasher, NetworkTransport,
    Observer, RefusedName, RefusedRequest, RequestEnd, SessionEnd, TracedRequest,
};
pub(crate) use observer::{Observed, RequestSpan};
pub use startup_wait::{StartupStages, StartupWait};
pub use suggestions::UnknownName;

use access_log::AccessLog;
use arguments::CallChecks;
use check_pool::{CheckError, CheckLimits, CheckPool};
use observer::{CalledItem, PluginCall};

/// Calls plugins by their public names.
#[derive(Debug, Clone)]
pub struct Dispatcher {
    catalog: watch::Receiver<Arc<Catalog>>,
    limiter: Arc<ConcurrencyLimiter>,
    unread_responses: Arc<UnreadResponses>,
    observer: Option<Arc<dyn Observer>>,
    access_log: Arc<AccessLog>,
    checks: Arc<CheckPool>,
    startup_wait: StartupWait,
}

/// The outcome of a call, and the plugin that was called: if it asked questions, the same plugin gets the answers.
#[derive(Debug)]
pub struct DispatchOutcome<T> {
    /// The permit of the call. Hold it until the response counts as unread, so that the next call waits for that.
    pub permit: CallPermit,
    /// The plugin that was called.
    pub catalog_plugin: Arc<CatalogPlugin>,
    /// The outcome.
    pub outcome: Outcome<T>,
}

/// The owner of the argument to complete, as clients name it.
#[derive(Debug, Clone, Copy)]
pub enum CompletionOwner<'a> {
    /// A prompt, by its public name.
    Prompt(&'a str),
    /// A resource template, as listed, or a URI.
    Resource(&'a str),
}

impl CompletionOwner<'_> {
    /// Its plugin.
    pub(crate) fn plugin(self, view: &Catalog) -> Option<&Arc<CatalogPlugin>> {
        match self {
            Self::Prompt(name) => Some(view.prompt(name)?.plugin()),
            Self::Resource(text) => {
                view.template(text).map(|entry| entry.plugin()).or_else(|| view.resource_owner(text))
            }
        }
    }
}

impl Dispatcher {
    /// Dispatches to the plugins of the latest catalog.
    #[must_use]
    pub fn new(catalog: watch::Receiver<Arc<Catalog>>, limiter: Arc<ConcurrencyLimiter>) -> Self {
        let unread_responses = UnreadResponses::unlimited();
        Self {
            catalog,
            limiter,
            unread_responses,
            observer: None,
            access_log: Arc::default(),
            checks: Arc::new(CheckPool::new()),
            startup_wait: StartupWait::over(),
        }
    }

    /// The same dispatcher, which calls no plugin for a caller that has too many unread answers.
    #[must_use]
    pub(crate) fn with_unread_responses(self, unread_responses: Arc<UnreadResponses>) -> Self {
        Self { unread_responses, ..self }
    }

    /// The same dispatcher, reporting each call to `observer`. The server reports its requests there too.
    #[must_use]
    pub fn with_observer(self, observer: Arc<dyn Observer>) -> Self {
        Self { observer: Some(observer), ..self }
    }

    /// The same dispatcher for plugins of which some are still being loaded.
    #[must_use]
    pub fn with_startup_wait(self, startup_wait: StartupWait) -> Self {
        Self { startup_wait, ..self }
    }

    /// Lets requests wait for plugins that are still being loaded.
    #[must_use]
    pub(crate) fn startup_wait(&self) -> &StartupWait {
        &self.startup_wait
    }

    /// The receiver of calls and requests, if there is one.
    #[must_use]
    pub(crate) fn observer(&self) -> Option<&Arc<dyn Observer>> {
        self.observer.as_ref()
    }

    /// A snapshot of the latest catalog.
    #[must_use]
    pub fn catalog(&self) -> Arc<Catalog> {
        Arc::clone(&self.catalog.borrow())
    }

    /// A snapshot of the part of the latest catalog that `principal` sees.
    #[must_use]
    pub fn view_for(&self, principal: &Principal) -> Arc<Catalog> {
        self.catalog().visible_to(principal)
    }

    /// The latest catalog, and all later ones.
    #[must_use]
    pub fn watch(&self) -> watch::Receiver<Arc<Catalog>> {
        self.catalog.clone()
    }

    /// The memory of unread answers.
    #[must_use]
    pub(crate) fn unread_responses(&self) -> &Arc<UnreadResponses> {
        &self.unread_responses
    }

    /// The limits on concurrent calls.
    #[must_use]
    pub fn limiter(&self) -> &Arc<ConcurrencyLimiter> {
        &self.limiter
    }

    /// Calls the tool with the public name `name`.
    ///
    /// # Errors
    /// There is no such tool, the arguments don't match its schema, or the call failed.
    pub async fn call_tool(
        &self,
        view: &Catalog,
        context: &Arc<CallContext>,
        name: &str,
        arguments: &Arguments<'_>,
    ) -> Result<DispatchOutcome<ToolResult>, DispatchError> {
        let unknown = || {
            self.access_log.log_unknown(context, CallKind::Tool, Some(name));
            self.refuse_name(context, CallKind::Tool, name);
            DispatchError::unknown_tool(name, view)
        };
        let entry = view.tool(name).ok_or_else(unknown)?;
        let catalog_plugin = entry.plugin();
        let checks = self.checks_of(catalog_plugin, context);
        let called = CalledItem::Tool { public: entry.public_name(), own: &entry.tool().name };
        let mut span = self.span(catalog_plugin, context, called, CallInput::Arguments(arguments.as_str()));
        let permit = match self.admit(&mut span, context).await {
            Ok(permit) => permit,
            Err(error) => return Err(span.fail(error)),
        };
        let arguments = match arguments.check(entry.input_schema(), &checks).await {
            Ok(arguments) => arguments,
            Err(CheckError::Call(error)) => return Err(span.fail(error)),
            Err(CheckError::Mismatch(SchemaMismatchError { message, pointer })) => {
                span.refuse_arguments();
                return Err(DispatchError::InvalidArguments { message, pointer });
            }
        };
        span.hash_input().await;
        let call = || catalog_plugin.plugin().call_tool(Arc::clone(context), &entry.tool().name, &arguments);
        let answer = match self.invoke(catalog_plugin, context, call).await {
            Ok(outcome) => output::check_tool_outcome(view, entry, &checks, outcome).await,
            Err(error) => Err(error),
        };
        let outcome = span.finish(answer)?;
        Ok(DispatchOutcome { permit, catalog_plugin: Arc::clone(catalog_plugin), outcome })
    }

    /// Reads the resource at `uri`.
    ///
    /// # Errors
    /// No plugin has it, or the call failed.
    pub async fn read_resource(
        &self,
        view: &Catalog,
        context: &Arc<CallContext>,
        uri: &str,
    ) -> Result<DispatchOutcome<ReadResult>, DispatchError> {
        let unknown = || {
            self.access_log.log_unknown(context, CallKind::Resource, None);
            self.refuse_name(context, CallKind::Resource, uri);
            DispatchError::resource_not_found(uri, view)
        };
        let catalog_plugin = view.resource_owner(uri).ok_or_else(unknown)?;
        let uri = ResourceUri::new(uri).map_err(|_| unknown())?;
        let input = CallInput::Uri(uri.as_str());
        let mut span = self.span(catalog_plugin, context, CalledItem::Resource, input);
        let call = || catalog_plugin.plugin().read_resource(Arc::clone(context), &uri);
        let answer = self.admit_and_invoke(&mut span, context, call).await;
        let (outcome, permit) = span.finish(answer.and_then(|(outcome, permit)| {
            let outcome = output::check_read_outcome(view, catalog_plugin, context, &uri, outcome)?;
            Ok((outcome, permit))
        }))?;
        Ok(DispatchOutcome { permit, catalog_plugin: Arc::clone(catalog_plugin), outcome })
    }

    /// Fills in the prompt with the public name `name`.
    ///
    /// # Errors
    /// There is no such prompt, a required argument is missing, an argument is duplicated, or the call failed.
    pub async fn get_prompt(
        &self,
        view: &Catalog,
        context: &Arc<CallContext>,
        name: &str,
        arguments: &[(String, String)],
    ) -> Result<DispatchOutcome<PromptResult>, DispatchError> {
        let unknown = || {
            self.access_log.log_unknown(context, CallKind::Prompt, Some(name));
            self.refuse_name(context, CallKind::Prompt, name);
            DispatchError::unknown_prompt(name, view)
        };
        let entry = view.prompt(name).ok_or_else(unknown)?;
        let catalog_plugin = entry.plugin();
        let called = CalledItem::Prompt(entry.public_name());
        let mut span = self.span(catalog_plugin, context, called, CallInput::Texts(arguments));
        let permit = match self.admit(&mut span, context).await {
            Ok(permit) => permit,
            Err(error) => return Err(span.fail(error)),
        };
        if let Err(error) = arguments::check_prompt_arguments(entry.prompt(), name, arguments) {
            span.refuse_arguments();
            return Err(error);
        }
        span.hash_input().await;
        let call =
            || catalog_plugin.plugin().get_prompt(Arc::clone(context), &entry.prompt().name, arguments);
        let answer = self.invoke(catalog_plugin, context, call).await.map(|outcome| (outcome, permit));
        let (outcome, permit) = span.finish(answer.and_then(|(outcome, permit)| {
            Ok((output::check_prompt_outcome(view, catalog_plugin, context, outcome)?, permit))
        }))?;
        Ok(DispatchOutcome { permit, catalog_plugin: Arc::clone(catalog_plugin), outcome })
    }

    /// Suggests values for the argument `name`, whose text so far is `value`; `others` are the other arguments. The
    /// result is empty if the plugin makes no suggestions or the prompt has no such argument.
    ///
    /// # Errors
    /// There is no such prompt or template, or the call failed.
    pub async fn complete(
        &self,
        view: &Catalog,
        context: &Arc<CallContext>,
        whose: CompletionOwner<'_>,
        (name, value): (&str, &str),
        others: &[(String, String)],
    ) -> Result<Completion, DispatchError> {
        let (catalog_plugin, target) = match whose {
            CompletionOwner::Prompt(prompt) => {
                let unknown = || {
                    self.access_log.log_unknown(context, CallKind::Completion, Some(prompt));
                    self.refuse_name(context, CallKind::Completion, prompt);
                    DispatchError::unknown_prompt(prompt, view)
                };
                let entry = view.prompt(prompt).ok_or_else(unknown)?;
                if entry.prompt().arguments.iter().all(|argument| argument.name != name) {
                    return Ok(Completion::default());
                }
                (entry.plugin(), CompletionTarget::Prompt(entry.prompt().name.clone()))
            }
            CompletionOwner::Resource(text) => {
                let unknown = || {
                    self.access_log.log_unknown(context, CallKind::Completion, None);
                    self.refuse_name(context, CallKind::Completion, text);
                    DispatchError::unknown_template(text, view)
                };
                (whose.plugin(view).ok_or_else(unknown)?, CompletionTarget::Template(text.to_owned()))
            }
        };
        if !catalog_plugin.plugin().manifest().has_completions {
            return Ok(Completion::default());
        }
        let input = CallInput::Completed(name, value);
        let mut span = self.span(catalog_plugin, context, CalledItem::Completion, input);
        let call = || catalog_plugin.plugin().complete(Arc::clone(context), &target, name, value, others);
        let answer = self.admit_and_invoke(&mut span, context, call).await;
        let (completion, _permit) = span.finish(answer)?;
        let visible = output::visible_completion(view, catalog_plugin, &target, name, others, completion);
        Ok(output::limit_completion(visible))
    }

    fn span<'a>(
        &'a self,
        catalog_plugin: &'a CatalogPlugin,
        context: &'a CallContext,
        called: CalledItem<'a>,
        input: CallInput<'a>,
    ) -> RequestSpan<PluginCall<'a>> {
        RequestSpan::of_call(self.observer.as_ref(), &self.access_log, catalog_plugin, context, called, input)
    }

    /// Reports a name that nothing has that the caller can see.
    fn refuse_name(&self, context: &CallContext, kind: CallKind, name: &str) {
        if let Some(observer) = &self.observer {
            observer.name_refused(&RefusedName { context, kind, name });
        }
    }

    fn checks_of<'a>(&'a self, catalog_plugin: &CatalogPlugin, context: &'a CallContext) -> CallChecks<'a> {
        let policy = catalog_plugin.policy();
        let limits = CheckLimits {
            timeout: policy.timeout,
            deadline: context.arrived_at + policy.timeout,
            cpu_time: policy.cpu_time,
        };
        CallChecks { pool: &self.checks, unread_responses: &self.unread_responses, context, limits }
    }

    /// Counts the call, and waits for a permit.
    async fn admit(
        &self,
        span: &mut RequestSpan<PluginCall<'_>>,
        context: &CallContext,
    ) -> Result<CallPermit, CallError> {
        let catalog_plugin = span.catalog_plugin();
        let limits = catalog_plugin.policy();
        self.limiter.count(limits, context, span.counted_as()).await?;
        let permit = loop {
            tokio::select! {
                biased;
                admitted = self.unread_responses.admit(&context.caller, &context.cancel) => admitted?,
                () = sleep_until(context.arrived_at + limits.timeout) => {
                    return Err(CallError::TimeoutBeforeStart(limits.timeout));
                }
            }
            let permit = self.limiter.admit(limits, context).await?;
            // The answers of earlier calls came while this one waited.
            if !self.unread_responses.is_exceeded(&context.caller) {
                break permit;
            }
        };
        tokio::select! {
            biased;
            may_run = span.may_run() => if !may_run {
                return Err(CallError::Busy(BusyReason::AuditLog));
            },
            () = context.cancel.cancelled() => return Err(CallError::Cancelled),
            () = sleep_until(context.arrived_at + limits.timeout) => {
                return Err(CallError::TimeoutBeforeStart(limits.timeout));
            }
        }
        span.admitted();
        Ok(permit)
    }

    /// Waits for a permit, calls the plugin and waits for its answer.
    async fn admit_and_invoke<'a, T>(
        &self,
        span: &mut RequestSpan<PluginCall<'_>>,
        context: &CallContext,
        call: impl FnOnce() -> PluginFuture<'a, T>,
    ) -> Result<(T, CallPermit), CallError> {
        let permit = self.admit(span, context).await?;
        span.hash_input().await;
        Ok((self.invoke(span.catalog_plugin(), context, call).await?, permit))
    }

    /// Calls the plugin and waits for its answer. A cancelled call can keep running for the plugin's grace period.
    async fn invoke<'a, T>(
        &self,
        catalog_plugin: &CatalogPlugin,
        context: &CallContext,
        call: impl FnOnce() -> PluginFuture<'a, T>,
    ) -> Result<T, CallError> {
        // A panic can't leave shared data in an inconsistent state: the plugin's future shares none and is dropped as a
        // whole.
        let answer = std::panic::AssertUnwindSafe(async move { call().await }).catch_unwind();
        let answer = tokio::select! {
            biased;
            answer = answer => answer.unwrap_or_else(|panic| {
                // The text is for developers, not for the caller.
                tracing::error!(
                    plugin = %catalog_plugin.id(),
                    trace_id = context.trace_id().map(tracing::field::display),
                    "internal error: a call panicked: {}",
                    error::panic_text(&*panic)
                );
                Err(CallError::Internal("internal error; see the gateway's log".to_owned()))
            }),
            () = wait_for_cancel_and_grace(&context.cancel, catalog_plugin.policy().cancel_grace) => Err(CallError::Cancelled),
        };
        // A late answer to a cancelled call is discarded.
        let answer = if context.cancel.is_cancelled() { Err(CallError::Cancelled) } else { answer };
        answer.map_err(|error| output::explain_missing_grant(catalog_plugin, context, error))
    }
}

/// Waits until the call is cancelled, and then for the grace period.
async fn wait_for_cancel_and_grace(cancel: &CancellationToken, grace: Duration) {
    cancel.cancelled().await;
    if !grace.is_zero() {
        tokio::time::sleep(grace).await;
    }
}

#[cfg(test)]
mod tests;
