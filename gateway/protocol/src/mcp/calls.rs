//! Requests that call a plugin: call, read, get, complete (2026-07-28, server/tools, server/resources, server/prompts
//! and server/utilities/completion).

use std::sync::Arc;

use serde::Serialize;
use serde_json::{Map, Value};
use tokio_util::sync::CancellationToken;

use crate::call::{
    CallContext, CallError, GrantReport, PluginError, PluginErrorDetail, PromptResult, ReadResult, ToolResult,
};
use crate::caller::Caller;
use crate::catalog::{Catalog, CatalogPlugin, HeaderArgument};
use crate::dispatch::{Arguments, CompletionOwner, DispatchError, DispatchOutcome, Dispatcher};
use crate::json;
use crate::names::{Principal, PublicName};
use crate::text::quotable;
use crate::unread_responses::{ResponseTooLarge, ResultText, ResultWriter};

use super::errors::{ErrorAnswer, ProtocolError, RequestError};
use super::input::{CallRound, InputCall, RoundsOutcome, run_rounds};
use super::render::{CompletionResult, PromptMessages, ReadContents, ToolAnswer, View};
use super::revision::{Feature, Revision};
use super::structured::Wrapping;
use super::{CacheScope, Method, Params, Protocol, RequestAnswer, RequestContext};

type JsonResult = Result<ResultText, ProtocolError>;

/// `tools/call`
pub(super) async fn call_tool(
    protocol: Arc<Protocol>,
    request_context: RequestContext,
    params: Params,
) -> Result<RequestAnswer, ProtocolError> {
    let revision = request_context.revision;
    let name = params.string("name")?;
    let name = name.as_ref();
    let call = ToolCall { name, arguments: arguments(&params)?, grant_report: None };
    let view = protocol.view_for_call(&request_context, &call).await;
    let called = run_rounds(&protocol, &view, &request_context, &params, &call).await;
    let (result, wrapping, _permit) = match called {
        Ok(RoundsOutcome::Done(result, permit)) => {
            let wrapping = wrapping(&view, name, &result, revision);
            (result, wrapping, Some(permit))
        }
        Ok(RoundsOutcome::Questions(text)) => return Ok(RequestAnswer::Result(text.into())),
        Err(trouble) => {
            let ErrorAnswer { tool_result, error } = trouble.answer(revision);
            (tool_result.ok_or(error)?, Wrapping::IfNeeded, None)
        }
    };
    let answer = ToolAnswer { result: &result, wrapping, server: &protocol.identity };
    let text = protocol.render_result(&request_context.caller, &View::new(&answer, revision))?;
    Ok(if result.is_error { RequestAnswer::ToolError(text) } else { RequestAnswer::Result(text) })
}

/// One call to a tool.
struct ToolCall<'a> {
    name: &'a str,
    arguments: Arguments<'a>,
    /// Records the grants that the call uses and those that are missing.
    grant_report: Option<Arc<GrantReport>>,
}

impl InputCall for ToolCall<'_> {
    type Done = ToolResult;

    const METHOD: Method = Method::CallTool;

    fn catalog_plugin<'a>(&self, view: &'a Catalog) -> Option<&'a Arc<CatalogPlugin>> {
        view.tool(self.name).map(|entry| entry.plugin())
    }

    async fn call(
        &self,
        dispatcher: &Dispatcher,
        view: &Catalog,
        context: &Arc<CallContext>,
    ) -> Result<DispatchOutcome<ToolResult>, DispatchError> {
        let noted = self.grant_report.as_ref().map(|grant_report| {
            Arc::new(CallContext {
                grant_report: Some(Arc::clone(grant_report)),
                ..CallContext::clone(context)
            })
        });
        let context = noted.as_ref().unwrap_or(context);
        dispatcher.call_tool(view, context, self.name, &self.arguments).await
    }
}

/// A tool's arguments: an object. Absent arguments are an empty one.
fn arguments(params: &Params) -> Result<Arguments<'_>, ProtocolError> {
    match params.get("arguments") {
        Some(text) => Arguments::new(text)
            .map_err(|_| ProtocolError::params("/arguments", "`arguments` must be an object")),
        None => Ok(Arguments::empty()),
    }
}

/// Results are wrapped for revisions that have structured results but allow only objects.
fn wrapping(view: &Catalog, tool: &str, result: &ToolResult, revision: Revision) -> Wrapping {
    let wraps = revision.has(Feature::Structured) && !revision.has(Feature::AnyStructured);
    if wraps && result.structured.is_some() {
        let schema = view.tool(tool).and_then(|entry| entry.shown_output());
        return Wrapping::for_schema(schema);
    }
    Wrapping::IfNeeded
}

/// `resources/read`
pub(super) async fn read_resource(
    protocol: Arc<Protocol>,
    request_context: RequestContext,
    params: Params,
) -> JsonResult {
    let revision = request_context.revision;
    let uri = params.string("uri")?;
    let reading = ResourceRead { uri: &uri };
    let view = protocol.view_for_call(&request_context, &reading).await;
    match run_rounds(&protocol, &view, &request_context, &params, &reading).await {
        Ok(RoundsOutcome::Done(mut result, _permit)) => {
            // Authenticated callers can see more than others, and a result that depends on answers is private
            // (2026-07-28, server/utilities/caching).
            let principal = request_context.caller.principal();
            result.is_shareable &= protocol.cache_scope(&principal, &view) == CacheScope::Public;
            if params.continues_earlier_request() {
                (result.ttl, result.is_shareable) = (None, false);
            }
            let contents = ReadContents { result: &result, server: &protocol.identity };
            protocol.render_result(&request_context.caller, &View::new(&contents, revision))
        }
        Ok(RoundsOutcome::Questions(text)) => Ok(text.into()),
        Err(trouble) => Err(read_error(trouble, reading.uri, &view, revision)),
    }
}

/// One read of a resource.
struct ResourceRead<'a> {
    uri: &'a str,
}

impl InputCall for ResourceRead<'_> {
    type Done = ReadResult;

    const METHOD: Method = Method::ReadResource;

    fn catalog_plugin<'a>(&self, view: &'a Catalog) -> Option<&'a Arc<CatalogPlugin>> {
        view.resource_owner(self.uri)
    }

    async fn call(
        &self,
        dispatcher: &Dispatcher,
        view: &Catalog,
        context: &Arc<CallContext>,
    ) -> Result<DispatchOutcome<ReadResult>, DispatchError> {
        dispatcher.read_resource(view, context, self.uri).await
    }
}

/// `prompts/get`
pub(super) async fn get_prompt(
    protocol: Arc<Protocol>,
    request_context: RequestContext,
    params: Params,
) -> JsonResult {
    let revision = request_context.revision;
    let name = params.string("name")?;
    let name = name.as_ref();
    let arguments = Params::strings(params.get("arguments"), "/arguments").map_err(|mut wrong| {
        wrong.error.message =
            format!("invalid arguments: prompt `{}`: {}", quotable(name), wrong.error.message);
        wrong
    })?;
    let filling = PromptUse { name, arguments };
    let view = protocol.view_for_call(&request_context, &filling).await;
    match run_rounds(&protocol, &view, &request_context, &params, &filling).await {
        Ok(RoundsOutcome::Done(result, _permit)) => {
            let messages = PromptMessages { result: &result, server: &protocol.identity };
            protocol.render_result(&request_context.caller, &View::new(&messages, revision))
        }
        Ok(RoundsOutcome::Questions(text)) => Ok(text.into()),
        Err(trouble) => Err(trouble.answer(revision).error),
    }
}

/// One request for a prompt.
struct PromptUse<'a> {
    name: &'a str,
    arguments: Vec<(String, String)>,
}

impl InputCall for PromptUse<'_> {
    type Done = PromptResult;

    const METHOD: Method = Method::GetPrompt;

    fn catalog_plugin<'a>(&self, view: &'a Catalog) -> Option<&'a Arc<CatalogPlugin>> {
        view.prompt(self.name).map(|entry| entry.plugin())
    }

    async fn call(
        &self,
        dispatcher: &Dispatcher,
        view: &Catalog,
        context: &Arc<CallContext>,
    ) -> Result<DispatchOutcome<PromptResult>, DispatchError> {
        dispatcher.get_prompt(view, context, self.name, &self.arguments).await
    }
}

/// `completion/complete`
pub(super) async fn complete(
    protocol: Arc<Protocol>,
    request_context: RequestContext,
    params: Params,
) -> JsonResult {
    let revision = request_context.revision;
    let part = |object: &'static str, key: &str| {
        let member = params.get(object).and_then(|object| json::member(object, key));
        member.and_then(json::string_value).ok_or_else(|| {
            ProtocolError::params(&format!("/{object}/{key}"), &format!("`{object}.{key}` must be a string"))
        })
    };
    let owner;
    let whose = match part("ref", "type")?.as_ref() {
        "ref/prompt" => {
            owner = part("ref", "name")?;
            CompletionOwner::Prompt(&owner)
        }
        "ref/resource" => {
            owner = part("ref", "uri")?;
            CompletionOwner::Resource(&owner)
        }
        _ => {
            return Err(ProtocolError::params(
                "/ref/type",
                "`ref.type` must be `ref/prompt` or `ref/resource`",
            ));
        }
    };
    let (argument, value) = (part("argument", "name")?, part("argument", "value")?);
    let others = params.get("context").and_then(|context| json::member(context, "arguments"));
    let others = Params::strings(others, "/context/arguments")?;
    let context = request_context.call_context(&params, &CallRound::default());
    let principal = request_context.caller.principal();
    let view = protocol.view_for(&principal, &request_context.cancel, |view| whose.plugin(view)).await;
    let completed = protocol.dispatcher.complete(&view, &context, whose, (&argument, &value), &others).await;
    let completion = completed.map_err(|error| match error {
        DispatchError::UnknownPrompt(_) => ProtocolError::params("/ref/name", &error.to_string()),
        error => ErrorAnswer::for_dispatch_error(&error, revision).error,
    })?;
    let result = CompletionResult { completion: &completion, server: &protocol.identity };
    protocol.render_result(&request_context.caller, &View::new(&result, revision))
}

/// The error of a resource that couldn't be read. Plugins report unknown URIs in their own words, but clients recognise
/// one error only. The plugin's message is appended to it.
fn read_error(error: RequestError, uri: &str, view: &Catalog, revision: Revision) -> ProtocolError {
    let RequestError::Dispatch(DispatchError::Call {
        plugin,
        error: CallError::Refused(PluginError::NotFound(PluginErrorDetail { message, .. })),
    }) = error
    else {
        return error.answer(revision).error;
    };
    let mut not_found =
        ErrorAnswer::for_dispatch_error(&DispatchError::resource_not_found(uri, view), revision).error;
    // The SDK's message starts with the same words.
    let words = message.strip_prefix(&format!("there is no resource `{uri}`")).unwrap_or(&message);
    let words = words.trim_start_matches([':', ' ']);
    if !words.is_empty() {
        not_found.error.message.push_str(&format!(" (plugin `{plugin}`: {words})"));
    }
    not_found
}

/// The value that a header can repeat. A value that no header can express is empty, and `null` is absent.
fn header_value(text: &str) -> Option<Value> {
    match json::type_of_text(text) {
        "object" => Some(Value::Object(Map::new())),
        "array" => Some(Value::Array(Vec::new())),
        _ => serde_json::from_str(text).ok().filter(|value: &Value| !value.is_null()),
    }
}

impl Protocol {
    /// Renders a result of a plugin. It counts as unread from here on.
    ///
    /// # Errors
    /// The caller would hold too much of the memory for unread responses.
    fn render_result(&self, caller: &Caller, result: &impl Serialize) -> Result<ResultText, ProtocolError> {
        let mut writer = ResultWriter::new(self.dispatcher.unread_responses(), caller);
        // Views have text keys and no fallible parts: only the memory can run out.
        json::write_json(&mut writer, result)
            .map_err(|_| ProtocolError::internal(ResponseTooLarge.to_string()))?;
        Ok(writer.finish())
    }

    /// The view for a call.
    async fn view_for_call<C: InputCall>(&self, request_context: &RequestContext, call: &C) -> Arc<Catalog> {
        let principal = request_context.caller.principal();
        self.view_for(&principal, &request_context.cancel, |view| call.catalog_plugin(view)).await
    }

    /// Waits until the tool of a `tools/call` and its description are known.
    pub(crate) async fn wait_for_tool(&self, principal: &Principal, params: &Params) {
        let Some(name) = params.name("name") else { return };
        let cancel = CancellationToken::new();
        self.view_for(principal, &cancel, |view| Some(view.tool(&name)?.plugin())).await;
    }

    /// Runs a `tools/call` of a caller in this process, who gets the result or the error as a value. `grant_report`
    /// records the grants that the call uses and those that are missing.
    ///
    /// # Errors
    /// The call failed.
    pub async fn call_tool_in_process(
        &self,
        view: &Catalog,
        request_context: &RequestContext,
        params: &Params,
        grant_report: Option<Arc<GrantReport>>,
    ) -> Result<RoundsOutcome<ToolResult>, RequestError> {
        let name = params.string("name").map_err(RequestError::Protocol)?;
        let name = name.as_ref();
        let arguments = arguments(params).map_err(RequestError::Protocol)?;
        run_rounds(self, view, request_context, params, &ToolCall { name, arguments, grant_report }).await
    }

    /// The public name of the tool in a `tools/call`, if the tool exists.
    #[must_use]
    pub fn named_tool(&self, principal: &Principal, params: &Params) -> Option<PublicName> {
        let view = self.dispatcher.view_for(principal);
        let entry = view.tool(&params.name("name")?)?;
        Some(entry.public_name().clone())
    }

    /// The public name of the prompt in a `prompts/get`, if the prompt exists.
    #[must_use]
    pub fn named_prompt(&self, principal: &Principal, params: &Params) -> Option<PublicName> {
        let view = self.dispatcher.view_for(principal);
        let entry = view.prompt(&params.name("name")?)?;
        Some(entry.public_name().clone())
    }

    /// The URI in a `resources/read`, if a plugin owns it.
    #[must_use]
    pub fn owned_uri(&self, principal: &Principal, params: &Params) -> Option<String> {
        let uri = params.name("uri")?;
        self.dispatcher.view_for(principal).resource_owner(&uri)?;
        Some(uri.into_owned())
    }

    /// The arguments of a `tools/call` that HTTP headers repeat: the header names without the common prefix, and the
    /// values. The value is `None` if an argument is absent or `null`. An unknown tool has none; it is reported later.
    #[must_use]
    pub fn header_arguments(&self, principal: &Principal, params: &Params) -> Vec<(String, Option<Value>)> {
        let view = self.dispatcher.view_for(principal);
        let tool = params.name("name").and_then(|name| view.tool(&name));
        let headers = tool.map(|entry| entry.header_arguments()).unwrap_or_default();
        if headers.is_empty() {
            return Vec::new();
        }
        let paths: Vec<_> = headers.iter().map(HeaderArgument::path).collect();
        let found = json::at_paths(params.get("arguments").unwrap_or_default(), &paths);
        let values = found.into_iter().map(|text| text.and_then(header_value));
        headers.iter().map(|argument| argument.name().to_owned()).zip(values).collect()
    }
}
